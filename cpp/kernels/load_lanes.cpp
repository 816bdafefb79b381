#include <utility>

#include "kernels/as_double.hpp"
#include "kernels/lane_groups.hpp"

namespace tb::TB_ISA {
namespace {

// W rows of W values become W columns: in step s, blocks of s x s change places across the diagonal.
template <int s, int... k>
TB_INLINE void exchange(Vec& a, Vec& b, std::integer_sequence<int, k...>) {
  const Vec low = __builtin_shufflevector(a, b, ((k & s) != 0 ? W + k - s : k)...);
  b = __builtin_shufflevector(a, b, ((k & s) != 0 ? W + k : k + s)...);
  a = low;
}

template <int s = 1>
TB_INLINE void transpose(Vec (&v)[W]) {
#pragma GCC unroll 8
  for (int r = 0; r < W; ++r) {
    if ((r & s) == 0) exchange<s>(v[r], v[r + s], std::make_integer_sequence<int, W>());
  }
  if constexpr (2 * s < W) transpose<2 * s>(v);
}

template <class T>
void load_column(const char* at, std::ptrdiff_t stride, std::size_t rows, double* lanes) {
  for (std::size_t r = 0; r < kGroup; ++r) {
    T x = T();
    if (r < rows) std::memcpy(&x, at + static_cast<std::ptrdiff_t>(r) * stride, sizeof x);
    lanes[r] = static_cast<double>(x);
  }
}

void load_any_column(const Column& c, std::size_t r0, std::size_t rows, double* lanes) {
  const char* at = c.data + static_cast<std::ptrdiff_t>(r0) * c.stride;
  switch (c.dtype) {
    case Dtype::f64:
      return load_column<double>(at, c.stride, rows, lanes);
    case Dtype::f32:
      return load_column<float>(at, c.stride, rows, lanes);
    case Dtype::i8:
      return load_column<std::int8_t>(at, c.stride, rows, lanes);
    case Dtype::i16:
      return load_column<std::int16_t>(at, c.stride, rows, lanes);
    case Dtype::i32:
      return load_column<std::int32_t>(at, c.stride, rows, lanes);
    case Dtype::i64:
      return load_column<std::int64_t>(at, c.stride, rows, lanes);
    case Dtype::u8:
      return load_column<std::uint8_t>(at, c.stride, rows, lanes);
    case Dtype::u16:
      return load_column<std::uint16_t>(at, c.stride, rows, lanes);
    case Dtype::u32:
      return load_column<std::uint32_t>(at, c.stride, rows, lanes);
    case Dtype::u64:
      return load_column<std::uint64_t>(at, c.stride, rows, lanes);
    case Dtype::b1:
      return load_column<std::uint8_t>(at, c.stride, rows, lanes);
  }
}

double sum_lanes(Vec v) {
  double lane[W], sum = 0.0;
  store(lane, v);
  for (int q = 0; q < W; ++q) sum += lane[q];
  return sum;
}

// W rows that lie side by side, W x W values at a time through registers. Bits: rows with a value that is not finite,
// found by 0 * x being other than 0.
template <class T>
std::uint64_t load_rows(const char* at, std::ptrdiff_t stride, std::size_t d, const double* centre, double* lanes) {
  Vec trouble[W] = {};
  std::size_t j = 0;
  for (; j + W <= d; j += W) {
    const Vec shift = load(centre + j);
    Vec v[W];
#pragma GCC unroll 8
    for (int r = 0; r < W; ++r) {
      const T* x = reinterpret_cast<const T*>(at + r * stride) + j;
      v[r] = load_as_double(x);
      trouble[r] += v[r] * 0.0;
      v[r] -= shift;
      __builtin_prefetch(reinterpret_cast<const char*>(x) +
                         static_cast<std::ptrdiff_t>(kGroup) * stride);  // the next group
    }
    transpose(v);
#pragma GCC unroll 8
    for (int r = 0; r < W; ++r) store(lanes + (j + static_cast<std::size_t>(r)) * kGroup, v[r]);
  }
  std::uint64_t bits = 0;
  for (int r = 0; r < W; ++r) {
    double sum = sum_lanes(trouble[r]);
    for (std::size_t k = j; k < d; ++k) {
      const auto x = static_cast<double>(reinterpret_cast<const T*>(at + r * stride)[k]);
      sum += x * 0.0;
      lanes[k * kGroup + static_cast<std::size_t>(r)] = x - centre[k];
    }
    bits |= static_cast<std::uint64_t>(sum != 0.0) << r;
  }
  return bits;
}

template <class T>
std::uint64_t load_rows_group(const Columns& x, std::size_t r0, const double* centre, double* lanes) {
  const std::ptrdiff_t stride = x.col[0].stride;
  const char* at = x.col[0].data + static_cast<std::ptrdiff_t>(r0) * stride;
  std::uint64_t bits = 0;
  for (int q = 0; q < kVecs; ++q)
    bits |= load_rows<T>(at + q * W * stride, stride, x.d, centre, lanes + q * W) << (q * W);
  return bits;
}

// Any types, any memory order, and the last rows of a table.
std::uint64_t load_columns_group(const Columns& x, std::size_t r0, std::size_t rows, const double* centre,
                                 double* lanes) {
  Vec trouble[kVecs] = {};
  for (std::size_t j = 0; j < x.d; ++j, lanes += kGroup) {
    load_any_column(x.col[j], r0, rows, lanes);
    for (int q = 0; q < kVecs; ++q) {
      const Vec v = load(lanes + q * W);
      trouble[q] += v * 0.0;
      store(lanes + q * W, v - set(centre[j]));
    }
  }
  double lane[kGroup];
  for (int q = 0; q < kVecs; ++q) store(lane + q * W, trouble[q]);
  std::uint64_t bits = 0;
  for (std::size_t r = 0; r < kGroup; ++r) bits |= static_cast<std::uint64_t>(lane[r] != 0.0) << r;
  return bits;
}

// Can the rows be read as they lie?
template <class T>
bool in_place(const Columns& x, Dtype t) {
  return x.row_major && x.col[0].dtype == t && reinterpret_cast<std::uintptr_t>(x.col[0].data) % sizeof(T) == 0 &&
         x.col[0].stride % static_cast<std::ptrdiff_t>(sizeof(T)) == 0;
}

}  // namespace

std::uint64_t load_lanes(const Columns& x, std::size_t r0, std::size_t rows, const double* centre, double* lanes) {
  const bool doubles = in_place<double>(x, Dtype::f64), floats = in_place<float>(x, Dtype::f32);
  std::uint64_t odd = 0;
  for (std::size_t from = 0; from < rows; from += kGroup, lanes += kGroup * x.d) {
    const std::size_t count = rows - from < kGroup ? rows - from : kGroup;
    const bool whole = count == kGroup;
    odd |= (whole && doubles  ? load_rows_group<double>(x, r0 + from, centre, lanes)
            : whole && floats ? load_rows_group<float>(x, r0 + from, centre, lanes)
                              : load_columns_group(x, r0 + from, count, centre, lanes))
           << from;
  }
  return odd;
}

}  // namespace tb::TB_ISA
