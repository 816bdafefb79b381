// How the kernels of quadratic.hpp lay out a block of rows. Only for files in cpp/kernels.
#pragma once
#include "kernels/quadratic.hpp"
#include "kernels/simd.hpp"

namespace tb::TB_ISA {

// A group is kVecs vectors of rows; kForms linear forms are taken at a time: 12 sums in AVX2's 16 registers, 24 in
// AVX-512's 32.
constexpr int kVecs = W == 8 ? 4 : 2;
constexpr int kForms = 6;
constexpr std::size_t kGroup = static_cast<std::size_t>(kVecs * W);
static_assert(kRows % kGroup == 0);

TB_INLINE std::size_t groups_of(std::size_t rows) { return (rows + kGroup - 1) / kGroup; }

}  // namespace tb::TB_ISA
