#include "core/values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>

#include "core/threads.hpp"

namespace tb {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kFewCells = std::size_t{1} << 15;  // not worth a second thread
constexpr std::size_t kTile = 1024;
constexpr double kLargest = std::numeric_limits<double>::max();

template <class T>
void copy(const char* from, std::ptrdiff_t stride, std::size_t count, double* out) {
  const auto value = [](const char* p) {
    T v;
    std::memcpy(&v, p, sizeof v);  // a column may lie at any address
    return static_cast<double>(v);
  };
  if (stride == static_cast<std::ptrdiff_t>(sizeof(T))) {  // a stride known when compiling: vectors
    for (std::size_t i = 0; i < count; ++i) out[i] = value(from + i * sizeof(T));
  } else {
    for (std::size_t i = 0; i < count; ++i) out[i] = value(from + static_cast<std::ptrdiff_t>(i) * stride);
  }
}

// Rows of a tile: what lies between its first and last value should stay in a core's own cache.
std::size_t tile_rows(const Columns& x) {
  constexpr std::size_t kBytes = std::size_t{1} << 17;  // a good part of a core's own cache
  std::size_t widest = 1;
  for (std::size_t j = 0; j < x.d; ++j) {
    widest = std::max(widest, static_cast<std::size_t>(std::abs(x.col[j].stride)));
  }
  return std::clamp<std::size_t>(kBytes / widest, 32, kTile);
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
    if (!(rows.w[i] >= 0 && rows.w[i] <= kLargest)) {
      throw std::invalid_argument("row " + std::to_string(i) + " has weight " + std::to_string(rows.w[i]) +
                                  "; weights must be finite and not negative");
    }
  }
  if (!(total < 1e300)) throw std::invalid_argument("the weights add up to more than 1e300; divide them by a constant");
}

void read_values(const Column& column, const Rows& rows, std::size_t first, std::size_t count, double* out) {
  const char* from = column.data + static_cast<std::ptrdiff_t>(first) * column.stride;
  switch (column.dtype) {
    case Dtype::f64: copy<double>(from, column.stride, count, out); break;
    case Dtype::f32: copy<float>(from, column.stride, count, out); break;
    case Dtype::i8: copy<std::int8_t>(from, column.stride, count, out); break;
    case Dtype::i16: copy<std::int16_t>(from, column.stride, count, out); break;
    case Dtype::i32: copy<std::int32_t>(from, column.stride, count, out); break;
    case Dtype::i64: copy<std::int64_t>(from, column.stride, count, out); break;
    case Dtype::u8: case Dtype::b1: copy<std::uint8_t>(from, column.stride, count, out); break;
    case Dtype::u16: copy<std::uint16_t>(from, column.stride, count, out); break;
    case Dtype::u32: copy<std::uint32_t>(from, column.stride, count, out); break;
    case Dtype::u64: copy<std::uint64_t>(from, column.stride, count, out); break;
  }
  for (std::size_t i = 0; rows.y && i < count; ++i) out[i] = rows.y[first + i] < 0 ? kNaN : out[i];
  for (std::size_t i = 0; rows.w && i < count; ++i) out[i] = rows.w[first + i] == 0 ? kNaN : out[i];
}

bool FirstInfinite::check(const double* value, std::size_t first, std::size_t count, std::size_t column) {
  int infinite = 0;  // no early exit: this loop then runs in vectors
  for (std::size_t i = 0; i < count; ++i) infinite |= std::fabs(value[i]) > kLargest;
  if (!infinite) return true;
  std::size_t i = 0;
  while (!(std::fabs(value[i]) > kLargest)) ++i;
  const std::lock_guard lock(mutex_);
  if (!found_ || std::tuple(first + i, column) < std::tuple(found_->row, found_->col)) {
    found_ = BadValue{BadValue::infinite, first + i, column, value[i]};
  }
  return false;
}

void FirstInfinite::raise() const {
  if (found_) throw *found_;
}

void each_tile(const Columns& x, const Rows& rows, const std::function<void(const Tile&)>& body) {
  if (x.n == 0 || x.d == 0) return;
  const std::size_t tile = tile_rows(x);
  const std::size_t block = (kFewCells / x.d / tile + 1) * tile;  // rows of a block: whole tiles
  FirstInfinite bad;
  parallel_for((x.n + block - 1) / block, [&](std::size_t b, int thread) {
    std::array<double, kTile> value;
    const std::size_t end = std::min(x.n, (b + 1) * block);
    for (std::size_t first = b * block; first < end; first += tile) {
      const std::size_t count = std::min(tile, end - first);
      for (std::size_t j = 0; j < x.d; ++j) {
        read_values(x.col[j], rows, first, count, value.data());
        if (bad.check(value.data(), first, count, j)) body({j, first, count, value.data(), thread});
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
