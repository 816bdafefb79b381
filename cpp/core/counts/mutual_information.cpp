// Mutual information from counts. With N = sum of all counts,
//   I(a; b | y) = 1/N sum over a, b, c of n(a,b,c) log( n(a,b,c) n(c) / (n(a,c) n(b,c)) ),
// margins being those of the table itself. Never negative but for rounding, which is cut off.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/counts/joint.hpp"
#include "core/runtime/threads.hpp"

namespace tb {
namespace {

constexpr std::size_t kSerialCells = 1 << 14;  // cells not worth a team of threads

// sum of n log(n r / (a b)) over the (rows, columns) cells of one class, with their total r added to `all`
template <class N>
double excess(const N* cell, std::size_t rows, std::size_t columns, std::vector<double>& a, std::vector<double>& b,
              double& all) {
  a.assign(rows, 0.0);
  b.assign(columns, 0.0);
  double total = 0.0;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const auto n = static_cast<double>(cell[i * columns + j]);
      a[i] += n;
      b[j] += n;
    }
    total += a[i];
  }
  double sum = 0.0;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const auto n = static_cast<double>(cell[i * columns + j]);
      if (n > 0.0) sum += n * std::log(n / a[i] * (total / b[j]));
    }
  }
  all += total;
  return sum;
}

double share(double sum, double all) { return all > 0.0 ? std::max(0.0, sum / all) : 0.0; }

}  // namespace

template <class N>
void pair_information(const Tables& tables, std::size_t classes, const N* counts, double* out) {
  const std::size_t per_block =
      std::max<std::size_t>(1, kSerialCells * tables.count / std::max<std::size_t>(1, tables.cells() * classes));
  const std::size_t blocks = (tables.count + per_block - 1) / per_block;
  parallel_for(blocks, [&](std::size_t block, int) {
    std::vector<double> a, b;
    for (std::size_t t = block * per_block; t < std::min(tables.count, (block + 1) * per_block); ++t) {
      if (tables.order(t) != 2) {
        out[t] = std::numeric_limits<double>::quiet_NaN();
        continue;
      }
      const auto rows = static_cast<std::size_t>(tables.size[tables.columns(t)[0]]);
      const auto columns = static_cast<std::size_t>(tables.size[tables.columns(t)[1]]);
      double sum = 0.0, all = 0.0;
      for (std::size_t c = 0; c < classes; ++c) {
        sum += excess(counts + c * tables.cells() + tables.offset[t], rows, columns, a, b, all);
      }
      out[t] = share(sum, all);
    }
  });
}

template void pair_information(const Tables&, std::size_t, const std::uint32_t*, double*);
template void pair_information(const Tables&, std::size_t, const double*, double*);

void class_information(std::size_t d, const std::int64_t* size, std::size_t classes, const double* single,
                       double* out) {
  std::size_t cells = 0, begin = 0;
  for (std::size_t j = 0; j < d; ++j) cells += static_cast<std::size_t>(size[j]);
  std::vector<double> a, b, table;
  for (std::size_t j = 0; j < d; ++j) {
    const auto levels = static_cast<std::size_t>(size[j]);
    table.resize(classes * levels);
    for (std::size_t c = 0; c < classes; ++c)
      std::copy_n(single + c * cells + begin, levels, table.data() + c * levels);
    double all = 0.0;
    const double sum = excess(table.data(), classes, levels, a, b, all);
    out[j] = share(sum, all);
    begin += levels;
  }
}

}  // namespace tb
