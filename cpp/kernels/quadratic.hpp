// Linear forms of a block of up to kRows rows, for the scores of Gaussian discriminants.
// A block of lanes: groups of some rows side by side, one after the other; in a group, column after column. How many
// rows a group has depends on the instruction set: only these kernels look inside.
#pragma once
#include "core/encode/columns.hpp"
#include "core/runtime/dispatch.hpp"
#include "core/scoring/part.hpp"

// Rows [r0, r0 + rows) of a table minus `centre` (d) as lanes, kRows * d numbers. Bit r of the answer: row
// r0 + r has a value that is not finite.
TB_DECLARE(std::uint64_t, load_lanes,
           (const Columns& x, std::size_t r0, std::size_t rows, const double* centre, double* lanes))

// z = factor (x - mean - low), factor a lower triangle (d, d); what is above the diagonal is not read.
// acc[r] += constant - |z|^2 / 2 for the rows not in `leave`. work: kRows * d numbers.
TB_DECLARE(void, add_quadratic,
           (const double* lanes, std::size_t rows, std::uint64_t leave, std::size_t d, const double* mean,
            const double* low, const double* factor, double constant, double* work, double* acc))

// z = factor x as lanes.
TB_DECLARE(void, whiten, (const double* lanes, std::size_t rows, std::size_t d, const double* factor, double* z))

// acc[c * kRows + r] += constant[c] - |z - centre_c|^2 / 2, centre (K, d).
TB_DECLARE(void, add_distances,
           (const double* z, std::size_t rows, std::uint64_t leave, std::size_t d, const double* centre,
            const double* constant, std::size_t classes, double* acc))

// acc[c * kRows + r] += bias[c] + weight_c x, weight (K, d).
TB_DECLARE(void, add_affine,
           (const double* lanes, std::size_t rows, std::uint64_t leave, std::size_t d, const double* weight,
            const double* bias, std::size_t classes, double* acc))
