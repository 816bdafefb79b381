#include "kernels/posterior.hpp"

#include "kernels/transpose.hpp"

namespace tb::TB_ISA {

std::uint64_t find_peaks(const double* acc, std::size_t rows, std::size_t classes, double* peak) {
  constexpr double inf = __builtin_inf();
  std::uint64_t odd = 0;
  for (std::size_t r = 0; r < rows; r += W) {
    Vec top = load(acc + r);
    Vec sum = top;  // NaN or +inf if anything is; -inf is harmless
    for (std::size_t c = 1; c < classes; ++c) {
      const Vec v = load(acc + c * kRows + r);
      top = pick(v > top, v, top);
      sum += v;
    }
    store(peak + r, top);
    const Mask fine = (sum < inf) & (top > -inf);
    std::int64_t all = -1;
    for (int i = 0; i < W; ++i) all &= fine[i];
    if (all != 0) continue;
    for (int i = 0; i < W; ++i) odd |= static_cast<std::uint64_t>(fine[i] == 0) << (r + i);
  }
  return rows == kRows ? odd : odd & ((std::uint64_t{1} << rows) - 1);
}

void write_joint(const double* acc, std::size_t rows, std::size_t classes, double* out) {
  write_rows(acc, rows, classes, out);
}

void write_proba(double* acc, std::size_t rows, std::size_t classes, const double* peak, double* out) {
  for (std::size_t r = 0; r < rows; r += W) {
    const Vec top = load(peak + r);
    Vec sum{};
    for (std::size_t c = 0; c < classes; ++c) {
      double* a = acc + c * kRows + r;
      const Vec e = exp_nonpositive(load(a) - top);
      sum += e;
      store(a, e);
    }
    const Vec share = 1.0 / sum;
    for (std::size_t c = 0; c < classes; ++c) {
      double* a = acc + c * kRows + r;
      store(a, load(a) * share);
    }
  }
  write_rows(acc, rows, classes, out);
}

// log p_c = (a_c - top) - log(1 + rest), rest = the sum of exp(a_k - top) without the first k that reaches the top:
// precise also where p_c is all but 1.
void write_log_proba(double* acc, std::size_t rows, std::size_t classes, const double* peak, double* out) {
  for (std::size_t r = 0; r < rows; r += W) {
    const Vec top = load(peak + r);
    Vec rest{};
    Mask found{};
    for (std::size_t c = 0; c < classes; ++c) {
      double* a = acc + c * kRows + r;
      const Vec below = load(a) - top;
      const Mask first = (below == 0.0) & ~found;
      found |= first;
      rest += pick(first, Vec{}, exp_nonpositive(below));
      store(a, below);
    }
    Vec log_sum;
    for (int i = 0; i < W; ++i) log_sum[i] = __builtin_log1p(rest[i]);
    for (std::size_t c = 0; c < classes; ++c) {
      double* a = acc + c * kRows + r;
      store(a, load(a) - log_sum);
    }
  }
  write_rows(acc, rows, classes, out);
}

void write_best(const double* acc, std::size_t rows, std::size_t classes, const double* peak, std::int64_t* out) {
  std::size_t r = 0;
  for (; r < rows; r += W) {
    const Vec top = load(peak + r);
    Mask best{};
    for (std::size_t c = classes; c-- > 0;) {  // backwards: the first of equals stays
      const Mask here = load(acc + c * kRows + r) == top;
      best = (here & static_cast<std::int64_t>(c)) | (~here & best);
    }
    for (std::size_t i = 0; i < W && r + i < rows; ++i) out[r + i] = best[i];
  }
}

void write_log_density(const double* acc, std::size_t rows, std::size_t classes, const double* peak, double* out) {
  for (std::size_t r = 0; r < rows; r += W) {
    const Vec top = load(peak + r);
    Vec sum{};
    for (std::size_t c = 0; c < classes; ++c) {
      const Vec v = load(acc + c * kRows + r);
      sum += exp_nonpositive(pick(v == top, Vec{}, v - top));  // also where both are infinite
    }
    for (std::size_t i = 0; i < W && r + i < rows; ++i) out[r + i] = top[i] + __builtin_log(sum[i]);
  }
}

}  // namespace tb::TB_ISA
