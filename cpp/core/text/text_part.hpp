// What texts say of the classes: their words are read and weighed block by block, and nowhere kept.
#pragma once
#include <memory>
#include <span>

#include "core/runtime/fork_mutex.hpp"
#include "core/scoring/part.hpp"
#include "core/text/row_words.hpp"

namespace tb {

// How a word counts in its text: as often as it is there, once, or as often with the text's length normalised.
enum class WordUse : std::uint8_t { each, once, normalized };

// By what a text of so many words is multiplied where its length is normalised: 3.5 / length^(3/4), at most 1. Square
// roots are the same bits everywhere, and in Python.
double length_factor(double words);

// weight (1 + words of `known`, K): first what any text adds, then each word. Words without any weight have no length.
// What is pointed to is kept alive by the caller; mutex: held by readers of the words that `known` refers to. A text
// that is no UTF-8 is a BadValue.
std::unique_ptr<Part> text_part(std::span<const TextRef> texts, Known known, ForkMutex& mutex,
                                const WordOptions& options, const double* weight, std::size_t classes, WordUse use);

}  // namespace tb
