#include "core/streams/online_stacking.hpp"

#include <algorithm>
#include <cmath>

namespace tb::streams {
namespace {

constexpr float kRate = 0.02f;
constexpr float kFade = 0.9999f;   // of the squares of AdaGrad
constexpr float kBiasRate = 0.2f;  // beside that of the weights
constexpr double kShare = 0.001;
constexpr float kLeast = 1e-5f;  // probability of a class: no prediction is certain
constexpr float kMostWeight = 50;

}  // namespace

void fixed_share(double* weight, const double* likelihood, int experts, double share) {
  double total = 0;
  for (int e = 0; e < experts; ++e) total += weight[e] *= likelihood[e];
  for (int e = 0; e < experts; ++e) weight[e] = (1 - share) * weight[e] / total + share / experts;
}

void LogLinearPool::predict(const float* logs, int experts, int classes, float* p) const {
  std::copy(bias.begin(), bias.end(), p);
  for (int e = 0; e < experts; ++e)
    for (int c = 0; c < classes; ++c) p[c] += weight[e] * logs[e * classes + c];
  const float top = *std::max_element(p, p + classes);
  float all = 0;
  for (int c = 0; c < classes; ++c) all += p[c] = std::exp(p[c] - top);
  for (int c = 0; c < classes; ++c) p[c] /= all;
}

void LogLinearPool::learn(const float* logs, int experts, int classes, const float* p, int y) {
  for (int e = 0; e < experts; ++e) {
    float gradient = -logs[e * classes + y];
    for (int c = 0; c < classes; ++c) gradient += p[c] * logs[e * classes + c];
    float step = rate;
    if (adaptive) {
      squares[e] = squares[e] * kFade + gradient * gradient;
      step /= std::sqrt(squares[e] + 1);
    }
    weight[e] = std::clamp(weight[e] - step * gradient, -kMostWeight, kMostWeight);
  }
  for (int c = 0; c < classes; ++c)
    bias[c] = std::clamp(bias[c] - kBiasRate * rate * (p[c] - static_cast<float>(c == y)), -kMostWeight, kMostWeight);
}

OnlineStacking::OnlineStacking(int experts) : experts_(experts), pools_(kPools) {
  share_.fill(1.0 / kPools);
  for (int m = 0; m < kPools; ++m) {
    pools_[m].rate = std::array<float, kPools>{0.1f, 1, 1, 4}[m] * kRate;
    pools_[m].adaptive = m >= 2;
    pools_[m].weight.assign(experts, 1.0f / static_cast<float>(experts));
    pools_[m].squares.assign(experts, 0.0f);
  }
}

void OnlineStacking::grow(int classes) {
  classes_ = classes;
  for (LogLinearPool& pool : pools_) pool.bias.resize(classes);
}

void OnlineStacking::predict(const float* logs, float* pools, float* p) const {
  std::fill(p, p + classes_, 0.0f);
  for (int m = 0; m < kPools; ++m, pools += classes_) {
    pools_[m].predict(logs, experts_, classes_, pools);
    for (int c = 0; c < classes_; ++c) p[c] += static_cast<float>(share_[m]) * pools[c];
  }
  float all = 0;
  for (int c = 0; c < classes_; ++c) all += p[c] = std::max(p[c], kLeast);
  for (int c = 0; c < classes_; ++c) p[c] /= all;
}

void OnlineStacking::learn(const float* logs, const float* pools, int y) {
  std::array<double, kPools> likelihood;
  for (int m = 0; m < kPools; ++m) likelihood[m] = std::sqrt(std::max(pools[m * classes_ + y], 1e-6f));
  fixed_share(share_.data(), likelihood.data(), kPools, kShare);
  for (int m = 0; m < kPools; ++m) pools_[m].learn(logs, experts_, classes_, pools + m * classes_, y);
}

double OnlineStacking::weight(int expert) const {
  double found = 0;
  for (int m = 0; m < kPools; ++m) found += share_[m] * pools_[m].weight[expert];
  return found;
}

void OnlineStacking::check(int experts, int classes) const {
  expect_state(experts_ == experts && classes_ == classes && pools_.size() == kPools);
  double all = 0;
  for (const double s : share_) {
    expect_state(s >= 0);
    all += s;
  }
  expect_state(std::abs(all - 1) < 1e-6);
  for (const LogLinearPool& pool : pools_) {
    expect_state(pool.rate > 0 && pool.rate <= 1 && pool.adaptive <= 1);
    expect_state(pool.weight.size() == pool.squares.size() && pool.bias.size() == static_cast<std::size_t>(classes));
    expect_state(pool.weight.size() == static_cast<std::size_t>(experts));
    for (const float w : pool.weight) expect_state(std::abs(w) <= kMostWeight);
    for (const float b : pool.bias) expect_state(std::abs(b) <= kMostWeight);
    for (const float s : pool.squares) expect_state(s >= 0 && s < 1e12f);
  }
}

}  // namespace tb::streams
