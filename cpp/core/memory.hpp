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

}  // namespace tb
