#include "core/encode/integer_range.hpp"

#include <algorithm>
#include <vector>

#include "core/runtime/threads.hpp"

namespace tb {

Range integer_range(const Columns& x) {
  constexpr std::size_t cells = std::size_t{1} << 17;  // of a block
  if (x.n == 0 || x.d == 0) return {};
  const std::size_t rows = std::max<std::size_t>(1, cells / x.d);
  const std::size_t blocks = (x.n + rows - 1) / rows;
  const std::size_t size = item_size(x.col[0].dtype);
  const bool solid = x.row_major && x.col[0].stride == static_cast<std::ptrdiff_t>(x.d * size);
  std::vector<Range> found(blocks);
  parallel_for(blocks, [&](std::size_t b, int) {
    const std::size_t first = b * rows, count = std::min(rows, x.n - first);
    for (std::size_t j = 0; j < (solid ? 1 : x.d); ++j) {
      const Column& c = x.col[j];
      const char* p = c.data + static_cast<std::ptrdiff_t>(first) * c.stride;
      const Range r = solid ? TB_CALL(range_of, p, count * x.d, static_cast<std::ptrdiff_t>(size), c.dtype)
                            : TB_CALL(range_of, p, count, c.stride, c.dtype);
      found[b] = {std::min(found[b].low, r.low), std::max(found[b].high, r.high)};
    }
  });
  Range all;
  for (const Range& r : found) all = {std::min(all.low, r.low), std::max(all.high, r.high)};
  return all;
}

}  // namespace tb
