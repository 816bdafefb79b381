#include "kernels/cut_points.hpp"

#include "kernels/simd.hpp"

namespace tb::TB_ISA {

constexpr double kMaxDouble = 1.7976931348623157e308;

bool any_infinite(const double* value, std::size_t count) {
  Mask found[2] = {};
  std::size_t i = 0;
  for (; i + 2 * W <= count; i += 2 * W) {
    for (int v = 0; v < 2; ++v) {
      const Vec x = load(value + i + v * W);
      found[v] |= Mask(x > kMaxDouble) | Mask(x < -kMaxDouble);
    }
  }
  std::int64_t any = 0;
  for (int k = 0; k < W; ++k) any |= found[0][k] | found[1][k];
  for (; i < count; ++i) any |= value[i] > kMaxDouble || value[i] < -kMaxDouble;
  return any != 0;
}

void widen(const double* value, std::size_t count, double* low, double* high) {
  Vec lo[4], hi[4];  // four of each hide the latency
  for (int v = 0; v < 4; ++v) lo[v] = set(*low), hi[v] = set(*high);
  std::size_t i = 0;
  for (; i + 4 * W <= count; i += 4 * W) {
    for (int v = 0; v < 4; ++v) {
      const Vec x = load(value + i + v * W);
      lo[v] = x < lo[v] ? x : lo[v];
      hi[v] = x > hi[v] ? x : hi[v];
    }
  }
  for (int v = 0; v < 4; ++v) {
    for (int k = 0; k < W; ++k) {
      *low = lo[v][k] < *low ? lo[v][k] : *low;
      *high = hi[v][k] > *high ? hi[v][k] : *high;
    }
  }
  for (; i < count; ++i) {
    *low = value[i] < *low ? value[i] : *low;
    *high = value[i] > *high ? value[i] : *high;
  }
}

constexpr std::size_t kMaxCompared = 48;  // up to here comparing with every cut beats searching
constexpr std::size_t kRun = 256;         // values searched side by side

// Comparisons are 0 or -1 in each lane: their sum is minus the code. Four vectors at a time hide their latency.
TB_INLINE void compare_all(const double* value, const double* cut, std::size_t m, std::int64_t* code) {
  Mask n[4];
  Vec x[4];
  for (int v = 0; v < 4; ++v) {
    x[v] = load(value + v * W);
    n[v] = Mask(x[v] != x[v]);  // NaN lies right of no cut: its -1 stays
  }
  for (int v = 0; v < 4; ++v) n[v] = -n[v];
  for (std::size_t j = 0; j < m; ++j) {
    const Vec c = set(cut[j]);
    for (int v = 0; v < 4; ++v) n[v] += Mask(x[v] >= c);
  }
  for (int v = 0; v < 4; ++v) *reinterpret_cast<MaskU*>(code + v * W) = -n[v];
}

// Binary search without branches, one step for all values before the next step, so that the loads overlap.
TB_INLINE void search(const double* value, std::size_t count, const double* cut, std::size_t m, std::int64_t* code) {
  for (std::size_t i = 0; i < count; ++i) code[i] = 0;
  std::int64_t left = static_cast<std::int64_t>(m);
  while (left > 0) {  // code[i] cuts are known to be <= value[i], and at most `left` more are
    const std::int64_t half = (left + 1) / 2;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t step = cut[code[i] + half - 1] <= value[i] ? half : 0;
      code[i] += step;
    }
    left -= half;
  }
  for (std::size_t i = 0; i < count; ++i) code[i] = value[i] == value[i] ? code[i] : -1;
}

template <class Code>
TB_INLINE void count_runs(const double* value, std::size_t count, const double* cut, std::size_t m, Code* out) {
  std::int64_t code[kRun];
  for (std::size_t first = 0; first < count; first += kRun) {
    const std::size_t run = count - first < kRun ? count - first : kRun;
    std::size_t i = 0;
    if (m <= kMaxCompared) {
      for (; i + 4 * W <= run; i += 4 * W) compare_all(value + first + i, cut, m, code + i);
    }
    search(value + first + i, run - i, cut, m, code + i);
    for (std::size_t k = 0; k < run; ++k) out[first + k] = static_cast<Code>(code[k]);
  }
}

void count_cuts(const double* value, std::size_t count, const double* cut, std::size_t m, std::int8_t* code) {
  count_runs(value, count, cut, m, code);
}
void count_cuts(const double* value, std::size_t count, const double* cut, std::size_t m, std::int16_t* code) {
  count_runs(value, count, cut, m, code);
}
void count_cuts(const double* value, std::size_t count, const double* cut, std::size_t m, std::int32_t* code) {
  count_runs(value, count, cut, m, code);
}

}  // namespace tb::TB_ISA
