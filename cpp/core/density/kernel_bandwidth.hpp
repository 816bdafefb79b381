// Rules of thumb for the width of the kernels of one entry. N is its total weight.
#pragma once
#include <cstddef>

#include "core/density/kernel_statistics.hpp"

namespace tb {

// silverman:    0.9 min(sd, IQR / 1.34) N^(-1/5), sd alone if the quartiles coincide (R's bw.nrd0)
// scott:        1.06 sd N^(-1/5)
// john_langley: (max - min) / sqrt(N): John and Langley's 1 / sqrt(N), in units of the range as Weka has it
enum class Rule { silverman, scott, john_langley };

// 0 for an entry with fewer than two distinct values, and where the answer would be below the normal numbers:
// the caller sets a floor.
double bandwidth(const Multiset& entry, Rule rule);

// h[c * d + j] of every entry.
void kernel_bandwidths(const KernelView& statistics, Rule rule, std::size_t K, double* h);

}  // namespace tb
