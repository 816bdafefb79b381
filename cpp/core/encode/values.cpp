#include "core/encode/values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>

#include "core/runtime/threads.hpp"
#include "kernels/cut_points.hpp"

namespace tb {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kFewCells = std::size_t{1} << 15;  // not worth a second thread
constexpr std::size_t kGroup = 8;                        // columns read together from a matrix in row order
constexpr std::size_t kPitch = kMostRows + 8;  // from one of them to the next: not a power of two, so not one cache set
constexpr double kMaxDouble = std::numeric_limits<double>::max();

template <class T>
double value_at(const char* p) {
  T v;
  std::memcpy(&v, p, sizeof v);  // a column may lie at any address
  return static_cast<double>(v);
}

template <class T>
void copy(const char* from, std::ptrdiff_t stride, std::size_t count, double* out) {
  if (stride == static_cast<std::ptrdiff_t>(sizeof(T))) {  // a stride known when compiling: vectors
    for (std::size_t i = 0; i < count; ++i) out[i] = value_at<T>(from + i * sizeof(T));
  } else {
    for (std::size_t i = 0; i < count; ++i) out[i] = value_at<T>(from + static_cast<std::ptrdiff_t>(i) * stride);
  }
}

const double* mask_absent(const Rows& rows, std::size_t first, std::size_t count, double* out) {
  for (std::size_t i = 0; rows.y && i < count; ++i) out[i] = rows.y[first + i] < 0 ? kNaN : out[i];
  for (std::size_t i = 0; rows.w && i < count; ++i) out[i] = rows.w[first + i] == 0 ? kNaN : out[i];
  return out;
}

// Up to eight columns of a matrix in row order, from column j: so a line of the cache is read once, not per column.
template <class T>
void copy_group(const Columns& x, std::size_t j, std::size_t first, std::size_t count, double* out) {
  const std::ptrdiff_t stride = x.col[j].stride;
  const char* from = x.col[j].data + static_cast<std::ptrdiff_t>(first) * stride;
  if (x.d - j >= kGroup) {  // a width known when compiling: no loop
    for (std::size_t i = 0; i < count; ++i, from += stride) {
      for (std::size_t k = 0; k < kGroup; ++k) out[k * kPitch + i] = value_at<T>(from + k * sizeof(T));
    }
  } else {
    for (std::size_t i = 0; i < count; ++i, from += stride) {
      for (std::size_t k = 0; k < x.d - j; ++k) out[k * kPitch + i] = value_at<T>(from + k * sizeof(T));
    }
  }
}

// Rows of a tile: what lies between its first and last value should stay in a core's own cache.
std::size_t tile_rows(const Columns& x) {
  constexpr std::size_t kBytes = std::size_t{1} << 17;  // a good part of a core's own cache
  std::size_t widest = 1;
  for (std::size_t j = 0; j < x.d; ++j) {
    widest = std::max(widest, static_cast<std::size_t>(std::abs(x.col[j].stride)));
  }
  return std::clamp<std::size_t>(kBytes / widest, 32, kMostRows);
}

}  // namespace

void check_rows(const Rows& rows, std::size_t n, std::size_t classes) {
  for (std::size_t i = 0; rows.y && i < n; ++i) {
    if (rows.y[i] >= 0 && static_cast<std::size_t>(rows.y[i]) >= classes) {
      throw std::invalid_argument("row " + std::to_string(i) + " has class code " + std::to_string(rows.y[i]) +
                                  "; codes must be below the number of classes, " + std::to_string(classes));
    }
  }
  double total = 0;
  for (std::size_t i = 0; rows.w && i < n; ++i) {
    total += rows.w[i];
    if (!(rows.w[i] >= 0 && rows.w[i] <= kMaxDouble)) {
      throw std::invalid_argument("row " + std::to_string(i) + " has weight " + std::to_string(rows.w[i]) +
                                  "; weights must be finite and not negative");
    }
  }
  if (!(total < 1e300)) throw std::invalid_argument("the weights add up to more than 1e300; divide them by a constant");
}

const double* read_values(const Column& column, const Rows& rows, std::size_t first, std::size_t count, double* out) {
  const char* from = column.data + static_cast<std::ptrdiff_t>(first) * column.stride;
  const bool aligned = reinterpret_cast<std::uintptr_t>(from) % alignof(double) == 0;
  if (column.dtype == Dtype::f64 && column.stride == sizeof(double) && aligned && !rows.y && !rows.w) {
    return reinterpret_cast<const double*>(from);
  }
  switch (column.dtype) {
    case Dtype::f64:
      copy<double>(from, column.stride, count, out);
      break;
    case Dtype::f32:
      copy<float>(from, column.stride, count, out);
      break;
    case Dtype::i8:
      copy<std::int8_t>(from, column.stride, count, out);
      break;
    case Dtype::i16:
      copy<std::int16_t>(from, column.stride, count, out);
      break;
    case Dtype::i32:
      copy<std::int32_t>(from, column.stride, count, out);
      break;
    case Dtype::i64:
      copy<std::int64_t>(from, column.stride, count, out);
      break;
    case Dtype::u8:
    case Dtype::b1:
      copy<std::uint8_t>(from, column.stride, count, out);
      break;
    case Dtype::u16:
      copy<std::uint16_t>(from, column.stride, count, out);
      break;
    case Dtype::u32:
      copy<std::uint32_t>(from, column.stride, count, out);
      break;
    case Dtype::u64:
      copy<std::uint64_t>(from, column.stride, count, out);
      break;
  }
  return mask_absent(rows, first, count, out);
}

bool FirstInfinite::check(const double* value, std::size_t first, std::size_t count, std::size_t column) {
  if (!TB_CALL(any_infinite, value, count)) return true;
  std::size_t i = 0;
  while (!(std::fabs(value[i]) > kMaxDouble)) ++i;
  const std::lock_guard lock(mutex_);
  if (!found_ || std::tuple(first + i, column) < std::tuple(found_->row, found_->col)) {
    found_ = BadValue{BadValue::infinite, first + i, column, value[i]};
  }
  return false;
}

void FirstInfinite::raise() const {
  if (found_) throw *found_;
}

namespace {

// read_values for a caller that asks for column 0, 1, 2, ... of the same rows, with one buffer.
const double* read_in_turn(const Columns& x, std::size_t j, const Rows& rows, std::size_t first, std::size_t count,
                           double* buffer) {
  const Dtype t = x.col[j].dtype;
  if (!x.row_major || (t != Dtype::f64 && t != Dtype::f32)) return read_values(x.col[j], rows, first, count, buffer);
  const auto copy = t == Dtype::f64 ? copy_group<double> : copy_group<float>;
  if (j % kGroup == 0) copy(x, j, first, count, buffer);
  return mask_absent(rows, first, count, buffer + j % kGroup * kPitch);
}

}  // namespace

void each_tile(const Columns& x, const Rows& rows, const std::function<void(const Tile&)>& body) {
  if (x.n == 0 || x.d == 0) return;
  const std::size_t tile = tile_rows(x);
  const std::size_t block = (kFewCells / x.d / tile + 1) * tile;  // rows of a block: whole tiles
  FirstInfinite bad;
  parallel_for((x.n + block - 1) / block, [&](std::size_t b, int thread) {
    std::array<double, kGroup * kPitch> buffer;
    const std::size_t end = std::min(x.n, (b + 1) * block);
    for (std::size_t first = b * block; first < end; first += tile) {
      const std::size_t count = std::min(tile, end - first);
      for (std::size_t j = 0; j < x.d; ++j) {
        const double* value = read_in_turn(x, j, rows, first, count, buffer.data());
        if (bad.check(value, first, count, j)) body({j, first, count, value, thread});
      }
    }
  });
  bad.raise();
}

void each_column(const Columns& x, const std::function<void(std::size_t, int)>& body) {
  if (x.n * x.d >= kFewCells) return parallel_for(x.d, body);
  for (std::size_t j = 0; j < x.d; ++j) body(j, 0);
}

}  // namespace tb
