#include "core/streams/online_logistic.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/streams/decayed_counts.hpp"

namespace tb::streams {
namespace {

constexpr float kRate = 0.1f;
constexpr float kFade = 0.999f;  // of a cell's squares, each time that it is seen
constexpr std::size_t kCellsOfPair = kPairCodes * kPairCodes;

// Two bins of a number are one in a pair; of a categorical column the first levels have codes of their own.
std::uint32_t pair_code(const Column& column, int code) {
  if (code == column.missing()) return kPairCodes - 1;
  return static_cast<std::uint32_t>(column.categorical ? std::min(code, kPairCodes - 2) : code / 2);
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

void OnlineLogistic::predict(const RecentRows& rows, const int* codes, float* p,
                             std::vector<std::uint32_t>& cells) const {
  const int K = classes_, d = columns(), m = paired();
  cells.clear();
  for (std::uint32_t first = 0; first < kLogistics * alone(); first += alone()) {
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
  for (std::size_t i = 0; i < cells.size(); ++i) {
    float* score = cells[i] < alone() ? p : p + K;
    const float* w = &weight_[std::size_t{cells[i]} * K];
    for (int c = 0; c < K; ++c) score[c] += w[c];
  }
  for (int e = 0; e < kLogistics; ++e) softmax(p + e * K, K);
}

void OnlineLogistic::add(const std::vector<std::uint32_t>& cells, const float* p, int y) {
  const int K = classes_;
  for (const std::uint32_t cell : cells) {
    const float* own = cell < alone() ? p : p + K;
    float *w = &weight_[std::size_t{cell} * K], *q = &squares_[std::size_t{cell} * K];
    for (int c = 0; c < K; ++c) {
      const float gradient = own[c] - static_cast<float>(c == y);
      q[c] = q[c] * kFade + gradient * gradient;
      w[c] -= kRate * gradient / std::sqrt(1 + q[c]);
    }
  }
}

void OnlineLogistic::restore(const RecentRows& rows, int classes) {
  start_ = OnlineLogistic(rows).start_;
  expect_state(classes_ == classes && weight_.size() == cells() * classes && squares_.size() == weight_.size());
  for (const float w : weight_) expect_state(std::abs(w) < 1e6f);
  for (const float q : squares_) expect_state(q >= 0 && q < 1e12f);
}

}  // namespace tb::streams
