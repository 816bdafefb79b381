// An array of numbers for kernels: begins at a cache line, not initialised, so that pages nobody uses cost nothing.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "core/runtime/memory.hpp"

namespace tb {

template <class T>
class Aligned {
 public:
  Aligned() = default;
  explicit Aligned(std::size_t size) : p_(static_cast<T*>(allocate(size * sizeof(T)))), size_(size) {}
  Aligned(Aligned&& other) noexcept { swap(other); }
  Aligned& operator=(Aligned&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Aligned() { std::free(p_); }

  T* data() { return p_; }
  const T* data() const { return p_; }
  std::size_t size() const { return size_; }
  void at_least(std::size_t size) {  // what was in it is lost
    if (size > size_) *this = Aligned(size);
  }

 private:
  void swap(Aligned& other) {
    std::swap(p_, other.p_);
    std::swap(size_, other.size_);
  }
  T* p_ = nullptr;
  std::size_t size_ = 0;
};

using AlignedArray = Aligned<double>;

}  // namespace tb
