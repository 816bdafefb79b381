// The Python class _core.JointCounts: what was counted of sets of columns, and how counts become probabilities.
#pragma once
#include "bind/checked.hpp"
#include "core/networks/families.hpp"

namespace tb::bind {

// Checked once; keeps the arrays alive.
class PyJointCounts {
 public:
  PyJointCounts(const Matrix& single, const AnyCounts& joint, const Doubles& class_weight, const Sizes& sizes,
                const Ints& columns, const Sizes& starts, const Doubles& levels, double alpha);

  const Tables& tables() const { return tables_; }
  Counts counts() const;
  Smoothing smoothing() const { return {alpha_, levels_.data()}; }
  std::size_t classes() const { return single_.shape(0); }
  std::size_t columns() const { return sizes_.shape(0); }
  const double* class_weight() const { return class_weight_.data(); }
  const Matrix& single() const { return single_; }
  const Doubles& levels() const { return levels_; }
  const void* joint() const { return joint_.data(); }
  bool whole() const { return joint_.dtype() == nb::dtype<std::uint32_t>(); }  // uint32, not float64

 private:
  Matrix single_;
  AnyCounts joint_;
  Doubles class_weight_;
  Sizes sizes_;
  Ints columns_;
  Sizes starts_;
  Doubles levels_;
  double alpha_;
  Tables tables_;
};

// Throws unless every size is that of a column.
void check_sizes(const Sizes& sizes);

}  // namespace tb::bind
