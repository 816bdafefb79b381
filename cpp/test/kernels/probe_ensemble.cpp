// Probes of the kernels that weigh the parts of an ensemble.
#include "test/kernels/probe.hpp"
#include "kernels/boosting.hpp"
#include "kernels/boosting_cuts.hpp"
#include "kernels/temperature.hpp"
#include "kernels/stacking.hpp"

namespace tb {
namespace {

constexpr std::size_t terms = 7, classes = 3, rows = 2 * kWeightLanes, count = rows - 3, all = classes * rows;
constexpr std::size_t padded = (terms + kWeightTile - 1) / kWeightTile * kWeightTile;

void sums(Probe& p, const WeightBlock& block) {
  List<double> gradient(terms + classes), between(padded * padded), across(terms * classes), by(classes * classes),
      share(all), residual(all);
  List<float> weight(all), lean(all), root(all), mean(rows), x(padded * all);
  const WeightSums out{gradient.data(), between.data(), across.data(), by.data(),   share.data(), residual.data(),
                       weight.data(),   lean.data(),    root.data(),   mean.data(), x.data()};
  TB_CALL_AT(p.isa, weight_sums, block, out);
  for (const List<double>* got : {&gradient, &between, &across}) p.got("weight_sums", *got, kSingle);
  for (const List<double>* got : {&by, &share, &residual}) p.got("weight_sums", *got, kSums);
}

// A matrix whose rows differ little from those of the identity.
void solve(Probe& p, Numbers& some) {
  constexpr std::size_t n = kWeightLanes + 5, stride = 2 * kWeightLanes;
  auto H = some.between(-0.02, 0.02, n * stride), g = some.between(-1.0, 1.0, stride);
  List<double> whole(n);
  for (std::size_t i = 0; i < n; ++i) whole[i] = H[i * stride + i] += 1.0;
  TB_CALL_AT(p.isa, weight_solve, H.data(), stride, whole.data(), g.data(), n);
  g.resize(n);
  p.got("weight_solve", g, kSums);
}

void temper(Probe& p, Numbers& some) {
  const auto prior = some.between(-3.0, 0.0, all), more = some.between(-5.0, 5.0, all),
             w = some.between(0.1, 1.0, rows);
  const List<double> own(prior.begin(), prior.begin() + rows);
  TemperatureSums sums{};
  TB_CALL_AT(p.isa, temperature_sums, TemperatureRows{rows, classes, prior.data(), more.data(), own.data(), w.data()},
             0.7, sums);
  for (const double got : {sums.loss, sums.mean, sums.variance}) p.got("temper_sums", got, kSums);
}

void correct(Probe& p, Numbers& some) {
  const auto joint = some.between(-3.0, 0.0, all), up = some.between(0.5, 9.0, all), down = some.between(0.5, 9.0, all);
  const auto y = some.below<std::uint32_t>(classes, rows);
  const List<double> own(y.begin(), y.end());
  List<double> to(all), share(all), loss(rows);
  TB_CALL_AT(p.isa, boost_rows,
             BoostedRows{rows, classes, joint.data(), up.data(), down.data(), own.data(), 0.3, to.data(), share.data(),
                         loss.data()});
  for (const List<double>* got : {&to, &share, &loss}) p.got("boost_rows", *got, kSums);
  p.got("loss_reduction", TB_CALL_AT(p.isa, loss_reduction, loss.data(), up.data(), down.data(), rows), kSums);
}

void cuts(Probe& p, Numbers& some) {
  constexpr std::size_t many = 50, bins = 11;
  const auto order = some.below<std::uint32_t>(many, many);
  const std::uint32_t start[] = {0, 2, 2, many};  // less rows than bins, none, and more
  auto bin = some.below<std::uint8_t>(bins, kCutColumns * many);
  bin[3] = bin[many + 7] = bins;
  for (const std::size_t gradients : {7, 12}) {
    const std::size_t each = padded_gradients(gradients), room = cut_room(bins, gradients);
    const auto wide = some.between(0.1, 1.0, many * 2 * each);
    const List<float> gradient(wide.begin(), wide.end());
    for (std::size_t columns = 1; columns <= kCutColumns; ++columns) {
      List<float> sum(columns * room), score(columns * padded_bins(bins));
      CutColumn column[kCutColumns];
      for (std::size_t j = 0; j < columns; ++j)
        column[j] = {bin.data() + j * many, bins, j % 2 == 0, sum.data() + j * room,
                     score.data() + j * padded_bins(bins)};
      TB_CALL_AT(p.isa, cut_scores, TreeCells{3, start, order.data(), gradient.data(), gradients, 1.0f}, column,
                 columns);
      for (std::size_t j = 0; j < columns; ++j) p.got("cut_scores", column[j].score, bins, kSingle);
    }
  }
  const auto key = some.below<std::uint64_t>(~std::uint32_t{0}, many);
  List<std::uint8_t> taken(many);
  TB_CALL_AT(p.isa, sample_half, key.data(), many, std::uint64_t{7} << 32, taken.data());
  p.got("sample_half", taken);
  const auto weight = some.between(0.1, 1.0, many);
  List<double> judge(many);
  p.got("holdout_weights", TB_CALL_AT(p.isa, holdout_weights, taken.data(), weight.data(), many, judge.data()), kSums);
  p.got("holdout_weights", judge);
  List<std::uint8_t> out(many, 0);
  List<std::uint16_t> node(many, 0);
  bin[3] = 255;
  for (const bool ordered : {true, false}) {
    TB_CALL_AT(p.isa, descend_rows, bin.data(), many, ordered, 4, out.data(), node.data());
    p.got("descend_rows", out);
    p.got("descend_rows", node);
  }
  const auto y = some.below<std::uint32_t>(classes, many);
  const auto unit = some.between(0.5, 1.0, many), share = some.between(0.0, 1.0, many),
             n = some.between(0.0, 3.0, 7 * classes), e = some.between(0.0, 3.0, 7 * classes);
  List<double> up(many), down(many);
  TB_CALL_AT(p.isa, leaf_ratios, node.data(), y.data(), unit.data(), share.data(), many, classes, 1, n.data(), e.data(),
             1.0, up.data(), down.data());
  p.got("leaf_ratios", up, kSums);
  p.got("leaf_ratios", down, kSums);
}

// Of few gradients, and of two classes.
void paired(Probe& p, Numbers& some) {
  constexpr std::size_t many = 6 * kBoostingLanes, bins = 11, nodes = 7;
  const auto order = some.below<std::uint32_t>(many, many);
  const std::uint32_t start[] = {0, 20, 20, many};
  const auto bin = some.below<std::uint8_t>(bins + 1, kPairedColumns * many);
  List<std::uint16_t> place(bin.size());
  const auto gradient = some.between<float>(0.1, 1.0, 8 * many), before = some.between<float>(0.0, 1.0, 16);
  const List<std::int32_t> cuts(kPairedColumns, bins - 1);
  for (const std::size_t gradients : {1, 3}) {
    const std::size_t slots = paired_slots(gradients), most = slots == 1 ? kPairedColumns : 4;
    for (std::size_t columns = 1; columns <= most; ++columns) {
      const std::size_t side = paired_side(slots, columns);
      List<float> sum(paired_sums(bins, side)), score(paired_scores(bins, side));
      for (std::size_t i = 0; i < bin.size(); ++i) place[i] = paired_place(bin[i], side);
      PairedColumns task{columns,       slots,       gradients,  side,         bins, place.data(),
                         before.data(), cuts.data(), sum.data(), score.data(), {},   {}};
      TB_CALL_AT(p.isa, paired_cuts, TreeCells{3, start, order.data(), gradient.data(), gradients, 1.0f}, task);
      p.got("paired_cuts", task.best, columns, kSingle);
      p.got("paired_cuts", task.at, columns);
    }
  }
  const auto node = some.below<std::uint16_t>(nodes, many);
  const auto y = some.below<std::uint32_t>(2, many);
  const List<double> own(y.begin(), y.end());
  const auto w = some.between(0.5, 1.0, many), part = some.between(0.0, 1.0, 2 * many),
             joint = some.between(-3.0, 0.0, 2 * many), n = some.between(0.0, 3.0, 2 * nodes),
             e = some.between(0.0, 3.0, 2 * nodes);
  List<double> counts(16 * nodes), to(2 * many), share(2 * many), loss(many);
  TB_CALL_AT(p.isa, paired_counts, node.data(), y.data(), w.data(), part.data(), many, many, counts.data());
  p.got("paired_counts", counts, kSums);
  TB_CALL_AT(p.isa, paired_rows,
             PairedRows{many, node.data(), own.data(), w.data(), n.data(), e.data(), 1.0, 0.3, joint.data(),
                        part.data(), to.data(), share.data(), loss.data()});
  for (const List<double>* got : {&to, &share, &loss}) p.got("paired_rows", *got, kSums);
}

}  // namespace

void probe_ensemble(Probe& p) {
  Numbers some(100);
  const auto from = some.between<float>(-3.0, 0.0, terms * rows * classes);
  auto open = some.below<std::uint8_t>(2, count * classes);
  for (std::size_t k = 0; k < count; ++k) open[k * classes] = 1;
  const auto row = some.below<std::uint32_t>(rows, count);
  List<float> term(terms * all);
  for (const std::uint8_t* may :
       {static_cast<const std::uint8_t*>(open.data()), static_cast<const std::uint8_t*>(nullptr)}) {
    p.got("weight_pack", TB_CALL_AT(p.isa, weight_pack, from.data(), rows * classes, row.data(), count, may, terms,
                                    classes, rows, term.data()));
    p.got("weight_pack", term);
  }
  const auto joint = some.between(-3.0, 0.0, all), v = some.between(-1.0, 1.0, terms),
             b = some.between(-1.0, 1.0, classes);
  const auto y = some.below<std::int32_t>(classes, rows);
  auto w = some.between(0.1, 1.0, rows);
  for (std::size_t r = count; r < rows; ++r) w[r] = 0.0;
  const WeightBlock block{terms, classes, rows, term.data(), joint.data(), y.data(), w.data()};
  List<double> move(all);
  TB_CALL_AT(p.isa, weight_move, block, v.data(), b.data(), move.data());
  p.got("weight_move", move, kSums);
  TB_CALL_AT(p.isa, weight_terms, block.term, terms, all, all, v.data(), move.data());
  p.got("weight_terms", move, kSums);
  p.got("weight_loss", TB_CALL_AT(p.isa, weight_loss, block, move.data(), 0.3), kSums);
  sums(p, block);
  solve(p, some);
  temper(p, some);
  correct(p, some);
  cuts(p, some);
  paired(p, some);
}

}  // namespace tb
