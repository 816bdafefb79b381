// The loops of core/ensemble/back_off_chains.cpp.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/runtime/dispatch.hpp"

namespace tb {

constexpr std::uint32_t kNoCell = 0xFFFFFFFF;  // of a row that takes no part

// A order of one chain under rows that are left out one at a time.
struct LeaveOut {
  std::size_t rows;
  std::size_t classes;
  std::size_t bins;                    // of the child; 1 if that is the class
  const std::uint32_t* configuration;  // of each row, or kNoCell
  const std::uint32_t* child;          // bin of each row, or kNoCell
  const std::int32_t* y;
  const float* unit;    // what leaves with the row
  const float* n;       // (configurations, bins, classes)
  const float* total;   // (configurations, classes); (configurations) if the child is the class
  const float* share;   // 1 / (total + concentration)
  float concentration;  // of what the estimate above counts
  float worth;          // rows of the estimate above that each cell has besides; 0 if the child is the class
  float* p;             // (rows, classes): the estimate above, becomes this one
};

// The counts of an order that rows meet in their own class, each leave-one-out; none for a row that takes no part.
struct OwnCounts {
  std::size_t rows, classes, bins;
  const std::uint32_t* configuration;
  const std::uint32_t* child;
  const std::int32_t* y;
  const float* unit;
  const float* n;
  const float* total;
  bool alone;        // one total for a configuration: the child is the class
  float* own_n;      // (rows)
  float* own_total;  // (rows)
};

// Terms of rows that are one: log P of the other classes from a table, that of their own by itself.
struct LeaveOneOutTerms {
  std::size_t rows, classes, bins;
  const std::uint32_t* configuration;
  const std::uint32_t* child;
  const std::int32_t* y;
  const float* unit;  // rows that are not one are left alone
  const float* log;   // (configurations, bins, classes)
  const float* own;   // (rows): P, not its logarithm
};

// A view as one chain reads it: what its bin counts in the cell of a row.
struct ViewRead {
  const void* code;         // of each row
  const std::uint8_t* map;  // a bin for each level, and last one for all other codes
  std::size_t levels;
  std::uint32_t times;
};
constexpr std::size_t kMostReads = 16;          // views of a chain that add_chain takes
constexpr std::uint32_t kMostCells = 1u << 27;  // cells of a chain that it takes: fewer than this

}  // namespace tb

// cell[r] = cell[r] * bins + lut[code[r]]; kNoCell where either is none. levels: codes beyond are read at lut[levels].
// Returns whether a row became none.
TB_DECLARE(bool, step_cells8,
           (const std::uint8_t* code, const std::uint8_t* lut, std::uint32_t bins, std::uint32_t* cell, std::size_t n))
TB_DECLARE(bool, step_cells16,
           (const std::uint16_t* code, const std::uint8_t* lut, std::size_t levels, std::uint32_t bins,
            std::uint32_t* cell, std::size_t n))
TB_DECLARE(bool, step_cells32,
           (const std::uint32_t* code, const std::uint8_t* lut, std::size_t levels, std::uint32_t bins,
            std::uint32_t* cell, std::size_t n))

// P(child | class, configuration) and P(class | configuration) without the row.
TB_DECLARE(void, leave_out_child, (const LeaveOut& t))
TB_DECLARE(void, leave_out_class, (const LeaveOut& t))

TB_DECLARE(void, own_counts, (const OwnCounts& t))
// out[r] = table (configurations, bins, classes) at the row's own cell; anything for a row that takes no part
TB_DECLARE(void, own_cells,
           (std::size_t rows, std::size_t classes, std::size_t bins, const std::uint32_t* configuration,
            const std::uint32_t* child, const std::int32_t* y, const float* table, float* out))
// What each row has in the counts: 1, or its weight where that is less; nothing without a configuration. w: or null.
// Returns whether a row with a class and a child has anything else than 1, or, if `any`, whether there is one.
TB_DECLARE(bool, row_units,
           (const std::uint32_t* configuration, const std::uint32_t* child, const std::int32_t* y, const double* w,
            std::size_t rows, bool any, float* unit))
// p = what fold_lifts makes of it, n and total being the row's own
TB_DECLARE(void, lift_own,
           (float* p, const float* n, const float* total, std::size_t rows, float concentration, float worth))
// out (rows, classes) += scale * log P
TB_DECLARE(void, add_leave_one_out, (const LeaveOneOutTerms& t, float scale, float* out))
// table (configurations, bins, classes of the row, classes): other, but for the row's own class own, each of them
// (configurations, bins, classes)
TB_DECLARE(void, join_own, (const float* other, const float* own, std::size_t cells, std::size_t classes, float* table))
// out (rows, classes) += scale * the logarithms of such a table. Every row has a configuration, a child and a class.
TB_DECLARE(void, add_joined,
           (std::size_t rows, std::size_t classes, std::size_t bins, const std::uint32_t* configuration,
            const std::uint32_t* child, const std::int32_t* y, const float* table, float scale, float* out))

// p (configurations, row) = (n + concentration * above[configuration / inner]) * share of the configuration; row = bins
// * classes. alone: one share for a configuration, not for each class of it. worth: as in LeaveOut, with a total for
// each class and configuration.
TB_DECLARE(void, fold_order,
           (const float* n, const float* above, const float* share, float concentration, std::size_t configurations,
            std::size_t inner, std::size_t bins, std::size_t classes, bool alone, float* p))
TB_DECLARE(void, fold_lifts,
           (const float* n, const float* above, const float* total, float concentration, float worth,
            std::size_t configurations, std::size_t inner, std::size_t bins, std::size_t classes, float* p))
// The same for rows that are left out, by their cells: n and total are one less, but not below 0.
TB_DECLARE(void, fold_own,
           (const float* n, const float* above, const float* total, float concentration, float worth,
            std::size_t configurations, std::size_t inner, std::size_t bins, std::size_t classes, float* p))
TB_DECLARE(void, float_counts, (const std::uint32_t* n, float* out, std::size_t count))
// to (configurations, row) = the sum of `inner` rows each of `from`
TB_DECLARE(void, fold_counts,
           (const float* from, std::size_t configurations, std::size_t inner, std::size_t row, float* to))
// out = log(p), and out += scale * log(p), to about 1e-7 of max(1, |log p|); below 1e-37 p is taken as that.
TB_DECLARE(void, logs_of, (const float* p, float* out, std::size_t count))
TB_DECLARE(void, add_logs, (const float* p, float scale, float* out, std::size_t count))
// out[r] += scale * log[cell[r]] over the classes, skipping kNoCell
TB_DECLARE(void, add_cells,
           (const float* log, const std::uint32_t* cell, std::size_t rows, std::size_t classes, double scale,
            double* out))

// out[r] += scale * log[cell] over the classes, cell = start + the sum of bin * times over the views. Rows where a bin
// is missing are left alone and listed in `odd`; returns how many these are. 1 to kMostReads views, codes of 8, 16 or
// 32 bits.
#define TB_CHAIN_ARGUMENTS                                                                           \
  (const ViewRead* view, std::size_t views, std::uint32_t start, const float* log, std::size_t rows, \
   std::size_t classes, double scale, double* out, std::uint32_t* odd)
TB_DECLARE(std::size_t, add_chain8, TB_CHAIN_ARGUMENTS)
TB_DECLARE(std::size_t, add_chain16, TB_CHAIN_ARGUMENTS)
TB_DECLARE(std::size_t, add_chain32, TB_CHAIN_ARGUMENTS)
#undef TB_CHAIN_ARGUMENTS
