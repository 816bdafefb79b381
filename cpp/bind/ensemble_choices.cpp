// What an ensemble of count tables chooses: the bins of its members, the class trees they grow, the weights of its
// terms.
#include "bind/checked.hpp"

#include <algorithm>
#include <cmath>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include "core/encode/check_rows.hpp"
#include "core/ensemble/random_bins.hpp"
#include "core/ensemble/class_trees.hpp"
#include "core/ensemble/low_discrepancy.hpp"
#include "core/ensemble/temperature.hpp"
#include "core/ensemble/stacking.hpp"

namespace tb::bind {
namespace {

using Terms = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Turns = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// The Python class _core.StackingProblem.
class PyStackingSearch {
 public:
  PyStackingSearch(const Terms& terms, const Labels& y, const std::optional<Doubles>& w, const Matrix& start,
                   const Flags& second)
      : search_(checked(terms, y, w, start, second)) {}

  std::tuple<Array<double, 1>, Array<double, 1>, double, std::size_t> fit(
      std::optional<bool> second, const Doubles& centre, const Doubles& ridge, const std::optional<Flags>& bounded,
      const std::pair<std::int64_t, std::optional<Doubles>>& search) const {
    const auto& [steps, first] = search;
    const std::size_t D = search_.terms(), K = search_.classes();
    expect(centre.shape(0) == D && ridge.shape(0) == D + 1, "centre must be (terms,) and ridge (terms + 1,)");
    for (std::size_t d = 0; d < D; ++d) expect(std::abs(centre(d)) <= kMaxValue, "centre must be finite");
    for (std::size_t d = 0; d <= D; ++d)
      expect(ridge(d) >= 0 && ridge(d) <= kMaxValue, "ridge must be finite and not negative");
    expect(!bounded || bounded->shape(0) == D, "bounded must be (terms,)");
    for (std::size_t d = 0; d < D && bounded; ++d)
      expect(!(*bounded)(d) || centre(d) >= 0, "the centre of a weight that is not to fall below 0 must not be either");
    expect(!first || first->shape(0) == D + K, "first must be (terms + classes,)");
    for (std::size_t i = 0; i < D + K && first; ++i) {
      expect(std::abs((*first)(i)) <= kMaxValue, "first must be finite");
      expect(!(bounded && i < D && (*bounded)(i)) || (*first)(i) >= 0,
             "a weight that is not to fall below 0 begins there");
    }
    expect(steps >= 0, "steps must not be negative");
    Weights found;
    {
      const GilRelease release;
      found = search_.fit(
          half(second),
          {centre.data(), ridge.data(), ridge(D), bounded ? bounded->data() : nullptr, first ? first->data() : nullptr},
          static_cast<std::size_t>(steps));
    }
    return {array_of(std::move(found.v)), array_of(std::move(found.b)), found.loss, found.taken};
  }

  double loss(std::optional<bool> second, const Doubles& v, const Doubles& b) const {
    expect(v.shape(0) == search_.terms() && b.shape(0) == search_.classes(), "v must be (terms,) and b (classes,)");
    for (std::size_t d = 0; d < v.shape(0); ++d) expect(std::abs(v(d)) <= kMaxValue, "v must be finite");
    for (std::size_t c = 0; c < b.shape(0); ++c) expect(std::abs(b(c)) <= kMaxValue, "b must be finite");
    const GilRelease release;
    return search_.loss(half(second), v.data(), b.data());
  }

 private:
  static constexpr double kMaxValue = 1e100;  // beyond it products overflow
  static Fold half(std::optional<bool> second) { return !second ? Fold::both : *second ? Fold::second : Fold::first; }

  [[gnu::noinline]]  // else GCC 12 takes w for uninitialised
  static StackingProblem checked(const Terms& terms, const Labels& y, const std::optional<Doubles>& w,
                                 const Matrix& start, const Flags& second) {
    const std::size_t D = terms.shape(0), n = terms.shape(1), K = terms.shape(2);
    expect(K > 0, "terms must be (terms, rows, classes) with at least one class");
    expect(n < (std::size_t{1} << 32) - 1, "terms has 2**32 rows or more");
    expect(y.shape(0) == n, "y must be (rows,)");
    expect(start.shape(0) == n && start.shape(1) == K, "start must be (rows, classes)");
    expect(second.shape(0) == n, "second must be (rows,)");
    const double* weight = weights_or_null(w, n);
    const GilRelease release;
    return StackingProblem({D, n, K, terms.data(), y.data(), weight, start.data(), second.data()});
  }
  StackingProblem search_;
};

Array<double, 2> py_weighted_terms(const Terms& terms, const Doubles& v) {
  expect(v.shape(0) == terms.shape(0), "v must be (terms,)");
  auto out = make_array<double, 2>({terms.shape(1), terms.shape(2)});
  const GilRelease release;
  weighted_terms(terms.data(), terms.shape(0), terms.shape(1) * terms.shape(2), v.data(), out.data());
  return out;
}

Array<std::int64_t, 1> py_low_discrepancy_design(const Turns& has, const Doubles& share, std::int64_t members) {
  expect(has.shape(0) > 0 && members >= 0, "there must be draws, and members must not be negative");
  const auto count = static_cast<std::int64_t>(share.shape(0));
  expect(std::all_of(has.data(), has.data() + has.size(), [&](std::int32_t f) { return f >= 0 && f < count; }),
         "every feature must have a share");
  auto taken = make_array<std::int64_t, 1>({static_cast<std::size_t>(members)});
  const GilRelease release;
  low_discrepancy_design(has.data(), has.shape(0), has.shape(1), share.data(), share.shape(0),
                         static_cast<std::size_t>(members), taken.data());
  return taken;
}

std::tuple<Array<std::uint8_t, 2>, Array<std::int32_t, 2>> py_draw_bins(const Matrix& count, const Sizes& sizes,
                                                                        const Flags& ordered, const Turns& turn,
                                                                        std::int64_t low, std::int64_t high,
                                                                        double mdl_share, std::uint64_t seed) {
  const std::size_t d = sizes.shape(0);
  std::size_t all = 0;
  for (std::size_t j = 0; j < d; ++j) {
    expect(sizes(j) >= 0 && sizes(j) < std::int64_t{1} << 31, "sizes must lie between 0 and 2**31");
    all += static_cast<std::size_t>(sizes(j));
  }
  expect(count.shape(1) == all, "count must be (classes, sum of sizes)");
  expect(ordered.shape(0) == d, "ordered: one for each column");
  expect(turn.shape(1) == d, "turn must be (members, columns)");
  expect(std::all_of(turn.data(), turn.data() + turn.size(), [](std::int32_t k) { return k >= 0; }),
         "a turn is not negative");
  expect(1 <= low && low <= high && high <= static_cast<std::int64_t>(kMostBins), "1 <= low <= high <= 64 is wanted");
  expect(mdl_share >= 0 && mdl_share <= 1, "mdl_share must lie between 0 and 1");
  const std::size_t E = turn.shape(0);
  auto map = make_array<std::uint8_t, 2>({E, all});
  auto bins = make_array<std::int32_t, 2>({E, d});
  {
    const GilRelease release;
    check_weights(count.data(), count.size());
    const std::vector<std::uint8_t> flag(ordered.data(), ordered.data() + d);
    draw_bins({count.shape(0), d, count.data(), sizes.data(), flag.data(), E, static_cast<std::size_t>(low),
               static_cast<std::size_t>(high), mdl_share, turn.data(), seed},
              map.data(), bins.data());
  }
  return {map, bins};
}

std::tuple<Array<std::uint8_t, 1>, std::size_t> py_mdl_bins(const Matrix& count, std::int64_t depth) {
  expect(depth >= 0 && depth <= 6, "depth must lie between 0 and 6");  // 64 bins
  check_weights(count.data(), count.size());
  auto map = make_array<std::uint8_t, 1>({count.shape(1)});
  const std::size_t bins = mdl_bins(count.data(), count.shape(1), count.shape(0), count.shape(1),
                                    static_cast<std::size_t>(depth), map.data());
  return {map, bins};
}

using Maps = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Masks = nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Candidates = nb::ndarray<const std::int32_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

// The Python class _core.Splits: ways to cut columns, checked once.
class PySplits {
 public:
  PySplits(const Ints& column, const Maps& map, const Ints& bins)
      : column_(copy_of(column)),
        bins_(copy_of(bins)),
        map_(map.data(), map.data() + map.size()),
        width_(map.shape(1)) {
    const std::size_t splits = column_.size();
    expect(map.shape(0) == splits && width_ > 0, "map must be (splits, levels + 1)");
    expect(bins_.size() == splits, "bins: one number for each split");
    for (std::size_t s = 0; s < splits; ++s) {
      expect(column_[s] >= 0, "a split's column does not exist");
      expect(bins_[s] >= 1 && bins_[s] <= kNoBin, "bins must lie between 1 and 255");
      for (std::size_t v = 0; v < width_; ++v) {
        expect(map(s, v) < bins_[s] || map(s, v) == kNoBin, "map has a bin beyond the split's bins");
      }
    }
  }

  std::size_t count() const { return column_.size(); }
  // Throws unless every split is of one of so many columns.
  void check_columns(std::size_t columns) const {
    for (const std::int32_t j : column_)
      expect(static_cast<std::size_t>(j) < columns, "a split's column does not exist");
  }
  void describe(ClassTreeGrowth& g) const {
    g.levels = width_ - 1;
    g.column = column_.data();
    g.map = map_.data();
    g.bins = bins_.data();
  }

 private:
  std::vector<std::int32_t> column_, bins_;
  std::vector<std::uint8_t> map_;
  std::size_t width_;
};

Array<std::int32_t, 2> py_grow_class_trees(const AnyCodes& codes, const Labels& y, const std::optional<Doubles>& w,
                                           std::int64_t classes, const PySplits& splits,
                                           const std::pair<Candidates, std::optional<Masks>>& members,
                                           const Doubles& grid, double most_cells) {
  const auto& [candidates, part] = members;
  const std::size_t n = codes.shape(1), columns = codes.shape(0);
  expect(n < std::size_t{1} << 30, "codes has 2**30 rows or more");
  expect(y.shape(0) == n, "y: one for each row");
  expect(classes > 0 && classes < std::int64_t{1} << 31, "classes must lie between 1 and 2**31");
  splits.check_columns(columns);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::int32_t s = candidates.data()[i];
    expect(s >= -1 && s < static_cast<std::int64_t>(splits.count()), "a candidate is neither -1 nor a split");
  }
  expect(grid.shape(0) > 0, "the grid is empty");
  for (std::size_t i = 0; i < grid.shape(0); ++i) {
    expect(grid(i) >= 1e-6 && grid(i) <= 1e6, "the grid must lie between 1e-6 and 1e6");
  }
  expect(most_cells >= 0, "most_cells must not be negative");
  expect(!part || (part->shape(0) == candidates.shape(0) && part->shape(1) == n), "part must be (members, rows)");
  const double* weight = weights_or_null(w, n);
  auto chosen = make_array<std::int32_t, 2>({candidates.shape(0), candidates.shape(1)});
  ClassTreeGrowth g{};
  g.rows = n;
  g.classes = static_cast<std::size_t>(classes);
  g.y = y.data();
  g.w = weight;
  g.part = part ? part->data() : nullptr;
  splits.describe(g);
  g.members = candidates.shape(0);
  g.depth = candidates.shape(1);
  g.tries = candidates.shape(2);
  g.candidate = candidates.data();
  g.grid = {grid.data(), grid.shape(0)};
  g.most_cells = most_cells;
  with_codes(codes, [&](const auto* p) {
    const GilRelease release;
    check_class_tree_codes(g, p, columns);
    grow_class_trees(g, p, chosen.data());
  });
  return chosen;
}

// The Python class _core.TemperatureLoss.
class PyTemperatureLoss {
 public:
  PyTemperatureLoss(const Matrix& prior, const Matrix& likelihood, const Labels& y, const Doubles& w)
      : found_(checked(prior, likelihood, y, w)) {}

  bool flat() const { return found_.flat(); }
  std::tuple<double, double, double> at(double beta) const {
    const GilRelease release;
    const TemperatureSums s = found_.at(beta);
    return {s.loss, s.mean, s.variance};
  }
  std::tuple<double, double> best(std::pair<double, double> bounds, std::pair<double, double> penalty, double tolerance,
                                  std::size_t steps) const {
    expect(bounds.first > 0 && bounds.first <= bounds.second && std::isfinite(bounds.second),
           "the bounds of beta must be above 0, the lower first");
    expect(penalty.first >= 0 && std::isfinite(penalty.first) && penalty.second > 0 && std::isfinite(penalty.second),
           "the penalty must not be negative, and its centre must be above 0");
    const GilRelease release;
    const TemperatureLoss::Best found =
        found_.best({bounds.first, bounds.second, penalty.first, penalty.second, tolerance, steps});
    return {found.beta, found.loss};
  }

 private:
  static TemperatureLoss checked(const Matrix& prior, const Matrix& likelihood, const Labels& y, const Doubles& w) {
    const std::size_t n = prior.shape(0), K = prior.shape(1);
    expect(likelihood.shape(0) == n && likelihood.shape(1) == K, "likelihood must be (rows, classes), as the prior is");
    expect(y.shape(0) == n && w.shape(0) == n, "y and w: one for each row");
    const GilRelease release;
    return {prior.data(), likelihood.data(), y.data(), w.data(), n, K};
  }
  TemperatureLoss found_;
};

}  // namespace

void bind_ensemble_choices(nb::module_& m) {
  m.def("low_discrepancy_design", &py_low_discrepancy_design, nb::arg("has").noconvert(), nb::arg("share").noconvert(),
        nb::arg("members"),
        "(members,): which draws to take, one after the other, for features to come as often as their share. has\n"
        "(draws, features of one): numbers of features; share: of each feature, among all draws.");
  m.def("draw_bins", &py_draw_bins, nb::arg("count").noconvert(), nb::arg("sizes").noconvert(),
        nb::arg("ordered").noconvert(), nb::arg("turn").noconvert(), nb::arg("low"), nb::arg("high"),
        nb::arg("mdl_share"), nb::arg("seed"),
        "(map (members, sum of sizes), bins (members, columns)): coarse bins of fine levels for each member, by its "
        "turn. "
        "count\n"
        "(classes, sum of sizes) is their weight. About low to high bins; a share of the ordered columns is cut by "
        "class\n"
        "entropy on half of the weight, the rest into equal weights. Empty levels of ordered columns join their left\n"
        "neighbour; levels of others that are rare or empty share the last bin.");
  m.def(
      "mdl_bins", &py_mdl_bins, nb::arg("count").noconvert(), nb::arg("depth"),
      "(map (levels,), bins): Fayyad and Irani's cuts of one column, count (classes, levels), at most depth in a row.");
  nb::class_<PySplits>(m, "Splits", "Ways to cut columns into bins.")
      .def(nb::init<const Ints&, const Maps&, const Ints&>(), nb::arg("column").noconvert(), nb::arg("map").noconvert(),
           nb::arg("bins").noconvert(),
           "Split s sends a row with code v of its column to bin map[s, v] of bins[s]; missing ones to the last entry "
           "of\n"
           "map; 255 is no bin.");
  m.def("grow_class_trees", &py_grow_class_trees, nb::arg("codes").noconvert(), nb::arg("y").noconvert(),
        nb::arg("w").noconvert().none(), nb::arg("classes"), nb::arg("splits"), nb::arg("members").noconvert(),
        nb::arg("grid").noconvert(), nb::arg("most_cells"),
        "(members, levels): the split taken at each level, -1 where none raises the leave-one-out likelihood of the "
        "classes\n"
        "by more than 1/2. members: candidates (members, levels, tries) naming splits, or -1, and part. The product of "
        "classes and of the\n"
        "bins taken stays within most_cells. part (members, rows): the rows that each member looks at; all, if None.");
  nb::class_<PyTemperatureLoss>(m, "TemperatureLoss",
                                "How the log-loss of P(class) P(x | class)^beta changes with beta.")
      .def(nb::init<const Matrix&, const Matrix&, const Labels&, const Doubles&>(), nb::arg("prior").noconvert(),
           nb::arg("likelihood").noconvert(), nb::arg("y").noconvert(), nb::arg("w").noconvert(),
           "Logarithms, (rows, classes). No part take rows whose own class is impossible or below 0, of weight 0, or "
           "with a\n"
           "NaN.")
      .def_prop_ro("flat", &PyTemperatureLoss::flat, "Does no row say anything of beta?")
      .def("at", &PyTemperatureLoss::at, nb::arg("beta"),
           "(loss, mean, variance), sums over the rows: their log-loss, and the mean and variance over P(class | x) of "
           "the\n"
           "log-likelihood less that of the row's own class.")
      .def(
          "best", &PyTemperatureLoss::best, nb::arg("bounds"), nb::arg("penalty"), nb::arg("tolerance"),
          nb::arg("steps"),
          "(beta, loss): the beta within bounds with the least loss plus p / 2 log(beta / centre)^2, (p, centre) being "
          "`penalty`, to within `tolerance` of its logarithm; loss is that of the rows alone.");
  nb::class_<PyStackingSearch>(
      m, "StackingProblem",
      "Searches weights v of terms (terms, rows, classes) and biases b of the classes with the "
      "least log-loss of\n"
      "softmax(start + b + sum of v times term), plus ridges of v towards a centre and of b "
      "towards 0.")
      .def(nb::init<const Terms&, const Labels&, const std::optional<Doubles>&, const Matrix&, const Flags&>(),
           nb::arg("terms").noconvert(), nb::arg("y").noconvert(), nb::arg("w").noconvert().none(),
           nb::arg("start").noconvert(), nb::arg("second").noconvert(),
           "Rows whose y is below 0, or has start -inf, take no part. second (rows): which are of the second half.")
      .def(
          "fit", &PyStackingSearch::fit, nb::arg("second").none(), nb::arg("centre").noconvert(),
          nb::arg("ridge").noconvert(), nb::arg("bounded").noconvert().none(), nb::arg("search").noconvert(),
          "(v, b, loss, steps taken), by one half of the rows, or by all if second is None. ridge: the last is that of "
          "the biases.\n"
          "loss is that of the rows alone. bounded: weights that do not fall below 0. search: at most so many steps, "
          "and first\n"
          "(terms + classes) or None: where v and b begin, for instance those of another ridge; else at the centre "
          "and at 0.")
      .def("loss", &PyStackingSearch::loss, nb::arg("second").none(), nb::arg("v").noconvert(),
           nb::arg("b").noconvert(), "The log-loss, summed over the rows of a half, or over all.");
  m.def("weighted_terms", &py_weighted_terms, nb::arg("terms").noconvert(), nb::arg("v").noconvert(),
        "(rows, classes): the sum of v times terms (terms, rows, classes), in double.");
}

}  // namespace tb::bind
