// Memory of a kernel: aligned to a cache line, not initialised, so that pages never used are never touched.
#pragma once
#include <cstddef>
#include <new>

namespace tb {

template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t size) : p_(static_cast<T*>(::operator new(size * sizeof(T), std::align_val_t{64}))) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { ::operator delete(p_, std::align_val_t{64}); }
  T* data() { return p_; }
  const T* data() const { return p_; }

 private:
  T* p_;
};

}  // namespace tb
