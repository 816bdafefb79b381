// Selective KDB: the leave-one-out log-loss of every number of features and of parents, in one pass over the rows.
#include "core/family_losses.hpp"

#include <algorithm>
#include <cmath>

#include "core/threads.hpp"

namespace tb {
namespace {

constexpr std::size_t kSpan = 1024;   // rows whose losses are summed together
constexpr double kTiny = 1e-200;

// log(product of many probabilities) without a logarithm each.
class LogProduct {
 public:
  void multiply(double p) {
    if (p < 1e-100) return add(std::log(p));  // two such would be zero
    product_ *= p;
    if (product_ < kTiny) flush();
  }
  double value() {
    flush();
    return sum_;
  }
  void add(double log) { sum_ += log; }

 private:
  void flush() {
    sum_ += std::log(product_);
    product_ = 1.0;
  }
  double product_ = 1.0;
  double sum_ = 0.0;
};

template <class T>
class Walk {
 public:
  Walk(const Ladder& ladder, const T* codes, std::size_t n)
      : l_(ladder), codes_(codes), n_(n), post_((ladder.most + 1) * ladder.classes),
        loss_((ladder.most + 1) * ladder.reals.step.size()) {}

  void row(std::size_t r, std::size_t y, double w) {
    const std::size_t K = l_.classes;
    const double unit = std::min(w, 1.0);  // a row of weight 2 is two rows, of which one is left out
    for (std::size_t k = 0; k <= l_.most; ++k) {
      for (std::size_t c = 0; c < K; ++c) post_[k * K + c] = l_.class_weight[c] - (c == y ? unit : 0.0);
    }
    const std::size_t steps = l_.reals.step.size();
    for (std::size_t s = 0, f = 0; s < steps; ++s) {
      if (l_.reals.step[s] >= 0) {
        real(static_cast<std::size_t>(l_.reals.step[s]), r);
      } else {
        if (codes_[static_cast<std::size_t>(l_.families.child[f]) * n_ + r] != kNoCode<T>) feature(f, r, y, unit);
        ++f;
      }
      for (std::size_t k = 0; k <= l_.most; ++k) {
        LogProduct& loss = loss_[k * steps + s];
        const double p = normalise(post_.data() + k * K, y);
        if (w == 1.0) loss.multiply(p);
        else loss.add(w * std::log(p));
      }
    }
  }

  void write(double* out) {
    for (LogProduct& l : loss_) *out++ = -l.value();
  }

 private:
  double normalise(double* post, std::size_t y) const {
    double sum = 0;
    for (std::size_t c = 0; c < l_.classes; ++c) sum += post[c];
    if (!(sum > 0)) {  // every class impossible: nothing is known
      for (std::size_t c = 0; c < l_.classes; ++c) post[c] = 1.0;
      sum = static_cast<double>(l_.classes);
    }
    const double scale = 1.0 / sum;
    for (std::size_t c = 0; c < l_.classes; ++c) post[c] *= scale;
    return std::max(post[y], 1e-300);
  }

  void real(std::size_t j, std::size_t r) {
    const std::size_t K = l_.classes;
    for (std::size_t k = 0; k <= l_.most; ++k) {
      const std::size_t level = std::min(k, l_.reals.most);
      const double* log = l_.reals.log + ((j * (l_.reals.most + 1) + level) * n_ + r) * K;
      const double top = *std::max_element(log, log + K);
      if (!std::isfinite(top)) continue;  // too far from every class to tell
      for (std::size_t c = 0; c < K; ++c) post_[k * K + c] *= std::exp(log[c] - top);
    }
  }

  // Multiplies P(x | class, the first k parents) into each posterior, the row itself taken out of its class.
  void feature(std::size_t f, std::size_t r, std::size_t y, double unit) {
    const std::size_t K = l_.classes, child = static_cast<std::size_t>(l_.families.child[f]);
    const std::vector<Level>& levels = l_.levels[f];
    const auto size = static_cast<std::size_t>(l_.size[child]);
    const std::size_t x = codes_[child * n_ + r];
    std::size_t cell = 0;
    double own = 0;
    const Level* level = nullptr;
    for (std::size_t l = 0; l <= l_.most; ++l) {
      if (l < levels.size() && (l == 0 || known(f, l - 1, r, cell))) {
        level = &levels[l];
        own = left_out(f, l, cell, x, y, unit, own, size);
      }
      const double* p = level->p.data() + (cell * size + x) * K;  // a parent missing: the estimate without it
      double* post = post_.data() + l * K;
      for (std::size_t c = 0; c < K; ++c) post[c] *= c == y ? own : p[c];
    }
  }

  bool known(std::size_t f, std::size_t i, std::size_t r, std::size_t& cell) const {
    const auto j = static_cast<std::size_t>(l_.families.parent[l_.families.parent_start[f] + static_cast<std::int64_t>(i)]);
    const T v = codes_[j * n_ + r];
    if (v == kNoCode<T> || stopped(f, i, r)) return false;
    cell = cell * static_cast<std::size_t>(l_.size[j]) + v;
    return true;
  }
  // Parents after one that is missing are not looked at.
  bool stopped(std::size_t f, std::size_t i, std::size_t r) const {
    for (std::size_t e = 0; e < i; ++e) {
      const auto j = static_cast<std::size_t>(l_.families.parent[l_.families.parent_start[f] + static_cast<std::int64_t>(e)]);
      if (codes_[j * n_ + r] == kNoCode<T>) return true;
    }
    return false;
  }

  double left_out(std::size_t f, std::size_t l, std::size_t cell, std::size_t x, std::size_t y, double unit, double below,
                  std::size_t size) const {
    const Level& level = l_.levels[f][l];
    const double n = level.n[(cell * size + x) * l_.classes + y] - unit, total = level.total[cell * l_.classes + y] - unit;
    const double N = std::max(l_.smoothing.levels[l_.families.child[f]], 1.0);
    double base = 1.0 / N, a = l_.smoothing.alpha * N;
    if (l > 0 && l_.strength) {
      base = below;
      a = l_.strength[l_.families.parent_start[f] + static_cast<std::int64_t>(l) - 1];
    }
    return total + a > 0 ? std::max(n + a * base, 0.0) / (total + a) : base;
  }

  const Ladder& l_;
  const T* codes_;
  std::size_t n_;
  std::vector<double> post_;
  std::vector<LogProduct> loss_;
};

}  // namespace

Ladder::Ladder(const Counts& counts, const Tables& tables, const Families& f, const Smoothing& s, const double* a,
               const double* weight, Reals r)
    : classes(counts.classes), size(tables.size), families(f), smoothing(s), strength(a), class_weight(weight),
      reals(std::move(r)), most(reals.most), levels(f.count) {
  for (std::size_t i = 0; i < f.count; ++i) most = std::max(most, f.parents(i));
  parallel_for(f.count, [&](std::size_t i, int) { levels[i] = family_levels(counts, tables, families, i, smoothing, strength); });
}

template <class T>
void family_losses(const Ladder& ladder, const T* codes, const std::int32_t* y, const double* w, std::size_t n, double* out) {
  const std::size_t spans = (n + kSpan - 1) / kSpan, cells = (ladder.most + 1) * ladder.reals.step.size();
  std::vector<double> each(spans * cells);
  parallel_for(spans, [&](std::size_t s, int) {
    Walk<T> walk(ladder, codes, n);
    for (std::size_t r = s * kSpan; r < std::min(n, (s + 1) * kSpan); ++r) {
      const double weight = w ? w[r] : 1.0;
      if (y[r] >= 0 && weight > 0) walk.row(r, static_cast<std::size_t>(y[r]), weight);
    }
    walk.write(each.data() + s * cells);
  });
  std::fill_n(out, cells, 0.0);
  for (std::size_t s = 0; s < spans; ++s) {
    for (std::size_t i = 0; i < cells; ++i) out[i] += each[s * cells + i];
  }
}

template void family_losses(const Ladder&, const std::uint8_t*, const std::int32_t*, const double*, std::size_t, double*);
template void family_losses(const Ladder&, const std::uint16_t*, const std::int32_t*, const double*, std::size_t, double*);
template void family_losses(const Ladder&, const std::uint32_t*, const std::int32_t*, const double*, std::size_t, double*);

}  // namespace tb
