#include "kernels/column_sums.hpp"

#include "kernels/walk.hpp"

namespace tb::TB_ISA {
namespace {

constexpr double kMaxDouble = __DBL_MAX__;

// Remembers whether anything was noted, in either width.
struct Notes {
  Mask wide{};
  bool one = false;
  TB_INLINE bool any(const Mask& m) {
    std::int64_t all = 0;
    for (int k = 0; k < W; ++k) all |= m[k];
    return all != 0;
  }
  __attribute__((always_inline)) void note(Mask m) { wide |= m; }
  __attribute__((always_inline)) void note(bool m) { one |= m; }
  bool clean() const { return !one && !any(wide); }
};

template <bool careful>
struct Sum : Notes {
  static constexpr std::size_t fields = 2;
  template <class V, std::size_t R>
  __attribute__((always_inline)) void add(const V (&x)[R], const V (&w)[R], double* acc, std::size_t size) {
    V sum = read<V>(acc);
    for (std::size_t r = 0; r < R; ++r) {
      if constexpr (careful) {
        note((x[r] < 0.0) | (x[r] > kMaxDouble));
        sum += w[r] * pick(x[r] == x[r], x[r], V{});
      } else {
        note(!((x[r] >= 0.0) & (x[r] <= kMaxDouble)));
        sum += w[r] * x[r];
      }
    }
    write(acc, sum);
    if constexpr (careful) count<V, R>(x, w, acc + size);
  }
  template <class V, std::size_t R>
  __attribute__((always_inline)) static void count(const V (&x)[R], const V (&w)[R], double* acc) {
    V n = read<V>(acc);
    for (std::size_t r = 0; r < R; ++r) n += pick(x[r] == x[r], w[r], V{});
    write(acc, n);
  }
};

template <bool careful>
struct Ones : Notes {
  static constexpr std::size_t fields = 2;
  double threshold;
  explicit Ones(double t) : threshold(t) {}
  template <class V, std::size_t R>
  __attribute__((always_inline)) void add(const V (&x)[R], const V (&w)[R], double* acc, std::size_t size) {
    V sum = read<V>(acc);
    for (std::size_t r = 0; r < R; ++r) {
      sum += pick(x[r] > threshold, w[r], V{});
      if constexpr (!careful) note(x[r] != x[r]);
    }
    write(acc, sum);
    if constexpr (careful) Sum<true>::count<V, R>(x, w, acc + size);
  }
};

template <class Op>
bool run(const RowList& b, double* acc, Op op) {
  walk(b, acc, op);
  return op.clean();
}

}  // namespace

std::size_t sums_size(std::size_t d) { return 2 * padded(d); }
bool add_sums(const RowList& b, double* acc) { return run(b, acc, Sum<false>{}); }
bool add_sums_careful(const RowList& b, double* acc) { return run(b, acc, Sum<true>{}); }
bool add_ones(const RowList& b, double threshold, double* acc) { return run(b, acc, Ones<false>{threshold}); }
bool add_ones_careful(const RowList& b, double threshold, double* acc) { return run(b, acc, Ones<true>{threshold}); }

void merge_sums(const double* slot, std::size_t d, double weight, double* n, double* s) {
  const std::size_t size = padded(d);
  for (std::size_t j = 0; j < d; ++j) {
    const std::size_t at = place(j, d);
    s[j] += slot[at];
    n[j] += weight < 0.0 ? slot[size + at] : weight;
  }
}

}  // namespace tb::TB_ISA
