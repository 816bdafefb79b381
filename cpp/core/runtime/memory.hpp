// Memory for large arrays. Touching fresh memory page by page can cost more than computing what goes there: where two
// huge pages or more are needed, huge pages are asked for (as NumPy does for its own arrays).
#pragma once
#include <cstddef>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace tb {

// Begins at a cache line; to be given back with std::free.
inline void* allocate(std::size_t bytes) {
  constexpr std::size_t line = 64, huge = std::size_t{1} << 21;
  const bool large = bytes > huge;
  const std::size_t unit = large ? huge : line,
                    whole = bytes / unit * unit + (bytes % unit > 0 || bytes == 0 ? unit : 0);
  void* p = whole < bytes ? nullptr : std::aligned_alloc(unit, whole);
  if (p == nullptr) throw std::bad_alloc();
#if defined(__linux__)
  if (large) madvise(p, whole, MADV_HUGEPAGE);
#endif
  return p;
}

// For what grows while rows are read and then stays: large pieces have pages of their own, which go back to the system
// when a larger one takes their place. From a heap they would leave holes behind, as much again as the last
// piece.
template <class T>
struct OwnPages {
  using value_type = T;
  OwnPages() = default;
  template <class U>
  OwnPages(const OwnPages<U>&) {}  // NOLINT: allocators convert

  static constexpr std::size_t kMinBytes = std::size_t{1} << 17;

  T* allocate(std::size_t n) {
    if (n > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
#if defined(__linux__)
    if (n * sizeof(T) >= kMinBytes) {
      void* p = mmap(nullptr, n * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (p == MAP_FAILED) throw std::bad_alloc();
      return static_cast<T*>(p);
    }
#endif
    return static_cast<T*>(::operator new(n * sizeof(T)));
  }
  void deallocate(T* p, std::size_t n) noexcept {
#if defined(__linux__)
    if (n * sizeof(T) >= kMinBytes) {
      munmap(p, n * sizeof(T));
      return;
    }
#endif
    ::operator delete(p);
  }
  template <class U>
  bool operator==(const OwnPages<U>&) const {
    return true;
  }
};

}  // namespace tb
