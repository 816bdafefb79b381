// With z = x - shift and 0 for a missing value, and m = 1 where there is a value: over the rows where both are present,
//   n_ij = sum m_i m_j     a_ij = sum z_i m_j     c_ij = sum z_i z_j     mean_ij = shift_i + a_ij / n_ij
//   s_ij = c_ij - a_ij a_ji / n_ij
// So three products of packs are all there is to do.
#include <algorithm>
#include <cmath>

#include "core/math/double_double.hpp"
#include "core/moments/scatter.hpp"
#include "core/runtime/threads.hpp"

namespace tb {
namespace {

constexpr std::size_t kSerialCells = 32768;     // cells: fewer are not worth a second thread
constexpr std::size_t kBatchBytes = 16u << 20;  // packed rows, once as numbers and once as presence
constexpr std::size_t kSharedPanels = 6;        // panels that share what they are multiplied with while it is in cache

class PairwiseScatter {
 public:
  PairwiseScatter(const ClassTable& t, double* n, double* mean, double* low, double* s)
      : t_(t),
        d_(t.x.d),
        panel_(TB_CALL(panel_width)),
        panels_((d_ + panel_ - 1) / panel_),
        shift_(class_shifts(t, false)),
        n_(n),
        a_(mean),
        low_(low),
        c_(s),
        threaded_(t.x.n * d_ >= kSerialCells) {
    for (double* out : {n, mean, low, s}) std::fill_n(out, t.classes * d_ * d_, 0.0);
  }

  void run() {
    const std::size_t width = panels_ * panel_;
    const std::size_t row_bytes = std::max<std::size_t>(width, 1) * sizeof(double);
    const std::size_t most = std::max<std::size_t>(kPackRows, kBatchBytes / row_bytes);
    RowSpans rows(t_, true);
    AlignedArray numbers(std::min(most, t_.x.n) * width), present(std::min(most, t_.x.n) * width);
    for (std::size_t begin = 0; begin < t_.x.n; begin += most) {
      const std::size_t end = std::min(t_.x.n, begin + most);
      rows.list(begin, end);
      if (pack(rows, numbers.data(), present.data())) throw_infinite(t_, begin, end);
      multiply(rows, numbers.data(), present.data());
    }
    each(t_.classes, [&](std::size_t c, int) { finish(c); });
  }

 private:
  template <class F>
  void each(std::size_t count, F&& body) const {
    if (threaded_)
      parallel_for(count, body);
    else
      for (std::size_t i = 0; i < count; ++i) body(i, 0);
  }

  bool pack(const RowSpans& rows, double* numbers, double* present) const {
    std::vector<std::uint8_t> infinite(rows.spans().size());
    std::vector<AlignedArray> scratch(static_cast<std::size_t>(threads()));
    each(infinite.size(), [&](std::size_t i, int thread) {
      const Span& span = rows.spans()[i];
      const std::size_t at = span.from * panels_ * panel_;
      const RowPick pick = rows.pick(span, scratch[static_cast<std::size_t>(thread)]);
      infinite[i] = TB_CALL(pack_with_missing, pick, shift_.data(), span.count, numbers + at, present + at);
    });
    return std::find(infinite.begin(), infinite.end(), 1) != infinite.end();
  }

  // A task is a class and some rows of panels: nobody else writes there.
  void multiply(const RowSpans& rows, const double* numbers, const double* present) const {
    const auto& spans = rows.spans();
    std::vector<std::size_t> first;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (i == 0 || rows.cls(spans[i])[0] != rows.cls(spans[i - 1])[0]) first.push_back(i);
    }
    const std::size_t classes = first.size();
    first.push_back(spans.size());
    const std::size_t groups = (panels_ + kSharedPanels - 1) / kSharedPanels;
    each(classes * groups, [&](std::size_t task, int) {
      const std::size_t p = task % groups * kSharedPanels, end = std::min(panels_, p + kSharedPanels),
                        k = task / groups;
      for (std::size_t i = first[k]; i < first[k + 1]; ++i) {
        const Span& span = spans[i];
        const std::size_t at = span.from * panels_ * panel_, to = rows.cls(span)[0] * d_ * d_;
        const Pack z{numbers + at, span.count, span.count, d_}, m{present + at, span.count, span.count, d_};
        TB_CALL(add_products, m, p, end, n_ + to, nullptr);
        TB_CALL(add_cross_products, z, m, p, end, a_ + to);
        TB_CALL(add_products, z, p, end, c_ + to, nullptr);
      }
    });
  }

  void finish(std::size_t c) const {
    double *n = n_ + c * d_ * d_, *a = a_ + c * d_ * d_, *low = low_ + c * d_ * d_, *s = c_ + c * d_ * d_;
    const double* shift = shift_.data() + c * d_;
    for (std::size_t i = 0; i < d_; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        const std::size_t ij = i * d_ + j, ji = j * d_ + i;
        const double weight = n[ij];
        const double left = weight > 0.0 ? a[ij] / weight : 0.0, right = weight > 0.0 ? a[ji] / weight : 0.0;
        s[ij] = s[ij] - weight * left * right;
        if (i == j && s[ij] < 0.0) s[ij] = 0.0;
        s[ji] = s[ij];
        n[ji] = weight;
        const Pair mean_i = weight > 0.0 ? exact_sum(shift[i], left) : Pair{};
        const Pair mean_j = weight > 0.0 ? exact_sum(shift[j], right) : Pair{};
        a[ij] = mean_i.high, low[ij] = mean_i.low;
        a[ji] = mean_j.high, low[ji] = mean_j.low;
        if (!std::isfinite(s[ij]) || !std::isfinite(a[ij]) || !std::isfinite(a[ji])) throw_overflow(t_, i);
      }
    }
  }

  ClassTable t_;
  std::size_t d_, panel_, panels_;
  std::vector<double> shift_;
  double *n_, *a_, *low_, *c_;
  bool threaded_;
};

}  // namespace

void pairwise_scatter(const ClassTable& t, bool pooled, double* n, double* mean, double* low, double* s) {
  const std::size_t size = t.x.d * t.x.d;
  if (!pooled) return PairwiseScatter(t, n, mean, low, s).run();
  AlignedArray own(t.classes * size);
  PairwiseScatter(t, n, mean, low, own.data()).run();
  std::fill_n(s, size, 0.0);
  for (std::size_t c = 0; c < t.classes; ++c) {
    for (std::size_t i = 0; i < size; ++i) s[i] += own.data()[c * size + i];
  }
}

}  // namespace tb
