// Probes of the kernels of kernel densities, of products, and of logarithms.
#include <algorithm>

#include "test/kernels/probe.hpp"
#include "kernels/kernel_density.hpp"
#include "kernels/logs.hpp"
#include "kernels/neighbors.hpp"

namespace tb {
namespace {

void bumps(Probe& p) {
  constexpr std::size_t m = 21;
  constexpr double two_over_h = 2.0 / 0.3;
  Numbers some(50);
  auto value = some.between(-1.0, 1.0, m);
  std::sort(value.begin(), value.end());
  const auto weight = some.between(0.5, 2.0, m);
  for (const std::size_t near : {0, 10}) {
    const double half = 0.5 * value[near], x = half + 0.001;
    p.got("gauss_sum", TB_CALL_AT(p.isa, gauss_sum, value.data(), weight.data(), m, x, half, two_over_h), kSums);
    List<double> share(m + 8);
    Moments out{};
    TB_CALL_AT(p.isa, gauss_moments, value.data(), weight.data(), m, x, half, two_over_h, 0.5, share.data(), &out);
    for (const double got : {out.sum, out.mean, out.error}) p.got("gauss_moments", got, kSums);
    p.got("gauss_moments", out.q + 2, kDegree - 1, kSums);
  }
}

void cells(Probe& p) {
  constexpr std::size_t count = 5, rows = 61;
  Numbers some(51);
  auto x = some.between(0.0, static_cast<double>(count), rows);
  x[3] = kNan;
  List<double> edge(count), cell(count * kCell), acc(rows);
  for (std::size_t k = 0; k < count; ++k) {
    edge[k] = k == 0 ? -kInfinity : static_cast<double>(k);
    const auto q = some.between(0.0, 0.3, kCell);
    std::copy(q.begin(), q.end(), &cell[k * kCell]);
    cell[k * kCell] = k == 3 ? kNan : static_cast<double>(k) + 0.5;
  }
  List<unsigned> left(rows);
  p.got("gauss_cells",
        TB_CALL_AT(p.isa, gauss_cells, x.data(), rows, edge.data(), cell.data(), count, 2.0, acc.data(), left.data()));
  p.got("gauss_cells", acc, kSums);
  p.got("gauss_cells", left);
}

void logarithms(Probe& p) {
  constexpr std::size_t n = 37;
  Numbers some(52);
  auto x = some.between(0.0, 3.0, n);
  x[1] = 1.0;
  x[2] = 1e-300;
  x[3] = 1e300;
  List<double> out(n);
  TB_CALL_AT(p.isa, logs, x.data(), n, out.data());
  p.got("logs", out, kSums);
  TB_CALL_AT(p.isa, logs_of_positive, x.data(), n, out.data());
  p.got("logs_of_positive", out, kSums);
}

void products(Probe& p) {
  constexpr std::size_t blocks = 2, d = 5;
  Numbers some(53);
  const auto point = some.between<float>(-2.0, 2.0, blocks * d * kNeighborLanes),
             half = some.between<float>(0.0, 2.0, blocks * kNeighborLanes),
             asked = some.between<float>(-2.0, 2.0, kNeighborQueries * d);
  List<float> out(kNeighborQueries * blocks * kNeighborLanes);
  TB_CALL_AT(p.isa, neighbor_products, point.data(), half.data(), blocks, d, asked.data(), out.data());
  p.got("nearest_products", out, kSingle);
}

}  // namespace

void probe_densities(Probe& p) {
  bumps(p);
  cells(p);
  products(p);
  logarithms(p);
}

}  // namespace tb
