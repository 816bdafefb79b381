// Probes of the kernels of leave-one-out losses.
#include "test/kernels/probe.hpp"
#include "test/kernels/probe_lanes.hpp"
#include "kernels/leave_one_out.hpp"
#include "kernels/leave_one_out_diagonal.hpp"

namespace tb {
namespace {

constexpr std::size_t d = 11, kGammas = 14, kMoving = kGammas - 1, kOrders = 2, kBlock = kGammas * kRows;

List<double> columns_of_single(Isa isa, const List<float>& lanes) {
  return columns_of(isa, List<double>(lanes.begin(), lanes.end()), d, kRows, 0);
}

struct Shrinkages {
  List<double> gamma = List<double>(kGammas), variance, delta;
  explicit Shrinkages(Numbers& some) : variance(some.between(0.2, 2.0, d)), delta(some.between(-0.1, 0.1, kRows)) {
    for (std::size_t g = 0; g < kGammas; ++g) gamma[g] = static_cast<double>(g) / static_cast<double>(kGammas);
  }
};

struct TurnedRows {
  List<double> e = List<double>(kRows * d), ee = e, zz = e;
  List<float> ee32 = List<float>(kRows * d), zz32 = ee32;
  Turned view{e.data(), ee.data(), zz.data(), ee32.data(), zz32.data()};
  TurnedRows() = default;
  TurnedRows(TurnedRows&&) = delete;
};

void turns(Probe& p, Numbers& some, TurnedRows& rows) {
  const auto vector = some.between(-1.0, 1.0, d * d), shift = some.between(-1.0, 1.0, d),
             other = some.between(-1.0, 1.0, d);
  const auto lanes = lanes_of(p.isa, some, d);
  TB_CALL_AT(p.isa, turn_rows, lanes.data(), d, vector.data(), 0.7, shift.data(), rows.view);
  for (const List<double>* got : {&rows.e, &rows.ee, &rows.zz})
    p.got("turn_rows", columns_of(p.isa, *got, d, kRows, 0), kSums);
  for (const List<float>* got : {&rows.ee32, &rows.zz32}) p.got("turn_rows", columns_of_single(p.isa, *got), kSingle);
  for (const double* by : {other.data(), static_cast<const double*>(nullptr)}) {
    TB_CALL_AT(p.isa, shift_rows, d, by, rows.view);
    p.got("shift_rows", columns_of(p.isa, rows.zz, d, kRows, 0), kSums);
    p.got("shift_rows", columns_of_single(p.isa, rows.zz32), kSingle);
  }
  List<double> t(d);
  TB_CALL_AT(p.isa, turn_one, shift.data(), d, vector.data(), t.data());
  p.got("turn_one", t, kSums);
}

void levels(Probe& p, Numbers& some) {
  const auto step = some.between(0.5, 1.0, kRows), size = some.between(0.0, 3.0, kRows);
  List<double> b(kRows), delta(kRows);
  const Levels out = TB_CALL_AT(p.isa, row_levels, 9.0, 0.1, 0.2, step.data(), size.data(), b.data(), delta.data());
  for (const double got : {out.low, out.high, out.middle}) p.got("row_levels", got, kSums);
  p.got("row_levels", b, kSums);
  p.got("row_levels", delta, kSums);
}

void series(Probe& p, Numbers& some, const TurnedRows& rows) {
  const Shrinkages s(some);
  List<double> value(kGammas * d), drift(kGammas), square(d), terms((kOrders + 1) * kGammas), out(kBlock);
  List<float> value32(kGammas * d), change(kOrders * kMoving * d);
  const Series inverse{d, kGammas, kMoving, kOrders, value.data(), value32.data(), change.data(), drift.data()};
  TB_CALL_AT(p.isa, fill_series, s.variance.data(), s.gamma.data(), inverse);
  p.got("fill_series", value, kSums);
  p.got("fill_series", value32, kSingle);
  p.got("fill_series", change, kSingle);
  p.got("fill_series", drift, kSingle);
  const auto shift = some.between(-1.0, 1.0, d);
  TB_CALL_AT(p.isa, shift_series, shift.data(), inverse, square.data(), terms.data());
  p.got("shift_series", terms, kSingle);
  TB_CALL_AT(p.isa, evaluate, terms.data(), kOrders + 1, kGammas, s.delta.data(), out.data());
  p.got("evaluate", out, kSingle);
  TB_CALL_AT(p.isa, add_series, rows.ee.data(), rows.ee32.data(), inverse, s.delta.data(), out.data());
  p.got("add_series", out, kSingle);
  TB_CALL_AT(p.isa, add_coarse, rows.ee32.data(), inverse, s.delta.data(), out.data());
  p.got("add_coarse", out, kSingle);
}

void divisions(Probe& p, Numbers& some, const TurnedRows& rows) {
  const Shrinkages s(some);
  const auto shift = some.between(-1.0, 1.0, d);
  for (const double* by : {shift.data(), static_cast<const double*>(nullptr)}) {
    List<double> ee(kBlock), zz(kBlock), ss(kBlock), log_det(kBlock);
    TB_CALL_AT(p.isa, divide_rows, rows.e.data(), d, s.variance.data(), kGammas, s.gamma.data(), by, s.delta.data(),
               ee.data(), zz.data(), ss.data(), log_det.data());
    for (const List<double>* got : {&ee, &zz, &ss, &log_det}) p.got("divide_rows", *got, kSums);
  }
}

void losses(Probe& p, Numbers& some) {
  constexpr std::size_t classes = 3;
  const Shrinkages s(some);
  const auto b = some.between(0.0, 0.1, kRows), grow = some.between(1.0, 1.1, kRows),
             prior = some.between(-2.0, 0.0, kRows), weight = some.between(0.5, 2.0, kRows);
  const auto zz = some.between(0.5, 5.0, kBlock), ee = some.between(0.5, 5.0, kBlock),
             ss = some.between(0.0, 1.0, kBlock), log_det = some.between(-1.0, 1.0, kBlock);
  List<double> score(classes * kBlock), root(classes * kBlock), loss(kGammas);
  for (std::size_t c = 0; c < classes; ++c) {
    TB_CALL_AT(p.isa, leave_one_out_scores, kGammas, s.gamma.data(), b.data(), grow.data(), prior.data(), zz.data(),
               c == 0 ? nullptr : ee.data(), ss.data(), log_det.data(), &score[c * kBlock], &root[c * kBlock]);
  }
  p.got("left_out_scores", score, kSums);
  p.got("left_out_scores", root, kSums);
  const auto scores = some.between(-5.0, 0.0, classes * kBlock), roots = some.between(1.0, 1.2, classes * kBlock);
  TB_CALL_AT(p.isa, add_losses, scores.data(), roots.data(), classes, 1, kGammas, weight.data(), loss.data());
  p.got("add_losses", loss, kSums);
}

void axes(Probe& p, Numbers& some) {
  constexpr std::size_t points = 2 * kGridStep;
  const auto own = some.between(0.0, 2.0, d), shared = some.between(0.0, 2.0, d), away = some.between(0.0, 1.0, d);
  const auto a = some.between(0.0, 1.0, points), b = some.between(0.0, 1.0, points),
             c = some.between(0.01, 1.0, points);
  List<double> out(points);
  TB_CALL_AT(p.isa, axes_terms, own.data(), shared.data(), away.data(), d, a.data(), b.data(), c.data(), points,
             out.data());
  p.got("axes_terms", out, kSums);
}

}  // namespace

void probe_leave_one_out(Probe& p) {
  Numbers some(70);
  TurnedRows rows;
  turns(p, some, rows);
  levels(p, some);
  series(p, some, rows);
  divisions(p, some, rows);
  losses(p, some);
  axes(p, some);
}

}  // namespace tb
