// An array of doubles for kernels: begins at a cache line, not initialised, so that pages nobody uses cost nothing.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "core/memory.hpp"

namespace tb {

class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(std::size_t size) : p_(static_cast<double*>(allocate(size * sizeof(double)))), size_(size) {}
  AlignedArray(AlignedArray&& other) noexcept { swap(other); }
  AlignedArray& operator=(AlignedArray&& other) noexcept {
    swap(other);
    return *this;
  }
  ~AlignedArray() { std::free(p_); }

  double* data() { return p_; }
  const double* data() const { return p_; }
  std::size_t size() const { return size_; }
  void at_least(std::size_t size) {  // what was in it is lost
    if (size > size_) *this = AlignedArray(size);
  }

 private:
  void swap(AlignedArray& other) {
    std::swap(p_, other.p_);
    std::swap(size_, other.size_);
  }
  double* p_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tb
