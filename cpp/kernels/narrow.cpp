#include "kernels/narrow.hpp"

#include "kernels/types.hpp"

namespace tb::TB_ISA {
namespace {

constexpr std::size_t kRowsAtOnce = 64;  // their lines of a table stored by rows stay in the first-level cache

// One column. True if a code was outside and not missing.
template <class T, class U>
bool narrow_column(const Column& c, std::size_t row, std::size_t n, std::uint64_t size, bool raw, U* out) {
  const char* x = c.data + static_cast<std::ptrdiff_t>(row) * c.stride;
  const std::ptrdiff_t stride = c.stride;
  const bool can_miss = !raw && static_cast<T>(-1) < T{};
  bool unseen = false;
  for (std::size_t i = 0; i < n; ++i) {
    const T v = value<T>(x + static_cast<std::ptrdiff_t>(i) * stride);
    const bool inside = static_cast<std::uint64_t>(v) < size;  // a negative code becomes larger than any size
    unseen |= !inside && !(can_miss && v == static_cast<T>(-1));
    out[i] = inside ? static_cast<U>(v) : static_cast<U>(~U{0});
  }
  return unseen;
}

template <class T>
bool narrow_as(const Narrow& task, std::size_t j, std::size_t begin, std::size_t n) {
  const Column& c = task.cols->col[j];
  const auto size = static_cast<std::uint64_t>(task.size[j]);
  const std::size_t row = task.first + begin, at = j * task.n + begin;
  if (task.bytes == 1) return narrow_column<T>(c, row, n, size, task.raw, static_cast<std::uint8_t*>(task.out) + at);
  if (task.bytes == 2) return narrow_column<T>(c, row, n, size, task.raw, static_cast<std::uint16_t*>(task.out) + at);
  return narrow_column<T>(c, row, n, size, task.raw, static_cast<std::uint32_t*>(task.out) + at);
}

bool narrow_any(const Narrow& task, std::size_t j, std::size_t begin, std::size_t n) {
  TB_BY_INTEGER_TYPE(task.cols->col[j].dtype, narrow_as, task, j, begin, n)
}

}  // namespace

void narrow_codes(const Narrow& task, std::size_t begin, std::size_t end) {
  const std::size_t step = task.cols->row_major ? kRowsAtOnce : end - begin;
  for (std::size_t i = begin; i < end; i += step) {
    const std::size_t n = end - i < step ? end - i : step;
    for (std::size_t j = 0; j < task.cols->d; ++j) {
      if (narrow_any(task, j, i, n)) __atomic_store_n(task.unseen + j, true, __ATOMIC_RELAXED);
    }
  }
}

}  // namespace tb::TB_ISA
