// The hot loops of core/ensemble/stacking.cpp. A block holds some rows; numbers of one class lie side by side, row
// after row, so that rows are the lanes of vectors. The rows of a block are a multiple of kWeightLanes; those to spare
// have weight 0.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/runtime/dispatch.hpp"

namespace tb {

constexpr std::size_t kWeightLanes = 16;  // floats of the widest vectors
constexpr std::size_t kWeightTile = 4;    // terms are padded to a multiple of this in the Hessian
constexpr float kWeightMost = 1e9f;       // two classes differ by no more in one term: squares must stay finite

struct WeightBlock {
  std::size_t terms, classes, rows;
  const float* term;      // (terms, classes, rows), the largest of a row's classes is 0
  const double* joint;    // (classes, rows): J, may be -inf
  const std::int32_t* y;  // rows; J of this class is finite
  const double* w;        // rows, at most 1
};

// What one block adds to the first and second derivatives, and the memory to find it in.
struct WeightSums {
  double* gradient;  // terms + classes
  double* between;   // (padded terms, padded terms), the lower triangle of tiles
  double* across;    // (terms, classes)
  double* classes;   // (classes, classes), the lower triangle
  double* share;     // (classes, rows): P
  double* residual;  // (classes, rows): w (P - [y])
  float* weight;     // (classes, rows): w P
  float* lean;       // (classes, rows): P_c / S_c, S_c being the sum of P from class c on
  float* root;       // (classes, rows): sqrt(w P_c S_c+1 / S_c)
  float* mean;       // rows
  float* x;  // (padded terms, classes - 1, rows): root (term - its mean over later classes); rows to spare are 0
};

}  // namespace tb

// Copies terms of the rows named (count of them; the block may have more) out of an array (terms, any rows, classes)
// with `stride` floats a term. open: (count, classes), or null if all are: classes that are not get 0. False: not all
// are finite.
TB_DECLARE(bool, weight_pack,
           (const float* from, std::size_t stride, const std::uint32_t* row, std::size_t count,
            const std::uint8_t* open, std::size_t terms, std::size_t classes, std::size_t rows, float* to))
// out (classes, rows) = b + sum of v times term
TB_DECLARE(void, weight_move, (const WeightBlock& block, const double* v, const double* b, double* out))
// out (count) = the sum of v times term, each of which begins `stride` floats after the one before
TB_DECLARE(void, weight_terms,
           (const float* term, std::size_t terms, std::size_t stride, std::size_t count, const double* v, double* out))
// The loss at joint + step * move.
TB_DECLARE(double, weight_loss, (const WeightBlock& block, const double* move, double step))
TB_DECLARE(void, weight_sums, (const WeightBlock& block, const WeightSums& out))
// Solves H s = g in place of g. H (n, n), rows `stride` apart, a multiple of kWeightLanes, has its upper triangle, and
// loses it; whole: its diagonal; g has `stride` numbers. Directions in which H is flat to within rounding are left
// alone: s = 0 there.
TB_DECLARE(void, weight_solve, (double* H, std::size_t stride, const double* whole, double* g, std::size_t n))
