#include "core/networks/gaussian_families.hpp"

#include <algorithm>

#include "core/runtime/threads.hpp"

namespace tb {

template <class T>
void real_scores(const RealFamilies& reals, const std::int64_t* size, const T* codes, std::size_t n, double* out) {
  constexpr std::size_t span = 4096;  // rows that one thread takes at a time
  const std::size_t K = reals.classes;
  parallel_for((n + span - 1) / span, [&](std::size_t s, int) {
    const std::size_t from = s * span, rows = std::min(span, n - from);
    std::fill_n(out + from * K, rows * K, 0.0);
    add_reals(reals, size, codes, n, from, rows, out + from * K);
  });
}

template void real_scores(const RealFamilies&, const std::int64_t*, const std::uint8_t*, std::size_t, double*);
template void real_scores(const RealFamilies&, const std::int64_t*, const std::uint16_t*, std::size_t, double*);
template void real_scores(const RealFamilies&, const std::int64_t*, const std::uint32_t*, std::size_t, double*);

}  // namespace tb
