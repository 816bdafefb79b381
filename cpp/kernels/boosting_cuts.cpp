#include "kernels/boosting_cuts.hpp"

#include <cstring>
#include <utility>

#include "kernels/simd.hpp"

namespace tb::TB_ISA {
namespace {

typedef float FloatW __attribute__((vector_size(W * 8)));  // as many as there are
constexpr std::size_t kLanes = 2 * W;

template <std::size_t lanes>
struct Lanes;
template <>
struct Lanes<2> {
  typedef float Float __attribute__((vector_size(8)));
};
template <>
struct Lanes<4> {
  typedef float Float __attribute__((vector_size(16)));
  typedef std::int32_t Whole __attribute__((vector_size(16)));
};
template <>
struct Lanes<8> {
  typedef float Float __attribute__((vector_size(32)));
  typedef std::int32_t Whole __attribute__((vector_size(32)));
};
template <>
struct Lanes<16> {
  typedef float Float __attribute__((vector_size(64)));
};

template <class V>
TB_INLINE V at(const void* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class V>
TB_INLINE void put(void* p, V v) {
  std::memcpy(p, &v, sizeof v);
}

constexpr std::size_t less_of(std::size_t a, std::size_t b) { return a < b ? a : b; }

template <std::size_t... k>
TB_INLINE FloatW every_other(FloatW a, FloatW b, std::index_sequence<k...>) {
  return __builtin_shufflevector(a, b, (2 * k)...);
}
template <std::size_t... k>
TB_INLINE FloatW the_others(FloatW a, FloatW b, std::index_sequence<k...>) {
  return __builtin_shufflevector(a, b, (2 * k + 1)...);
}

// The rows of cell u by their bins, in turn to `copies` of the sums: where bins are few, a row often has the bin of the
// row before, whose addition it would wait for.
template <std::size_t side, std::size_t slots, std::size_t columns, std::size_t copies>
TB_INLINE void gather(const TreeCells& t, const PairedColumns& c, std::size_t u) {
  constexpr std::size_t lanes = less_of(kLanes, 2 * side);
  using V = typename Lanes<lanes>::Float;
  const std::size_t room = paired_copy(c.bins, side), used = 2 * side * c.bins;
  for (std::size_t k = 0; k < copies; ++k)
    for (std::size_t i = 0; i < used; i += lanes) put(c.sum + k * room + i, V{});
  constexpr std::size_t some = less_of(kLanes, 2 * slots);
  using Some = typename Lanes<some>::Float;
  float* sum = c.sum;
  const float* gradient = t.gradient;
  const std::uint16_t* places = c.place;
  const auto add_row = [=](std::size_t q, float* copy) {
    const std::uint16_t* place = places + q * (side / slots);
    for (std::size_t e = 0; e < 2 * slots; e += some) {
      const Some add = at<Some>(gradient + 2 * slots * q + e);
      for (std::size_t j = 0; j < columns; ++j) {
        float* to = copy + place[j] + 2 * slots * j + e;
        put(to, at<Some>(to) + add);
      }
    }
  };
  const std::uint32_t *row = t.order + t.start[u], *end = t.order + t.start[u + 1];
  for (; static_cast<std::size_t>(end - row) >= copies; row += copies)
    for (std::size_t k = 0; k < copies; ++k) add_row(row[k], sum + k * room);
  for (; row < end; ++row) add_row(*row, sum);
  for (std::size_t k = 1; k < copies; ++k)
    for (std::size_t i = 0; i < used; i += lanes) put(sum + i, at<V>(sum + i) + at<V>(sum + k * room + i));
}

// Up to each bin, or of it alone, in the place of the sums; and whole, (2, columns side by side), of all.
template <std::size_t side>
TB_INLINE void add_up(const PairedColumns& c, float* whole) {
  constexpr std::size_t lanes = less_of(kLanes, 2 * side), vectors = 2 * side / lanes;
  using V = typename Lanes<lanes>::Float;
  V so_far[vectors], before[vectors];
  for (std::size_t k = 0; k < vectors; ++k) {
    so_far[k] = V{};
    for (std::size_t i = 0; i < lanes; ++i) before[k][i] = c.before[(k * lanes + i) / 2];
  }
  for (std::size_t b = 0; b < c.bins; ++b) {
    float* here = c.sum + 2 * side * b;
    for (std::size_t k = 0; k < vectors; ++k) {
      const V add = at<V>(here + k * lanes);
      put(here + k * lanes, before[k] * so_far[k] + add);
      so_far[k] += add;
    }
  }
  for (std::size_t k = 0; k < vectors; ++k)
    for (std::size_t i = 0; i < lanes; ++i) whole[(i % 2) * side + (k * lanes + i) / 2] = so_far[k][i];
}

// What both halves of the cell are worth, many bins and columns at a time.
template <std::size_t side>
TB_INLINE void score_bins(const PairedColumns& c, const float* whole, float ridge) {
  constexpr std::size_t phases = side > kLanes ? side / kLanes : 1;
  FloatW whole_g[phases], whole_h[phases];
  for (std::size_t k = 0; k < phases; ++k) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      whole_g[k][i] = whole[(k * kLanes + i) % side];
      whole_h[k][i] = whole[side + (k * kLanes + i) % side];
    }
  }
  for (std::size_t p = 0, end = side * c.bins; p < end; p += phases * kLanes) {
    for (std::size_t k = 0; k < phases; ++k) {
      const std::size_t i = p + k * kLanes;
      const FloatW first = at<FloatW>(c.sum + 2 * i), second = at<FloatW>(c.sum + 2 * i + kLanes);
      const auto all = std::make_index_sequence<kLanes>();
      const FloatW g = every_other(first, second, all), h = the_others(first, second, all);
      const FloatW other = whole_g[k] - g, rest = whole_h[k] - h;
      const FloatW one = h + ridge, two = (rest > 0.0f ? rest : FloatW{}) + ridge;
      put(c.score + i, at<FloatW>(c.score + i) + (g * g * two + other * other * one) / (one * two));
    }
  }
}

// Of several gradients, which are added up first.
TB_INLINE void find_best_sum(PairedColumns& c) {
  for (std::size_t j = 0; j < c.columns; ++j) {
    float best = 0;
    std::int32_t place = -1;
    for (std::int32_t b = 0; b < c.cuts[j]; ++b) {
      const float* score = c.score + static_cast<std::size_t>(b) * c.side + j * c.slots;
      float total = 0;
      for (std::size_t k = 0; k < c.gradients; ++k) total += score[k];
      if (!(total > kScoreMargin * best)) continue;
      best = total;
      place = b;
    }
    c.best[j] = best;
    c.at[j] = place;
  }
}

template <std::size_t side>
TB_INLINE void find_best(PairedColumns& c) {
  constexpr std::size_t lanes = less_of(kLanes, side);
  using V = typename Lanes<lanes>::Float;
  using Whole = typename Lanes<lanes>::Whole;
  for (std::size_t k = 0; k < side; k += lanes) {
    const Whole cuts = at<Whole>(c.cuts + k);
    V best{};
    Whole place = Whole{} - 1;
    for (std::size_t b = 0; b < c.bins; ++b) {
      const V score = at<V>(c.score + b * side + k);
      const Whole here = Whole{} + static_cast<std::int32_t>(b);
      const Whole more = (score > kScoreMargin * best) & (here < cuts);
      best = more ? score : best;
      place = more ? here : place;
    }
    put(c.best + k, best);
    put(c.at + k, place);
  }
}

typedef std::uint16_t NodeW __attribute__((vector_size(W * 2)));

// joint + step * log(up / down) of W rows, from r on: what leaf_ratios and boost_rows do.
TB_INLINE Vec moved(const PairedRows& t, std::size_t r, std::size_t c, Mask cell, Vec own, Vec unit) {
  Vec n, e;
  for (int q = 0; q < W; ++q) {
    const std::size_t v = 2 * std::size_t{t.node[r + static_cast<std::size_t>(q)]} + c;
    n[q] = t.n[v], e[q] = t.e[v];
  }
  const Vec more = n - pick(own == static_cast<double>(c), unit, Vec{}),
            less = e - unit * load(t.part + c * t.rows + r);
  const Vec up = pick(cell, pick(more > 0.0, more, Vec{}) + t.worth, set(1.0));
  const Vec down = pick(cell, pick(less > 0.0, less, Vec{}) + t.worth, set(1.0));
  return load(t.joint + c * t.rows + r) + t.step * log_nonnegative(up / down);
}

template <std::size_t side, std::size_t slots, std::size_t columns>
void cuts_of(const TreeCells& t, PairedColumns& c) {
  for (std::size_t i = 0; i < paired_sums(c.bins, side); ++i) c.sum[i] = 0.0f;
  for (std::size_t i = 0; i < paired_scores(c.bins, side); ++i) c.score[i] = 0.0f;
  for (std::size_t u = 0; u < t.cells; ++u) {
    if (t.start[u] == t.start[u + 1]) continue;
    float whole[2 * side];
    if (c.bins <= kFewBins)
      gather<side, slots, columns, kCopies>(t, c, u);
    else
      gather<side, slots, columns, 1>(t, c, u);
    add_up<side>(c, whole);
    score_bins<side>(c, whole, t.ridge);
  }
  if constexpr (slots == 1)
    find_best<side>(c);
  else
    find_best_sum(c);
}

}  // namespace

void paired_cuts(const TreeCells& t, PairedColumns& c) {
  switch (c.slots > 1 ? c.columns + kPairedColumns : c.columns) {
    case 1:
      return cuts_of<4, 1, 1>(t, c);
    case 2:
      return cuts_of<4, 1, 2>(t, c);
    case 3:
      return cuts_of<4, 1, 3>(t, c);
    case 4:
      return cuts_of<4, 1, 4>(t, c);
    case 5:
      return cuts_of<8, 1, 5>(t, c);
    case 6:
      return cuts_of<8, 1, 6>(t, c);
    case 7:
      return cuts_of<8, 1, 7>(t, c);
    case 8:
      return cuts_of<8, 1, 8>(t, c);
    case 9:
      return cuts_of<8, 4, 1>(t, c);
    case 10:
      return cuts_of<8, 4, 2>(t, c);
    case 11:
      return cuts_of<16, 4, 3>(t, c);
    default:
      return cuts_of<16, 4, 4>(t, c);
  }
}

void paired_counts(const std::uint16_t* node, const std::uint32_t* y, const double* w, const double* share,
                   std::size_t wide, std::size_t rows, double* sum) {
  typedef double Double2 __attribute__((vector_size(16)));
  for (std::size_t i = 0; i < rows; ++i) {  // rows of a node would wait for each other
    double* to = sum + 16 * node[i] + 4 * (i % 4);
    to[y[i]] += w[i];
    put(to + 2, at<Double2>(to + 2) + w[i] * Double2{share[i], share[wide + i]});
  }
}

// Some rows at a time in three steps: each takes long, and that of the next rows need not wait for it.
void paired_rows(const PairedRows& t) {
  constexpr std::size_t some = 32 * kBoostingLanes;
  alignas(64) double sum[some], less[some];
  for (std::size_t first = 0; first < t.rows; first += some) {
    const std::size_t end = less_of(first + some, t.rows);
    for (std::size_t r = first; r < end; r += W) {
      const Mask cell = __builtin_convertvector(at<NodeW>(t.node + r), Mask) != 0;
      for (std::size_t c = 0; c < 2; ++c)
        store(t.to + c * t.rows + r, moved(t, r, c, cell, load(t.own + r), load(t.unit + r)));
    }
    for (std::size_t r = first; r < end; r += W) {
      const Vec zero = load(t.to + r), one = load(t.to + t.rows + r);
      const Mask second = one > zero;
      const Vec top = pick(second, one, zero), e = exp_nonpositive(pick(second, zero, one) - top);
      const Vec both = 1.0 + e, of_top = 1.0 / both, of_other = e * of_top;
      store(t.share + r, pick(second, of_other, of_top));
      store(t.share + t.rows + r, pick(second, of_top, of_other));
      store(sum + (r - first), both);
      store(t.loss + r, top);
      store(less + (r - first), pick(load(t.own + r) == 1.0, one, zero));
    }
    for (std::size_t r = first; r < end; r += W)
      store(t.loss + r, load(t.loss + r) + log_nonnegative(load(sum + (r - first))) - load(less + (r - first)));
  }
}

}  // namespace tb::TB_ISA
