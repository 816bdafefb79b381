// The hot loop of core/corrections.cpp. Numbers of one class lie side by side, row after row; rows come in multiples of
// kCorrectionLanes, those to spare with up = down = 1 and any joint.
#pragma once
#include <cstddef>

#include "core/dispatch.hpp"

namespace tb {

constexpr std::size_t kCorrectionLanes = 8;

struct CorrectionRows {
  std::size_t rows, classes;
  const double* joint;      // (classes, rows), finite
  const double *up, *down;  // (classes, rows), above 0: the rows of a class, and those expected
  double step;
  double* to;     // (classes, rows): joint + step * log(up / down)
  double* share;  // (classes, rows): P, from `to`
  double* whole;  // (rows): the logarithm of what P was divided by
};

}  // namespace tb

TB_DECLARE(void, correct_rows, (const CorrectionRows& t))
