// Probes of the kernels of averaged dependence estimators.
#include <array>
#include <cmath>

#include "test/kernels/probe.hpp"
#include "kernels/averaged.hpp"
#include "kernels/concentrations.hpp"

namespace tb {
namespace {

// A parent of two levels, and two children beside it, of three and four.
template <class Count>
void cells(Probe& p, Numbers& some, std::size_t classes, std::size_t lanes) {
  constexpr std::size_t counts = 14;
  const auto joint = some.below<Count>(20, classes * counts);
  const std::array family{Family{0, 0, {}, kNoTotal, false}, Family{0, 2, {1, 0, 0}, kNoTotal, true},
                          Family{6, 2, {1, 0, 0}, 0, true}};
  const auto totals = some.below<double>(40, 2 * classes);  // of the last child
  const std::array<std::uint32_t, 2> levels_met{0, 2};
  const std::array<Met, 3> met{Met{nullptr, 0}, Met{levels_met.data(), 2}, Met{nullptr, 0}};
  const std::array<std::size_t, 4> first{0, 2, 5, 9};
  const std::array<std::size_t, 1> value{1};
  const std::array levels{2.0, 3.0, 4.0}, concentration{1.0, 2.0, 0.5};
  auto out = some.between(0.0, 1.0, first.back() * lanes);
  for (const double* backed_off : {static_cast<const double*>(nullptr), concentration.data()}) {
    for (const double removed : {0.0, 1.0}) {
      for (const Met* some_levels : {static_cast<const Met*>(nullptr), met.data()}) {
        TB_CALL_AT(p.isa, fill_cell,
                   (CellFill{joint.data(), std::is_integral_v<Count>, counts, classes, lanes, family.size(),
                             family.data(), first.data(), value.data(), value.size(), levels.data(), 0.5, backed_off,
                             removed, totals.data(), classes, some_levels, out.data()}));
        p.got("fill_cell", out, kSums);
      }
    }
  }
}

void bundles(Probe& p, Numbers& some, std::size_t lanes) {
  const std::array<std::size_t, 5> first{0, 2, 5, 9, 11};
  const std::array bundle{Bundle{3, {0, 1, 3, 0}, 12}, Bundle{1, {2, 0, 0, 0}, 48}};
  auto table = some.between(0.0, 1.0, 48 * lanes);
  TB_CALL_AT(p.isa, fill_bundles, bundle.data(), bundle.size(), first.data(), lanes, table.data());
  p.got("fill_bundles", table, kSums);
}

// Products go far below the range of doubles: what is noted is their logarithm.
template <class Code>
void products(Probe& p, Numbers& some, std::size_t lanes, double least) {
  constexpr std::size_t rows = 23, d = 40, levels = 16;
  auto table = some.between(0.0, 1.0, levels * lanes);
  for (double& x : table) x = least + x * x * (1.0 - least);
  table[3] = 0.0;
  auto code = some.below<Code>(levels, rows * d);
  for (Code& at : code) at = static_cast<Code>(at * lanes);
  List<double> start(2 * lanes), sum(rows * 2 * lanes);
  for (std::size_t c = 0; c < lanes; ++c) start[c] = 0.25;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < lanes; ++c) sum[(2 * r + 1) * lanes + c] = kNothing;
  }
  const std::size_t run = TB_CALL_AT(p.isa, safe_run, table.data(), table.size());
  p.got("safe_run", run);
  const auto row = first_rows(rows);
  const Products task{code.data(), sizeof(Code) == 4, d, lanes, table.data(), start.data(), run};
  if (run > 0) TB_CALL_AT(p.isa, add_products, task, row.data(), rows, sum.data());
  List<Bundle> bundle(d / 2);
  for (std::size_t b = 0; b < d / 2; ++b) bundle[b] = {2, {2 * b, 2 * b + 1, 0, 0}, 0};
  TB_CALL_AT(p.isa, add_single_products, task, bundle.data(), bundle.size(), row.data(), rows, sum.data());
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < lanes; ++c) {
      double &x = sum[2 * r * lanes + c], &e = sum[(2 * r + 1) * lanes + c];
      e = x > 0.0 ? e : 1.0;  // of nothing: kNothing would be the largest number of all
      x = x > 0.0 ? std::log(x) : 1.0;
    }
  }
  p.got("add_products and add_single_products", sum, kSums);
}

void likelihoods(Probe& p) {
  constexpr std::size_t count = 2 * kShareLanes;
  Numbers some(81);
  const List<double> grid{1e-6, 0.1, 1.0, 30.0};
  auto above = some.below<double>(9, count), below = above;
  for (std::size_t i = 0; i < count; ++i) below[i] += static_cast<double>(i % 7);
  const auto weight = some.between(0.5, 2.0, count), prior = some.between(0.01, 1.0, count);
  List<double> sum(grid.size()), shares(grid.size());
  TB_CALL_AT(p.isa, add_log_likelihoods, weight.data(), above.data(), below.data(), prior.data(), count, grid.data(),
             grid.size(), sum.data());
  p.got("add_log_likelihoods", sum, kSums);
  TB_CALL_AT(p.isa, add_log_shares, above.data(), below.data(), prior.data(), count, grid.data(), grid.size(),
             shares.data());
  p.got("add_log_shares", shares, kSums);
  auto n = some.below<float>(9, count), total = some.below<float>(3, count);
  const auto own = some.between<float>(0.01, 1.0, count);
  for (const double* w : {weight.data(), static_cast<const double*>(nullptr)}) {
    List<double> to[4] = {List<double>(count), List<double>(count), List<double>(count), List<double>(count)};
    Judging judging{to[0].data(), to[1].data(), to[2].data(), to[3].data()};
    const std::size_t kept =
        TB_CALL_AT(p.isa, judging_rows, JudgingRows{n.data(), total.data(), own.data(), w, 0.5}, count, judging);
    for (const List<double>& got : to) p.got("judging_rows", got.data(), kept, kSums);
    p.got("judging_rows", judging.far);
  }
}

}  // namespace

void probe_averages(Probe& p) {
  Numbers some(80);
  for (const std::size_t lanes : {2, 4, 8}) {
    cells<std::uint32_t>(p, some, lanes - 1, lanes);
    cells<double>(p, some, lanes - 1, lanes);
    bundles(p, some, lanes);
    for (const double least : {1e-3, 1e-60, 1e-200}) {
      products<std::uint16_t>(p, some, lanes, least);
      products<std::uint32_t>(p, some, lanes, least);
    }
  }
  likelihoods(p);
}

}  // namespace tb
