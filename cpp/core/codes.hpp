// A column of codes in the smallest signed type that holds all levels: int8 up to 127 levels, int16 up to
// 32767, else int32. Written from the first row on; it grows wider when a code no longer fits.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "core/columns.hpp"

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

  // Writes code(i) to row first + i for all i < count. All rows before `first` are written already.
  // By blocks: the loop that looks codes up writes plain int32, and a short one makes them narrow.
  template <class Code>
  void fill(std::size_t first, std::size_t count, Code&& code) {
    constexpr std::size_t kBlock = 1024;
    std::int32_t block[kBlock];
    for (std::size_t done = 0; done < count; done += kBlock) {
      const std::size_t rows = std::min(kBlock, count - done);
      std::int32_t largest = 0;
      for (std::size_t i = 0; i < rows; ++i) block[i] = code(done + i);
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

}  // namespace tb
