// Columns of any type, stride and alignment as rows of doubles.
#pragma once
#include <cstddef>

#include "core/encode/columns.hpp"
#include "core/runtime/dispatch.hpp"

// out[i * step] = the value at x + i * stride, for i < n.
TB_DECLARE(void, pack,
           (const char* x, std::ptrdiff_t stride, Dtype dtype, std::size_t n, double* out, std::size_t step))
// Rows [begin, end) of the table, d doubles each.
TB_DECLARE(void, pack_block, (const Columns& x, std::size_t begin, std::size_t end, double* out))
