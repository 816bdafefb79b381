// A column of codes in the smallest signed type that holds all levels: int8 up to 127 levels, int16 up to
// 32767, else int32. Written from the first row on; it grows wider when a code no longer fits.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/encode/columns.hpp"

namespace tb {

class Codes {
 public:
  Codes() : Codes(0, 0) {}
  Codes(std::size_t rows, std::size_t levels)
      : rows_(rows),
        bytes_(levels <= 127     ? 1
               : levels <= 32767 ? 2
                                 : 4),
        data_(new char[rows * bytes_]) {}

  std::size_t rows() const { return rows_; }
  Dtype dtype() const { return bytes_ == 1 ? Dtype::i8 : bytes_ == 2 ? Dtype::i16 : Dtype::i32; }
  const void* data() const { return data_.get(); }
  // Where the codes lie while they are bytes, for who writes rows in another order; else null.
  std::int8_t* bytes() { return bytes_ == 1 ? reinterpret_cast<std::int8_t*>(data_.get()) : nullptr; }

  // Writes code(i) to row first + i for all i < count. All rows before `first` are written already.
  template <class Code>
  void fill(std::size_t first, std::size_t count, Code&& code) {
    fill_blocks(first, count, [&](std::size_t from, std::size_t rows, std::int32_t* block) {
      for (std::size_t i = 0; i < rows; ++i) block[i] = code(from + i);
    });
  }

  // The same by blocks: codes(from, rows, block) writes plain int32, and a short loop makes them narrow.
  template <class Block>
  void fill_blocks(std::size_t first, std::size_t count, Block&& codes) {
    constexpr std::size_t kBlock = 1024;
    std::int32_t block[kBlock];
    for (std::size_t done = 0; done < count; done += kBlock) {
      const std::size_t rows = std::min(kBlock, count - done);
      codes(done, rows, block);
      std::int32_t largest = 0;
      for (std::size_t i = 0; i < rows; ++i) largest = std::max(largest, block[i]);
      while (largest > largest_code()) widen(first + done);
      if (bytes_ == 1)
        store<std::int8_t>(first + done, block, rows);
      else if (bytes_ == 2)
        store<std::int16_t>(first + done, block, rows);
      else
        store<std::int32_t>(first + done, block, rows);
    }
  }

 private:
  std::int32_t largest_code() const {  // 127 levels mean a largest code of 126
    return bytes_ == 1 ? 126 : bytes_ == 2 ? 32766 : std::numeric_limits<std::int32_t>::max();
  }

  template <class T>
  void store(std::size_t first, const std::int32_t* block, std::size_t rows) {
    T* const out = reinterpret_cast<T*>(data_.get()) + first;
    for (std::size_t i = 0; i < rows; ++i) out[i] = static_cast<T>(block[i]);
  }

  template <class To, class From>
  void copy(char* to, std::size_t rows) const {
    const auto* from = reinterpret_cast<const From*>(data_.get());
    for (std::size_t i = 0; i < rows; ++i) reinterpret_cast<To*>(to)[i] = from[i];
  }

  void widen(std::size_t written) {
    std::unique_ptr<char[]> wider(new char[rows_ * bytes_ * 2]);
    if (bytes_ == 1)
      copy<std::int16_t, std::int8_t>(wider.get(), written);
    else
      copy<std::int32_t, std::int16_t>(wider.get(), written);
    data_ = std::move(wider);
    bytes_ *= 2;
  }

  std::size_t rows_;
  std::size_t bytes_;  // of one code
  std::unique_ptr<char[]> data_;
};

constexpr std::int32_t kNotYet = -3;  // the code of a number that no row has asked for

// codes[i] = code_of[number i], without a look at any by itself; false if one is none of them, or not yet known.
template <class T>
bool all_known(const char* numbers, std::size_t rows, const std::vector<std::int32_t>& code_of, std::int32_t* codes) {
  using Number = std::make_unsigned_t<T>;  // a negative one becomes a huge one
  const auto number = [&](std::size_t i) {
    Number v;
    std::memcpy(&v, numbers + i * sizeof v, sizeof v);
    return v;
  };
  Number most = 0;
  for (std::size_t i = 0; i < rows; ++i) most = std::max(most, number(i));
  if (most >= code_of.size()) return false;
  const std::int32_t* const of = code_of.data();
  std::int32_t least = 0;
  for (std::size_t i = 0; i < rows; ++i) codes[i] = of[number(i)];
  for (std::size_t i = 0; i < rows; ++i) least = std::min(least, codes[i]);
  return least > kNotYet;
}

}  // namespace tb
