#include "kernels/concentrations.hpp"

#include "kernels/simd.hpp"

namespace tb::TB_ISA {

// Products instead of a logarithm each: four at a time are divided, and the exponent of what they give is put aside.
void add_log_shares(const double* above, const double* below, const double* prior, std::size_t count,
                    const double* grid, std::size_t grid_size, double* sum) {
  for (std::size_t g = 0; g < grid_size; ++g) {
    const Vec a = set(grid[g]);
    Vec product = set(1.0);  // in [1, 2)
    Mask exponent{};
    for (std::size_t i = 0; i < count; i += 4 * W) {
      Vec up = set(1.0), down = set(1.0);
#pragma GCC unroll 4
      for (std::size_t k = i; k < i + 4 * W; k += W) {
        up *= load(above + k) + a * load(prior + k);
        down *= load(below + k) + a;
      }
      const Mask bits = reinterpret_cast<Mask>(product * (up / down));
      exponent += ((bits >> 52) & 0x7ff) - 1023;
      product = reinterpret_cast<Vec>((bits & 0x000fffffffffffff) | 0x3ff0000000000000);
    }
    const Vec logs = log_nonnegative(product);
    for (int k = 0; k < W; ++k) sum[g] += static_cast<double>(exponent[k]) * 0.69314718055994530942 + logs[k];
  }
}

void add_log_likelihoods(const double* weight, const double* above, const double* below, const double* prior,
                         std::size_t count, const double* grid, std::size_t grid_size, double* sum) {
  for (std::size_t g = 0; g < grid_size; ++g) {
    const Vec a = set(grid[g]);
    Vec total{};
    for (std::size_t i = 0; i < count; i += W) {
      const Vec p = load(prior + i), under = load(below + i) + a;
      const Vec q = pick(under > 0.0, (load(above + i) + a * p) / under, p);
      total += load(weight + i) * log_nonnegative(q);
    }
    for (int i = 0; i < W; ++i) sum[g] += total[i];
  }
}

std::size_t judging_rows(const JudgingRows& from, std::size_t rows, Judging& to) {
  constexpr std::size_t kRowsAtOnce = 64;  // rows at a time: they are put where they go if all of them tell something
  std::size_t kept = 0, far = 0;
  for (std::size_t first = 0; first < rows; first += kRowsAtOnce) {
    const std::size_t some = rows - first < kRowsAtOnce ? rows - first : kRowsAtOnce;
    const float *n = from.n + first, *total = from.total + first, *p = from.p + first;
    const double worth = from.worth;
    double *weight = to.weight + kept, *above = to.above + kept, *below = to.below + kept, *prior = to.prior + kept;
    std::uint32_t tell = 0;
    for (std::size_t r = 0; r < some; ++r) {
      const double q = static_cast<double>(p[r] > 1e-37f ? p[r] : 1e-37f);
      above[r] = static_cast<double>(n[r]) + worth;
      below[r] = static_cast<double>(total[r]) + worth / q;
      prior[r] = q;
      tell += total[r] > 1e-6f;
    }
    if (from.w) {
      for (std::size_t r = 0; r < some; ++r) weight[r] = from.w[first + r];
    }
    if (tell < some) {
      std::size_t at = 0;
      for (std::size_t r = 0; r < some; ++r) {  // one that is left out makes room for the next
        above[at] = above[r], below[at] = below[r], prior[at] = prior[r];
        if (from.w) weight[at] = weight[r];
        at += total[r] > 1e-6f;
      }
    }
    std::uint32_t beyond = 0;
    for (std::size_t r = 0; r < tell; ++r) beyond += !(below[r] < kMostBelow);
    kept += tell, far += beyond;
  }
  to.far = far > 0;
  return kept;
}

}  // namespace tb::TB_ISA
