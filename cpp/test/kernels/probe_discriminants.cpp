// Probes of the kernels of Gaussian discriminants. How rows lie in lanes depends on the instruction set: a
// block is noted by its columns, which add_affine takes out of it.
#include <algorithm>
#include <array>

#include "test/kernels/probe.hpp"
#include "test/kernels/probe_lanes.hpp"
#include "kernels/marginal.hpp"

namespace tb {
namespace {

constexpr std::size_t d = 11, n = 70;

template <class T>
void blocks(Probe& p, Numbers& some) {
  auto values = some.between<T>(-2.0, 2.0, n * d);
  if (std::is_floating_point_v<T>) values[20 * d + 4] = static_cast<T>(kNan);
  const auto centre = some.between(-1.0, 1.0, d);
  for (const bool by_rows : {true, false}) {
    const Table<T> table(values, n, d, by_rows);
    for (const std::size_t rows : {kRows, std::size_t{37}}) {
      List<double> lanes(kRows * d);
      const std::uint64_t odd = TB_CALL_AT(p.isa, load_lanes, table.view, 3, rows, centre.data(), lanes.data());
      p.got("load_lanes", odd);
      p.got("load_lanes", columns_of(p.isa, lanes, d, rows, odd), kSums);
    }
  }
}

void forms(Probe& p, std::size_t classes) {
  constexpr std::size_t rows = 37;
  constexpr std::uint64_t leave = 0x1000010;
  Numbers some(61);
  const auto lanes = lanes_of(p.isa, some, d);
  const auto factor = some.between(-1.0, 1.0, d * d), mean = some.between(-1.0, 1.0, classes * d),
             low = some.between(-1e-17, 1e-17, d), constant = some.between(-1.0, 1.0, classes);
  const auto start = some.between(-1.0, 1.0, classes * kRows);
  List<double> work(kRows * d), z(kRows * d);
  for (const std::uint64_t some_left : {std::uint64_t{0}, leave}) {
    auto acc = start;
    TB_CALL_AT(p.isa, add_quadratic, lanes.data(), rows, some_left, d, mean.data(), low.data(), factor.data(), 0.5,
               work.data(), acc.data());
    p.got("add_quadratic", acc, kSums);
    TB_CALL_AT(p.isa, whiten, lanes.data(), rows, d, factor.data(), z.data());
    p.got("whiten", columns_of(p.isa, z, d, rows, 0), kSums);
    acc = start;
    TB_CALL_AT(p.isa, add_distances, z.data(), rows, some_left, d, mean.data(), constant.data(), classes, acc.data());
    p.got("add_distances", acc, kSums);
    acc = start;
    TB_CALL_AT(p.isa, add_affine, lanes.data(), rows, some_left, d, mean.data(), constant.data(), classes, acc.data());
    p.got("add_affine", acc, kSums);
  }
}

void missing_values(Probe& p) {
  constexpr std::size_t stride = (d + kMarginalPad - 1) / kMarginalPad * kMarginalPad, count = 3;
  Numbers some(62);
  List<double> columns(d * stride), q(count * stride), r(count * count), z(stride), work(stride);
  const auto x = some.between(-1.0, 1.0, d), drawn = some.between(-1.0, 1.0, d * d);
  for (std::size_t j = 0; j < d; ++j) {
    for (std::size_t i = j; i < d; ++i) columns[j * stride + i] = drawn[j * d + i];
  }
  std::copy_n(columns.begin(), q.size(), q.begin());
  TB_CALL_AT(p.isa, combine_columns, columns.data(), stride, x.data(), d, z.data());
  p.got("combine_columns", z, kSums);
  TB_CALL_AT(p.isa, orthonormal, q.data(), count, stride, r.data());
  p.got("orthonormal", q, kSums);
  for (std::size_t j = 0; j < count; ++j) p.got("orthonormal", r.data() + j * count + j, count - j, kSums);
  p.got("square_outside",
        TB_CALL_AT(p.isa, square_outside, q.data(), count, stride, z.data(), columns.data(), work.data()), kSums);
}

void gaps_in_lanes(Probe& p) {
  constexpr std::size_t stride = (d + kMarginalPad - 1) / kMarginalPad * kMarginalPad, count = 5;
  constexpr std::size_t L = kMarginalLanes;
  Numbers some(63);
  const auto columns = some.between(0.0, 1.0, d * stride), x = some.between(-1.0, 1.0, d * L),
             drawn = some.between(-1.0, 1.0, count * d * L);
  for (const bool backwards : {true, false}) {
    const std::array<std::uint32_t, count> begin{8, 8, 4, 0, 0}, none{}, all{d, d, d, d, d}, end{4, 8, 8, d, d};
    const auto& from = backwards ? begin : none;
    const auto& to = backwards ? all : end;
    List<double> q(count * d * L), r(count * count * L), z(d * L), work(d * L), square(L);
    for (std::size_t i = 0; i < q.size(); ++i) {
      const std::size_t t = i / (d * L), at = i / L % d;
      if (at >= from[t] && at < to[t]) q[i] = drawn[i];
    }
    TB_CALL_AT(p.isa, orthonormal_lanes, q.data(), count, d, from.data(), to.data(), r.data());
    p.got("orthonormal_lanes", q, kSums);
    for (std::size_t t = 0; t < count; ++t)
      p.got("orthonormal_lanes", r.data() + (t * count + t) * L, (count - t) * L, kSums);
    TB_CALL_AT(p.isa, combine_lanes, columns.data(), stride, x.data(), d, z.data());
    p.got("combine_lanes", z, kSums);
    if (backwards) {
      TB_CALL_AT(p.isa, outside_lanes, q.data(), count, d, from.data(), z.data(), columns.data(), work.data(),
                 square.data());
      p.got("outside_lanes", square, kSums);
    }
    auto y = x;
    TB_CALL_AT(p.isa, solve_lanes, r.data(), count, y.data(), square.data());
    p.got("solve_lanes", square, kSums);
  }
}

}  // namespace

void probe_discriminants(Probe& p) {
  Numbers some(60);
  for_types<double, float, std::int32_t>([&](auto type) { blocks<decltype(type)>(p, some); });
  for (const std::size_t classes : {3, 7}) forms(p, classes);
  missing_values(p);
  gaps_in_lanes(p);
}

}  // namespace tb
