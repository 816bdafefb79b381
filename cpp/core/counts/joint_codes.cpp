#include <algorithm>

#include "core/counts/joint.hpp"
#include "core/runtime/threads.hpp"
#include "kernels/narrow.hpp"

namespace tb {
namespace {

constexpr std::size_t kRowsPerBlock = 1 << 12;  // also where two threads' bytes of a column meet: whole cache lines
constexpr std::size_t kSerialCells = 1 << 15;   // cells not worth a team of threads

}  // namespace

void pack_codes(const Columns& cols, const std::int64_t* size, bool raw, std::size_t first, std::size_t rows,
                std::size_t bytes, void* out, bool* unseen) {
  std::fill_n(unseen, cols.d, false);
  const std::size_t per_block = rows * cols.d < kSerialCells ? std::max<std::size_t>(rows, 1) : kRowsPerBlock;
  const Narrow task{&cols, size, raw, first, rows, bytes, out, unseen};
  parallel_for((rows + per_block - 1) / per_block, [&](std::size_t block, int) {
    TB_CALL(narrow_codes, task, block * per_block, std::min(rows, (block + 1) * per_block));
  });
}

}  // namespace tb
