// New NumPy arrays for answers that may be large.
#pragma once
#include "bind/bind.hpp"
#include "core/runtime/memory.hpp"

namespace tb::bind {

// Like make_array: owns its uninitialised memory.
template <class T, int N>
Array<T, N> make_large(const std::size_t (&shape)[N]) {
  std::size_t bytes = sizeof(T);
  for (const std::size_t s : shape) {
    if (__builtin_mul_overflow(bytes, s, &bytes)) throw std::bad_alloc();
  }
  void* data = allocate(bytes);
  nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
  return Array<T, N>(static_cast<T*>(data), N, shape, owner);
}

}  // namespace tb::bind
