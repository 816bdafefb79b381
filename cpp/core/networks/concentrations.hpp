// The search for the concentration of a back-off (core/networks/back_off.hpp): whatever backs off chooses it here.
//
// A grid of concentrations is judged by rows that are left out: with the concentration a, one of them is worth
//   weight log((above + a prior) / (below + a)),
// above and below being what its cell and its context hold without it, prior its estimate with a parent less. Cells of
// which all rows are alike come as one row with their weight.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/networks/back_off.hpp"
#include "core/runtime/dispatch.hpp"
#include "kernels/concentrations.hpp"

namespace tb {

class ConcentrationSearch {
 public:
  struct Best {
    double concentration, sum;
  };

  explicit ConcentrationSearch(Grid grid) : grid_(grid), sum_(grid.size, 0.0), together_(true) {
    for (std::size_t g = 0; g < grid.size; ++g)
      together_ =
          together_ && grid.concentrations[g] >= kMinConcentration && grid.concentrations[g] <= kMaxConcentration;
  }

  void begin() {
    sum_.assign(grid_.size, 0.0);
    one_.count = other_.count = 0;
    any_ = false;
  }

  void add(double weight, double above, double below, double prior) {
    any_ = true;
    if (weight == 1.0 && together_ && below < kMostBelow && prior >= kLeastShare) {
      if (one_.add(above, below, prior) == kCachedCells) judge_ones();
    } else {
      weight_[other_.count] = weight;
      if (other_.add(above, below, prior) == kCachedCells) judge_others();
    }
  }

  // The same for many rows, read as judging_rows says.
  void add(const JudgingRows& from, std::size_t rows) {
    constexpr std::size_t some = 128;  // rows at a time
    double weight[some], above[some], below[some], prior[some];
    for (std::size_t first = 0; first < rows; first += some) {
      const JudgingRows here{from.n + first, from.total + first, from.p + first, from.w ? from.w + first : nullptr,
                             from.worth};
      Judging to{weight, above, below, prior};
      const std::size_t count = TB_CALL(judging_rows, here, std::min(some, rows - first), to);
      if (from.w) {
        for (std::size_t i = 0; i < count; ++i) add(weight[i], above[i], below[i], prior[i]);
        continue;
      }
      add_ones(above, below, prior, to.far ? add_far(above, below, prior, count) : count);
    }
  }

  // The same for rows of weight 1 whose below and prior are such as add_log_shares takes.
  void add_ones(const double* above, const double* below, const double* prior, std::size_t count) {
    if (!together_) {
      for (std::size_t i = 0; i < count; ++i) add(1.0, above[i], below[i], prior[i]);
      return;
    }
    any_ = any_ || count > 0;
    for (std::size_t i = 0; i < count;) {
      const std::size_t room = std::min(count - i, kCachedCells - one_.count);
      std::copy_n(above + i, room, one_.above + one_.count);
      std::copy_n(below + i, room, one_.below + one_.count);
      std::copy_n(prior + i, room, one_.prior + one_.count);
      i += room, one_.count += room;
      if (one_.count == kCachedCells) judge_ones();
    }
  }

  // The first of the largest sums, up to what the order of the rows rounds; `otherwise` if no row came, or one that no
  // concentration makes possible.
  Best best(double otherwise) {
    judge_ones(), judge_others();
    Best out{otherwise, -std::numeric_limits<double>::infinity()};
    for (std::size_t g = 0; g < grid_.size && any_; ++g)
      if (sum_[g] > out.sum + kRounding * std::fabs(sum_[g])) out = {grid_.concentrations[g], sum_[g]};
    return out;
  }

 private:
  static constexpr double kRounding = 1e-11;        // relative, of sums over the same rows in another order
  static constexpr std::size_t kCachedCells = 512;  // what is read again for each concentration lies in the first cache

  struct Judges {
    double above[kCachedCells], below[kCachedCells], prior[kCachedCells];
    std::size_t count = 0;

    std::size_t add(double a, double b, double p) {
      above[count] = a, below[count] = b, prior[count] = p;
      return ++count;
    }
  };

  // Adds the rows of weight 1 that cannot be taken together; the others close up: how many they are.
  std::size_t add_far(double* above, double* below, double* prior, std::size_t count) {
    std::size_t near = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (!(below[i] < kMostBelow)) {
        add(1.0, above[i], below[i], prior[i]);
        continue;
      }
      above[near] = above[i], below[near] = below[i], prior[near] = prior[i];
      ++near;
    }
    return near;
  }

  // Rows that say nothing fill the last lanes.
  void judge_ones() {
    while (one_.count % kShareLanes) one_.add(1.0, 1.0, 1.0);
    TB_CALL(add_log_shares, one_.above, one_.below, one_.prior, one_.count, grid_.concentrations, grid_.size,
            sum_.data());
    one_.count = 0;
  }
  void judge_others() {
    for (; other_.count % kLogLanes; other_.add(1.0, 1.0, 1.0)) weight_[other_.count] = 0.0;
    TB_CALL(add_log_likelihoods, weight_, other_.above, other_.below, other_.prior, other_.count, grid_.concentrations,
            grid_.size, sum_.data());
    other_.count = 0;
  }

  Grid grid_;
  std::vector<double> sum_;
  bool together_;                // the grid is one that add_log_shares takes
  bool any_ = false;             // row came
  Judges one_, other_;           // rows of weight 1, whose logarithms can be taken together, and the others
  double weight_[kCachedCells];  // of the others
};

}  // namespace tb
