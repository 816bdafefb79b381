// The values of one column in ascending order, each with a tag that travels with it.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/encode/values.hpp"

namespace tb {

// Doubles as integers in the same order; -0 and 0 are one value. NaN must not come here.
inline std::uint64_t key_of(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x + 0.0);  // -0 + 0 is 0
  return bits ^ ((bits >> 63) != 0 ? ~std::uint64_t{0} : std::uint64_t{1} << 63);
}
inline double value_of(std::uint64_t key) {
  return std::bit_cast<double>(key ^ ((key >> 63) != 0 ? std::uint64_t{1} << 63 : ~std::uint64_t{0}));
}

// What a value carries along: nothing, its row's class, or its row's number.
enum class Tag { none, label, row };

// Works for columns of up to n rows, one after the other, in the same memory. Equal values keep the order of rows.
class Sorted {
 public:
  Sorted(std::size_t n, Tag tag);
  // Sorts the present values of a column; false if one was infinite (bad then knows it).
  bool sort(const Columns& x, std::size_t column, const Rows& rows, FirstInfinite& bad);

  std::size_t count = 0;
  std::unique_ptr<std::uint64_t[]> key;
  std::unique_ptr<std::uint32_t[]> tag;

 private:
  template <bool tagged>
  void radix_sort();
  template <bool tagged>
  void sort_digits(std::size_t low, std::size_t end);
  template <bool tagged>
  bool insertion_sort(std::size_t moves);
  Tag kind_;
  std::unique_ptr<std::uint64_t[]> key2_;
  std::unique_ptr<std::uint32_t[]> tag2_;
};

}  // namespace tb
