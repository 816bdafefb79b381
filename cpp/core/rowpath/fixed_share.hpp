// Weights of several models by the probability that each gave what came: fixed share (Herbster and Warmuth 1998).
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

namespace tb {

class FixedShare {
 public:
  // share: of the weight that goes to all alike at each row; least: what a probability counts at least.
  FixedShare(std::vector<double> weights, double share, double least)
      : weights_(std::move(weights)), share_(share), least_(least) {}

  const std::vector<double>& weights() const { return weights_; }

  // p: the probability that each model gave the label of a row.
  void update(const std::vector<double>& p) {
    for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] *= std::max(p[i], least_);
    const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    const double each = share_ / static_cast<double>(weights_.size());
    for (double& w : weights_) w = (1 - share_) * w / sum + each;
  }

 private:
  std::vector<double> weights_;
  double share_, least_;
};

}  // namespace tb
