// How often each class has each word, summed while the texts are read: the words of a row are nowhere kept.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/runtime/memory.hpp"
#include "core/text/row_words.hpp"

namespace tb {

class WordSums {
 public:
  // once: a word counts once for a row, however often that has it.
  WordSums(Known& known, const WordOptions& options, std::size_t classes, bool once)
      : known_(known), rounds_(known, true, options), classes_(classes), once_(once) {}

  // More texts, whose classes are y (below 0: the row does not count) and weights w (null: 1). Sums are made row by
  // row, so that they do not depend on the threads. Throws BadRow.
  void add(std::span<const TextRef> texts, const std::int32_t* y, const double* w);

  std::size_t words() const { return known_.size(); }
  // count (classes, words); rows (classes): the weight of those that have a text. Throws BadValue overflow.
  void write(double* count, double* rows) const;

 private:
  // So many words lie together that a piece has pages of its own, and no sum ever moves.
  std::size_t together() const { return std::bit_ceil((std::size_t{1} << 17) / (8 * classes_) + 1); }
  double* sums_of(std::size_t column) { return pieces_[column / piece_].data() + column % piece_ * classes_; }
  void take(const RowWords& words, const std::int32_t* y, const double* w);

  Known& known_;
  WordRounds rounds_;
  const std::size_t classes_;
  const bool once_;
  const std::size_t piece_ = together();
  std::vector<std::vector<double, OwnPages<double>>> pieces_;  // (1 + words, classes) in a row: first the texts
};

}  // namespace tb
