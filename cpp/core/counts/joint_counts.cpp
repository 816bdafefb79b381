#include <algorithm>
#include <limits>
#include <stdexcept>

#include "core/counts/joint.hpp"
#include "core/counts/joint_counters.hpp"
#include "core/encode/labels.hpp"

namespace tb {
namespace {

constexpr std::size_t kMostCells = std::numeric_limits<std::uint32_t>::max() - 1;

void check(const LabelledCodes& rows, const Tables& tables) {
  std::int32_t most = -1;
  for (std::size_t i = 0; i < rows.x.n; ++i) most = std::max(most, rows.y[i]);
  check_class(most, rows.classes);
  for (std::size_t i = 0; rows.w && i < rows.x.n; ++i) check_weight(rows.w[i]);
  for (std::size_t t = 0; t < tables.count; ++t) {
    if (tables.offset[t + 1] - tables.offset[t] > kMostCells) throw std::length_error("a table has too many cells");
  }
}

template <class N>
void count(const LabelledCodes& rows, const Tables& tables, N* out) {
  check(rows, tables);
  if (rows.classes == 0) return;  // every row is of no class: the model has forgotten them all
  TableList by_rows, by_bits;
  const std::size_t parts = bit_parts(rows, tables);
  for (std::size_t t = 0; t < tables.count; ++t) {
    if (tables.offset[t + 1] == tables.offset[t]) continue;
    const bool bits = !rows.w && cost_by_bits(rows, tables, parts, t) < static_cast<double>(rows.x.n);
    (bits ? by_bits : by_rows).push_back(t);
  }
  count_by_bits(rows, tables, by_bits, out);
  count_by_rows(rows, tables, by_rows, out);
}

}  // namespace

void count_tables(const LabelledCodes& rows, const Tables& tables, std::uint32_t* out) { count(rows, tables, out); }
void count_tables(const LabelledCodes& rows, const Tables& tables, double* out) { count(rows, tables, out); }

}  // namespace tb
