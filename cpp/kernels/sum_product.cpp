#include "kernels/sum_product.hpp"

#include "kernels/simd.hpp"

namespace tb::TB_ISA {
namespace {

// The sums of one run of the last axis. fixed: so many factors.
template <int fixed>
struct Line {
  const double* factor[fixed];
  std::size_t along[fixed], over[fixed];  // steps of the last axis that is kept, and of x

  Line(const SumProduct& s, std::size_t c0) {
    for (std::size_t f = 0; f < fixed; ++f) {
      factor[f] = s.factor[f] + c0;
      along[f] = s.axes ? s.step[f * (s.axes + 1) + s.axes - 1] : 0;
      over[f] = s.step[f * (s.axes + 1) + s.axes];
    }
  }
  __attribute__((always_inline)) Vec sum(const SumProduct&, const std::size_t* at, std::size_t v,
                                         std::size_t levels) const {
    const double* p[fixed];
    for (std::size_t f = 0; f < fixed; ++f) p[f] = factor[f] + at[f] + v * along[f];
    Vec sum{};
    for (std::size_t x = 0; x < levels; ++x) {
      Vec product = load(p[0]);
      for (std::size_t f = 1; f < fixed; ++f) product *= load(p[f]);
      sum += product;
      for (std::size_t f = 0; f < fixed; ++f) p[f] += over[f];
    }
    return sum;
  }
};

template <>
struct Line<0> {  // any number of them
  std::size_t c0;

  Line(const SumProduct&, std::size_t from) : c0(from) {}
  __attribute__((always_inline)) Vec sum(const SumProduct& s, const std::size_t* at, std::size_t v,
                                         std::size_t levels) const {
    Vec sum{};
    for (std::size_t x = 0; x < levels; ++x) {
      Vec product = set(1.0);
      for (std::size_t f = 0; f < s.factors; ++f) {
        const std::size_t* step = s.step + f * (s.axes + 1);
        product *= load(s.factor[f] + at[f] + c0 + x * step[s.axes] + (s.axes ? v * step[s.axes - 1] : 0));
      }
      sum += product;
    }
    return sum;
  }
};

template <int fixed>
void run(const SumProduct& s, std::size_t* at, std::size_t c0, std::size_t some, double* least, double* most) {
  const std::size_t last = s.axes ? s.size[s.axes - 1] : 1, levels = s.levels, others = s.axes ? s.axes - 1 : 0;
  const Line<fixed> line(s, c0);
  std::size_t* value = at + s.factors;
  for (std::size_t i = 0; i < s.factors + s.axes; ++i) at[i] = 0;
  Vec low = set(__builtin_inf()), high{};
  double* out = s.out + c0;
  for (;;) {
    for (std::size_t v = 0; v < last; ++v, out += s.classes) {
      const Vec sum = line.sum(s, at, v, levels);
      low = pick(sum < low, sum, low);
      high = pick(sum > high, sum, high);
      if (some == W) {
        store(out, sum);
      } else {
        for (std::size_t c = 0; c < some; ++c) out[c] = sum[c];
      }
    }
    std::size_t k = others;
    for (; k > 0; --k) {  // the next cell of the other axes
      const std::size_t* step = s.step + k - 1;
      for (std::size_t f = 0; f < s.factors; ++f) at[f] += step[f * (s.axes + 1)];
      if (++value[k - 1] < s.size[k - 1]) break;
      for (std::size_t f = 0; f < s.factors; ++f) at[f] -= step[f * (s.axes + 1)] * s.size[k - 1];
      value[k - 1] = 0;
    }
    if (k == 0) break;
  }
  for (std::size_t c = 0; c < some; ++c) {
    least[c0 + c] = low[c];
    most[c0 + c] = high[c];
  }
}

}  // namespace

void sum_product(const SumProduct& s, std::size_t* at, double* least, double* most) {
  for (std::size_t c0 = 0; c0 < s.classes; c0 += W) {
    const std::size_t some = s.classes - c0 < W ? s.classes - c0 : W;
    if (s.factors == 1)
      run<1>(s, at, c0, some, least, most);
    else if (s.factors == 2)
      run<2>(s, at, c0, some, least, most);
    else if (s.factors == 3)
      run<3>(s, at, c0, some, least, most);
    else if (s.factors == 4)
      run<4>(s, at, c0, some, least, most);
    else
      run<0>(s, at, c0, some, least, most);
  }
}

}  // namespace tb::TB_ISA
