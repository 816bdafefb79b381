#include "core/density/kernel_density.hpp"

#include <array>

#include "core/density/kernel_bumps.hpp"
#include "core/encode/values.hpp"

namespace tb {

KernelPart::KernelPart(const Columns& x, const KernelView& statistics, const TablesView& tables, std::size_t K)
    : x_(x), statistics_(statistics), tables_(tables), K_(K) {}

void KernelPart::add(std::size_t r0, std::size_t rows, double* acc) const {
  FirstInfinite bad;
  bool good = true;
  std::array<double, kRows> buffer;
  for (std::size_t j = 0; j < x_.d; ++j) {
    const double* x = read_values(x_.col[j], {}, r0, rows, buffer.data());
    good = bad.check(x, r0, rows, j) && good;
    for (std::size_t c = 0; good && c < K_; ++c) add_entry(j * K_ + c, x, rows, acc + c * kRows);
  }
  bad.raise();
}

void KernelPart::add_wide(std::size_t row, std::size_t classes, long double* acc) const {
  for (std::size_t e = 0; e < x_.d * classes; ++e) {
    double buffer;
    const double x = *read_values(x_.col[e / classes], {}, row, 1, &buffer);
    if (statistics_[e].size == 0 || std::isnan(x)) continue;
    acc[e % classes] += Bumps(statistics_[e], tables_.entry + e * kEntry).log_density_wide(x);
  }
}

void KernelPart::add_entry(std::size_t e, const double* x, std::size_t rows, double* acc) const {
  const Multiset values = statistics_[e];
  if (values.size == 0) return;
  const Bumps bumps(values, tables_.entry + e * kEntry);
  const auto first = static_cast<std::size_t>(tables_.cell_start[e]);
  const std::size_t cells = static_cast<std::size_t>(tables_.cell_start[e + 1]) - first;
  std::array<unsigned, kRows> left;
  std::size_t count = rows;
  if (cells > 0) {
    count = TB_CALL(gauss_cells, x, rows, tables_.edge + first, tables_.cell + first * kCell, cells, bumps.two_over_h,
                    acc, left.data());
  } else {
    for (std::size_t r = 0; r < rows; ++r) left[r] = static_cast<unsigned>(r);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t r = left[i];
    if (!std::isnan(x[r])) acc[r] += bumps.log_density(x[r]);
  }
}

}  // namespace tb
