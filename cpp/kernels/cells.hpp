// The cell of a joint table that each row falls into.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/runtime/dispatch.hpp"

namespace tb {

// Some columns of packed codes (core/counts/joint_tables.hpp), n rows each.
struct CodeColumns {
  const void* code;
  std::size_t bytes;
  std::size_t n;
  const std::int32_t* column;
  std::size_t count;
  const std::int64_t* size;  // of every column of the data
};

}  // namespace tb

// out[i] = the cell of row begin + i, for i < rows: its levels as digits, the first column's the highest, and above
// them y if not null; `none` if a code is not below its size, or y is below 0. What comes out must fit.
TB_DECLARE(void, cell_numbers,
           (const CodeColumns& from, std::size_t begin, std::size_t rows, const std::int32_t* y, std::uint32_t none,
            std::uint32_t* out))
