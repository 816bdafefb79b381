// P(x_k | c, s) of every child beside one combination s of the parents' levels, in the lanes of kernels/averaged.hpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/runtime/aligned_array.hpp"
#include "core/networks/averaged_networks.hpp"
#include "core/networks/back_off.hpp"

namespace tb {

// A product in the form of kernels/averaged.hpp: x * 2^(512 e).
struct Scaled {
  double x = 1.0;
  double e = 0.0;

  void times(double factor) {  // in [0, 1]
    lift(factor);
    x *= factor;
    lift(x);
    if (x == 0.0) e = kNothing;
  }
  void write(double* lane, std::size_t lanes) const {
    lane[0] = x;
    lane[lanes] = e;
  }

 private:
  void lift(double& v) {
    for (; v > 0.0 && v < 0x1p-512; e -= 1.0) v *= 0x1p512;
  }
};

class AveragedCell {
 public:
  static constexpr std::size_t kAnySet = ~std::size_t{0};
  // Classes from c0 on. removed: taken from every count before use (never below 0).
  AveragedCell(const AveragedCounts& m, std::size_t c0, Removed removed = {});

  // The parents, ascending, as many as the order; which of all sets in lexicographic order they are.
  void parents(const std::int32_t* set, std::size_t which = kAnySet);
  // The table of this cell of the parents, for these levels of each column; null: for all levels.
  void fill(std::size_t cell, const Met* met = nullptr);
  // n(s) over all classes, nothing removed.
  double total(std::size_t cell) const;

  std::size_t lanes() const { return lanes_; }
  std::size_t classes() const { return classes_; }  // lanes in use
  // (entries, lanes): the probabilities of all levels; 1 for the levels of the parents, and then for a missing value;
  // then room for the tables of bundles.
  double* table() { return table_.data(); }
  std::size_t length() const { return (m_.all_levels() + 1) * lanes_; }  // without the bundles
  // P0 in the same form, without the bundles.
  const double* root() const { return root_; }
  // Q(s | c), with Laplace P(c, s): without the division by P(c), see log_scale.
  const Scaled* start() const { return start_; }
  // Where the counts of child k beside all parents lie.
  const Family& family(std::size_t k) const { return families_[(m_.order - 1) * m_.d() + k]; }
  // What is to be added to the logarithm of class c's scores: -log P(c) with Laplace, otherwise 0.
  double log_scale(std::size_t c) const;

 private:
  double n(std::size_t c, std::size_t cell) const;  // n(c, s)
  void laplace_start(std::size_t cell);
  void begin_with_root(const Met* met);

  const AveragedCounts& m_;
  std::size_t c0_, lanes_, classes_;
  Removed removed_;
  AlignedArray table_, own_root_;
  const double* root_;  // what was compiled, or its own
  Scaled start_[8];
  std::vector<Family> family_;  // (order, d): beside the first, the first two, ... parents
  const Family* families_;      // the same, or what was compiled
  std::int32_t set_[kMostParents], ranked_[kMostParents];
  std::size_t counts_ = 0;   // where n(c, s) begin: in single for one parent, else in joint
  double cells_even_ = 1.0;  // prod N_j
  double seen_ = 0.0;        // n(S)
};

}  // namespace tb
