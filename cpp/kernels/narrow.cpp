#include "kernels/narrow.hpp"

#include "kernels/turn_bytes.hpp"
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

// Any rows of any columns.
void narrow_patch(const Narrow& task, std::size_t begin, std::size_t end, std::size_t j0, std::size_t width) {
  const std::size_t step = task.cols->row_major ? kRowsAtOnce : end - begin;
  for (std::size_t i = begin; i < end; i += step) {
    for (std::size_t j = j0; j < j0 + width; ++j) {
      if (narrow_any(task, j, i, end - i < step ? end - i : step))
        __atomic_store_n(task.unseen + j, true, __ATOMIC_RELAXED);
    }
  }
}

// A table stored by rows, as bytes: the rows of a tile are narrowed as they lie, then turned. Their width is rounded
// up to whole squares, which reads into the next row; what comes of that goes nowhere.
constexpr std::size_t kSquare = 16;
constexpr std::size_t kStrip = 64;      // columns of a tile
constexpr std::size_t kLeastWidth = 6;  // of columns for which that pays

template <std::size_t bytes>
struct Natural;
template <>
struct Natural<1> {
  using type = std::uint8_t;
};
template <>
struct Natural<2> {
  using type = std::uint16_t;
};
template <>
struct Natural<4> {
  using type = std::uint32_t;
};
template <>
struct Natural<8> {
  using type = std::uint32_t;  // the halves of 8 bytes are looked at by themselves: twice as many fit a vector
};

// T as a number without sign, of 4 bytes at most; columns j0 .. j0 + width.
template <class T>
struct Strip {
  using U = typename Natural<sizeof(T)>::type;
  std::size_t j0, width;
  U size[kStrip];     // negative codes are beyond it as well
  U counted[kStrip];  // all ones, or 0 beyond the last column
  U forgiven;         // all ones if -1 is missing

  Strip(const Narrow& task, std::size_t first)
      : j0(first), width(task.cols->d - first < kStrip ? task.cols->d - first : kStrip) {
    constexpr bool has_sign = static_cast<T>(-1) < T{};
    constexpr std::int64_t most = has_sign && sizeof(T) == 1 ? 128 : 255;
    for (std::size_t j = 0; j < kStrip; ++j) {
      const std::int64_t levels = j < width ? task.size[j0 + j] : 0;
      size[j] = static_cast<U>(levels < most ? levels : most);
      counted[j] = static_cast<U>(j < width ? -1 : 0);
    }
    forgiven = static_cast<U>(has_sign && !task.raw ? -1 : 0);
  }
};

// Where the low half of 8 bytes begins.
template <class T>
constexpr std::size_t kLow = sizeof(T) == 8 && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0;

// One row into a row of the tile. Not 0: a code is outside and not missing.
template <class T>
TB_INLINE typename Strip<T>::U narrow_row(const char* row, const Strip<T>& strip, std::size_t squares,
                                          std::uint8_t* __restrict out) {
  using U = typename Strip<T>::U;
  const U forgiven = strip.forgiven;  // bytes may lie anywhere: read from the strip, it would be read for each of them
  U news[kSquare] = {};
  for (std::size_t s = 0; s < squares * kSquare; s += kSquare) {
    for (std::size_t j = 0; j < kSquare; ++j) {
      const char* at = row + (s + j) * sizeof(T);
      U v = value<U>(at + kLow<T>), ones = v;
      if constexpr (sizeof(T) == 8) {
        const U high = value<U>(at + 4 - kLow<T>);
        v |= high != 0 ? static_cast<U>(-1) : U{0};  // beyond all levels
        ones &= high;
      }
      const U inside = v < strip.size[s + j] ? static_cast<U>(-1) : U{0};
      const U known = ones == static_cast<U>(-1) ? forgiven : U{0};
      news[j] |= static_cast<U>(~(inside | known) & strip.counted[s + j]);
      out[s + j] = static_cast<std::uint8_t>(v | static_cast<U>(~inside));
    }
  }
  U any = 0;
  for (std::size_t j = 0; j < kSquare; ++j) any |= news[j];
  return any;
}

template <class T>
void narrow_strip(const Narrow& task, std::size_t begin, std::size_t end, std::size_t j0) {
  const Strip<T> strip(task, j0);
  const Column& c = task.cols->col[j0];
  const std::size_t squares = (strip.width + kSquare - 1) / kSquare;
  // Rows from which the rounded width stays inside the table.
  const std::size_t over = squares * kSquare + j0 > task.cols->d ? squares * kSquare + j0 - task.cols->d : 0;
  const auto stride = static_cast<std::size_t>(c.stride);
  const std::size_t last = over == 0 ? 0 : (over * sizeof(T) + stride - 1) / stride;
  const std::size_t left = task.cols->n - task.first;  // rows of the table from row 0 of the codes on
  alignas(64) std::uint8_t tile[kRowsAtOnce * kStrip];
  std::size_t i = begin;
  for (; i + kRowsAtOnce <= end && i + kRowsAtOnce + last <= left; i += kRowsAtOnce) {
    const char* row = c.data + static_cast<std::ptrdiff_t>(task.first + i) * c.stride;
    typename Strip<T>::U news = 0;
    for (std::size_t r = 0; r < kRowsAtOnce; ++r)
      news |= narrow_row<T>(row + r * stride, strip, squares, tile + r * kStrip);
    std::uint8_t* const out = static_cast<std::uint8_t*>(task.out) + j0 * task.n + i;
    for (std::size_t s = 0; s < squares * kSquare; s += kSquare) {
      const std::size_t some = strip.width - s < kSquare ? strip.width - s : kSquare;
      for (std::size_t r = 0; r < kRowsAtOnce; r += kSquare) {
        turn_bytes(tile + r * kStrip + s, kStrip, out + s * task.n + r, task.n, some);
      }
    }
    if (news) narrow_patch(task, i, i + kRowsAtOnce, j0, strip.width);  // once more, to learn which columns
  }
  narrow_patch(task, i, end, j0, strip.width);
}

void narrow_strip_any(const Narrow& task, std::size_t begin, std::size_t end, std::size_t j0) {
  TB_BY_INTEGER_TYPE(task.cols->col[0].dtype, narrow_strip, task, begin, end, j0)
}

}  // namespace

void narrow_codes(const Narrow& task, std::size_t begin, std::size_t end) {
  const Columns& cols = *task.cols;
  std::size_t j = 0;
  if (cols.row_major && task.bytes == 1 && cols.col[0].stride > 0) {
    for (; j + kLeastWidth <= cols.d; j += kStrip) narrow_strip_any(task, begin, end, j);
  }
  if (j < cols.d) narrow_patch(task, begin, end, j, cols.d - j);
}

}  // namespace tb::TB_ISA
