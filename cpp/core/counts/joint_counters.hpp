// The two ways to count joint tables. Both add to out (classes, cells) the tables of a list.
#pragma once
#include <vector>

#include "core/counts/joint.hpp"

namespace tb {

using TableList = std::vector<std::size_t>;  // numbers of tables, ascending

// Row by row: for tables of any size, and weights.
void count_by_rows(const LabelledCodes& rows, const Tables& tables, const TableList& list, std::uint32_t* out);
void count_by_rows(const LabelledCodes& rows, const Tables& tables, const TableList& list, double* out);

// By bitmaps of the rows of a class that have a level: for few levels and classes, without weights.
void count_by_bits(const LabelledCodes& rows, const Tables& tables, const TableList& list, std::uint32_t* out);
void count_by_bits(const LabelledCodes& rows, const Tables& tables, const TableList& list, double* out);
// How often that starts anew: with every class of every chunk of rows.
std::size_t bit_parts(const LabelledCodes& rows, const Tables& tables);
// What it costs for a table, in rows counted one by one; parts: bit_parts.
double cost_by_bits(const LabelledCodes& rows, const Tables& tables, std::size_t parts, std::size_t t);

}  // namespace tb
