#include "core/streams/decayed_counts.hpp"

#include <algorithm>
#include <cmath>

namespace tb::streams {
namespace {

constexpr double kConcentration = 2;  // rows that P(x_j) counts for in P(x_j | class)
constexpr double kAnyCode = 0.1;      // rows that a code has before any is seen
constexpr double kAnyClass = 0.5;
constexpr double kMostGain = 1e12;

const std::array<double, kMemories> kGrowth = [] {
  std::array<double, kMemories> growth;
  for (int h = 0; h < kMemories; ++h) growth[h] = std::exp2(1 / kHalfLives[h]);
  return growth;
}();

}  // namespace

DecayedCounts::DecayedCounts(const RecentRows& rows) : start_{0} {
  for (int j = 0; j < rows.columns(); ++j) start_.push_back(start_.back() + rows.column(j).codes());
}

void DecayedCounts::grow(int classes) {
  if (classes_ == 0) cell_.assign(std::size_t{start_.back()} * classes * kMemories, 0);
  widen(cell_, classes_, classes, kMemories);
  prior_.resize(static_cast<std::size_t>(classes) * kMemories);
  classes_ = classes;
}

void DecayedCounts::add(const int* codes, int y) {
  for (int h = 0; h < kMemories; ++h) {
    gain_[h] *= kGrowth[h];
    if (gain_[h] > kMostGain) {
      for (std::size_t i = h; i < cell_.size(); i += kMemories) cell_[i] /= gain_[h];
      for (std::size_t i = h; i < prior_.size(); i += kMemories) prior_[i] /= gain_[h];
      gain_[h] = 1;
    }
    prior_[y * kMemories + h] += gain_[h];
  }
  for (std::size_t j = 0; j + 1 < start_.size(); ++j) {
    double* own = cell(static_cast<int>(j), codes[j]) + y * kMemories;
    for (int h = 0; h < kMemories; ++h) own[h] += gain_[h];
  }
}

void DecayedCounts::recount(const RecentRows& rows, const std::vector<int>& which) {
  for (const int j : which) std::fill_n(cell(j, 0), std::size_t{start_[j + 1] - start_[j]} * classes_ * kMemories, 0.0);
  std::array<double, kMemories> weight = gain_;
  for (int age = 0; age < rows.size() && !which.empty(); ++age) {
    const int i = rows.place(age);
    for (const int j : which) {
      double* own = cell(j, rows.codes(j)[i]) + rows.labels()[i] * kMemories;
      for (int h = 0; h < kMemories; ++h) own[h] += weight[h];
    }
    for (int h = 0; h < kMemories; ++h) weight[h] /= kGrowth[h];
  }
}

void DecayedCounts::prior(int h, float* p) const {
  for (int c = 0; c < classes_; ++c) p[c] = static_cast<float>(prior_[c * kMemories + h] / gain_[h] + kAnyClass);
}

void DecayedCounts::scores(const int* codes, float* s) const {
  const int K = classes_, d = static_cast<int>(start_.size()) - 1;
  std::array<double, kMemories> total{}, any{};
  for (int c = 0; c < K; ++c)
    for (int h = 0; h < kMemories; ++h) total[h] += prior_[c * kMemories + h];
  for (int c = 0; c < K; ++c)
    for (int h = 0; h < kMemories; ++h)
      s[h * K + c] = std::log(static_cast<float>(prior_[c * kMemories + h] / gain_[h] + kAnyClass));
  // Factors are multiplied, and a logarithm is taken now and then: each lies within 10^±16.
  std::vector<double> product(static_cast<std::size_t>(K) * kMemories, 1.0);
  for (int j = 0; j < d; ++j) {
    const double* own = cell(j, codes[j]);
    const double codes_of_column = start_[j + 1] - start_[j];
    any = {};
    for (int c = 0; c < K; ++c)
      for (int h = 0; h < kMemories; ++h) any[h] += own[c * kMemories + h];
    for (int h = 0; h < kMemories; ++h)
      any[h] = (any[h] + kAnyCode * gain_[h]) / (total[h] + kAnyCode * gain_[h] * codes_of_column);
    for (int c = 0; c < K; ++c)
      for (int h = 0; h < kMemories; ++h)
        product[c * kMemories + h] *= (own[c * kMemories + h] / any[h] + kConcentration * gain_[h]) /
                                      (prior_[c * kMemories + h] + kConcentration * gain_[h]);
    if (j % 8 == 7 || j + 1 == d)
      for (int c = 0; c < K; ++c)
        for (int h = 0; h < kMemories; ++h) {
          s[h * K + c] += static_cast<float>(std::log(product[c * kMemories + h]));
          product[c * kMemories + h] = 1;
        }
  }
}

double DecayedCounts::information(int j) const {
  constexpr int h = 1;
  const int codes = static_cast<int>(start_[j + 1] - start_[j]);
  std::vector<double> by_class(classes_);
  double total = 0, found = 0;
  for (int b = 0; b < codes; ++b)
    for (int c = 0; c < classes_; ++c) by_class[c] += cell(j, b)[c * kMemories + h];
  for (const double w : by_class) total += w;
  int used = 0;
  for (int b = 0; b < codes; ++b) {
    double all = 0;
    for (int c = 0; c < classes_; ++c) all += cell(j, b)[c * kMemories + h];
    used += all > 0;
    for (int c = 0; c < classes_; ++c) {
      const double both = cell(j, b)[c * kMemories + h];
      if (both > 0) found += both / total * std::log(both / all * (total / by_class[c]));
    }
  }
  const double by_chance = 0.5 * (used - 1) * (classes_ - 1) / std::max(1.0, total / gain_[h]);
  return std::max(0.0, found - by_chance);
}

void DecayedCounts::check(const RecentRows& rows) const {
  const DecayedCounts fresh(rows);
  expect_state(start_ == fresh.start_ && classes_ >= 1);
  expect_state(prior_.size() == static_cast<std::size_t>(classes_) * kMemories);
  expect_state(cell_.size() == start_.back() * prior_.size());
  for (const double g : gain_) expect_state(g >= 1 && g <= 2 * kMostGain);
  const auto count = [](double v) { return v >= 0 && v < 1e30; };
  expect_state(std::all_of(prior_.begin(), prior_.end(), count) && std::all_of(cell_.begin(), cell_.end(), count));
}

}  // namespace tb::streams
