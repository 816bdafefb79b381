#include "core/streams/online_logistic.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/streams/decayed_counts.hpp"

namespace tb::streams {
namespace {

constexpr float kRate = 0.1f;
constexpr float kFade = 0.999f;        // of an indicator's squares, each time that it is seen
constexpr float kScoreFade = 0.9999f;  // of those of a normal score, which every row has
constexpr float kLeastRank = 0.01f;
constexpr std::size_t kCellsOfPair = kPairCodes * kPairCodes;

// Two bins of a number are one in a pair; of a categorical column the first levels have codes of their own.
std::uint32_t pair_code(const Column& column, int code) {
  if (code == column.missing()) return kPairCodes - 1;
  return static_cast<std::uint32_t>(column.categorical ? std::min(code, kPairCodes - 2) : code / 2);
}

// The quantile of a rank, about: that of a logistic distribution with the scale of the normal one.
float normal_score(float rank) {
  const float r = std::clamp(rank, kLeastRank, 1 - kLeastRank);
  return std::log(r / (1 - r)) / 1.702f;
}

void softmax(float* p, int classes) {
  const float top = *std::max_element(p, p + classes);
  float all = 0;
  for (int c = 0; c < classes; ++c) all += p[c] = std::exp(p[c] - top);
  for (int c = 0; c < classes; ++c) p[c] /= all;
}

}  // namespace

OnlineLogistic::OnlineLogistic(const RecentRows& rows) : start_{0} {
  for (int j = 0; j < rows.columns(); ++j)
    start_.push_back(start_.back() + static_cast<std::uint32_t>(rows.column(j).codes()));
}

int OnlineLogistic::paired() const {
  int m = std::min(columns(), kPairedColumns);
  while (m > 1 && static_cast<std::size_t>(m * (m - 1) / 2) * kCellsOfPair * classes_ > kPairWeights) --m;
  return m;
}

std::size_t OnlineLogistic::cells() const {
  const int m = paired();
  return kLogistics * std::size_t{alone()} + static_cast<std::size_t>(m * (m - 1) / 2) * kCellsOfPair;
}

void OnlineLogistic::grow(int classes) {
  const int before = classes_;
  classes_ = classes;
  const std::size_t kept = cells() * before;  // pairs that have no room any more come last
  for (std::vector<float>* values : {&weight_, &squares_}) {
    values->resize(kept);
    if (before == 0) values->assign(cells() * classes, 0.0f);
    widen(*values, before, classes, 1);
  }
}

template <class F>
void OnlineLogistic::each_cell(const Features& row, F&& f) const {
  const std::size_t n = row.scores.size();
  for (int e = 0; e < kLogistics; ++e)
    for (std::size_t i = e * n, end = e + 1 < kLogistics ? i + n : row.cells.size(); i < end; ++i)
      f(e, std::size_t{row.cells[i]} * classes_, i < n ? row.scores[i] : 1.0f);
}

void OnlineLogistic::predict(const RecentRows& rows, const int* codes, const float* positions, float* p,
                             Features& row) const {
  const int K = classes_, d = columns(), m = paired();
  std::vector<std::uint32_t>& cells = row.cells;
  cells.clear(), row.scores.clear();
  for (int j = 0; j < d; ++j) {
    const bool number = !rows.column(j).categorical && codes[j] != rows.column(j).missing();
    cells.push_back(start_[j] + (number ? 0 : static_cast<std::uint32_t>(codes[j])));
    row.scores.push_back(number ? normal_score(positions[j]) : 1.0f);
  }
  cells.push_back(alone() - 1), row.scores.push_back(1.0f);
  for (std::uint32_t first = alone(); first < kLogistics * alone(); first += alone()) {
    for (int j = 0; j < d; ++j) cells.push_back(first + start_[j] + static_cast<std::uint32_t>(codes[j]));
    cells.push_back(first + alone() - 1);
  }
  std::array<std::uint32_t, kPairedColumns> code;
  std::uint32_t pair = kLogistics * alone();
  for (int j = 0; j < m; ++j) {
    code[j] = pair_code(rows.column(j), codes[j]);
    for (int i = 0; i < j; ++i, pair += kCellsOfPair) cells.push_back(pair + code[i] * kPairCodes + code[j]);
  }
  std::fill(p, p + kLogistics * K, 0.0f);
  each_cell(row, [&](int e, std::size_t cell, float value) {
    float* score = p + e * K;
    const float* w = &weight_[cell];
    for (int c = 0; c < K; ++c) score[c] += value * w[c];
  });
  for (int e = 0; e < kLogistics; ++e) softmax(p + e * K, K);
}

void OnlineLogistic::add(const Features& row, const float* p, int y) {
  const int K = classes_;
  each_cell(row, [&](int e, std::size_t cell, float value) {
    const float* own = p + e * K;
    const float fade = e == 0 ? kScoreFade : kFade;
    float *w = &weight_[cell], *q = &squares_[cell];
    for (int c = 0; c < K; ++c) {
      const float gradient = value * (own[c] - static_cast<float>(c == y));
      q[c] = q[c] * fade + gradient * gradient;
      w[c] -= kRate * gradient / std::sqrt(1 + q[c]);
    }
  });
}

void OnlineLogistic::restore(const RecentRows& rows, int classes) {
  start_ = OnlineLogistic(rows).start_;
  expect_state(classes_ == classes && weight_.size() == cells() * classes && squares_.size() == weight_.size());
  for (const float w : weight_) expect_state(std::abs(w) < 1e6f);
  for (const float q : squares_) expect_state(q >= 0 && q < 1e12f);
}

}  // namespace tb::streams
