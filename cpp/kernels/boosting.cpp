#include "kernels/boosting.hpp"

#include <cstring>

#include "kernels/simd.hpp"

namespace tb::TB_ISA {
namespace {

typedef float FloatW __attribute__((vector_size(W * 8)));               // as many as there are
typedef float Float8 __attribute__((vector_size(W < 4 ? W * 8 : 32)));  // up to 8

template <class V>
TB_INLINE V at(const float* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class V>
TB_INLINE void put(float* p, V v) {
  std::memcpy(p, &v, sizeof v);
}

// Slopes up to which bins without rows are skipped, where four in five are such: of more, or among more rows, to
// leap takes longer than to divide.
constexpr std::size_t kFewGradients = 8;

// What a half and the other half of a cell are worth: g^2 / (h + ridge) of both.
template <class V>
TB_INLINE V worth(V g, V h, V whole_g, V whole_h, float ridge) {
  const V other = whole_g - g, rest = whole_h - h;
  const V one = h + ridge, two = (rest > 0.0f ? rest : V{}) + ridge;
  return (g * g * two + other * other * one) / (one * two);
}

template <std::size_t columns, class V>
TB_INLINE void clear(const CutColumn* column, std::size_t each) {
  for (std::size_t j = 0; j < columns; ++j)
    for (std::size_t i = 0, end = column[j].bins * each; i < end; i += sizeof(V) / sizeof(float))
      put(column[j].sum + i, V{});
}

// The rows of cell u by their bins; behind the bins those that take no part. V: of the gradients of a row.
template <std::size_t columns, class V>
TB_INLINE void gather(const TreeCells& t, const CutColumn* column, std::size_t each, std::size_t u) {
  constexpr std::size_t lanes = sizeof(V) / sizeof(float);
  const std::uint8_t* bin[columns];
  float* sum[columns];
  for (std::size_t j = 0; j < columns; ++j) bin[j] = column[j].bin, sum[j] = column[j].sum;
  const float* gradient = t.gradient;
  const std::uint32_t* end = t.order + t.start[u + 1];
  for (const std::uint32_t* row = t.order + t.start[u]; row < end; ++row) {
    const std::size_t q = *row;
    float* to[columns];
    for (std::size_t j = 0; j < columns; ++j) to[j] = sum[j] + bin[j][q] * each;
    for (std::size_t e = 0; e < each; e += lanes) {
      const V add = at<V>(gradient + q * each + e);
      for (std::size_t j = 0; j < columns; ++j) put<V>(to[j] + e, at<V>(to[j] + e) + add);
    }
  }
}

// Many classes at a time, which are added up last.
template <bool ordered, class V>
TB_INLINE void score_classes(const CutColumn& column, std::size_t gradients, float ridge) {
  const std::size_t bins = column.bins;
  float* all = column.sum + 2 * (bins + 1) * gradients;
  for (std::size_t c = 0; c < gradients; c += sizeof(V) / sizeof(float)) {
    V whole_g{}, whole_h{}, g{}, h{};
    const float* here = column.sum + c;
    for (std::size_t b = 0; b < bins; ++b) {
      whole_g += at<V>(here + 2 * b * gradients);
      whole_h += at<V>(here + (2 * b + 1) * gradients);
    }
    for (std::size_t b = 0; b < bins; ++b) {
      const V more = at<V>(here + 2 * b * gradients), hessian = at<V>(here + (2 * b + 1) * gradients);
      g = ordered ? g + more : more;
      h = ordered ? h + hessian : hessian;
      float* to = all + b * gradients + c;
      put<V>(to, at<V>(to) + worth<V>(g, h, whole_g, whole_h, ridge));
    }
  }
}

// The bins of a column that cell u has rows in, in their order: how many.
TB_INLINE std::size_t used_bins(const TreeCells& t, const CutColumn& column, std::size_t u, std::uint8_t* used) {
  std::uint64_t bits[4] = {};
  for (std::uint32_t k = t.start[u]; k < t.start[u + 1]; ++k) {
    const std::size_t b = column.bin[t.order[k]];
    bits[b / 64] |= std::uint64_t{1} << b % 64;
  }
  if (column.bins < 256) bits[column.bins / 64] &= ~(std::uint64_t{1} << column.bins % 64);  // takes no part
  std::size_t count = 0;
  for (std::size_t k = 0; k < 4; ++k)
    for (std::uint64_t left = bits[k]; left; left &= left - 1)
      used[count++] = static_cast<std::uint8_t>(64 * k + static_cast<std::size_t>(__builtin_ctzll(left)));
  return count;
}

// The same for a cell with less rows than the column has bins: those without rows are worth what is known already. What
// was gathered is cleared.
template <bool ordered, class V>
TB_INLINE void score_few(const CutColumn& column, std::size_t gradients, float ridge, const std::uint8_t* used,
                         std::size_t count) {
  const std::size_t bins = column.bins;
  float* all = column.sum + 2 * (bins + 1) * gradients;
  const auto add = [&](std::size_t first, std::size_t end, std::size_t c, V value) {
    for (float* to = all + first * gradients + c; first < end; ++first, to += gradients) put<V>(to, at<V>(to) + value);
  };
  for (std::size_t c = 0; c < gradients && count; c += sizeof(V) / sizeof(float)) {
    V whole_g{}, whole_h{}, g{}, h{};
    float* here = column.sum + c;
    for (std::size_t i = 0; i < count; ++i) {
      whole_g += at<V>(here + 2 * used[i] * gradients);
      whole_h += at<V>(here + (2 * used[i] + 1) * gradients);
    }
    const V none = worth<V>(g, h, whole_g, whole_h, ridge);
    add(0, used[0], c, none);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t b = used[i], next = i + 1 < count ? used[i + 1] : bins;
      const V more = at<V>(here + 2 * b * gradients), hessian = at<V>(here + (2 * b + 1) * gradients);
      put<V>(here + 2 * b * gradients, V{});
      put<V>(here + (2 * b + 1) * gradients, V{});
      g = ordered ? g + more : more;
      h = ordered ? h + hessian : hessian;
      const V value = worth<V>(g, h, whole_g, whole_h, ridge);
      add(b, ordered ? next : b + 1, c, value);
      if (!ordered) add(b + 1, next, c, none);
    }
  }
}

template <std::size_t columns, class V, class Two>
TB_INLINE void score_all(const TreeCells& t, const CutColumn* column) {
  const std::size_t gradients = padded_gradients(t.gradients);
  for (std::size_t j = 0; j < columns; ++j) {
    const std::size_t room = cut_room(column[j].bins, t.gradients), wide = padded_bins(column[j].bins);
    for (std::size_t i = 2 * gradients * (column[j].bins + 1); i < room; ++i) column[j].sum[i] = 0.0f;
    for (std::size_t b = 0; b < wide; ++b) column[j].score[b] = 0.0f;
  }
  bool cleared = false;
  for (std::size_t u = 0; u < t.cells; ++u) {
    const std::size_t rows = t.start[u + 1] - t.start[u];
    if (rows == 0) continue;
    if (!cleared) clear<columns, Two>(column, 2 * gradients);
    gather<columns, Two>(t, column, 2 * gradients, u);
    cleared = true;
    for (std::size_t j = 0; j < columns; ++j) {
      if (gradients <= kFewGradients && 4 * rows <= column[j].bins) {
        std::uint8_t used[256];
        const std::size_t count = used_bins(t, column[j], u, used);
        column[j].ordered ? score_few<true, V>(column[j], gradients, t.ridge, used, count)
                          : score_few<false, V>(column[j], gradients, t.ridge, used, count);
      } else {
        column[j].ordered ? score_classes<true, V>(column[j], gradients, t.ridge)
                          : score_classes<false, V>(column[j], gradients, t.ridge);
        cleared = false;
      }
    }
  }
  for (std::size_t j = 0; j < columns; ++j) {
    const float* all = column[j].sum + 2 * (column[j].bins + 1) * gradients;
    for (std::size_t b = 0; b < column[j].bins; ++b) {
      float total = 0;
      for (std::size_t c = 0; c < t.gradients; ++c) total += all[b * gradients + c];
      column[j].score[b] = total;
    }
  }
}

template <std::size_t columns>
void score_all(const TreeCells& t, const CutColumn* column) {
  if (t.gradients <= 8) return score_all<columns, Float8, FloatW>(t, column);
  return score_all<columns, FloatW, FloatW>(t, column);
}

}  // namespace

void sample_half(const std::uint64_t* key, std::size_t rows, std::uint64_t salt, std::uint8_t* taken) {
  for (std::size_t i = 0; i < rows; ++i) taken[i] = static_cast<std::uint8_t>(1 - (splitmix64(key[i] + salt) >> 63));
}

double holdout_weights(const std::uint8_t* taken, const double* w, std::size_t rows, double* judge) {
  double sum[8] = {};  // a sum waits for the one before
  std::size_t i = 0;
  for (; i + 8 <= rows; i += 8)
    for (std::size_t q = 0; q < 8; ++q) sum[q] += judge[i + q] = w[i + q] * (1 - taken[i + q]);
  for (; i < rows; ++i) sum[0] += judge[i] = w[i] * (1 - taken[i]);
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

void cut_scores(const TreeCells& t, const CutColumn* column, std::size_t columns) {
  switch (columns) {
    case 1:
      return score_all<1>(t, column);
    case 2:
      return score_all<2>(t, column);
    case 3:
      return score_all<3>(t, column);
    default:
      return score_all<kCutColumns>(t, column);
  }
}

void descend_rows(const std::uint8_t* bin, std::size_t rows, bool ordered, std::uint8_t cut, std::uint8_t* out,
                  std::uint16_t* node) {
  for (std::size_t i = 0; i < rows; ++i) {
    const bool second = ordered ? bin[i] <= cut : bin[i] == cut;
    const std::uint8_t gone = out[i] | static_cast<std::uint8_t>(bin[i] == 255);
    const std::uint16_t next = static_cast<std::uint16_t>(2 * node[i] + 1 + second);
    out[i] = gone;
    node[i] = gone ? node[i] : next;
  }
}

void leaf_ratios(const std::uint16_t* node, const std::uint32_t* y, const double* unit, const double* share,
                 std::size_t rows, std::size_t classes, std::size_t c, const double* n, const double* e, double worth,
                 double* up, double* down) {
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t v = node[i];
    const double more = n[v * classes + c] - (y[i] == c ? unit[i] : 0.0);
    const double less = e[v * classes + c] - unit[i] * share[i];
    up[i] = v ? (more > 0.0 ? more : 0.0) + worth : 1.0;
    down[i] = v ? (less > 0.0 ? less : 0.0) + worth : 1.0;
  }
}

void boost_rows(const BoostedRows& t) {
  const Vec step = set(t.step);
  for (std::size_t r = 0; r < t.rows; r += W) {
    const Vec own = load(t.own + r);
    Vec top = set(-__builtin_inf()), mine{};
    for (std::size_t c = 0, i = r; c < t.classes; ++c, i += t.rows) {
      const Vec here = load(t.joint + i) + step * log_nonnegative(load(t.up + i) / load(t.down + i));
      store(t.to + i, here);
      top = pick(here > top, here, top);
      mine = pick(own == static_cast<double>(c), here, mine);
    }
    const std::size_t end = t.classes * t.rows;
    Vec sum{};
    for (std::size_t i = r; i < end; i += t.rows) {
      const Vec e = exp_nonpositive(load(t.to + i) - top);
      store(t.share + i, e);
      sum += e;
    }
    const Vec one = 1.0 / sum;
    for (std::size_t i = r; i < end; i += t.rows) store(t.share + i, load(t.share + i) * one);
    store(t.loss + r, top + log_nonnegative(sum) - mine);
  }
}

double loss_reduction(const double* before, const double* after, const double* w, std::size_t rows) {
  Vec sum{};
  for (std::size_t r = 0; r < rows; r += W) sum += load(w + r) * (load(before + r) - load(after + r));
  double all = 0;
  for (int q = 0; q < W; ++q) all += sum[q];
  return all;
}

}  // namespace tb::TB_ISA
