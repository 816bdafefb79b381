// Gradient boosting of oblivious trees.
#include "core/ensemble/boosting.hpp"

#include <algorithm>
#include <cmath>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bind/checked.hpp"
#include "core/ensemble/bins.hpp"

namespace tb::bind {
namespace {

using Bins = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Starts = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Keys = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using PyTree = std::tuple<Array<std::int32_t, 1>, Array<std::int32_t, 1>, Array<double, 2>>;

void make_options(BoostingOptions* self, std::int64_t max_tries, std::int64_t patience, std::int64_t depth,
                  std::int64_t columns, std::int64_t rows, std::int64_t seed, double learning_rate, double pseudo_count,
                  double ridge, double min_gain, double self_weight, double patience_per_tree, std::int64_t max_depth,
                  double validation_share) {
  for (const std::int64_t each : {max_tries, patience, columns, rows, seed})
    expect(each >= 0, "sizes must not be negative");
  expect(depth >= 1 && depth <= 15, "depth must lie between 1 and 15");
  expect(max_depth >= 0 && max_depth <= 15, "max_depth must lie between 0 and 15");
  expect(learning_rate > 0 && learning_rate <= 1, "learning_rate must lie between 0 and 1");
  for (const double each : {pseudo_count, ridge})
    expect(each >= 1e-6 && each <= 1e6, "pseudo_count and ridge must lie between 1e-6 and 1e6");
  expect(min_gain >= 0, "min_gain must not be negative");
  expect(self_weight >= 0 && self_weight <= 1, "self_weight must lie between 0 and 1");
  expect(patience_per_tree >= 0 && patience_per_tree <= 1e6, "patience_per_tree must lie between 0 and 1e6");
  expect(validation_share >= 0 && validation_share <= 0.5, "validation_share must lie between 0 and 0.5");
  new (self) BoostingOptions{static_cast<std::size_t>(max_tries),
                             static_cast<std::size_t>(patience),
                             static_cast<std::size_t>(depth),
                             static_cast<std::size_t>(columns),
                             static_cast<std::size_t>(rows),
                             static_cast<std::uint64_t>(seed),
                             learning_rate,
                             pseudo_count,
                             ridge,
                             min_gain,
                             self_weight,
                             patience_per_tree,
                             static_cast<std::size_t>(max_depth),
                             validation_share};
}

std::pair<std::vector<PyTree>, double> py_fit_boosting(const std::tuple<Bins, Ints, Flags>& columns,
                                                       const std::tuple<Labels, Doubles, Keys>& rows,
                                                       const Matrix& joint, const BoostingOptions& options) {
  const auto& [bin, bins, ordered] = columns;
  const auto& [y, w, key] = rows;
  const std::size_t d = bin.shape(0), n = bin.shape(1), K = joint.shape(1);
  expect(n < std::size_t{1} << 31, "bin has 2**31 rows or more");
  expect(bins.shape(0) == d && ordered.shape(0) == d, "bins and ordered: one for each column");
  for (std::size_t j = 0; j < d; ++j) {
    expect(bins(j) >= 1 && bins(j) <= kNoBin, "bins must lie between 1 and 255");
    const std::uint8_t* column = bin.data() + j * n;
    bool good = true;
    for (std::size_t r = 0; r < n; ++r) good &= (column[r] < bins(j)) | (column[r] == kNoBin);
    expect(good, "bin goes beyond the bins of its column");
  }
  expect(y.shape(0) == n && w.shape(0) == n && key.shape(0) == n, "y, w and key: one for each row");
  expect(joint.shape(0) == n && K > 0, "joint must be (rows, classes)");
  for (std::size_t i = 0; i < n * K; ++i) expect(std::abs(joint.data()[i]) <= 1e300, "joint must be finite");
  BoostedTrees found;
  {
    const GilRelease release;
    found = fit_boosting(
        {n, K, d, bin.data(), bins.data(), ordered.data(), y.data(), w.data(), joint.data(), key.data()}, options);
  }
  std::vector<PyTree> out;
  for (ObliviousTree& each : found.trees) {
    auto value = make_array<double, 2>({each.value.size() / K, K});
    std::copy(each.value.begin(), each.value.end(), value.data());
    out.emplace_back(array_of(std::move(each.column)), array_of(std::move(each.cut)), value);
  }
  return {std::move(out), found.gain};
}

Array<std::uint8_t, 1> py_cut_views(const std::tuple<Bytes, Starts, Flags>& columns,
                                    const std::pair<Ints, Ints>& cuts) {
  const auto& [bin, start, ordered] = columns;
  const auto& [column, cut] = cuts;
  const std::size_t d = ordered.shape(0);
  expect(start.shape(0) == d + 1 && start(0) == 0, "start: one for each column, and the end");
  for (std::size_t j = 0; j < d; ++j) expect(start(j) < start(j + 1), "every column has a bin for what is missing");
  expect(start(d) == static_cast<std::int64_t>(bin.shape(0)), "start must end where bin does");
  expect(column.shape(0) == cut.shape(0), "a cut has a column");
  std::size_t all = 0;
  for (std::size_t i = 0; i < column.shape(0); ++i) {
    expect(column(i) >= 0 && static_cast<std::size_t>(column(i)) < d, "there is no such column");
    expect(cut(i) >= 0 && cut(i) < kNoBin, "a cut is at a bin");
    const auto j = static_cast<std::size_t>(column(i));
    all += static_cast<std::size_t>(start(j + 1) - start(j));
  }
  auto map = make_array<std::uint8_t, 1>({all});
  const GilRelease release;
  cut_views({column.shape(0), column.data(), cut.data(), bin.data(), start.data(), ordered.data()}, map.data());
  return map;
}

}  // namespace

void bind_boosting(nb::module_& m) {
  nb::class_<BoostingOptions>(m, "BoostingOptions", "Hyperparameters of gradient boosting; all by name.")
      .def("__init__", &make_options, nb::kw_only(), nb::arg("max_tries"), nb::arg("patience"), nb::arg("depth"),
           nb::arg("columns"), nb::arg("rows"), nb::arg("seed"), nb::arg("learning_rate"), nb::arg("pseudo_count"),
           nb::arg("ridge"), nb::arg("min_gain"), nb::arg("self_weight"), nb::arg("patience_per_tree"),
           nb::arg("max_depth") = 0, nb::arg("validation_share") = 0.0,
           "max_tries: trees tried. patience, and patience_per_tree more for each tree kept: tries in a row that may\n"
           "fail. columns, rows: sampled for each tree. self_weight: how much of itself a row's value leaves out.\n"
           "max_depth: up to which the depth grows while deeper trees gain more; at most depth: it stays the same.\n"
           "validation_share: of the rows, by their keys, that judge all trees; 0: those outside the sample of a tree "
           "do.")
      .def_ro("max_tries", &BoostingOptions::max_tries)
      .def_ro("patience", &BoostingOptions::patience)
      .def_ro("depth", &BoostingOptions::depth)
      .def_ro("columns", &BoostingOptions::columns)
      .def_ro("rows", &BoostingOptions::rows)
      .def_ro("seed", &BoostingOptions::seed)
      .def_ro("learning_rate", &BoostingOptions::learning_rate)
      .def_ro("pseudo_count", &BoostingOptions::pseudo_count)
      .def_ro("ridge", &BoostingOptions::ridge)
      .def_ro("min_gain", &BoostingOptions::min_gain)
      .def_ro("self_weight", &BoostingOptions::self_weight)
      .def_ro("patience_per_tree", &BoostingOptions::patience_per_tree)
      .def_ro("max_depth", &BoostingOptions::max_depth)
      .def_ro("validation_share", &BoostingOptions::validation_share);
  m.def("fit_boosting", &py_fit_boosting, nb::arg("columns").noconvert(), nb::arg("rows").noconvert(),
        nb::arg("joint").noconvert(), nb::arg("options"),
        "([(column, cut, value), ...], gain): trees whose values are added to joint (rows, classes).\n"
        "columns: bin (columns, rows), 255 for missing; the number of bins of each; whether they are ordered.\n"
        "rows: y, w and key. Rows of the bin at a cut, or up to it where bins are ordered, are the second side of it;\n"
        "value (2^(cuts + 1) - 1, classes): of the root, of the cells of the first cut, of the first two, and so on.\n"
        "gain: by how much the mean log-loss of rows outside the samples fell.");
  m.def("cut_views", &py_cut_views, nb::arg("columns").noconvert(), nb::arg("cuts").noconvert(),
        "For each cut (columns, bins), one after the other, which half each level of its column is in. columns: the\n"
        "bins of the levels of all of them, the last of each being that of a missing value; where each begins, and\n"
        "the end; whether they are ordered. A missing value with bin 255 keeps it.");
}

}  // namespace tb::bind
