// Eigenvectors of several small symmetric matrices at once, one in each lane of a vector.
// Numbers are lanes: [(i * d + j) * eigen_lanes() + q] is entry (i, j) of matrix q.
#pragma once
#include <cstddef>

#include "core/runtime/dispatch.hpp"

TB_DECLARE(std::size_t, eigen_lanes, ())

// a (d, d, lanes), symmetric, becomes eigenvectors, one in each row; value (d, lanes). work: d * lanes numbers.
// Householder's tridiagonal form, then QL with implicit shifts. False if that does not come to an end.
TB_DECLARE(bool, eigen_of_lanes, (double* a, std::size_t d, double* value, double* work))
