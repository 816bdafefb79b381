// The hot loops of scoring: each adds one kind of term of the log joint to a block acc[c * kRows + r].
#pragma once
#include <cstdint>

#include "core/encode/columns.hpp"
#include "core/runtime/dispatch.hpp"
#include "core/scoring/part.hpp"
#include "kernels/tile.hpp"

namespace tb {

// (x - mean)^2 / (2 var) = ((x - mean) * scale)^2 with scale = sqrt(1 / (2 var)); log_norm = -log(2 pi var) / 2.
// Each (classes, d). A column left out has mean, scale and log_norm 0.
// The kernel works with (x - centre) * scale - offset, one operation less per class: centre (d) is a point between the
// means, so that a common offset of x and means costs no digits, and offset = (mean + low - centre) * scale, low being
// what a mean lacks as a double.
struct GaussianTerms {
  const double* mean;
  const double* scale;
  const double* log_norm;
  const double* centre;
  const double* offset;
  std::size_t classes;
  std::size_t d;
};

// x * weight + bias, each (classes, d).
struct LinearTerms {
  const double* weight;
  const double* bias;
  std::size_t classes;
  std::size_t d;
  bool finite;  // no weight is -inf: 0 * weight needs no care
};

// yes if x > threshold, else no, each (d, classes).
struct BinaryTerms {
  const double* no;
  const double* yes;
  double threshold;
  std::size_t classes;
};

// Codes of column j: level v has its terms at level[j] + v * classes, v < size[j]; anything else than those and
// missing at unseen[j]. absent: zeros.
struct DiscreteTerms {
  const double* const* level;
  const std::uint64_t* size;
  const double* const* unseen;
  const double* absent;
  std::int64_t missing;  // the code of a missing value
  bool* met;             // set for a column in which a code had no level
  std::size_t classes;
};

// weight (terms, classes).
struct CsrTerms {
  const double* weight;
  std::size_t classes;
  bool binary;  // weight where x > threshold, in place of x * weight
  double threshold;
};

}  // namespace tb

// A loaded tile of columns [j0, j0 + width). missing: the tile holds NaN. constant[c]: the sum of log_norm (or bias)
// over these columns. A Gaussian's tile is loaded less its centre. next: what will be loaded after this tile, to be
// fetched meanwhile (cols may be null).
TB_DECLARE(void, add_gaussian,
           (const double* tile, std::size_t rows, std::size_t j0, std::size_t width, bool missing,
            const GaussianTerms& terms, const double* constant, const Patch& next, double* acc))
TB_DECLARE(void, add_linear,
           (const double* tile, std::size_t rows, std::size_t j0, std::size_t width, bool missing,
            const LinearTerms& terms, const double* constant, const Patch& next, double* acc))
TB_DECLARE(void, add_binary,
           (const double* tile, std::size_t rows, std::size_t j0, std::size_t width, bool missing,
            const BinaryTerms& terms, const Patch& next, double* acc))

TB_DECLARE(void, add_discrete,
           (const Columns& cols, std::size_t r0, std::size_t rows, const DiscreteTerms& terms, double* acc))

TB_DECLARE(void, add_csr, (const Csr& csr, std::size_t r0, std::size_t rows, const CsrTerms& terms, double* acc))
// True if the values stored in these rows are finite and, unless binary, not negative.
TB_DECLARE(bool, csr_fit_for, (const Csr& csr, std::size_t r0, std::size_t rows, bool binary))

// acc[c * kRows + r] += from[r * classes + c]; false if some number is NaN or +inf.
TB_DECLARE(bool, add_numbers, (const double* from, std::size_t rows, std::size_t classes, double* acc))
