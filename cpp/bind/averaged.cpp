// Averaged dependence estimators: scores, back-off strengths, losses of super-parents. See core/averaged.hpp.
#include "core/averaged.hpp"

#include <nanobind/stl/optional.h>

#include <cmath>

#include "bind/bind.hpp"

namespace tb::bind {
namespace {

using Codes = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Joint = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

bool good(const Doubles& x, double least) {
  for (std::size_t i = 0; i < x.shape(0); ++i) {
    if (!(x.data()[i] >= least && std::isfinite(x.data()[i]))) return false;
  }
  return true;
}

void check_tables(const Sizes& sizes, const Labels& columns, const Sizes& starts) {
  for (std::size_t j = 0; j < sizes.shape(0); ++j) {
    if (sizes.data()[j] < 0) throw nb::value_error("sizes must not be negative");
  }
  const std::size_t count = starts.shape(0);
  bool fit =
      count > 0 && starts.data()[0] == 0 && starts.data()[count - 1] == static_cast<std::int64_t>(columns.shape(0));
  for (std::size_t t = 1; t < count; ++t) fit = fit && starts.data()[t - 1] <= starts.data()[t];
  if (!fit) throw nb::value_error("starts do not fit the columns of the tables");
}

// The arguments that all functions here have in common.
AveragedCounts counts_of(const Matrix& single, const Joint& joint, const Doubles& class_weight, const Sizes& sizes,
                         const Labels& columns, const Sizes& starts, const Doubles& levels, std::size_t order,
                         double alpha) {
  if (order < 1 || order > kMostParents) throw nb::value_error("order must be 1, 2 or 3");
  check_tables(sizes, columns, starts);
  const std::size_t K = single.shape(0), d = sizes.shape(0);
  AveragedCounts m{K,
                   order,
                   single.data(),
                   joint.data(),
                   joint.dtype() == nb::dtype<std::uint32_t>(),
                   class_weight.data(),
                   levels.data(),
                   alpha,
                   nullptr,
                   nullptr,
                   Tables(d, sizes.data(), starts.shape(0) - 1, columns.data(), starts.data()),
                   {},
                   {}};
  m.check();
  if (!m.whole && joint.dtype() != nb::dtype<double>()) throw nb::type_error("joint must be of uint32 or float64");
  if (K == 0) throw nb::value_error("there must be a class");
  if (single.shape(1) != m.all_levels()) throw nb::value_error("single must be of shape (classes, sum of sizes)");
  if (joint.shape(0) != K || joint.shape(1) != m.tables.cells())
    throw nb::value_error("joint must be of shape (classes, cells of the tables)");
  if (class_weight.shape(0) != K || !good(class_weight, 0.0))
    throw nb::value_error("class_weight must hold a finite number >= 0 for each class");
  if (levels.shape(0) != d || !good(levels, 1.0))
    throw nb::value_error("levels must hold a finite number >= 1 for each column");
  if (!(alpha >= 0.0 && std::isfinite(alpha))) throw nb::value_error("alpha must be finite and not negative");
  return m;
}

PackedCodes packed(const Codes& codes, std::size_t d) {
  if (codes.shape(0) != d) throw nb::value_error("codes must be of shape (columns, rows)");
  const nb::dlpack::dtype t = codes.dtype();
  if (t.code != static_cast<std::uint8_t>(nb::dlpack::dtype_code::UInt) ||
      (t.bits != 8 && t.bits != 16 && t.bits != 32)) {
    throw nb::type_error("codes must be of uint8, uint16 or uint32");
  }
  return {codes.data(), t.bits / 8, codes.shape(1)};
}

void set_strengths(AveragedCounts& m, const std::optional<Matrix>& strengths) {
  if (!strengths) return;
  bool fine = strengths->shape(0) == m.order && strengths->shape(1) == m.d();
  for (std::size_t i = 0; fine && i < strengths->size(); ++i) {
    fine = strengths->data()[i] >= 0.0 && std::isfinite(strengths->data()[i]);
  }
  if (!fine) throw nb::value_error("strengths must be finite numbers >= 0 of shape (order, columns)");
  m.strength = strengths->data();
}

void set_rank(AveragedCounts& m, const Labels& rank) {
  if (rank.shape(0) != m.d()) throw nb::value_error("rank must hold a number for each column");
  m.rank = rank.data();
}

Array<double, 2> scores(const Codes& codes, const Matrix& single, const Joint& joint, const Doubles& class_weight,
                        const Sizes& sizes, const Labels& columns, const Sizes& starts, const Doubles& levels,
                        std::size_t order, double alpha, const std::optional<Matrix>& strengths, const Labels& rank,
                        const Doubles& weights, double min_count, double removed, double removed_of_all) {
  AveragedCounts m = counts_of(single, joint, class_weight, sizes, columns, starts, levels, order, alpha);
  set_strengths(m, strengths);
  set_rank(m, rank);
  const PackedCodes rows = packed(codes, m.d());
  if (weights.shape(0) != choose(m.d(), order) || !good(weights, 0.0)) {
    throw nb::value_error("weights must hold a finite number >= 0 for each set of parents");
  }
  if (std::isnan(min_count)) throw nb::value_error("min_count must be a number");
  if (!(removed >= 0.0 && removed_of_all >= 0.0)) throw nb::value_error("what is removed must not be negative");
  Array<double, 2> out = make_array<double, 2>({rows.n, m.classes});
  const nb::gil_scoped_release release;
  averaged_scores(m, rows, weights.data(), min_count, {removed, removed_of_all}, out.data());
  return out;
}

Array<double, 2> strengths(const Matrix& single, const Joint& joint, const Doubles& class_weight, const Sizes& sizes,
                           const Labels& columns, const Sizes& starts, const Doubles& levels, std::size_t order,
                           double alpha, const Labels& rank, const Doubles& grid) {
  AveragedCounts m = counts_of(single, joint, class_weight, sizes, columns, starts, levels, order, alpha);
  set_rank(m, rank);
  if (grid.shape(0) == 0 || !good(grid, 0.0)) throw nb::value_error("grid must hold finite numbers >= 0, at least one");
  Array<double, 2> out = make_array<double, 2>({order, m.d()});
  const nb::gil_scoped_release release;
  averaged_strengths(m, grid.data(), grid.shape(0), out.data());
  return out;
}

Array<double, 1> losses(const Codes& codes, const Labels& y, const std::optional<Doubles>& w, const Matrix& single,
                        const Joint& joint, const Doubles& class_weight, const Sizes& sizes, const Labels& columns,
                        const Sizes& starts, const Doubles& levels, double alpha,
                        const std::optional<Matrix>& strengths) {
  AveragedCounts m = counts_of(single, joint, class_weight, sizes, columns, starts, levels, 1, alpha);
  set_strengths(m, strengths);
  const PackedCodes rows = packed(codes, m.d());
  if (y.shape(0) != rows.n) throw nb::value_error("labels have another length than the codes");
  const double* weight = weights_or_null(w, rows.n);
  Array<double, 1> out = make_array<double, 1>({m.d()});
  const nb::gil_scoped_release release;
  spode_losses(m, rows, y.data(), weight, out.data());
  return out;
}

}  // namespace

void bind_averaged(nb::module_& m) {
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  m.def("averaged_scores", &scores, array("codes"), array("single"), array("joint"), array("class_weight"),
        array("sizes"), array("columns"), array("starts"), array("levels"), nb::arg("order"), nb::arg("alpha"),
        array("strengths").none(), nb::arg("rank"), array("weights"), nb::arg("min_count"), nb::arg("removed") = 0.0,
        nb::arg("removed_of_all") = 0.0,
        "(n, K): log P(row | class) averaged over all sets of `order` parents; strengths None: Laplace. removed: from "
        "the "
        "counts of each class, and of all together, before they are used.");
  m.def("averaged_strengths", &strengths, array("single"), array("joint"), array("class_weight"), array("sizes"),
        array("columns"), array("starts"), array("levels"), nb::arg("order"), nb::arg("alpha"), nb::arg("rank"),
        array("grid"),
        "(order, d): the back-off strengths out of the grid with the greatest leave-one-out likelihood.");
  m.def("spode_losses", &losses, array("codes"), array("y"), array("w").none(), array("single"), array("joint"),
        array("class_weight"), array("sizes"), array("columns"), array("starts"), array("levels"), nb::arg("alpha"),
        array("strengths").none(),
        "(d,): the leave-one-out log-loss with each column as the super-parent of the others.");
}

}  // namespace tb::bind
