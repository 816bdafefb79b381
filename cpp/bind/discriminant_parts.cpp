// Gaussian discriminants as parts of a Scorer. See core/discriminant/quadratic_parts.hpp.
#include "bind/scorer.hpp"
#include "core/discriminant/quadratic_parts.hpp"

namespace tb::bind {
namespace {

using Factors = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

// The rows a part leaves alone are noted in an object that must outlive the scorer's work.
RowFlags& hold_flags(PyScorer& self, nb::object flags, std::size_t n) {
  RowFlags& missing = nb::cast<RowFlags&>(flags);
  if (missing.size() != n) throw nb::value_error("the row flags are for another number of rows");
  self.tables.push_back(std::move(flags));
  return missing;
}

void add_quadratic(PyScorer& self, const PyColumns& cols, const Matrix& mean, const Matrix& low, const Factors& factor,
                   const Doubles& constant, nb::object missing) {
  const std::size_t K = self.classes(), d = cols.view.d;
  if (mean.shape(0) != K || mean.shape(1) != d || low.shape(0) != K || low.shape(1) != d || constant.shape(0) != K) {
    throw nb::value_error("mean and low must be (classes, columns), constant (classes)");
  }
  const bool shared = factor.shape(0) == 1;
  if ((!shared && factor.shape(0) != K) || factor.shape(1) != d || factor.shape(2) != d) {
    throw nb::value_error("factor must be (classes, columns, columns), or (1, columns, columns) for all classes");
  }
  const Columns& rows = self.hold(cols);
  RowFlags& flags = hold_flags(self, std::move(missing), rows.n);
  const Quadratic q{self.hold(mean), self.hold(low), self.hold(factor), shared, self.hold(constant), K};
  self.core.add(quadratic_part(rows, q, flags));
}

void add_affine(PyScorer& self, const PyColumns& cols, const Matrix& weight, const Doubles& bias, const Doubles& centre,
                nb::object missing) {
  const std::size_t K = self.classes(), d = cols.view.d;
  if (weight.shape(0) != K || weight.shape(1) != d || bias.shape(0) != K || centre.shape(0) != d) {
    throw nb::value_error("weight must be (classes, columns), bias (classes), centre (columns)");
  }
  const Columns& rows = self.hold(cols);
  RowFlags& flags = hold_flags(self, std::move(missing), rows.n);
  const Affine a{self.hold(weight), self.hold(bias), self.hold(centre), K};
  self.core.add(affine_part(rows, a, flags));
}

}  // namespace

void bind_discriminant_parts(nb::module_&) {
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  scorer_class().def(
      "quadratic", &add_quadratic, nb::arg("cols"), array("mean"), array("low"), array("factor"), array("constant"),
      nb::arg("missing"),
      "Adds constant - |factor (x - mean - low)|^2 / 2, factor lower triangular. Rows with missing values get nothing\n"
      "and are noted in the RowFlags `missing` when the answer is read.");
  scorer_class().def("affine", &add_affine, nb::arg("cols"), array("weight"), array("bias"), array("centre"),
                     nb::arg("missing"), "Adds bias + weight (x - centre); missing values as in quadratic.");
}

}  // namespace tb::bind
