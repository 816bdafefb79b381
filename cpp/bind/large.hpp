// New NumPy arrays for answers that may be large. Touching fresh memory page by page can cost more than computing what
// goes there: from 4 MiB on, huge pages are asked for (as NumPy does for its own arrays).
#pragma once
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "bind/bind.hpp"

namespace tb::bind {

inline void* allocate_large(std::size_t bytes) {
  constexpr std::size_t huge = std::size_t{1} << 21;
  if (bytes < 2 * huge) {
    void* p = std::malloc(bytes > 0 ? bytes : 1);
    if (p == nullptr) throw std::bad_alloc();
    return p;
  }
  const std::size_t whole = (bytes + huge - 1) / huge * huge;
  if (whole < bytes) throw std::bad_alloc();
  void* p = std::aligned_alloc(huge, whole);
  if (p == nullptr) throw std::bad_alloc();
#if defined(__linux__)
  madvise(p, whole, MADV_HUGEPAGE);
#endif
  return p;
}

// Like make_array: owns its uninitialised memory.
template <class T, int N>
Array<T, N> make_large(const std::size_t (&shape)[N]) {
  std::size_t bytes = sizeof(T);
  for (const std::size_t s : shape) {
    if (__builtin_mul_overflow(bytes, s, &bytes)) throw std::bad_alloc();
  }
  void* data = allocate_large(bytes);
  nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
  return Array<T, N>(static_cast<T*>(data), N, shape, owner);
}

}  // namespace tb::bind
