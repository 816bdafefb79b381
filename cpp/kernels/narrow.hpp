// Integer columns as codes of one, two or four bytes, column after column (core/counts/joint_tables.hpp).
#pragma once
#include "core/encode/columns.hpp"
#include "core/runtime/dispatch.hpp"

namespace tb {

struct Narrow {
  const Columns* cols;
  const std::int64_t* size;  // a code outside [0, size[j]) becomes all ones
  bool raw;                  // or else -1 is missing, which is not worth a word
  std::size_t first;         // row `first` of the table is row 0 of the codes
  std::size_t n;
  std::size_t bytes;
  void* out;
  bool* unseen;  // may be set by several threads
};

}  // namespace tb

// Rows [begin, end) of the codes.
TB_DECLARE(void, narrow_codes, (const Narrow& task, std::size_t begin, std::size_t end))
