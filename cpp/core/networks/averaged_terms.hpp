// What each column adds to the score of one network of an average: the parts of core/networks/averaged_networks.hpp's
// products.
#pragma once
#include "core/networks/averaged_networks.hpp"

namespace tb {

// out (n, d, classes) of the network of these parents (ascending; null: naive Bayes, no parents): log P(x_k | c, s) of
// each child k; the parents share log Q(s | c), each its own log P0(x_j | c) and an even part of what is left. 0 for
// what is missing, and throughout in rows that miss a parent.
void averaged_terms(const AveragedCounts& m, const PackedCodes& codes, const std::int32_t* parents, double* out);

}  // namespace tb
