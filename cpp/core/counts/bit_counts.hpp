// Codes of bytes counted by class without a counter for each cell: the rows of a class and the rows of a level are sets
// of bits, and what two sets share is counted 512 rows at a time.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/bits.hpp"

namespace tb {

class BitCounts {
 public:
  // Whether that takes less than counters: each level is counted in each class.
  static bool pays(std::uint64_t levels, std::size_t classes) {
    return classes <= kMostPairs && levels * classes <= std::size_t{kMostPairs} << static_cast<int>(isa());
  }

  // The classes of some rows: below `classes`, or that, where a row does not count.
  void classify(const std::uint32_t* cls, std::size_t rows, std::size_t classes) {
    words_ = rows / kBitBlock * kBlockWords;
    byte_.resize(words_ * 64);
    std::uint32_t most = 0;
    for (std::size_t i = 0; i < byte_.size(); ++i) {
      most = std::max(most, cls[i]);
      byte_[i] = static_cast<std::uint8_t>(cls[i]);
    }
    kinds_ = classes + (most == classes ? 1 : 0);
    class_bits_.resize(kinds_ * words_);
    TB_CALL(level_bits, byte_.data(), words_, kinds_, words_, class_bits_.data());
    n_.resize(kinds_);
  }

  // Of how many rows, from the first on, the rest of which is for others to count.
  std::size_t rows() const { return words_ * 64; }

  // add(class, level, rows) for each level below `levels`; returns how many rows have none of these.
  template <class Add>
  std::size_t count(const std::uint8_t* x, std::size_t levels, Add&& add) {
    level_bits_.resize(levels * words_);
    TB_CALL(level_bits, x, words_, levels, words_, level_bits_.data());
    std::size_t left = rows();
    for (std::size_t v = 0; v < levels; ++v) {
      TB_CALL(count_both, level_bits_.data() + v * words_, class_bits_.data(), words_, kinds_, words_, n_.data());
      for (std::size_t c = 0; c < kinds_; ++c) {
        add(c, v, n_[c]);
        left -= n_[c];
      }
    }
    return left;
  }

 private:
  static constexpr std::size_t kMostPairs = 16;  // of a level and a class; as often as vectors are wider, more

  std::size_t words_ = 0, kinds_ = 0;
  std::vector<std::uint8_t> byte_;
  std::vector<std::uint64_t> class_bits_, level_bits_;
  std::vector<std::uint32_t> n_;
};

}  // namespace tb
