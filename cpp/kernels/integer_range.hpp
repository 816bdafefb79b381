// The smallest and largest of a run of integers.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/encode/columns.hpp"
#include "core/runtime/dispatch.hpp"

namespace tb {

struct Range {
  std::int64_t low = INT64_MAX;
  std::int64_t high = INT64_MIN;  // of unsigned 64-bit numbers: at most INT64_MAX
};

}  // namespace tb

TB_DECLARE(Range, range_of, (const char* p, std::size_t count, std::ptrdiff_t stride, Dtype dtype))
