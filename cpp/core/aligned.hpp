// An array of doubles for kernels: begins at a cache line, not initialised, so that pages nobody uses cost nothing.
#pragma once
#include <cstddef>
#include <new>
#include <utility>

namespace tb {

class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(std::size_t size)
      : p_(static_cast<double*>(::operator new(size * sizeof(double), std::align_val_t{64}))), size_(size) {}
  AlignedArray(AlignedArray&& other) noexcept { swap(other); }
  AlignedArray& operator=(AlignedArray&& other) noexcept {
    swap(other);
    return *this;
  }
  ~AlignedArray() { ::operator delete(p_, std::align_val_t{64}); }

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
