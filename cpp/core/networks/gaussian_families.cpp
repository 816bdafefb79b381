#include "core/networks/gaussian_families.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/runtime/threads.hpp"

namespace tb {
namespace {

// Whether a cell of a family's parents has the levels that are known.
bool agrees(const RealFamilies& reals, const std::int64_t* size, const std::int64_t* code, std::size_t f,
            std::size_t cell) {
  for (std::int64_t i = reals.parent_start[f + 1]; i-- > reals.parent_start[f];) {
    const std::int32_t j = reals.parent[i];
    const auto levels = static_cast<std::size_t>(size[j]);
    if (code[j] >= 0 && cell % levels != static_cast<std::size_t>(code[j])) return false;
    cell /= levels;
  }
  return true;
}

// The codes of a row's columns that are parents; -1 is missing.
template <class T>
std::vector<std::int64_t> parent_codes(const RealFamilies& reals, const T* codes, std::size_t n, std::size_t row) {
  const std::int32_t *first = reals.parent, *last = first + reals.parent_start[reals.count];
  std::vector<std::int64_t> code(first == last ? 0 : static_cast<std::size_t>(*std::max_element(first, last)) + 1, -1);
  for (; first != last; ++first) {
    const auto j = static_cast<std::size_t>(*first);
    const T v = codes[j * n + row];
    if (v != kNoCode<T>) code[j] = static_cast<std::int64_t>(v);
  }
  return code;
}

}  // namespace

void mend_far_row(const RealFamilies& reals, const std::int64_t* size, const std::int64_t* code, std::size_t row,
                  double* out) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::size_t K = reals.classes;
  std::vector<long double> sum(K, 0.0L);
  for (std::size_t f = 0; f < reals.count; ++f) {
    if (reals.missing(f, row)) continue;
    std::vector<long double> best(K, -static_cast<long double>(kInf));
    for (std::size_t cell = 0; cell < reals.offset[f + 1] - reals.offset[f]; ++cell) {
      if (!agrees(reals, size, code, f, cell)) continue;
      const double* mean = reals.terms + (reals.offset[f] + cell) * 3 * K;
      for (std::size_t c = 0; c < K; ++c) {
        const long double z = (static_cast<long double>(reals.value[f * reals.rows + row]) - mean[c]) * mean[K + c];
        best[c] = std::max(best[c], mean[2 * K + c] - z * z);
      }
    }
    for (std::size_t c = 0; c < K; ++c) sum[c] += best[c];
  }
  long double top = -static_cast<long double>(kInf);
  for (std::size_t c = 0; c < K; ++c) {
    if (out[c] > -kInf) top = std::max(top, sum[c]);
  }
  if (!(top < kLeastLog)) return;  // far in no column, or no class is possible
  for (std::size_t c = 0; c < K; ++c) {
    if (out[c] > -kInf) out[c] = sum[c] == top ? kLeastLog : -kInf;
  }
}

template <class T>
void real_scores(const RealFamilies& reals, const std::int64_t* size, const T* codes, std::size_t n, double* out) {
  constexpr std::size_t span = 4096;  // rows that one thread takes at a time
  const std::size_t K = reals.classes;
  parallel_for((n + span - 1) / span, [&](std::size_t s, int) {
    const std::size_t from = s * span, rows = std::min(span, n - from);
    std::fill_n(out + from * K, rows * K, 0.0);
    add_reals(reals, size, codes, n, from, rows, out + from * K);
    for (std::size_t r = from; r < from + rows; ++r) {
      if (is_far(out + r * K, K)) mend_far_row(reals, size, parent_codes(reals, codes, n, r).data(), r, out + r * K);
    }
  });
}

template void real_scores(const RealFamilies&, const std::int64_t*, const std::uint8_t*, std::size_t, double*);
template void real_scores(const RealFamilies&, const std::int64_t*, const std::uint16_t*, std::size_t, double*);
template void real_scores(const RealFamilies&, const std::int64_t*, const std::uint32_t*, std::size_t, double*);

}  // namespace tb
