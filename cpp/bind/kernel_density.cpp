// Kernel densities: statistics, bandwidth, tables and log density. See core/density/kernel_statistics.hpp and
// core/density/kernel_density.hpp.
#include "core/density/kernel_density.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <tuple>

#include "bind/fast_row_term.hpp"
#include "bind/scorer.hpp"
#include "core/density/kernel_bandwidth.hpp"
#include "core/rowpath/kernel_row.hpp"
#include "core/runtime/threads.hpp"

namespace tb::bind {
namespace {

using Ints1 = Array<std::int64_t, 1>;
using Doubles1 = Array<double, 1>;
using Doubles2 = Array<double, 2>;
using Statistics = std::tuple<Ints1, Doubles1, Doubles1>;

template <class T, int N>
Array<T, N> hand_over(std::vector<T>&& from, const std::size_t (&shape)[N]) {
  auto* kept = new std::vector<T>(std::move(from));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  if (kept->empty()) kept->reserve(1);
  return Array<T, N>(kept->data(), N, shape, owner);
}

template <class T>
Array<T, 1> hand_over(std::vector<T>&& from) {
  const std::size_t shape[1] = {from.size()};
  return hand_over<T, 1>(std::move(from), shape);
}

Statistics hand_over(KernelStatistics&& t) {
  return {hand_over(std::move(t.start)), hand_over(std::move(t.value)), hand_over(std::move(t.weight))};
}

void check_starts(const Sizes& start, std::size_t length, const char* message) {
  const std::size_t n = start.shape(0);
  bool good = n > 0 && start.data()[0] == 0 && start.data()[n - 1] == static_cast<std::int64_t>(length);
  for (std::size_t e = 1; e < n; ++e) good = good && start.data()[e - 1] <= start.data()[e];
  if (!good) throw nb::value_error(message);
}

KernelView view_of(const Sizes& start, const Doubles& value, const Doubles& weight) {
  check_starts(start, value.shape(0), "start does not fit the values");
  if (weight.shape(0) != value.shape(0)) throw nb::value_error("values and weights differ in length");
  return {start.data(), value.data(), weight.data(), start.shape(0) - 1};
}

std::size_t columns_of(const KernelView& statistics, std::size_t K) {
  if (K == 0 || statistics.entries % K != 0) throw nb::value_error("the statistics do not fit the number of classes");
  return statistics.entries / K;
}

Statistics statistics(const PyColumns& cols, const Labels& y, const std::optional<Doubles>& w, std::size_t K) {
  if (y.shape(0) != cols.view.n) throw nb::value_error("labels have another length than the table");
  const Rows rows{y.data(), weights_or_null(w, cols.view.n)};
  KernelStatistics out;
  {
    const GilRelease release;
    out = kernel_statistics(cols.view, rows, K);
  }
  return hand_over(std::move(out));
}

Statistics combine(const Sizes& start_a, const Doubles& value_a, const Doubles& weight_a, const Sizes& start_b,
                   const Doubles& value_b, const Doubles& weight_b, int sign) {
  const KernelView a = view_of(start_a, value_a, weight_a), b = view_of(start_b, value_b, weight_b);
  if (a.entries != b.entries) throw nb::value_error("the two tallies have another number of entries");
  if (sign != 1 && sign != -1) throw nb::value_error("sign must be 1 (add) or -1 (subtract)");
  KernelStatistics out;
  {
    const GilRelease release;
    out = kernel_combine(a, b, sign);
  }
  return hand_over(std::move(out));
}

Rule rule_of(const std::string& rule) {
  if (rule == "silverman") return Rule::silverman;
  if (rule == "scott") return Rule::scott;
  if (rule == "john-langley") return Rule::john_langley;
  throw nb::value_error(
      ("unknown bandwidth rule '" + rule + "'; choose 'silverman', 'scott' or 'john-langley'").c_str());
}

Doubles2 bandwidths(const Sizes& start, const Doubles& value, const Doubles& weight, const std::string& rule,
                    std::size_t K) {
  const KernelView view = view_of(start, value, weight);
  const std::size_t d = columns_of(view, K);
  const Rule r = rule_of(rule);
  Doubles2 out = make_array<double, 2>({K, d});
  const GilRelease release;
  kernel_bandwidths(view, r, K, out.data());
  return out;
}

std::tuple<Doubles2, Ints1, Doubles1, Doubles2> tables(const Sizes& start, const Doubles& value, const Doubles& weight,
                                                       const Matrix& h, std::size_t K, bool cells) {
  const KernelView view = view_of(start, value, weight);
  const std::size_t d = columns_of(view, K);
  if (h.shape(0) != K || h.shape(1) != d) throw nb::value_error("bandwidths must be of shape (classes, columns)");
  for (std::size_t e = 0; e < view.entries; ++e) {
    const double width = h.data()[(e % K) * d + e / K];
    if (view[e].size > 0 && !(width >= kNarrowest && std::isfinite(width))) {
      throw nb::value_error("a bandwidth must be finite and at least 4.5e-308");
    }
  }
  KernelTables out;
  {
    const GilRelease release;
    out = kernel_tables(view, h.data(), K, cells);
  }
  const std::size_t entry_shape[2] = {view.entries, kEntry}, cell_shape[2] = {out.edge.size(), kCell};
  return {hand_over<double, 2>(std::move(out.entry), entry_shape), hand_over(std::move(out.cell_start)),
          hand_over(std::move(out.edge)), hand_over<double, 2>(std::move(out.cell), cell_shape)};
}

TablesView tables_of(const PyColumns& cols, const KernelView& view, const Matrix& entry, const Sizes& cell_start,
                     const Doubles& edge, const Matrix& cell, std::size_t K) {
  if (columns_of(view, K) != cols.view.d)
    throw nb::value_error("the table has another number of columns than the statistics");
  if (entry.shape(0) != view.entries || entry.shape(1) != kEntry || cell.shape(1) != kCell ||
      cell_start.shape(0) != view.entries + 1 || cell.shape(0) != edge.shape(0)) {
    throw nb::value_error("the tables do not fit the statistics");
  }
  check_starts(cell_start, edge.shape(0), "the tables do not fit together");
  return {entry.data(), cell_start.data(), edge.data(), cell.data()};
}

void add_kernel_part(PyScorer& self, const PyColumns& cols, const Sizes& start, const Doubles& value,
                     const Doubles& weight, const Matrix& entry, const Sizes& cell_start, const Doubles& edge,
                     const Matrix& cell) {
  const KernelView view = view_of(start, value, weight);
  const TablesView tables = tables_of(cols, view, entry, cell_start, edge, cell, self.classes());
  const Columns& rows = self.hold(cols);
  for (const nb::ndarray<>& a :
       {nb::ndarray<>(start), nb::ndarray<>(value), nb::ndarray<>(weight), nb::ndarray<>(entry),
        nb::ndarray<>(cell_start), nb::ndarray<>(edge), nb::ndarray<>(cell)}) {
    self.arrays.push_back(a);
  }
  self.core.add(std::make_unique<KernelPart>(rows, view, tables, self.classes()));
}

// The fast path of kernel densities; see core/rowpath/kernel_row.hpp.
struct FastKernel : FastRowTerm {
  FastKernel(Columns1 which, std::size_t K, const Sizes& start, const Doubles& value, const Doubles& weight,
             const std::string& rule)
      : core(K, which.size(), checked(which, K, view_of(start, value, weight)), rule_of(rule)) {
    columns = std::move(which);
  }
  static KernelView checked(const Columns1& which, std::size_t K, const KernelView& view) {
    if (columns_of(view, K) != which.size()) throw nb::value_error("the statistics do not fit the columns");
    for (std::size_t e = 0; e < view.entries; ++e) {
      if (view[e].size < 2) throw nb::value_error("an entry has fewer than two distinct values");
    }
    return view;
  }
  RowTerm& term() override { return core; }
  std::size_t classes() const override { return core.classes(); }
  Place place(std::size_t i) override { return {&core.numbers[i], nullptr}; }
  nb::dict sums() const {
    auto [start, value, weight] = hand_over(core.statistics());
    nb::dict out;
    out["start"] = start, out["value"] = value, out["weight"] = weight;
    return out;
  }
  KernelRow core;
};

}  // namespace

void bind_kernel(nb::module_& m) {
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  m.def("kernel_statistics", &statistics, nb::arg("cols"), array("y"), array("w").none(), nb::arg("K"),
        "(start, value, weight): the distinct values of each column and class with their weights; entry column * K + "
        "class.");
  m.def("kernel_combine", &combine, array("start_a"), array("value_a"), array("weight_a"), array("start_b"),
        array("value_b"), array("weight_b"), nb::arg("sign"),
        "Two tallies as one (sign 1), or the first without the second (-1).");
  m.def("kernel_bandwidth", &bandwidths, array("start"), array("value"), array("weight"), nb::arg("rule"), nb::arg("K"),
        "(K, d) by rule 'silverman', 'scott' or 'john-langley'; 0 where there are fewer than two distinct values.");
  m.def("kernel_tables", &tables, array("start"), array("value"), array("weight"), array("h"), nb::arg("K"),
        nb::arg("cells") = true,
        "(entry, cell_start, edge, cell) for Scorer.kernel; cells=False: ready at once, slow to use.");
  nb::class_<FastKernel, FastRowTerm>(m, "FastKernel")
      .def(nb::init<Columns1, std::size_t, const Sizes&, const Doubles&, const Doubles&, const std::string&>(),
           nb::arg("columns"), nb::arg("K"), array("start"), array("value"), array("weight"), nb::arg("rule"))
      .def("sums", &FastKernel::sums);
  scorer_class().def(
      "kernel", &add_kernel_part, nb::arg("cols"), array("start"), array("value"), array("weight"), array("entry"),
      array("cell_start"), array("edge"), array("cell"),
      "Adds the log density of each column, from a kernel tally and its kernel_tables; a missing value or an "
      "empty\n"
      "entry adds nothing.");
}

}  // namespace tb::bind
