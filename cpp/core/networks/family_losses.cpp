// Selective KDB: the leave-one-out log-loss of every number of features and of parents, in one pass over the rows.
#include "core/networks/family_losses.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/runtime/threads.hpp"

namespace tb {
namespace {

constexpr std::size_t kSpan = 512;  // rows whose losses are summed together
constexpr double kTiny = 1e-100;

// log(product of many probabilities) without a logarithm each.
class LogProduct {
 public:
  void multiply(double p) {
    const double next = product_ * p;
    if (__builtin_expect(next < kTiny, 0))
      small(p);
    else
      product_ = next;
  }
  void add(double log) { sum_ += log; }
  double value() const { return sum_ + std::log(product_); }

 private:
  void small(double p) {  // each by itself: their product may vanish
    sum_ += std::log(product_) + std::log(std::max(p, 1e-300));
    product_ = 1.0;
  }
  double product_ = 1.0;
  double sum_ = 0.0;
};

// One level of one family, ready to be read.
struct Order {
  const double* p;
  const double* n;
  const double* total;
  std::vector<double> inverse;  // 1 / (total - 1 + a): no division for a row of weight 1
  double a;                     // concentration of what stands in for a cell that is empty
  double base;                  // that, or below 0 for the estimate with one parent less
  std::size_t parent;           // the column whose code leads here (not for the first)
  std::size_t parents_size;
};

struct Step {
  std::size_t child;
  std::size_t size;
  std::vector<Order> order;
};

std::vector<Step> steps_of(const Ladder& l) {
  std::vector<Step> out;
  for (std::size_t f = 0; f < l.levels.size(); ++f) {
    const auto child = static_cast<std::size_t>(l.families.child[f]);
    const double N = std::max(l.smoothing.levels[child], 1.0);
    Step step{child, static_cast<std::size_t>(l.size[child]), {}};
    for (std::size_t k = 0; k < l.levels[f].size(); ++k) {
      const Level& level = l.levels[f][k];
      Order order{level.p.data(), level.n.data(), level.total.data(), {}, l.smoothing.alpha * N, 1.0 / N, 0, 0};
      if (k > 0) {
        const std::int64_t i = l.families.parent_start[f] + static_cast<std::int64_t>(k) - 1;
        order.parent = static_cast<std::size_t>(l.families.parent[i]);
        order.parents_size = static_cast<std::size_t>(l.size[order.parent]);
        if (l.concentration) {
          order.a = l.concentration[i];
          order.base = -1.0;
        }
      }
      for (const double total : level.total) order.inverse.push_back(1.0 / (total - 1.0 + order.a));
      step.order.push_back(std::move(order));
    }
    out.push_back(std::move(step));
  }
  return out;
}

// The rows [first, first + count) of one span: all of them take a step before the next one, whose tables then lie in
// cache. K classes, or any number if K is 0.
template <class T, std::size_t K>
class Walk {
 public:
  Walk(const Ladder& ladder, const T* codes, std::size_t n, const std::int32_t* y, const double* w, std::size_t first)
      : codes_(codes), n_(n), classes_(ladder.classes), levels_(ladder.most + 1) {
    for (std::size_t r = first; r < std::min(n, first + kSpan); ++r) {
      const double weight = w ? w[r] : 1.0;
      if (y[r] < 0 || !(weight > 0)) continue;
      // a row of weight 2 is two rows, of which one is left out
      const Row row{r, static_cast<std::size_t>(y[r]), weight, std::min(weight, 1.0)};
      rows_.push_back(row);
      for (std::size_t k = 0; k < levels_; ++k) {
        for (std::size_t c = 0; c < classes(); ++c)
          post_.push_back(ladder.class_weight[c] - (c == row.y ? row.unit : 0.0));
        share_.push_back(share(post_.data() + post_.size() - classes(), row.y));
      }
    }
  }

  // out[k]: the loss of all rows after this step, with up to k parents.
  void take(const Step& step, double* out, std::size_t stride) {
    each_row(out, stride, [&](const Row& row, double* post, double* shares) {
      const T x = codes_[step.child * n_ + row.r];
      if (x != kNoCode<T>) feature(step, x, row, post, shares);
    });
  }

  // The same for real column j.
  void take(const Ladder::Reals& reals, std::size_t j, double* out, std::size_t stride) {
    each_row(out, stride, [&](const Row& row, double* post, double* shares) {
      for (std::size_t k = 0; k < levels_; ++k) {
        const double* log = reals.log + ((j * (reals.most + 1) + std::min(k, reals.most)) * n_ + row.r) * classes();
        const double top = *std::max_element(log, log + classes());
        if (!std::isfinite(top)) continue;  // too far from every class to tell
        for (std::size_t c = 0; c < classes(); ++c) post[k * classes() + c] *= std::exp(log[c] - top);
        shares[k] = share(post + k * classes(), row.y);
      }
    });
  }

 private:
  struct Row {
    std::size_t r, y;
    double weight, unit;
  };

  // f(row, its posteriors, its shares) multiplies what a column says into them.
  template <class F>
  void each_row(double* out, std::size_t stride, F&& f) {
    std::vector<LogProduct> loss(levels_);
    double* post = post_.data();
    double* shares = share_.data();
    for (const Row& row : rows_) {
      f(row, post, shares);
      for (std::size_t k = 0; k < levels_; ++k) {
        if (row.weight == 1.0)
          loss[k].multiply(shares[k]);
        else
          loss[k].add(row.weight * std::log(std::max(shares[k], 1e-300)));
      }
      post += levels_ * classes();
      shares += levels_;
    }
    for (std::size_t k = 0; k < levels_; ++k) out[k * stride] = -loss[k].value();
  }

  std::size_t classes() const { return K ? K : classes_; }

  // P(y) among the products of one level, which are kept away from 0.
  double share(double* post, std::size_t y) const {
    double sum = 0;
    for (std::size_t c = 0; c < classes(); ++c) sum += post[c];
    if (__builtin_expect(!(sum > kTiny), 0)) {
      for (std::size_t c = 0; c < classes(); ++c) post[c] = sum > 0 ? post[c] / sum : 1.0;  // all 0: nothing is known
      sum = sum > 0 ? 1.0 : static_cast<double>(classes());
    }
    return post[y] / sum;
  }

  // Multiplies P(x | class, the first k parents) into each posterior, the row itself taken out of its class.
  void feature(const Step& step, std::size_t x, const Row& row, double* post, double* shares) const {
    std::size_t cell = 0, k = 0;
    double own = 0;
    const double* p = nullptr;
    for (; k < step.order.size(); ++k) {
      const Order& order = step.order[k];
      if (k > 0) {
        const T v = codes_[order.parent * n_ + row.r];
        if (v == kNoCode<T>) break;  // the estimate without this parent, and those after it, stands in
        cell = cell * order.parents_size + v;
      }
      const std::size_t at = (cell * step.size + x) * classes();
      const double n = order.n[at + row.y] - row.unit, base = order.base < 0 ? own : order.base;
      const double total = order.total[cell * classes() + row.y] - row.unit + order.a;
      const double up = std::max(n + order.a * base, 0.0);
      if (__builtin_expect(!(total > 0), 0))
        own = base;
      else if (row.unit == 1.0)
        own = up * order.inverse[cell * classes() + row.y];
      else
        own = up / total;
      p = order.p + at;
      shares[k] = multiply(post + k * classes(), p, own, row.y);
    }
    for (; k < levels_; ++k) shares[k] = multiply(post + k * classes(), p, own, row.y);
  }

  double multiply(double* post, const double* p, double own, std::size_t y) const {
    if constexpr (K > 0) {  // in registers: what was just stored is not read back
      double now[K], sum = 0, mine = 0;
      for (std::size_t c = 0; c < K; ++c) {
        now[c] = post[c] * (c == y ? own : p[c]);
        sum += now[c];
        mine = c == y ? now[c] : mine;
      }
      for (std::size_t c = 0; c < K; ++c) post[c] = now[c];
      if (__builtin_expect(sum > kTiny, 1)) return mine / sum;
    } else {
      for (std::size_t c = 0; c < classes_; ++c) post[c] *= c == y ? own : p[c];
    }
    return share(post, y);
  }

  const T* codes_;
  std::size_t n_;
  std::size_t classes_;
  std::size_t levels_;
  std::vector<Row> rows_;
  std::vector<double> post_;   // (rows, levels, classes)
  std::vector<double> share_;  // (rows, levels)
};

template <class T, std::size_t K>
void walk_span(const Ladder& ladder, const std::vector<Step>& steps, const T* codes, const std::int32_t* y,
               const double* w, std::size_t n, std::size_t first, double* out) {
  Walk<T, K> walk(ladder, codes, n, y, w, first);
  const std::vector<std::int32_t>& all = ladder.reals.step;
  for (std::size_t s = 0, f = 0; s < all.size(); ++s) {
    if (all[s] < 0)
      walk.take(steps[f++], out + s, all.size());
    else
      walk.take(ladder.reals, static_cast<std::size_t>(all[s]), out + s, all.size());
  }
}

}  // namespace

Ladder::Ladder(const Counts& counts, const Tables& tables, const Families& f, const Smoothing& s, const double* a,
               const double* weight, Reals r)
    : classes(counts.classes),
      size(tables.size),
      families(f),
      smoothing(s),
      concentration(a),
      class_weight(weight),
      reals(std::move(r)),
      most(reals.most),
      levels(f.count) {
  for (std::size_t i = 0; i < f.count; ++i) most = std::max(most, f.parents(i));
  parallel_for(f.count, [&](std::size_t i, int) {
    levels[i] = family_levels(counts, tables, families, i, smoothing, concentration);
  });
}

template <class T>
void family_losses(const Ladder& ladder, const T* codes, const std::int32_t* y, const double* w, std::size_t n,
                   double* out) {
  const std::size_t spans = (n + kSpan - 1) / kSpan, cells = (ladder.most + 1) * ladder.reals.step.size();
  const std::vector<Step> steps = steps_of(ladder);
  std::vector<double> each(spans * cells);
  const auto walk = ladder.classes == 2   ? walk_span<T, 2>
                    : ladder.classes == 3 ? walk_span<T, 3>
                    : ladder.classes == 4 ? walk_span<T, 4>
                                          : walk_span<T, 0>;
  parallel_for(spans,
               [&](std::size_t s, int) { walk(ladder, steps, codes, y, w, n, s * kSpan, each.data() + s * cells); });
  std::fill_n(out, cells, 0.0);
  for (std::size_t s = 0; s < spans; ++s) {
    for (std::size_t i = 0; i < cells; ++i) out[i] += each[s * cells + i];
  }
}

template void family_losses(const Ladder&, const std::uint8_t*, const std::int32_t*, const double*, std::size_t,
                            double*);
template void family_losses(const Ladder&, const std::uint16_t*, const std::int32_t*, const double*, std::size_t,
                            double*);
template void family_losses(const Ladder&, const std::uint32_t*, const std::int32_t*, const double*, std::size_t,
                            double*);

}  // namespace tb
