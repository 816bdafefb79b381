// A Gaussian model opened for few rows of a matrix: one call for what a Scorer takes several for, the parameters
// checked once. The same parts as those of discriminant_parts.cpp and scores.cpp, so the same bits.
#include <nanobind/stl/string_view.h>

#include <optional>
#include <string_view>

#include "bind/bind.hpp"
#include "bind/checked.hpp"
#include "core/parts.hpp"
#include "core/quadratic.hpp"
#include "core/scorer.hpp"

namespace tb::bind {
namespace {

using Factors = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

struct MatrixDoor {
  std::size_t classes = 0, columns = 0;
  Doubles prior;
  const double* terms = nullptr;  // of independent columns; else:
  std::optional<Affine> affine;   // else:
  Quadratic quadratic{};
  nb::object keep;
};

MatrixDoor begin(const Doubles& prior, std::size_t columns) {
  expect(prior.shape(0) > 0 && columns > 0, "at least one class and one column are needed");
  MatrixDoor door;
  door.classes = prior.shape(0), door.columns = columns, door.prior = prior;
  return door;
}

MatrixDoor gaussian_door(const Doubles& prior, const Factors& terms) {
  MatrixDoor door = begin(prior, terms.shape(2));
  expect(terms.shape(0) == 4 && terms.shape(1) == door.classes, "terms must be (4, classes, columns)");
  door.terms = terms.data();
  door.keep = nb::cast(terms);
  return door;
}

MatrixDoor affine_door(const Doubles& prior, const Matrix& weight, const Doubles& bias, const Doubles& centre) {
  MatrixDoor door = begin(prior, weight.shape(1));
  expect(weight.shape(0) == door.classes && bias.shape(0) == door.classes && centre.shape(0) == door.columns,
         "weight must be (classes, columns), bias (classes), centre (columns)");
  door.affine = Affine{weight.data(), bias.data(), centre.data(), door.classes};
  door.keep = nb::make_tuple(weight, bias, centre);
  return door;
}

MatrixDoor quadratic_door(const Doubles& prior, const Matrix& mean, const Matrix& low, const Factors& factor,
                          const Doubles& constant) {
  MatrixDoor door = begin(prior, mean.shape(1));
  const std::size_t K = door.classes, d = door.columns;
  expect(mean.shape(0) == K && low.shape(0) == K && low.shape(1) == d && constant.shape(0) == K,
         "mean and low must be (classes, columns), constant (classes)");
  const bool shared = factor.shape(0) == 1;
  expect((shared || factor.shape(0) == K) && factor.shape(1) == d && factor.shape(2) == d,
         "factor must be (classes, columns, columns), or (1, columns, columns) for all classes");
  door.quadratic = {mean.data(), low.data(), factor.data(), shared, constant.data(), K};
  door.keep = nb::make_tuple(mean, low, factor, constant);
  return door;
}

// False if rows have gaps that the part does not read: then nothing is to be read from out.
template <class Out>
bool answer(const MatrixDoor& door, const Rows& x, void (Scorer::*how)(Out*) const, Out* out) {
  const auto stride = static_cast<std::ptrdiff_t>(door.columns * sizeof(double));
  std::vector<Column> col(door.columns);
  const auto* data = reinterpret_cast<const char*>(x.data());
  for (std::size_t j = 0; j < col.size(); ++j) col[j] = {data + j * sizeof(double), stride, Dtype::f64};
  Columns rows{};
  rows.n = x.shape(0), rows.d = col.size(), rows.col = col.data(), rows.row_major = true;
  RowFlags missing(rows.n);
  Scorer scorer(rows.n, door.classes, door.prior.data(), false);
  scorer.add(door.terms    ? gaussian_part(rows, door.terms, door.classes)
             : door.affine ? affine_part(rows, *door.affine, missing)
                           : quadratic_part(rows, door.quadratic, missing));
  const nb::gil_scoped_release release;
  (scorer.*how)(out);
  return missing.rows().empty();
}

// None: not a matrix of this kind, or with gaps or infinities. Then it is read as any table is.
nb::object ask(const MatrixDoor& door, nb::handle matrix, std::string_view how, std::size_t most) {
  Rows x;
  if (!nb::try_cast(matrix, x, false)) return nb::none();
  const std::size_t n = x.shape(0);
  if (n == 0 || n > most || x.shape(1) != door.columns) return nb::none();
  try {
    if (how == "best") {
      auto out = make_array<std::int64_t, 1>({n});
      return answer(door, x, &Scorer::best, out.data()) ? nb::cast(out) : nb::none();
    }
    if (how != "proba" && how != "log_proba") return nb::none();
    auto out = make_array<double, 2>({n, door.classes});
    return answer(door, x, how == "proba" ? &Scorer::proba : &Scorer::log_proba, out.data()) ? nb::cast(out)
                                                                                             : nb::none();
  } catch (const BadValue&) {  // whoever reads the table names the column
    return nb::none();
  }
}

}  // namespace

void bind_matrix_door(nb::module_& m) {
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  nb::class_<MatrixDoor>(m, "MatrixDoor", "A Gaussian model that answers for few rows of a matrix in one call.")
      .def_static("gaussian", &gaussian_door, array("prior"), array("terms"),
                  "Scores sum_j log N(x_j; mean, var), from gaussian_terms; nothing for NaN.")
      .def_static("affine", &affine_door, array("prior"), array("weight"), array("bias"), array("centre"),
                  "Scores bias + weight (x - centre).")
      .def_static("quadratic", &quadratic_door, array("prior"), array("mean"), array("low"), array("factor"),
                  array("constant"), "Scores constant - |factor (x - mean - low)|^2 / 2, factor lower triangular.")
      .def("ask", &ask, nb::arg("matrix"), nb::arg("how"), nb::arg("most"),
           "'proba', 'log_proba' or 'best' of each row; None for another question, for anything but float64 rows in "
           "order,\nat most `most` of them, and where a value is missing or infinite.");
}

}  // namespace tb::bind
