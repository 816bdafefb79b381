// What texts say of the classes: their words are read and weighed block by block, and nowhere kept.
#pragma once
#include <memory>
#include <span>

#include "core/runtime/fork_mutex.hpp"
#include "core/scoring/part.hpp"
#include "core/text/row_words.hpp"

namespace tb {

// weight (1 + words of `known`, K): first what any text adds, then each word, as often as it is there (once: once).
// What is pointed to is kept alive by the caller; mutex: held by readers of the words that `known` refers to. A text
// that is no UTF-8 is a BadValue.
std::unique_ptr<Part> text_part(std::span<const TextRef> texts, Known known, ForkMutex& mutex,
                                const WordOptions& options, const double* weight, std::size_t classes, bool once);

}  // namespace tb
