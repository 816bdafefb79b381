// The arithmetic of one row. Each line here is what a table of one row adds, and in the same order: not a bit may
// differ (this file is compiled without fused operations, as NumPy is).
#include "core/row_terms.hpp"

#include <algorithm>
#include <cmath>

#include "core/exact_sum.hpp"
#include "core/parts.hpp"
#include "kernels/logs.hpp"

namespace tb {
namespace {

constexpr double kLarge = 1e140;    // squares of such numbers, times any weight there is, are finite
constexpr double kSquares = 1e290;  // a sum of them
constexpr double kHeavy = 1e15;

std::vector<double> copied(const double* from, std::size_t n) { return {from, from + n}; }

bool all_within(const std::vector<double>& x, double most) {
  return std::all_of(x.begin(), x.end(), [&](double v) { return std::abs(v) <= most; });
}

}  // namespace

NumberTerm::NumberTerm(std::size_t classes, std::size_t d) : numbers(d), classes_(classes), column_(d) {
  const auto stride = static_cast<std::ptrdiff_t>(d * sizeof(double));
  for (std::size_t j = 0; j < d; ++j) column_[j] = {reinterpret_cast<const char*>(&numbers[j]), stride, Dtype::f64};
}

bool NumberTerm::add(double* acc) {
  if (!part_) part_ = part();
  part_->add(0, 1, acc);
  return true;
}

bool NumberTerm::are_counts() const {
  return std::none_of(numbers.begin(), numbers.end(), [](double x) { return x < 0 || x > kLarge; });
}

// Gaussian

GaussianRow::GaussianRow(std::size_t classes, std::size_t d, const GaussianSums& from, const GaussianOptions& options)
    : NumberTerm(classes, d),
      n(copied(from.n, classes * d)),
      mean(copied(from.mean, classes * d)),
      low(copied(from.low, classes * d)),
      m2(copied(from.m2, classes * d)),
      options_(options),
      tame_(all_within(mean, kLarge) && all_within(m2, kSquares) && all_within(n, kHeavy)),
      mean_hat_(classes * d),
      low_hat_(classes * d),
      var_(classes * d),
      epsilon_(d),
      terms_(4 * classes * d) {}

bool GaussianRow::takes(std::size_t, double) {
  const auto fits = [](double x) { return !(std::abs(x) > kLarge); };
  return tame_ && std::all_of(numbers.begin(), numbers.end(), fits);
}

void GaussianRow::learn(std::size_t c, double w) {
  for (std::size_t j = 0; j < d(); ++j) {
    if (std::isnan(numbers[j])) continue;
    const std::size_t i = c * d() + j;
    const double x = numbers[j] + 0.0;  // not -0
    const double before = n[i];
    n[i] += w;
    if (before == 0) {
      mean[i] = x, low[i] = 0.0;
      continue;
    }
    const double share = w / n[i];
    const double delta = (x - mean[i]) + (0.0 - low[i]);
    const Pair sum = exact_sum(mean[i], low[i] + delta * share);
    mean[i] = sum.high, low[i] = sum.low;
    m2[i] += delta * delta * before * share;
  }
  part_.reset();
}

std::unique_ptr<Part> GaussianRow::part() {
  gaussian_estimate(classes(), d(), {n.data(), mean.data(), low.data(), m2.data()}, options_,
                    {mean_hat_.data(), low_hat_.data(), var_.data(), epsilon_.data()});
  gaussian_terms(mean_hat_.data(), low_hat_.data(), var_.data(), classes(), d(), terms_.data());
  return gaussian_part(row(), terms_.data(), classes());
}

// Counts

PoissonRow::PoissonRow(std::size_t classes, std::size_t d, const double* n, const double* sum, const double* alpha)
    : NumberTerm(classes, d),
      n(copied(n, classes * d)),
      sum(copied(sum, classes * d)),
      alpha_(copied(alpha, d)),
      rate_(classes * d),
      weight_(classes * d),
      bias_(classes * d) {}

bool PoissonRow::takes(std::size_t, double) { return are_counts(); }

void PoissonRow::learn(std::size_t c, double w) {
  for (std::size_t j = 0; j < d(); ++j) {
    if (std::isnan(numbers[j])) continue;
    n[c * d() + j] += w;
    sum[c * d() + j] += w * numbers[j];
  }
  part_.reset();
}

std::unique_ptr<Part> PoissonRow::part() {
  poisson_estimate(classes(), d(), n.data(), sum.data(), alpha_.data(), {rate_.data(), weight_.data(), bias_.data()});
  return linear_part(row(), weight_.data(), bias_.data(), classes(), true);
}

MultinomialRow::MultinomialRow(std::size_t classes, std::size_t d, const double* sum, const double* alpha)
    : NumberTerm(classes, d),
      sum(copied(sum, classes * d)),
      alpha_(copied(alpha, d)),
      weight_(classes * d),
      bias_(classes * d, 0.0) {}

bool MultinomialRow::takes(std::size_t, double) { return are_counts(); }

void MultinomialRow::learn(std::size_t c, double w) {
  for (std::size_t j = 0; j < d(); ++j) {
    if (!std::isnan(numbers[j])) sum[c * d() + j] += w * numbers[j];
  }
  part_.reset();
}

std::unique_ptr<Part> MultinomialRow::part() {
  for (std::size_t i = 0; i < sum.size(); ++i) weight_[i] = sum[i] + alpha_[i % d()];
  log_shares(classes(), d(), weight_.data());
  return linear_part(row(), weight_.data(), bias_.data(), classes(), false);
}

// Yes or no

ThresholdRow::ThresholdRow(std::size_t classes, std::size_t d, const double* no, const double* yes, const double* alpha,
                           double threshold)
    : NumberTerm(classes, d),
      no(copied(no, classes * d)),
      yes(copied(yes, classes * d)),
      alpha_(copied(alpha, d)),
      log_no_(classes * d),
      log_yes_(classes * d),
      by_column_(2 * classes * d),
      threshold_(threshold) {}

bool ThresholdRow::takes(std::size_t, double) { return true; }

void ThresholdRow::learn(std::size_t c, double w) {
  for (std::size_t j = 0; j < d(); ++j) {
    if (!std::isnan(numbers[j])) (numbers[j] > threshold_ ? yes : no)[c * d() + j] += w;
  }
  part_.reset();
}

std::unique_ptr<Part> ThresholdRow::part() {
  const std::size_t K = classes();
  threshold_estimate(K, d(), no.data(), yes.data(), alpha_.data(), log_no_.data(), log_yes_.data());
  for (std::size_t i = 0; i < K * d(); ++i) {
    const std::size_t to = i % d() * K + i / d();
    by_column_[to] = log_no_[i], by_column_[K * d() + to] = log_yes_[i];
  }
  return binary_part(row(), threshold_, by_column_.data(), by_column_.data() + K * d(), K);
}

// Levels

LevelsRow::LevelsRow(std::size_t classes, std::vector<LevelColumn> columns, double alpha, bool other)
    : codes(columns.size(), kNoCode),
      classes_(classes),
      columns_(std::move(columns)),
      alpha_(alpha),
      other_(other),
      down_(columns_.size() * classes),
      log_down_(columns_.size() * classes),
      log_count_(columns_.size() * classes),
      log_number_(columns_.size()),
      sum_(classes) {
  TB_CALL(logs, &alpha_, 1, &log_alpha_);
}

std::size_t LevelsRow::levels() const {
  std::size_t total = 0;
  for (const LevelColumn& column : columns_) total += column.tree.size();
  return total;
}

std::size_t LevelsRow::moves() const {
  std::size_t total = 0;
  for (const LevelColumn& column : columns_) total += column.tree.moves();
  return total;
}

void LevelsRow::write(double* count, std::int64_t* sizes) const {
  const std::size_t stride = levels();
  for (const LevelColumn& column : columns_) {
    column.tree.write(count, stride);
    count += column.tree.size();
    *sizes++ = static_cast<std::int64_t>(column.tree.size());
  }
}

bool LevelsRow::takes(std::size_t, double) {
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    if (codes[j] >= 0 && !exists(j) && !columns_[j].grows) return false;
  }
  return true;
}

void LevelsRow::learn(std::size_t c, double w) {
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    if (codes[j] < 0) continue;
    LevelColumn& column = columns_[j];
    const auto code = static_cast<std::size_t>(codes[j]);
    if (!exists(j)) {
      if (code >= column.exist.size()) column.exist.resize(code + 1, 0);
      column.exist[code] = 1;
      column.number += 1;
    }
    column.tree.add(code, c, w);
  }
  stale_ = true;
}

void LevelsRow::refresh() {
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    const double added = alpha_ * columns_[j].number;
    log_number_[j] = std::max(columns_[j].number, 1.0);
    for (std::size_t c = 0; c < classes_; ++c) down_[j * classes_ + c] = columns_[j].tree.totals()[c] + added;
  }
  TB_CALL(logs, down_.data(), down_.size(), log_down_.data());
  TB_CALL(logs, log_number_.data(), log_number_.size(), log_number_.data());
  stale_ = false;
}

//   log (n + alpha) - log (total + alpha * number), evenly shared where nothing was counted and nothing is added.
bool LevelsRow::add(double* acc) {
  if (stale_) refresh();
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    double* to = log_count_.data() + j * classes_;
    if (!exists(j)) {
      if (codes[j] != kNoCode && !other_ && static_cast<std::size_t>(codes[j]) >= columns_[j].exist.size())
        return false;
      std::fill_n(to, classes_, 1.0);
      continue;
    }
    const auto code = static_cast<std::size_t>(codes[j]);
    if (code >= columns_[j].tree.size()) {
      std::fill_n(to, classes_, alpha_);
    } else {
      for (std::size_t c = 0; c < classes_; ++c) to[c] = columns_[j].tree.counts(code)[c] + alpha_;
    }
  }
  TB_CALL(logs, log_count_.data(), log_count_.size(), log_count_.data());
  std::fill(sum_.begin(), sum_.end(), 0.0);
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    const bool known = exists(j);
    if (!known && (codes[j] == kNoCode || !other_)) continue;
    for (std::size_t c = 0; c < classes_; ++c) {
      const std::size_t i = j * classes_ + c;
      sum_[c] += down_[i] > 0 ? (known ? log_count_[i] : log_alpha_) - log_down_[i] : -log_number_[j];
    }
  }
  for (std::size_t c = 0; c < classes_; ++c) acc[c * kRows] += sum_[c];
  return true;
}

CutsRow::CutsRow(std::size_t classes, std::vector<std::vector<double>> points, std::vector<LevelColumn> columns,
                 double alpha, bool other)
    : NumberTerm(classes, points.size()),
      levels(classes, std::move(columns), alpha, other),
      points_(std::move(points)) {}

void CutsRow::cut() {
  for (std::size_t j = 0; j < d(); ++j) {
    const auto& points = points_[j];
    levels.codes[j] =
        std::isnan(numbers[j]) ? kNoCode : std::upper_bound(points.begin(), points.end(), numbers[j]) - points.begin();
  }
}

bool CutsRow::takes(std::size_t c, double w) {
  cut();
  return levels.takes(c, w);
}

void CutsRow::learn(std::size_t c, double w) { levels.learn(c, w); }

bool CutsRow::add(double* acc) {
  cut();
  return levels.add(acc);
}

}  // namespace tb
