#include "bind/bind.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>

#include "core/math/eigen.hpp"
#include "core/discriminant/marginal_scores.hpp"
#include "core/discriminant/quadratic_parts.hpp"
#include "core/ensemble/leave_one_out_normal.hpp"
#include "core/math/inverse_roots.hpp"
#include "core/moments/scatter.hpp"

namespace tb::bind {
namespace {

using Factors = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

ClassTable class_table(const PyColumns& cols, const Labels& y, const std::optional<Doubles>& w, std::size_t classes) {
  if (y.shape(0) != cols.view.n) throw nb::value_error("class codes have another length than the table");
  return {cols.view, y.data(), weights_or_null(w, cols.view.n), classes};
}

auto py_scatter(const PyColumns& cols, const Labels& y, const std::optional<Doubles>& w, std::size_t K, bool pooled) {
  const ClassTable t = class_table(cols, y, w, K);
  const std::size_t d = t.x.d;
  auto n = make_array<double, 1>({K});
  auto mean = make_array<double, 2>({K, d}), low = make_array<double, 2>({K, d});
  auto s = make_array<double, 3>({pooled ? 1 : K, d, d});
  double skipped = 0.0;
  {
    const GilRelease release;
    skipped = scatter(t, pooled, n.data(), mean.data(), low.data(), s.data());
  }
  return std::tuple(n, mean, low, s, skipped);
}

auto py_pairwise_scatter(const PyColumns& cols, const Labels& y, const std::optional<Doubles>& w, std::size_t K,
                         bool pooled) {
  const ClassTable t = class_table(cols, y, w, K);
  const std::size_t d = t.x.d;
  auto n = make_array<double, 3>({K, d, d}), mean = make_array<double, 3>({K, d, d}),
       low = make_array<double, 3>({K, d, d});
  auto s = make_array<double, 3>({pooled ? 1 : K, d, d});
  {
    const GilRelease release;
    pairwise_scatter(t, pooled, n.data(), mean.data(), low.data(), s.data());
  }
  return std::tuple(n, mean, low, s);
}

Array<double, 2> scores_of(const Part& part, const Columns& x, std::size_t classes, const RowFlags& missing) {
  auto out = make_array<double, 2>({x.n, classes});
  const GilRelease release;
  part_scores(part, x.n, classes, missing, out.data());
  return out;
}

Quadratic quadratic(const PyColumns& cols, const Matrix& mean, const Matrix& low, const Factors& factor,
                    const Doubles& constant) {
  const std::size_t classes = mean.shape(0), d = cols.view.d;
  if (mean.shape(1) != d || low.shape(0) != classes || low.shape(1) != d || constant.shape(0) != classes) {
    throw nb::value_error("mean and low must be (classes, columns), constant (classes)");
  }
  const bool shared = factor.shape(0) == 1;
  if ((!shared && factor.shape(0) != classes) || factor.shape(1) != d || factor.shape(2) != d) {
    throw nb::value_error("factor must be (classes, columns, columns), or (1, columns, columns) for all classes");
  }
  return {mean.data(), low.data(), factor.data(), shared, constant.data(), classes};
}

Array<double, 2> py_quadratic_scores(const PyColumns& cols, const Matrix& mean, const Matrix& low,
                                     const Factors& factor, const Doubles& constant) {
  const Quadratic q = quadratic(cols, mean, low, factor, constant);
  RowFlags missing(cols.view.n);
  return scores_of(*quadratic_part(cols.view, q, missing), cols.view, q.classes, missing);
}

using RowNumbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Array<double, 2> py_marginal_scores(const PyColumns& cols, const RowNumbers& rows, const Matrix& mean,
                                    const Matrix& low, const Factors& factor, const Doubles& constant) {
  const Quadratic q = quadratic(cols, mean, low, factor, constant);
  const std::int64_t* row = rows.data();
  const std::size_t count = rows.shape(0);
  const auto n = static_cast<std::int64_t>(cols.view.n);
  if (std::any_of(row, row + count, [&](std::int64_t i) { return i < 0 || i >= n; })) {
    throw nb::value_error("the table does not have all of these rows");
  }
  auto out = make_array<double, 2>({count, q.classes});
  const GilRelease release;
  marginal_scores(cols.view, row, count, q, out.data());
  return out;
}

Array<double, 2> py_affine_scores(const PyColumns& cols, const Matrix& weight, const Doubles& bias,
                                  const Doubles& centre) {
  const std::size_t classes = weight.shape(0), d = cols.view.d;
  if (weight.shape(1) != d || bias.shape(0) != classes || centre.shape(0) != d) {
    throw nb::value_error("weight must be (classes, columns), bias (classes), centre (columns)");
  }
  RowFlags missing(cols.view.n);
  const Affine a{weight.data(), bias.data(), centre.data(), classes};
  return scores_of(*affine_part(cols.view, a, missing), cols.view, classes, missing);
}

using InPlace = nb::ndarray<double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

auto py_roots(const InPlace& s, const Matrix& unit) {
  const std::size_t count = s.shape(0), d = s.shape(1);
  if (s.shape(2) != d || unit.shape(0) != count || unit.shape(1) != d) {
    throw nb::value_error("s must be (count, columns, columns), unit (count, columns)");
  }
  std::vector<Root> found(count);
  {
    const GilRelease release;
    roots(count, d, s.data(), unit.data(), found.data());
  }
  auto log_det = make_array<double, 1>({count}), trace = make_array<double, 1>({count});
  for (std::size_t k = 0; k < count; ++k) log_det.data()[k] = found[k].log_det, trace.data()[k] = found[k].trace;
  return std::tuple(log_det, trace);
}

auto py_solve_normal(const Matrix& factor, const Matrix& a) {
  const std::size_t count = a.shape(0), d = a.shape(1);
  if (factor.shape(0) != d || factor.shape(1) != d) throw nb::value_error("factor must be (columns, columns)");
  auto weight = make_array<double, 2>({count, d});
  auto square = make_array<double, 1>({count});
  const GilRelease release;
  solve_normal(factor.data(), d, a.data(), count, weight.data(), square.data());
  return std::tuple(weight, square);
}

using NormalSums = std::tuple<Doubles, Matrix, Factors, Doubles, Doubles>;

std::optional<Array<double, 3>> py_leave_one_out_normal(const Matrix& z, const Labels& y, const Doubles& unit,
                                                        const NormalSums& sums, const Matrix& half, double shared,
                                                        double diagonal, const Doubles& freedom) {
  const auto& [n, mean, root, log_det, below] = sums;
  const std::size_t rows = z.shape(0), p = z.shape(1), K = n.shape(0);
  if (mean.shape(0) != K || mean.shape(1) != p || root.shape(0) != K || root.shape(1) != p || root.shape(2) != p ||
      log_det.shape(0) != K || below.shape(0) != K) {
    throw nb::value_error("sums must be of (classes), (classes, columns) and (classes, columns, columns)");
  }
  if (y.shape(0) != rows || unit.shape(0) != rows || half.shape(0) != rows || half.shape(1) != K) {
    throw nb::value_error("y and unit must be (rows), half (rows, classes)");
  }
  const auto known = [&](std::int32_t c) { return c >= 0 && static_cast<std::size_t>(c) < K; };
  if (!std::all_of(y.data(), y.data() + rows, known)) throw nb::value_error("there are not all of these classes");
  auto out = make_array<double, 3>({freedom.shape(0), rows, K});
  const LeaveOneOutNormal task{rows,
                               K,
                               p,
                               z.data(),
                               y.data(),
                               unit.data(),
                               n.data(),
                               mean.data(),
                               root.data(),
                               log_det.data(),
                               below.data(),
                               half.data(),
                               shared,
                               diagonal,
                               freedom.data(),
                               freedom.shape(0)};
  bool finite = false;
  {
    const GilRelease release;
    finite = leave_one_out_normal(task, out.data());
  }
  return finite ? std::optional(out) : std::nullopt;
}

auto py_eigen(const Factors& a) {
  const std::size_t count = a.shape(0), d = a.shape(1);
  if (a.shape(2) != d) throw nb::value_error("a must be (count, columns, columns)");
  auto value = make_array<double, 2>({count, d});
  auto vector = make_array<double, 3>({count, d, d});
  const GilRelease release;
  eigen(count, d, a.data(), value.data(), vector.data());
  return std::tuple(value, vector);
}

Array<std::int64_t, 1> py_rows(const RowFlags& flags) {
  const std::vector<std::int64_t> rows = flags.rows();
  auto out = make_array<std::int64_t, 1>({rows.size()});
  std::copy(rows.begin(), rows.end(), out.data());
  return out;
}

}  // namespace

void bind_discriminant(nb::module_& m) {
  m.def("scatter", &py_scatter, nb::arg("cols"), nb::arg("y").noconvert(), nb::arg("w").noconvert().none(),
        nb::arg("K"), nb::arg("pooled"),
        "(n, mean, low, s, skipped): weight, mean and centred sums of products of each class, s (1, d, d) summed over "
        "the\n"
        "classes if pooled, from the rows without missing values; skipped: the weight of the others. mean + low has "
        "twice the\n"
        "digits of a double.");
  m.def("pairwise_scatter", &py_pairwise_scatter, nb::arg("cols"), nb::arg("y").noconvert(),
        nb::arg("w").noconvert().none(), nb::arg("K"), nb::arg("pooled"),
        "(n, mean, low, s): [c, i, j] over the rows of class c where columns i and j are both present: weight, mean of "
        "x_i,\n"
        "centred sum of x_i x_j.");
  m.def("quadratic_scores", &py_quadratic_scores, nb::arg("cols"), nb::arg("mean").noconvert(),
        nb::arg("low").noconvert(), nb::arg("factor").noconvert(), nb::arg("constant").noconvert(),
        "constant - |factor (x - mean - low)|^2 / 2 of each row and class, factor lower triangular; NaN for a row with "
        "missing values.");
  m.def("marginal_scores", &py_marginal_scores, nb::arg("cols"), nb::arg("rows").noconvert(),
        nb::arg("mean").noconvert(), nb::arg("low").noconvert(), nb::arg("factor").noconvert(),
        nb::arg("constant").noconvert(),
        "The same of some rows, where constant is log p at the mean, with the missing values (NaN) integrated out; a "
        "column\n"
        "with 0 on the diagonal of factor says nothing.");
  m.def("affine_scores", &py_affine_scores, nb::arg("cols"), nb::arg("weight").noconvert(), nb::arg("bias").noconvert(),
        nb::arg("centre").noconvert(),
        "bias + weight (x - centre) of each row and class; NaN for a row with missing values.");
  m.def("roots", &py_roots, nb::arg("s").noconvert(), nb::arg("unit").noconvert(),
        "(log_det, trace): symmetric s[k] becomes F, lower triangular with F'F = s[k]^-1; log |s[k]|, NaN if s[k] is "
        "not\n"
        "positive (what it became means nothing then); the trace of s[k]^-1 in the given units.");
  m.def("solve_normal", &py_solve_normal, nb::arg("factor").noconvert(), nb::arg("a").noconvert(),
        "(F'F a_k, |F a_k|^2) of the rows a_k, F lower triangular.");
  m.def("leave_one_out_normal", &py_leave_one_out_normal, nb::arg("z").noconvert(), nb::arg("y").noconvert(),
        nb::arg("unit").noconvert(), nb::arg("sums"), nb::arg("half").noconvert(), nb::arg("shared"),
        nb::arg("diagonal"), nb::arg("freedom").noconvert(),
        "(freedoms, rows, classes): log p(z | class) of rows that are in the sums (n, mean, root, log_det, below), "
        "each\n"
        "leave-one-out; half: -|root (z - mean)|^2 / 2. None if they are not finite.");
  m.def("eigen", &py_eigen, nb::arg("a").noconvert(),
        "(value, vector) of symmetric matrices: an eigenvector in each row, in no order. Meant for small matrices.");
  nb::class_<RowFlags>(m, "RowFlags", "Rows that a part of a scorer has left alone because a value is missing.")
      .def(nb::init<std::size_t>(), nb::arg("n"))
      .def("rows", &py_rows, "Their numbers, ascending.");
}

}  // namespace tb::bind
