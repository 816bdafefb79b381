// What an ensemble of count tables chooses: the weights of its terms.
#include "bind/bind.hpp"

#include <algorithm>
#include <cmath>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include "core/weights.hpp"

namespace tb::bind {
namespace {

using Terms = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

void expect(bool fits, const char* otherwise) {
  if (!fits) throw nb::value_error(otherwise);
}

Array<double, 1> array_of(const std::vector<double>& v) {
  auto out = make_array<double, 1>({v.size()});
  std::copy(v.begin(), v.end(), out.data());
  return out;
}

std::tuple<Array<double, 1>, Array<double, 1>, double, std::size_t> py_weights(
    const Terms& terms, const Labels& y, const std::optional<Doubles>& w, const Matrix& start, const Doubles& centre,
    const Doubles& ridge, double bias_ridge, std::int64_t steps) {
  const std::size_t D = terms.shape(0), n = terms.shape(1), K = terms.shape(2);
  constexpr double most = 1e100;  // beyond it products overflow
  expect(K > 0, "terms must be (terms, rows, classes) with at least one class");
  expect(n < std::size_t{1} << 32, "terms has 2**32 rows or more");
  expect(y.shape(0) == n, "y must be (rows,)");
  expect(start.shape(0) == n && start.shape(1) == K, "start must be (rows, classes)");
  expect(centre.shape(0) == D && ridge.shape(0) == D, "centre and ridge must be (terms,)");
  for (std::size_t d = 0; d < D; ++d) {
    expect(std::abs(centre(d)) <= most, "centre must be finite");
    expect(ridge(d) >= 0 && ridge(d) <= most, "ridge must be finite and not negative");
  }
  expect(bias_ridge >= 0 && bias_ridge <= most, "bias_ridge must be finite and not negative");
  expect(steps >= 0, "steps must not be negative");
  const double* weight = weights_or_null(w, n);
  Weights found;
  {
    const nb::gil_scoped_release release;
    found = fit_weights({D, n, K, terms.data(), y.data(), weight, start.data(), centre.data(), ridge.data(), bias_ridge},
                        static_cast<std::size_t>(steps));
  }
  return {array_of(found.v), array_of(found.b), found.loss, found.taken};
}

}  // namespace

void bind_ensemble_choices(nb::module_& m) {
  m.def("weights", &py_weights, nb::arg("terms").noconvert(), nb::arg("y").noconvert(), nb::arg("w").noconvert().none(),
        nb::arg("start").noconvert(), nb::arg("centre").noconvert(), nb::arg("ridge").noconvert(), nb::arg("bias_ridge"),
        nb::arg("steps") = 8,
        "(v, b, loss, steps taken): the weights v of the terms (terms, rows, classes) and the biases b of the classes with\n"
        "the least log-loss of softmax(start + b + sum of v times term), plus ridges towards centre and 0. loss is that of\n"
        "the rows alone. Rows whose y is below 0, or has start -inf, take no part.");
}

}  // namespace tb::bind
