#include "core/ensemble/level_scores.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "core/discriminant/quadratic_parts.hpp"
#include "core/runtime/threads.hpp"

namespace tb {
namespace {

constexpr std::size_t kSpan = 512;  // rows at a time, whose scores are in cache

template <class T>
bool any_missing(const T* codes, std::size_t columns, std::size_t n, std::size_t first, std::size_t rows) {
  T most = 0;
  for (std::size_t j = 0; j < columns; ++j)
    for (std::size_t r = first; r < first + rows; ++r) most = std::max(most, codes[j * n + r]);
  return most == std::numeric_limits<T>::max();
}

template <class T>
void add_encoding(const Encoding& e, const T* codes, std::size_t n, std::size_t first, std::size_t rows, std::size_t K,
                  double* out) {
  const T* code = codes + e.column * n;
  for (std::size_t r = first; r < first + rows; ++r) {
    const double* own = e.table + std::min<std::size_t>(code[r], e.levels) * K;
    for (std::size_t c = 0; c < K; ++c) out[r * K + c] += e.weight * own[c];
  }
}

double tails(double distance, std::size_t p, double freedom) {
  if (std::isinf(freedom)) return distance / 2;
  return (freedom + static_cast<double>(p)) / 2 * std::log1p(distance / freedom);
}

template <class T>
void add_density(const ScoreDensity& d, const Quadratic& q, const T* codes, std::size_t n, std::size_t first,
                 std::size_t rows, double* out) {
  const std::size_t p = d.dimensions, K = q.classes;
  std::vector<double> z(rows * p), acc(K * kRows);
  std::vector<Column> column(p);
  for (std::size_t i = 0; i < p; ++i) {
    const auto last = static_cast<std::size_t>(d.start[i + 1] - d.start[i] - 1);
    const double* value = d.value + d.start[i];
    const T* code = codes + static_cast<std::size_t>(d.column[i]) * n + first;
    for (std::size_t r = 0; r < rows; ++r) z[r * p + i] = value[std::min<std::size_t>(code[r], last)];
    column[i] = {reinterpret_cast<const char*>(z.data() + i), static_cast<std::ptrdiff_t>(p * sizeof(double)),
                 Dtype::f64};
  }
  RowFlags missing(rows);  // none: scores are finite
  const auto part = quadratic_part({rows, p, column.data(), true}, q, missing);
  for (std::size_t r0 = 0; r0 < rows; r0 += kRows) {
    const std::size_t some = std::min<std::size_t>(kRows, rows - r0);
    std::fill(acc.begin(), acc.end(), 0.0);
    part->add(r0, some, acc.data());
    for (std::size_t r = 0; r < some; ++r) {
      double* to = out + (first + r0 + r) * K;
      for (std::size_t c = 0; c < K; ++c)
        to[c] += d.weight * (d.constant[c] - tails(-2 * acc[c * kRows + r], p, d.freedom));
    }
  }
}

}  // namespace

template <class T>
bool add_level_scores(const LevelScores& of, const T* codes, std::size_t columns, std::size_t n, double* out) {
  const std::size_t K = of.classes, p = of.density.dimensions;
  const std::vector<double> zeros(std::max<std::size_t>(p, 1) * K);
  const Quadratic q{of.density.mean, zeros.data(), of.density.root, false, zeros.data(), K};
  std::atomic<bool> missing = false;
  parallel_for((n + kSpan - 1) / kSpan, [&](std::size_t block, int) {
    const std::size_t first = block * kSpan, rows = std::min(kSpan, n - first);
    if (any_missing(codes, columns, n, first, rows)) missing = true;
    for (std::size_t r = first; r < first + rows; ++r)
      for (std::size_t c = 0; c < K; ++c) out[r * K + c] += of.bias[c];
    for (const Encoding& each : of.encodings) add_encoding(each, codes, n, first, rows, K, out);
    if (p > 0) add_density(of.density, q, codes, n, first, rows, out);
  });
  return missing;
}

template bool add_level_scores(const LevelScores&, const std::uint8_t*, std::size_t, std::size_t, double*);
template bool add_level_scores(const LevelScores&, const std::uint16_t*, std::size_t, std::size_t, double*);
template bool add_level_scores(const LevelScores&, const std::uint32_t*, std::size_t, std::size_t, double*);

}  // namespace tb
