// Stacking weights that follow a stream: log-linear pools of experts by online gradient descent at several rates, and
// a fixed-share mixture (Herbster and Warmuth 1998) of those pools.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "core/streams/archive.hpp"

namespace tb::streams {

// Weights of experts that follow the best one: multiplied by likelihoods, then a share of all is given out evenly.
void fixed_share(double* weight, const double* likelihood, int experts, double share);

// P(class) ~ exp(bias + sum_e w_e log p_e(class))
struct LogLinearPool {
  float rate = 0;
  std::uint8_t adaptive = 0;  // AdaGrad (Duchi et al. 2011) with squares that fade, else plain gradient descent
  std::vector<float> weight, squares, bias;

  void predict(const float* logs, int experts, int classes, float* p) const;
  void learn(const float* logs, int experts, int classes, const float* p, int y);

  template <class Archive>
  void visit(Archive& a) {
    a(rate), a(adaptive), a(weight), a(squares), a(bias);
  }
};

class OnlineStacking {
 public:
  static constexpr int kPools = 4;

  OnlineStacking() = default;
  explicit OnlineStacking(int experts);
  void grow(int classes);
  // logs: (experts, classes). pools: (pools, classes). p: the mixture of the pools.
  void predict(const float* logs, float* pools, float* p) const;
  void learn(const float* logs, const float* pools, int y);
  double weight(int expert) const;  // in the mixture

  template <class Archive>
  void visit(Archive& a) {
    a(experts_), a(classes_), a(share_), a(pools_);
  }
  void check(int experts, int classes) const;

 private:
  std::int32_t experts_ = 0, classes_ = 0;
  std::array<double, kPools> share_{};
  std::vector<LogLinearPool> pools_;
};

}  // namespace tb::streams
