// Reading rows of a table as doubles.
#pragma once
#include "core/encode/columns.hpp"
#include "core/runtime/dispatch.hpp"

// out[k * d + j] = column j of row begin + row[k]; any types, any memory order.
TB_DECLARE(void, gather_rows,
           (const Columns& x, std::size_t begin, const std::uint32_t* row, std::size_t count, double* out))
