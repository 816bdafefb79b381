#include "core/runtime/stream.hpp"

#include <algorithm>
#include <vector>

#include "core/runtime/threads.hpp"
#include "kernels/stream.hpp"

namespace tb {
namespace {

struct Run {  // bytes side by side
  const char* data;
  std::size_t bytes;
};

std::vector<Run> runs(const Columns& x) {
  constexpr std::size_t most = 1 << 20;
  std::vector<Run> out;
  const auto cut = [&](const char* p, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += most) out.push_back({p + i, std::min(most, bytes - i)});
  };
  if (x.n == 0 || x.d == 0) return out;
  const std::size_t row = x.d * item_size(x.col[0].dtype);
  if (x.row_major && x.col[0].stride == static_cast<std::ptrdiff_t>(row)) {
    cut(x.col[0].data, x.n * row);
  } else if (x.row_major) {
    for (std::size_t i = 0; i < x.n; ++i) cut(x.col[0].data + static_cast<std::ptrdiff_t>(i) * x.col[0].stride, row);
  } else {
    for (std::size_t j = 0; j < x.d; ++j) {
      const Column& c = x.col[j];
      const std::size_t size = item_size(c.dtype);
      if (c.stride == static_cast<std::ptrdiff_t>(size))
        cut(c.data, x.n * size);
      else
        for (std::size_t i = 0; i < x.n; ++i) cut(c.data + static_cast<std::ptrdiff_t>(i) * c.stride, size);
    }
  }
  return out;
}

}  // namespace

double stream(const Columns& x) {
  const std::vector<Run> all = runs(x);
  std::vector<std::uint64_t> sum(all.size());
  parallel_for(all.size(), [&](std::size_t b, int) { sum[b] = TB_CALL(sum_words, all[b].data, all[b].bytes); });
  std::uint64_t total = 0;
  for (const std::uint64_t s : sum) total += s;
  return static_cast<double>(total);
}

}  // namespace tb
