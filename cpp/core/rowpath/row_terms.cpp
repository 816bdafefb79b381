// The arithmetic of one row. Each line here is what a table of one row adds, and in the same order: not a bit may
// differ (this file is compiled without fused operations, as NumPy is).
#include "core/rowpath/row_terms.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/math/double_double.hpp"
#include "core/scoring/parts.hpp"
#include "kernels/logs.hpp"

namespace tb {
namespace {

constexpr double kMaxNumber = 1e140;        // squares of such numbers, times any weight there is, are finite
constexpr double kMaxSumOfSquares = 1e290;  // a sum of them
constexpr double kMaxTotalWeight = 1e15;
constexpr double kDust = 8 * std::numeric_limits<double>::epsilon();  // left of a weight that was taken away whole
// left of a sum of squares: tables warn; the same number is in model/cancellation.py
constexpr double kCancelled = 1e-8;
constexpr double kUnlearnedBelow = -1e-9;  // below this part of a sum: more than rounding

std::vector<double> copied(const double* from, std::size_t n) { return {from, from + n}; }

void scale_all(std::vector<double>& x, double factor) {
  for (double& v : x) v *= factor;
}

// to (d, classes): from (classes, d), the other way round.
void turn(const std::vector<double>& from, std::size_t classes, double* to) {
  const std::size_t d = from.size() / classes;
  for (std::size_t c = 0; c < classes; ++c) {
    for (std::size_t j = 0; j < d; ++j) to[j * classes + c] = from[c * d + j];
  }
}

bool all_within(const std::vector<double>& x, double most) {
  return std::all_of(x.begin(), x.end(), [&](double v) { return std::abs(v) <= most; });
}

}  // namespace

double left_of(double have, double less) {
  const double left = have - less, scale = std::max(std::abs(have), std::abs(less));
  if (left < kUnlearnedBelow * scale) return -1.0;
  return left <= kDust * scale ? 0.0 : left;
}

NumberTerm::NumberTerm(std::size_t classes, std::size_t d) : numbers(d), classes_(classes), column_(d) {
  const auto stride = static_cast<std::ptrdiff_t>(d * sizeof(double));
  for (std::size_t j = 0; j < d; ++j) column_[j] = {reinterpret_cast<const char*>(&numbers[j]), stride, Dtype::f64};
}

bool NumberTerm::add(double* acc) {
  if (stale_) {
    estimate();
    if (!part_ || !part_->renew()) part_ = part();
    stale_ = false;
  }
  part_->add(0, 1, acc);
  return true;
}

const double* NumberTerm::counted(const std::vector<double>& sums, std::vector<double>& room) const {
  if (share() == 1.0) return sums.data();
  for (std::size_t i = 0; i < sums.size(); ++i) room[i] = sums[i] * share();
  return room.data();
}

bool NumberTerm::are_counts() const {
  return std::none_of(numbers.begin(), numbers.end(), [](double x) { return x < 0 || x > kMaxNumber; });
}

// Gaussian

GaussianRow::GaussianRow(std::size_t classes, std::size_t d, const GaussianSums& from, const GaussianOptions& options)
    : NumberTerm(classes, d),
      n(copied(from.n, classes * d)),
      mean(copied(from.mean, classes * d)),
      low(copied(from.low, classes * d)),
      m2(copied(from.m2, classes * d)),
      options_(options),
      tame_(all_within(mean, kMaxNumber) && all_within(m2, kMaxSumOfSquares) && all_within(n, kMaxTotalWeight)),
      n_(classes * d),
      m2_(classes * d),
      mean_hat_(classes * d),
      low_hat_(classes * d),
      var_(classes * d),
      epsilon_(d),
      terms_(4 * classes * d) {}

bool GaussianRow::takes(std::size_t, double) {
  const auto fits = [](double x) { return !(std::abs(x) > kMaxNumber); };
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
  stale_ = true;
}

GaussianRow::Cell GaussianRow::without(std::size_t i, double x, double w) const {
  const double left = left_of(n[i], w);
  if (left < 0) return {-1.0, 0.0, 0.0, 0.0};
  const double share = left > 0 ? w / left : 0.0;
  const double delta = (x - mean[i]) + (0.0 - low[i]);
  const double squares = m2[i] - delta * delta * n[i] * share;
  if (squares < kUnlearnedBelow * m2[i]) return {-1.0, 0.0, 0.0, 0.0};
  if (left == 0) return {0.0, 0.0, 0.0, 0.0};
  const Pair sum = exact_sum(mean[i], low[i] + -delta * share);
  const bool same = squares <= kDust * m2[i];  // what is left never varies: its mean is a float64
  return {left, sum.high, same ? 0.0 : sum.low, same ? 0.0 : squares};
}

bool GaussianRow::gives(std::size_t c, double w) {
  if (!takes(c, w)) return false;
  for (std::size_t j = 0; j < d(); ++j) {
    if (std::isnan(numbers[j])) continue;
    const std::size_t i = c * d() + j;
    const Cell cell = without(i, numbers[j] + 0.0, w);
    if (cell.n < 0 || (cell.n > 1 && cell.m2 < kCancelled * m2[i])) return false;
  }
  return true;
}

void GaussianRow::forget(std::size_t c, double w) {
  for (std::size_t j = 0; j < d(); ++j) {
    if (std::isnan(numbers[j])) continue;
    const std::size_t i = c * d() + j;
    const Cell cell = without(i, numbers[j] + 0.0, w);
    n[i] = cell.n, mean[i] = cell.mean, low[i] = cell.low, m2[i] = cell.m2;
  }
  for (std::size_t i = 0; i < m2.size(); ++i) {
    if (m2[i] == 0) low[i] = 0.0;
  }
  stale_ = true;
}

void GaussianRow::scale(double factor) {
  scale_all(n, factor), scale_all(m2, factor);
  stale_ = true;
}

void GaussianRow::estimate() {
  gaussian_estimate(classes(), d(), {counted(n, n_), mean.data(), low.data(), counted(m2, m2_)}, options_,
                    {mean_hat_.data(), low_hat_.data(), var_.data(), epsilon_.data()});
  gaussian_terms(mean_hat_.data(), low_hat_.data(), var_.data(), classes(), d(), terms_.data());
}

std::unique_ptr<Part> GaussianRow::part() { return gaussian_part(row(), terms_.data(), classes()); }

// Log-Gaussian

LogGaussianRow::LogGaussianRow(std::size_t classes, std::size_t d, const GaussianSums& from,
                               const GaussianOptions& options, const double* zero, const double* alpha)
    : NumberTerm(classes, d),
      logs(classes, d, from, options),
      zero(copied(zero, classes * d)),
      alpha_(copied(alpha, d)),
      n_(classes * d),
      zero_(classes * d),
      log_zero_(classes * d),
      log_above_(classes * d),
      by_column_(2 * classes * d),
      acc_(classes * kRows),
      read_(d) {
  TB_CALL(logs_of_positive, numbers.data(), d, logs.numbers.data());  // of zeros, as read_ has them
}

bool LogGaussianRow::read() {
  // a row is asked for several times: whether it can be learned, its score, and learned
  if (std::memcmp(numbers.data(), read_.data(), d() * sizeof(double)) == 0) return finite_;
  std::copy(numbers.begin(), numbers.end(), read_.begin());
  TB_CALL(logs_of_positive, numbers.data(), d(), logs.numbers.data());
  volume_ = 0.0;
  for (const double t : logs.numbers) volume_ += std::isnan(t) ? 0.0 : t;
  finite_ = std::none_of(numbers.begin(), numbers.end(), [](double x) { return std::isinf(x); });
  return finite_;
}

bool LogGaussianRow::takes(std::size_t c, double w) { return read() && logs.takes(c, w); }

void LogGaussianRow::learn(std::size_t c, double w) {
  logs.learn(c, w);
  for (std::size_t j = 0; j < d(); ++j) {
    if (numbers[j] <= 0) zero[c * d() + j] += w;
  }
  stale_ = true;
}

bool LogGaussianRow::gives(std::size_t c, double w) {
  for (std::size_t j = 0; j < d(); ++j) {
    if (numbers[j] <= 0 && left_of(zero[c * d() + j], w) < 0) return false;
  }
  return read() && logs.gives(c, w);
}

void LogGaussianRow::forget(std::size_t c, double w) {
  logs.forget(c, w);
  for (std::size_t j = 0; j < d(); ++j) {
    double& cell = zero[c * d() + j];
    if (numbers[j] <= 0) cell = left_of(cell, w);
  }
  stale_ = true;
}

void LogGaussianRow::scale(double factor) {
  logs.scale(factor), scale_all(zero, factor);
  stale_ = true;
}

void LogGaussianRow::count(double share) {
  NumberTerm::count(share), logs.count(share);
  stale_ = true;
}

void LogGaussianRow::estimate() {
  const std::size_t K = classes();
  threshold_estimate(K, d(), counted(zero, zero_), counted(logs.n, n_), alpha_.data(), log_zero_.data(),
                     log_above_.data());
  turn(log_zero_, K, by_column_.data()), turn(log_above_, K, by_column_.data() + K * d());
}

std::unique_ptr<Part> LogGaussianRow::part() {
  return binary_part(row(), 0.0, by_column_.data(), by_column_.data() + classes() * d(), classes());
}

bool LogGaussianRow::add(double* acc) {
  if (!read()) return false;
  std::fill(acc_.begin(), acc_.end(), 0.0);
  logs.add(acc_.data());
  NumberTerm::add(acc_.data());
  for (std::size_t c = 0; c < classes(); ++c) {
    const double own = acc_[c * kRows] - volume_;
    if (!std::isfinite(own)) return false;
    acc[c * kRows] += own;
  }
  return true;
}

// Counts

PoissonRow::PoissonRow(std::size_t classes, std::size_t d, const double* n, const double* sum, const double* alpha)
    : NumberTerm(classes, d),
      n(copied(n, classes * d)),
      sum(copied(sum, classes * d)),
      n_(classes * d),
      sum_(classes * d),
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
  stale_ = true;
}

bool PoissonRow::gives(std::size_t c, double w) {
  for (std::size_t j = 0; j < d(); ++j) {
    const std::size_t i = c * d() + j;
    if (!std::isnan(numbers[j]) && (left_of(n[i], w) < 0 || left_of(sum[i], w * numbers[j]) < 0)) return false;
  }
  return are_counts();
}

void PoissonRow::forget(std::size_t c, double w) {
  for (std::size_t j = 0; j < d(); ++j) {
    if (std::isnan(numbers[j])) continue;
    const std::size_t i = c * d() + j;
    n[i] = left_of(n[i], w), sum[i] = left_of(sum[i], w * numbers[j]);
  }
  stale_ = true;
}

void PoissonRow::scale(double factor) {
  scale_all(n, factor), scale_all(sum, factor);
  stale_ = true;
}

void PoissonRow::estimate() {
  poisson_estimate(classes(), d(), counted(n, n_), counted(sum, sum_), alpha_.data(),
                   {rate_.data(), weight_.data(), bias_.data()});
}

std::unique_ptr<Part> PoissonRow::part() { return linear_part(row(), weight_.data(), bias_.data(), classes(), true); }

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
  stale_ = true;
}

bool MultinomialRow::gives(std::size_t c, double w) {
  for (std::size_t j = 0; j < d(); ++j) {
    if (!std::isnan(numbers[j]) && left_of(sum[c * d() + j], w * numbers[j]) < 0) return false;
  }
  return are_counts();
}

void MultinomialRow::forget(std::size_t c, double w) {
  for (std::size_t j = 0; j < d(); ++j) {
    double& cell = sum[c * d() + j];
    if (!std::isnan(numbers[j])) cell = left_of(cell, w * numbers[j]);
  }
  stale_ = true;
}

void MultinomialRow::scale(double factor) {
  scale_all(sum, factor);
  stale_ = true;
}

void MultinomialRow::estimate() {
  for (std::size_t i = 0; i < sum.size(); ++i) weight_[i] = sum[i] * share() + alpha_[i % d()];
  log_shares(classes(), d(), weight_.data());
}

std::unique_ptr<Part> MultinomialRow::part() {
  return linear_part(row(), weight_.data(), bias_.data(), classes(), false);
}

// Yes or no

ThresholdRow::ThresholdRow(std::size_t classes, std::size_t d, const double* no, const double* yes, const double* alpha,
                           double threshold)
    : NumberTerm(classes, d),
      no(copied(no, classes * d)),
      yes(copied(yes, classes * d)),
      no_(classes * d),
      yes_(classes * d),
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
  stale_ = true;
}

bool ThresholdRow::gives(std::size_t c, double w) {
  for (std::size_t j = 0; j < d(); ++j) {
    if (!std::isnan(numbers[j]) && left_of((numbers[j] > threshold_ ? yes : no)[c * d() + j], w) < 0) return false;
  }
  return true;
}

void ThresholdRow::forget(std::size_t c, double w) {
  for (std::size_t j = 0; j < d(); ++j) {
    double& cell = (numbers[j] > threshold_ ? yes : no)[c * d() + j];
    if (!std::isnan(numbers[j])) cell = left_of(cell, w);
  }
  stale_ = true;
}

void ThresholdRow::scale(double factor) {
  scale_all(no, factor), scale_all(yes, factor);
  stale_ = true;
}

void ThresholdRow::estimate() {
  const std::size_t K = classes();
  threshold_estimate(K, d(), counted(no, no_), counted(yes, yes_), alpha_.data(), log_no_.data(), log_yes_.data());
  turn(log_no_, K, by_column_.data()), turn(log_yes_, K, by_column_.data() + K * d());
}

std::unique_ptr<Part> ThresholdRow::part() {
  return binary_part(row(), threshold_, by_column_.data(), by_column_.data() + classes() * d(), classes());
}

// Levels

LevelsRow::LevelsRow(std::size_t classes, std::vector<LevelColumn> columns, double alpha, bool other)
    : codes(columns.size(), kMissingCode),
      classes_(classes),
      columns_(std::move(columns)),
      alpha_(alpha),
      other_(other),
      down_(columns_.size() * classes),
      log_down_(columns_.size() * classes),
      log_count_(columns_.size() * classes),
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
    column.tree.write(count, stride, share());
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

bool LevelsRow::gives(std::size_t c, double w) {
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    if (codes[j] == kMissingCode) continue;
    const LevelTree& tree = columns_[j].tree;
    if (!exists(j) || static_cast<std::size_t>(codes[j]) >= tree.size()) return false;
    const double* of = tree.counts(static_cast<std::size_t>(codes[j]));
    const double left = left_of(of[c], w);
    if (left < 0) return false;
    if (left > 0) continue;
    double others = 0.0;  // whether the level is still there after its last row is for tables to say
    for (std::size_t k = 0; k < classes_; ++k) others += k == c ? 0.0 : of[k];
    if (!(others > 0)) return false;
  }
  return true;
}

void LevelsRow::forget(std::size_t c, double w) {
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    if (codes[j] < 0) continue;
    const auto code = static_cast<std::size_t>(codes[j]);
    columns_[j].tree.set(code, c, left_of(columns_[j].tree.counts(code)[c], w));
  }
  stale_ = true;
}

void LevelsRow::scale(double factor) {
  for (LevelColumn& column : columns_) column.tree.scale(factor);
  stale_ = true;
}

void LevelsRow::refresh() {
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    const double added = alpha_ * columns_[j].number;
    for (std::size_t c = 0; c < classes_; ++c) {
      down_[j * classes_ + c] = columns_[j].tree.totals()[c] * share() + added;
    }
  }
  TB_CALL(logs, down_.data(), down_.size(), log_down_.data());
  stale_ = false;
}

double LevelsRow::log_number(const LevelColumn& column) {
  const double number = std::max(column.number, 1.0);
  double out;
  TB_CALL(logs, &number, 1, &out);
  return out;
}

//   log (n + alpha) - log (total + alpha * number), evenly shared where nothing was counted and nothing is added.
bool LevelsRow::add(double* acc) {
  if (stale_) refresh();
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    double* to = log_count_.data() + j * classes_;
    if (!exists(j)) {
      if (codes[j] != kMissingCode && !other_ && static_cast<std::size_t>(codes[j]) >= columns_[j].exist.size())
        return false;
      std::fill_n(to, classes_, 1.0);
      continue;
    }
    const auto code = static_cast<std::size_t>(codes[j]);
    if (code >= columns_[j].tree.size()) {
      std::fill_n(to, classes_, alpha_);
    } else {
      for (std::size_t c = 0; c < classes_; ++c) {
        to[c] = columns_[j].tree.counts(code)[c] * share() + alpha_;
      }
    }
  }
  TB_CALL(logs, log_count_.data(), log_count_.size(), log_count_.data());
  std::fill(sum_.begin(), sum_.end(), 0.0);
  for (std::size_t j = 0; j < columns_.size(); ++j) {
    const bool known = exists(j);
    if (!known && (codes[j] == kMissingCode || !other_)) continue;
    for (std::size_t c = 0; c < classes_; ++c) {
      const std::size_t i = j * classes_ + c;
      sum_[c] += down_[i] > 0 ? (known ? log_count_[i] : log_alpha_) - log_down_[i] : -log_number(columns_[j]);
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
    levels.codes[j] = std::isnan(numbers[j])
                          ? kMissingCode
                          : std::upper_bound(points.begin(), points.end(), numbers[j]) - points.begin();
  }
}

bool CutsRow::takes(std::size_t c, double w) {
  cut();
  return levels.takes(c, w);
}

void CutsRow::learn(std::size_t c, double w) { levels.learn(c, w); }

bool CutsRow::gives(std::size_t c, double w) {
  cut();
  return levels.gives(c, w);
}

void CutsRow::forget(std::size_t c, double w) { levels.forget(c, w); }

void CutsRow::scale(double factor) { levels.scale(factor); }

void CutsRow::count(double share) { levels.count(share); }

bool CutsRow::add(double* acc) {
  cut();
  return levels.add(acc);
}

}  // namespace tb
