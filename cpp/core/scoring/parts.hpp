// The parts a Scorer can be made of. They keep pointers to their arguments: the caller keeps those alive.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "core/encode/columns.hpp"
#include "core/scoring/part.hpp"
#include "kernels/scores.hpp"

namespace tb {

// Fills terms (4, K, d) = mean, scale, log_norm, low from mean, low (see double_double.hpp) and var, (K, d) each; see
// GaussianTerms. low may be null: zeros. A column whose var is 0 in every class is left out. Throws
// std::invalid_argument if a var is 0 in some classes only, or not a finite number >= 0.
void gaussian_terms(const double* mean, const double* low, const double* var, std::size_t classes, std::size_t d,
                    double* terms);

// sum_j log N(x_j; mean + low, var), from (4, K, d) terms.
std::unique_ptr<Part> gaussian_part(const Columns& cols, const double* terms, std::size_t classes);

// x_j * weight + bias per column, (K, d) each; -lgamma(x + 1) as a shared term if factorial.
std::unique_ptr<Part> linear_part(const Columns& cols, const double* weight, const double* bias, std::size_t classes,
                                  bool factorial);

// no or yes, (d, K) each, by x > threshold.
std::unique_ptr<Part> binary_part(const Columns& cols, double threshold, const double* no, const double* yes,
                                  std::size_t classes);

// Integer codes; table (sum of sizes, K), other (d, K) or null for codes outside the table. -1 is missing, but not in
// raw columns: these hold a table's own integers, and a negative one is a code without a level.
std::unique_ptr<Part> discrete_part(const Columns& cols, const std::int64_t* sizes, const double* table,
                                    const double* other, bool raw, std::size_t classes);

// bias (K) + the sum over stored x of x * weight[t], weight (T, K); with a threshold: of weight[t] where x > threshold.
std::unique_ptr<Part> csr_part(const Csr& csr, const double* weight, const double* bias, std::size_t classes,
                               std::optional<double> threshold, bool factorial);

// Numbers (n, K) as they are; -inf is a number, NaN and +inf are not.
std::unique_ptr<Part> added_part(const double* numbers, std::size_t classes, std::vector<std::size_t> unseen = {});

}  // namespace tb
