#include "core/moments/centre_scatter.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "core/math/double_double.hpp"
#include "core/runtime/threads.hpp"

namespace tb {
namespace {

constexpr std::size_t kSerialCells = 32768;  // cells: fewer are not worth a second thread
constexpr std::size_t kStripe = 64;          // rows of a matrix, one task

// Rows [from, to) of the matrix of class c (of all classes if pooled).
struct Stripe {
  double* s;
  std::size_t c, from, to;
};

void for_stripes(const ScatterShape& shape, double* s, const std::function<void(const Stripe&, std::size_t)>& body) {
  const std::size_t d = shape.d, per_matrix = (d + kStripe - 1) / kStripe;
  const std::size_t count = (shape.pooled ? 1 : shape.classes) * per_matrix;
  const auto task = [&](std::size_t i, int) {
    const std::size_t c = i / per_matrix, from = i % per_matrix * kStripe;
    body({s + c * d * d, c, from, std::min(d, from + kStripe)}, i);
  };
  if (count * kStripe * d < kSerialCells) {
    for (std::size_t i = 0; i < count; ++i) task(i, 0);
  } else {
    parallel_for(count, task);
  }
}

// sum (x - shift)(x - shift)' = sum (x - mean)(x - mean)' + n offset offset', offset = mean - shift.
void subtract_offset(const Stripe& at, std::size_t d, const double* offset, double n) {
  if (n == 0.0) return;
  for (std::size_t i = at.from; i < at.to; ++i) {
    const double scaled = n * offset[i];
    for (std::size_t j = 0; j <= i; ++j) at.s[i * d + j] -= scaled * offset[j];
  }
}

// A sum of squares that rounding has made negative is 0. The first row that is not finite, or d.
std::size_t tidy(const Stripe& at, std::size_t d) {
  std::size_t bad = d;
  for (std::size_t i = at.from; i < at.to; ++i) {
    double& square = at.s[i * d + i];
    if (square < 0.0) square = 0.0;
    double trouble = 0.0;
    for (std::size_t j = 0; j <= i; ++j) trouble += at.s[i * d + j] * 0.0;
    if (trouble != 0.0) bad = std::min(bad, i);
  }
  return bad;
}

void mirror(const Stripe& at, std::size_t d) {
  constexpr std::size_t wide = 16;
  for (std::size_t j0 = at.from; j0 < d; j0 += wide) {
    for (std::size_t i = at.from; i < at.to; ++i) {
      for (std::size_t j = std::max(j0, i + 1); j < std::min(d, j0 + wide); ++j) at.s[i * d + j] = at.s[j * d + i];
    }
  }
}

}  // namespace

std::size_t centre_scatter(const ScatterShape& shape, const double* shift, const double* n, double* sums, double* low,
                           double* s) {
  const std::size_t d = shape.d, classes = shape.classes;
  std::vector<double> offset(classes * d);
  std::vector<std::size_t> bad(1 + (shape.pooled ? 1 : classes) * ((d + kStripe - 1) / kStripe), d);
  for (std::size_t at = 0; at < offset.size(); ++at) {
    const double weight = n[at / d];
    offset[at] = weight > 0.0 ? sums[at] / weight : 0.0;
    const Pair mean = weight > 0.0 ? exact_sum(shift[at], offset[at]) : Pair{};
    sums[at] = mean.high, low[at] = mean.low;
    if (!std::isfinite(sums[at])) bad[0] = std::min(bad[0], at % d);
  }
  for_stripes(shape, s, [&](const Stripe& at, std::size_t i) {
    const std::size_t first = shape.pooled ? 0 : at.c, last = shape.pooled ? classes : at.c + 1;
    for (std::size_t c = first; c < last; ++c) subtract_offset(at, d, offset.data() + c * d, n[c]);
    bad[1 + i] = tidy(at, d);
  });
  for_stripes(shape, s, [&](const Stripe& at, std::size_t) { mirror(at, d); });
  return *std::min_element(bad.begin(), bad.end());
}

}  // namespace tb
