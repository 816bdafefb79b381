// The inner loops of leave-one-out losses of Gaussian discriminants (core/discriminant/leave_one_out.hpp has the
// algebra). Rows are lanes, as in quadratic.hpp; what belongs to a shrinkage g and a row r is at [g * kRows + r].
// Everything is in units of the block's level, the middle of its rows' mean variances: G = (1 - gamma) variance + gamma
// (1 + delta).
#pragma once
#include "core/runtime/dispatch.hpp"
#include "core/scoring/part.hpp"

namespace tb {

constexpr std::size_t kMostOrders = 3;  // of the series of 1 / G in delta, after the value at 0

// The rows in the eigenvectors of a covariance, as lanes: e, its squares, and those of z = e + shift. What is null is
// not wanted.
struct Turned {
  double *e, *ee, *zz;
  float *ee32, *zz32;  // in single precision
};

// 1 / G at delta = 0 (gammas, d), and what multiplies delta, delta^2, ... (orders, moving, d) for the last `moving`
// gammas. Those terms are small, and single precision is enough for them.
struct Series {
  std::size_t d, gammas, moving, orders;
  double* value;
  float *value32, *change;
  double* drift;  // (gammas): the mean of change / value over rows like those of the covariance
};

// Of the mean variances of the rows of a block. middle: 1 if nothing varies.
struct Levels {
  double low, high, middle;
};

}  // namespace tb

// b = share * step, and delta of the levels (trace - b size) * per.
TB_DECLARE(Levels, row_levels,
           (double trace, double share, double per, const double* step, const double* size, double* b, double* delta))

// e = scale (vector x), vector (d, d); shift (d) or null.
TB_DECLARE(void, turn_rows,
           (const double* lanes, std::size_t d, const double* vector, double scale, const double* shift,
            const Turned& out))
// The squares of z once more, from e, for another shift.
TB_DECLARE(void, shift_rows, (std::size_t d, const double* shift, const Turned& rows))
// One row: t (d) = vector x.
TB_DECLARE(void, turn_one, (const double* x, std::size_t d, const double* vector, double* t))

TB_DECLARE(void, fill_series, (const double* variance, const double* gamma, const Series& inverse))
// The coefficients (orders + 1, gammas) of sum over j of shift_j^2 / G. square: room for d numbers.
TB_DECLARE(void, shift_series, (const double* shift, const Series& inverse, double* square, double* out))

// out[g * kRows + r] = sum over j of x_j / G.
TB_DECLARE(void, add_series, (const double* x, const float* x32, const Series& s, const double* delta, double* out))
// The same in single precision, and with the drift in place of the series.
TB_DECLARE(void, add_coarse, (const float* x32, const Series& s, const double* delta, double* out))

// out[g * kRows + r] = sum over o < terms of coefficient[o * gammas + g] delta[r]^o.
TB_DECLARE(void, evaluate,
           (const double* coefficient, std::size_t terms, std::size_t gammas, const double* delta, double* out))

// All of it by division, for any delta: sums of e^2 / G, z^2 / G, shift^2 / G, log G. Without a shift z is e: only zz.
TB_DECLARE(void, divide_rows,
           (const double* e, std::size_t d, const double* variance, std::size_t gammas, const double* gamma,
            const double* shift, const double* delta, double* ee, double* zz, double* ss, double* log_det))

// score = prior - (log_det + distance) / 2 and root = 1 / sqrt(h), h = 1 - (1 - gamma) b ee; h of nearly 0 gives NaN.
// distance: z' Sigma^-1 z after the row has left. Without ee: e is z, and the mean moves too, by the factor grow.
TB_DECLARE(void, leave_one_out_scores,
           (std::size_t gammas, const double* gamma, const double* b, const double* grow, const double* prior,
            const double* zz, const double* ee, const double* ss, const double* log_det, double* score, double* root))

// loss[g] += weight_r * -log P(own class | row r), from score and root (K, gammas, kRows).
TB_DECLARE(void, add_losses,
           (const double* score, const double* root, std::size_t classes, std::size_t own, std::size_t gammas,
            const double* weight, double* loss))
