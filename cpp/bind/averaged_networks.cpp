// Averaged dependence estimators: scores, back-off concentrations, losses of super-parents. See
// core/networks/averaged_networks.hpp.
#include "core/networks/averaged_networks.hpp"

#include <nanobind/stl/optional.h>

#include <cmath>

#include "bind/fast_counted.hpp"
#include "bind/joint_counts.hpp"
#include "bind/large_array.hpp"
#include "bind/few_row_models.hpp"
#include "core/networks/averaged_terms.hpp"
#include "core/rowpath/averaged_row.hpp"

namespace tb::bind {
namespace {

// The Python class _core.Averaged: checked once, keeps the arrays alive.
class PyAveraged {
 public:
  PyAveraged(const PyJointCounts& counts, std::size_t order, const Ints& rank,
             const std::optional<Matrix>& concentrations)
      : rank_(copy_of(rank)), concentrations_(concentrations), counts_(make(counts, order)) {
    if (rank_.size() != counts_.d()) throw nb::value_error("rank must hold a number for each column");
    counts_.rank = rank_.data();
    if (concentrations) set_concentrations(order);
  }
  PyAveraged(const PyAveraged&) = delete;
  PyAveraged& operator=(const PyAveraged&) = delete;

  const AveragedCounts& get() const { return counts_; }
  // Before rows are scored: once.
  void compile() {
    if (!compiled_) counts_.compile();
    compiled_ = true;
  }
  void check(const Doubles& weights, double min_count) const {
    if (weights.shape(0) != choose(counts_.d(), counts_.order) || !all_at_least(weights, 0.0)) {
      throw nb::value_error("weights must hold a finite number >= 0 for each set of parents");
    }
    if (std::isnan(min_count)) throw nb::value_error("min_count must be a number");
  }
  PackedCodes packed(const AnyCodes& codes) const {
    if (codes.shape(0) != counts_.d()) throw nb::value_error("codes must be of shape (columns, rows)");
    const nb::dlpack::dtype t = codes.dtype();
    if (t.code != static_cast<std::uint8_t>(nb::dlpack::dtype_code::UInt) ||
        (t.bits != 8 && t.bits != 16 && t.bits != 32)) {
      throw nb::type_error("codes must be of uint8, uint16 or uint32");
    }
    return {codes.data(), t.bits / 8, codes.shape(1)};
  }

 private:
  void set_concentrations(std::size_t order) {
    if (concentrations_->shape(0) != order || concentrations_->shape(1) != counts_.d() ||
        !all_at_least(concentrations_->data(), concentrations_->size(), 0.0)) {
      throw nb::value_error("strengths must be finite numbers >= 0 of shape (order, columns)");
    }
    counts_.concentration = concentrations_->data();
  }
  static AveragedCounts make(const PyJointCounts& counted, std::size_t order) {
    if (order < 1 || order > kMostParents) throw nb::value_error("order must be 1, 2 or 3");
    const Counts c = counted.counts();
    const Smoothing s = counted.smoothing();
    AveragedCounts out{c.classes, order,   c.single, counted.joint(), counted.whole(),  counted.class_weight(),
                       s.levels,  s.alpha, nullptr,  nullptr,         counted.tables(), {},
                       {}};
    out.check();
    return out;
  }

  std::vector<std::int32_t> rank_;
  std::optional<Matrix> concentrations_;
  AveragedCounts counts_;
  bool compiled_ = false;
};

Array<double, 2> scores(PyAveraged& self, const AnyCodes& codes, const Doubles& weights, double min_count,
                        double removed, double removed_of_all) {
  const AveragedCounts& m = self.get();
  const PackedCodes rows = self.packed(codes);
  self.check(weights, min_count);
  if (!(removed >= 0.0 && removed_of_all >= 0.0)) throw nb::value_error("what is removed must not be negative");
  self.compile();
  Array<double, 2> out = make_array<double, 2>({rows.n, m.classes});
  const GilRelease release;
  averaged_scores(m, rows, weights.data(), min_count, {removed, removed_of_all}, out.data());
  return out;
}

FastMatrix few_rows(PyAveraged& self, const Doubles& prior, const Doubles& weights, double min_count,
                    const MatrixCodes& codes) {
  self.check(weights, min_count);
  self.compile();
  const AveragedCounts& m = self.get();
  const ScoreCodes scores = [&m, weight = copy_of(weights), min_count](const Packed& packed, double* out) {
    averaged_scores(m, {packed.code, static_cast<int>(packed.bytes), packed.n}, weight.data(), min_count, {}, out);
  };
  return fast_matrix(prior, m.classes, {m.tables.size, m.tables.size + m.d()}, codes, scores, nb::find(self));
}

Array<double, 3> terms(const PyAveraged& self, const AnyCodes& codes, const Ints& parents) {
  const AveragedCounts& m = self.get();
  const PackedCodes rows = self.packed(codes);
  const std::size_t q = parents.shape(0);
  if (q != 0 && q != m.order) throw nb::value_error("parents: as many as the order, or none");
  for (std::size_t i = 0; i < q; ++i) {
    if (parents(i) < (i ? parents(i - 1) + 1 : 0) || static_cast<std::size_t>(parents(i)) >= m.d())
      throw nb::value_error("parents must be columns in ascending order");
  }
  Array<double, 3> out = make_large<double, 3>({rows.n, m.d(), m.classes});
  const GilRelease release;
  averaged_terms(m, rows, q ? parents.data() : nullptr, out.data());
  return out;
}

Array<double, 2> concentrations(const PyAveraged& self, const Doubles& grid) {
  const AveragedCounts& m = self.get();
  if (grid.shape(0) == 0 || !all_at_least(grid, 0.0))
    throw nb::value_error("grid must hold finite numbers >= 0, at least one");
  Array<double, 2> out = make_array<double, 2>({m.order, m.d()});
  const GilRelease release;
  averaged_concentrations(m, {grid.data(), grid.shape(0)}, out.data());
  return out;
}

Array<double, 1> losses(const PyAveraged& self, const AnyCodes& codes, const Labels& y,
                        const std::optional<Doubles>& w) {
  const AveragedCounts& m = self.get();
  if (m.order != 1) throw nb::value_error("a super-parent is one: order must be 1");
  const PackedCodes rows = self.packed(codes);
  if (y.shape(0) != rows.n) throw nb::value_error("labels have another length than the codes");
  const double* weight = weights_or_null(w, rows.n);
  Array<double, 1> out = make_array<double, 1>({m.d()});
  const GilRelease release;
  spode_losses(m, rows, y.data(), weight, out.data());
  return out;
}

// The fast path of averaged networks; see core/rowpath/averaged_row.hpp.
struct FastAveraged : FastCounted<AveragedRow> {
  FastAveraged(const PyJointCounts& counts, Columns1 which, const nb::list& labels, const std::vector<bool>& truths,
               const std::vector<Doubles>& points, const std::vector<Exist>& exist, std::size_t order, double min_count,
               const std::optional<Doubles>& grid)
      : FastCounted(counts, {std::move(which), labels, truths, points, exist}, weights_of(counts, order),
                    AveragedOptions{order, min_count, copy_of(counts.levels()), counts.smoothing().alpha,
                                    grid ? copy_of(*grid) : std::vector<double>{}}),
        parents_(grid ? order * columns.size() : 0) {}
  void chosen(const Ints& rank, const std::optional<Matrix>& concentrations) {
    const std::size_t size = concentrations ? concentrations->size() : 0;
    expect(rank.shape(0) == columns.size() && size == parents_, "rank and strengths of other columns");
    expect(!size || all_at_least(concentrations->data(), size, 0.0), "strengths must be finite numbers >= 0");
    core.chosen(copy_of(rank), size ? std::vector<double>(concentrations->data(), concentrations->data() + size)
                                    : std::vector<double>{});
  }

 private:
  std::size_t parents_;  // numbers in the concentrations
  static std::vector<double> weights_of(const PyJointCounts& counts, std::size_t order) {
    expect(order >= 1 && order <= kMostParents && order < counts.columns(), "order must be 1, 2 or 3, below columns");
    return {counts.class_weight(), counts.class_weight() + counts.classes()};
  }
};

}  // namespace

void bind_averaged(nb::module_& m) {
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  nb::class_<PyAveraged>(m, "Averaged", "The networks of all sets of `order` parents, and their average.")
      .def(nb::init<const PyJointCounts&, std::size_t, const Ints&, const std::optional<Matrix>&>(),
           nb::keep_alive<1, 2>(), nb::arg("counts"), nb::arg("order"), array("rank"), array("strengths").none(),
           "counts: of all sets of up to order + 1 columns; rank: of two parents the one of smaller rank comes first;\n"
           "strengths of back-off (order, columns), None: Laplace.")
      .def("scores", &scores, array("codes"), array("weights"), nb::arg("min_count"), nb::arg("removed") = 0.0,
           nb::arg("removed_of_all") = 0.0,
           "(n, K): log P(row | class) averaged over all sets of parents. removed: from the counts of each class, and "
           "of all\n"
           "together, before they are used.")
      .def("fast_matrix", &few_rows, array("prior"), array("weights"), nb::arg("min_count"), nb::arg("codes"),
           "For few rows of a matrix.")
      .def("terms", &terms, array("codes"), array("parents"),
           "(n, d, K): what each column adds to log P(row | class) of the network of these parents (none: of naive "
           "Bayes); 0\n"
           "for what is missing, and in rows that miss a parent.")
      .def("strengths", &concentrations, array("grid"),
           "(order, d): the back-off strengths out of the grid with the greatest leave-one-out likelihood.")
      .def("spode_losses", &losses, array("codes"), array("y"), array("w").none(),
           "(d,): the leave-one-out log-loss with each column as the super-parent of the others.");
  nb::class_<FastAveraged, FastRowTerm>(m, "FastAveraged")
      .def(nb::init<const PyJointCounts&, Columns1, const nb::list&, const std::vector<bool>&,
                    const std::vector<Doubles>&, const std::vector<Exist>&, std::size_t, double,
                    const std::optional<Doubles>&>(),
           nb::arg("counts"), nb::arg("columns"), nb::arg("labels"), nb::arg("truths"), nb::arg("points"),
           nb::arg("exist"), nb::kw_only(), nb::arg("order"), nb::arg("min_count"), array("grid").none(),
           "All networks of one weight; the other arguments: see FastNetwork.")
      .def("chosen", &FastAveraged::chosen, array("rank"), array("strengths").none(),
           "What Averaged was made with for these counts; it is chosen again once a row has come or gone.")
      .def("sums", &FastAveraged::sums);
}

}  // namespace tb::bind
