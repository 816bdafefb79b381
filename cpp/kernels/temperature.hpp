// The hot loop of core/ensemble/temperature.cpp. Numbers of one class lie side by side, row after row, so that rows are
// the lanes of vectors; rows are a multiple of kTemperatureLanes, those to spare have weight 0.
#pragma once
#include <cstddef>

#include "core/runtime/dispatch.hpp"

namespace tb {

constexpr std::size_t kTemperatureLanes = 8;

struct TemperatureRows {
  std::size_t rows, classes;
  const double* prior;  // (classes, rows): -inf for a class that cannot be
  const double* more;   // (classes, rows): the log-likelihood less that of the row's own class
  const double* own;    // rows: the prior of the row's own class, finite
  const double* w;      // rows
};

// sums: w log(1 / P), w E, w V; P: what the row's own class gets at beta, E and V: the mean of `more` and its variance.
struct TemperatureSums {
  double loss, mean, variance;
};

}  // namespace tb

TB_DECLARE(void, temperature_sums, (const TemperatureRows& rows, double beta, TemperatureSums& sums))
