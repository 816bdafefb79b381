#include "kernels/corrections.hpp"

#include "kernels/simd.hpp"

namespace tb::TB_ISA {
namespace {

typedef double Pair __attribute__((vector_size(16), aligned(8), may_alias));

TB_INLINE void add_scores(const double* G, const double* H, double whole_g, double whole_h, double ridge,
                          std::size_t wide, double* score) {
  for (std::size_t b = 0; b < wide; b += W) {
    const Vec g = load(G + b), h = load(H + b), other = whole_g - g, rest = whole_h - h;
    const Vec left = pick(rest > 0.0, rest, Vec{});
    store(score + b, load(score + b) + (g * g / (h + ridge) + other * other / (left + ridge)));
  }
}

// The rows of cell u by their bins; behind the bins those that take no part.
template <std::size_t columns>
TB_INLINE void gather(const CorrectionCells& t, const CorrectionColumn* column, std::size_t u) {
  const std::uint8_t* bin[columns];
  double* sum[columns];
  std::size_t bins[columns];
  for (std::size_t j = 0; j < columns; ++j) {
    bin[j] = column[j].bin, sum[j] = column[j].sum, bins[j] = column[j].bins;
    for (std::size_t i = 0; i < bins[j] * t.each; ++i) sum[j][i] = 0.0;
  }
  const std::size_t each = t.each;
  for (std::size_t k = t.start[u]; k < t.start[u + 1]; ++k) {
    const std::size_t q = t.order[k];
    const double* from = t.slope + q * each;
    double* to[columns];
    for (std::size_t j = 0; j < columns; ++j) {
      const std::size_t b = bin[j][q];
      to[j] = sum[j] + (b < bins[j] ? b : bins[j]) * each;
    }
    if (each == 2) {
      const Pair add = *reinterpret_cast<const Pair*>(from);
      for (std::size_t j = 0; j < columns; ++j) *reinterpret_cast<Pair*>(to[j]) += add;
      continue;
    }
    for (std::size_t e = 0; e < each; e += W) {
      const Vec add = load(from + e);
      for (std::size_t j = 0; j < columns; ++j) store(to[j] + e, load(to[j] + e) + add);
    }
  }
}

TB_INLINE void score_cell(const CorrectionCells& t, const CorrectionColumn& column) {
  const std::size_t wide = correction_wide(column.bins), both = 2 * t.slopes;
  double* whole = column.sum + column.bins * t.each;
  double* turned = whole + t.each;  // (both, wide)
  for (std::size_t e = 0; e < both; ++e) {
    double all = 0;
    for (std::size_t b = 0; b < column.bins; ++b) {
      const double here = column.sum[b * t.each + e];
      all += here;
      turned[e * wide + b] = column.ordered ? all : here;
    }
    whole[e] = all;
  }
  for (std::size_t e = 0; e < both; e += 2)
    add_scores(turned + e * wide, turned + (e + 1) * wide, whole[e], whole[e + 1], t.ridge, wide, column.score);
}

template <std::size_t columns>
void score_all(const CorrectionCells& t, const CorrectionColumn* column) {
  for (std::size_t j = 0; j < columns; ++j) {
    const std::size_t wide = correction_wide(column[j].bins);
    for (std::size_t b = 0; b < wide; ++b) column[j].score[b] = 0.0;
    double* turned = column[j].sum + (column[j].bins + 1) * t.each;
    for (std::size_t i = 0; i < 2 * t.slopes * wide; ++i) turned[i] = 0.0;
  }
  for (std::size_t u = 0; u < t.cells; ++u) {
    if (t.start[u] == t.start[u + 1]) continue;
    gather<columns>(t, column, u);
    for (std::size_t j = 0; j < columns; ++j) score_cell(t, column[j]);
  }
}

}  // namespace

void correction_scores(const CorrectionCells& t, const CorrectionColumn* column, std::size_t columns) {
  switch (columns) {
    case 1:
      return score_all<1>(t, column);
    case 2:
      return score_all<2>(t, column);
    case 3:
      return score_all<3>(t, column);
    default:
      return score_all<kCorrectionColumns>(t, column);
  }
}

void correction_nodes(const std::uint8_t* bin, std::size_t rows, bool ordered, std::uint8_t cut, std::uint8_t* out,
                      std::uint16_t* node) {
  for (std::size_t i = 0; i < rows; ++i) {
    const bool second = ordered ? bin[i] <= cut : bin[i] == cut;
    const std::uint8_t gone = out[i] | static_cast<std::uint8_t>(bin[i] == 255);
    const std::uint16_t next = static_cast<std::uint16_t>(2 * node[i] + 1 + second);
    out[i] = gone;
    node[i] = gone ? node[i] : next;
  }
}

void correction_parts(const std::uint16_t* node, const std::uint32_t* y, const double* unit, const double* share,
                      std::size_t rows, std::size_t classes, std::size_t c, const double* n, const double* e,
                      double worth, double* up, double* down) {
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t v = node[i];
    const double more = n[v * classes + c] - (y[i] == c ? unit[i] : 0.0);
    const double less = e[v * classes + c] - unit[i] * share[i];
    up[i] = v ? (more > 0.0 ? more : 0.0) + worth : 1.0;
    down[i] = v ? (less > 0.0 ? less : 0.0) + worth : 1.0;
  }
}

void correct_rows(const CorrectionRows& t) {
  const std::size_t all = t.classes * t.rows;
  const Vec step = set(t.step);
  for (std::size_t r = 0; r < t.rows; r += W) {
    Vec top = set(-__builtin_inf());
    for (std::size_t i = r; i < all; i += t.rows) {
      const Vec here = load(t.joint + i) + step * log_nonnegative(load(t.up + i) / load(t.down + i));
      store(t.to + i, here);
      top = pick(here > top, here, top);
    }
    Vec sum{};
    for (std::size_t i = r; i < all; i += t.rows) {
      const Vec e = exp_nonpositive(load(t.to + i) - top);
      store(t.share + i, e);
      sum += e;
    }
    const Vec one = 1.0 / sum;
    for (std::size_t i = r; i < all; i += t.rows) store(t.share + i, load(t.share + i) * one);
    store(t.whole + r, top + log_nonnegative(sum));
  }
}

}  // namespace tb::TB_ISA
