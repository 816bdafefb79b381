#include "kernels/integer_range.hpp"

#include "kernels/types.hpp"

namespace tb::TB_ISA {
namespace {

template <class T>
TB_INLINE std::int64_t clamp(T v) {
  if constexpr (sizeof(T) == 8 && static_cast<T>(-1) > 0) {
    return v > static_cast<T>(INT64_MAX) ? INT64_MAX : static_cast<std::int64_t>(v);
  } else {
    return static_cast<std::int64_t>(v);
  }
}

template <class T>
Range range(const char* p, std::size_t count, std::ptrdiff_t stride) {
  if (count == 0) return {};
  T low = value<T>(p), high = low;
  if (stride == static_cast<std::ptrdiff_t>(sizeof(T))) {  // side by side: the compiler makes vectors of this
    for (std::size_t i = 0; i < count; ++i) {
      const T v = value<T>(p + i * sizeof(T));
      low = v < low ? v : low;
      high = v > high ? v : high;
    }
  } else {
    for (std::size_t i = 0; i < count; ++i, p += stride) {
      const T v = value<T>(p);
      low = v < low ? v : low;
      high = v > high ? v : high;
    }
  }
  return {clamp(low), clamp(high)};
}

}  // namespace

Range range_of(const char* p, std::size_t count, std::ptrdiff_t stride, Dtype dtype) {
  TB_BY_INTEGER_TYPE(dtype, range, p, count, stride)
}

}  // namespace tb::TB_ISA
