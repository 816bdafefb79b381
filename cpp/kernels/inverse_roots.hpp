// The small triangles in a triangular inverse (core/math/inverse_roots.cpp), and what is done with the whole of one.
// Numbers lie in panels, as in kernels/scatter.hpp: panel p of a block is an array (size, panel_width()).
#pragma once
#include <cstddef>

#include "core/runtime/dispatch.hpp"

// The root L L' of a symmetric matrix (size, size) whose lower triangle, negated, begins at m, rows d apart.
// upper: L' in panels, zero below the diagonal and beyond `size`; inverse: 1 / L_jj. False if it is not positive.
TB_DECLARE(bool, root_of_block, (const double* m, std::size_t d, std::size_t size, double* upper, double* inverse))

// Right hand sides x, `count` panels one after the other, become L^-1 x.
TB_DECLARE(void, solve_panels,
           (const double* upper, const double* inverse, std::size_t size, double* x, std::size_t count))

// weight_k = F'F a_k and square[k] = |F a_k|^2 for `count` vectors a (count, d), F a lower triangle (d, d).
TB_DECLARE(void, normal_equations,
           (const double* factor, std::size_t d, const double* a, std::size_t count, double* weight, double* square))
