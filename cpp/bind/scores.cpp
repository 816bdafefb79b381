#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "bind/checked.hpp"
#include "bind/large_array.hpp"
#include "bind/scorer.hpp"
#include "core/scoring/parts.hpp"

namespace tb::bind {

const Columns& PyScorer::hold(const PyColumns& cols) {
  if (cols.view.n != core.rows()) throw nb::value_error("the columns have another number of rows than the scorer");
  tables.push_back(nb::find(cols));
  return cols.view;
}

const Csr& PyScorer::hold(const PyCsr& csr) {
  if (csr.view.n != core.rows()) throw nb::value_error("the sparse matrix has another number of rows than the scorer");
  tables.push_back(nb::find(csr));
  return csr.view;
}

namespace {

using Numbers = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Terms = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

bool is(const Matrix& m, std::size_t rows, std::size_t columns) { return m.shape(0) == rows && m.shape(1) == columns; }

void make_scorer(PyScorer* self, std::size_t n, const Numbers& prior) {
  expect(prior.ndim() == 1 || prior.ndim() == 2, "log_prior: one row of classes, or one for each row of the table");
  const bool per_row = prior.ndim() == 2;
  expect(!per_row || prior.shape(0) == n, "log_prior has another number of rows than the table");
  const std::size_t classes = prior.shape(per_row ? 1 : 0);
  expect(classes > 0, "log_prior: at least one class is needed");
  new (self) PyScorer(Scorer(n, classes, prior.data(), per_row));
  self->hold(prior);
}

Array<double, 3> make_terms(const Matrix& mean, const Matrix& var, const std::optional<Matrix>& low) {
  const std::size_t classes = mean.shape(0), d = mean.shape(1);
  expect(is(var, classes, d) && (!low || is(*low, classes, d)), "mean, var and low differ in shape");
  auto terms = make_array<double, 3>({4, classes, d});
  gaussian_terms(mean.data(), low ? low->data() : nullptr, var.data(), classes, d, terms.data());
  return terms;
}

template <class T>
void add_gaussian_part(PyScorer& self, const PyColumns& cols, const T& terms) {
  expect(terms.shape(0) == 4 && terms.shape(1) == self.classes() && terms.shape(2) == cols.view.d,
         "gaussian: mean and var must be (classes, columns), terms (4, classes, columns)");
  self.core.add(gaussian_part(self.hold(cols), self.hold(terms), self.classes()));
}

void add_discrete_part(PyScorer& self, const PyColumns& cols, const Sizes& sizes, const Matrix& table,
                       const std::optional<Matrix>& other, bool raw) {
  const std::size_t d = cols.view.d;
  expect(sizes.shape(0) == d, "sizes: one number per column");
  std::size_t levels = 0;
  for (std::size_t j = 0; j < d; ++j) {
    const Dtype t = cols.view.col[j].dtype;
    if (t == Dtype::f64 || t == Dtype::f32) throw nb::type_error("codes must be integers or booleans");
    expect(sizes.data()[j] >= 0, "sizes must not be negative");
    levels += static_cast<std::size_t>(sizes.data()[j]);
    expect(levels <= table.shape(0), "table must have as many rows as sizes add up to");
  }
  expect(is(table, levels, self.classes()), "table must be (sum of sizes, classes)");
  expect(!other || is(*other, d, self.classes()), "other must be (columns, classes)");
  self.core.add(discrete_part(self.hold(cols), sizes.data(), self.hold(table), other ? self.hold(*other) : nullptr, raw,
                              self.classes()));
}

void add_binary_part(PyScorer& self, const PyColumns& cols, double threshold, const Matrix& no, const Matrix& yes) {
  expect(is(no, cols.view.d, self.classes()) && is(yes, cols.view.d, self.classes()),
         "no and yes must be (columns, classes)");
  self.core.add(binary_part(self.hold(cols), threshold, self.hold(no), self.hold(yes), self.classes()));
}

void add_linear_part(PyScorer& self, const PyColumns& cols, const Matrix& weight, const Matrix& bias, bool factorial) {
  expect(is(weight, self.classes(), cols.view.d) && is(bias, self.classes(), cols.view.d),
         "weight and bias must be (classes, columns)");
  self.core.add(linear_part(self.hold(cols), self.hold(weight), self.hold(bias), self.classes(), factorial));
}

void add_csr_part(PyScorer& self, const PyCsr& csr, const Matrix& weight, const Doubles& bias,
                  std::optional<double> threshold, bool factorial) {
  expect(is(weight, csr.view.d, self.classes()), "weight must be (terms, classes)");
  expect(bias.shape(0) == self.classes(), "bias: one number per class");
  expect(!threshold || *threshold >= 0, "threshold must not be negative: what is not stored is a zero");
  expect(!(threshold && factorial), "factorial is for counts, threshold for presence");
  self.core.add(csr_part(self.hold(csr), self.hold(weight), self.hold(bias), self.classes(), threshold, factorial));
}

void add_numbers_part(PyScorer& self, const Matrix& terms, std::vector<std::size_t> unseen) {
  expect(is(terms, self.core.rows(), self.classes()), "terms must be (rows, classes)");
  self.core.add(added_part(self.hold(terms), self.classes(), std::move(unseen)));
}

template <class T>
void answer(PyScorer& self, void (Scorer::*ask)(T*) const, T* out) {
  self.refused = -1;
  try {
    const GilRelease release;
    (self.core.*ask)(out);
  } catch (const BadPart& bad) {
    self.refused = bad.part;
    throw;
  }
}

template <void (Scorer::*ask)(double*) const>
Array<double, 2> answer_matrix(PyScorer& self) {
  auto out = make_large<double, 2>({self.core.rows(), self.classes()});
  answer(self, ask, out.data());
  return out;
}

Array<double, 1> answer_log_density(PyScorer& self) {
  auto out = make_large<double, 1>({self.core.rows()});
  answer(self, &Scorer::log_density, out.data());
  return out;
}

Array<std::int64_t, 1> answer_best(PyScorer& self) {
  auto out = make_large<std::int64_t, 1>({self.core.rows()});
  answer(self, &Scorer::best, out.data());
  return out;
}

}  // namespace

void bind_scores(nb::module_& m) {
  m.def("gaussian_terms", &make_terms, nb::arg("mean").noconvert(), nb::arg("var").noconvert(),
        nb::arg("low").noconvert() = nb::none(),
        "(4, K, d): mean, sqrt(1 / (2 var)), -log(2 pi var) / 2 and low (the means are mean + low), what "
        "Scorer.gaussian works with; zeros for a column whose variance is 0 in every class.");
  nb::class_<PyScorer>(m, "Scorer", "The log joint of n rows: a log prior plus parts, answered block by block.")
      .def("__init__", &make_scorer, nb::arg("n"), nb::arg("log_prior").noconvert())
      .def("gaussian", &add_gaussian_part<Terms>, nb::arg("cols"), nb::arg("terms").noconvert(),
           "Adds sum_j log N(x_j; mean, var), from gaussian_terms.")
      .def(
          "gaussian",
          [](PyScorer& self, const PyColumns& cols, const Matrix& mean, const Matrix& var) {
            add_gaussian_part(self, cols, make_terms(mean, var, std::nullopt));
          },
          nb::arg("cols"), nb::arg("mean").noconvert(), nb::arg("var").noconvert())
      .def("discrete", &add_discrete_part, nb::arg("cols"), nb::arg("sizes").noconvert(), nb::arg("table").noconvert(),
           nb::arg("other").noconvert() = nb::none(), nb::arg("raw") = false,
           "Adds table[offset_j + code]; nothing for -1 unless raw; other[j], if given, for any other code outside the "
           "table.")
      .def("binary", &add_binary_part, nb::arg("cols"), nb::arg("threshold"), nb::arg("no").noconvert(),
           nb::arg("yes").noconvert(), "Adds yes[j] where x > threshold, else no[j]; nothing for NaN.")
      .def("linear", &add_linear_part, nb::arg("cols"), nb::arg("weight").noconvert(), nb::arg("bias").noconvert(),
           nb::arg("factorial"),
           "Adds x * weight + bias (0 * -inf = 0), nothing for NaN; joint and log_density also -log x! if factorial.")
      .def("csr", &add_csr_part, nb::arg("csr"), nb::arg("weight").noconvert(), nb::arg("bias").noconvert(),
           nb::arg("threshold").none() = nb::none(), nb::arg("factorial") = false,
           "Adds bias and x * weight[t] per stored x (0 * -inf = 0), or weight[t] where x > threshold.")
      .def("added", &add_numbers_part, nb::arg("terms").noconvert(), nb::arg("unseen") = std::vector<std::size_t>{},
           "Adds these numbers; -inf is allowed. unseen: columns in which a code had no level.")
      .def("joint", &answer_matrix<&Scorer::joint>)
      .def("log_proba", &answer_matrix<&Scorer::log_proba>)
      .def("proba", &answer_matrix<&Scorer::proba>)
      .def("best", &answer_best, "The most probable class's number, the first of equals.")
      .def("log_density", &answer_log_density, "log of the sum over classes of the joint.")
      .def(
          "unseen",
          [](const PyScorer& self) {
            nb::list out;
            for (std::size_t p = 0; p < self.core.parts().size(); ++p) {
              for (const std::size_t col : self.core.parts()[p]->unseen()) out.append(nb::make_tuple(p, col));
            }
            return out;
          },
          "(part, column) of every column in which the last answer met a code without a level.")
      .def_ro("refused", &PyScorer::refused,
              "Which part, in the order of adding, met the last bad value; -1: none, or the log prior.");
}

}  // namespace tb::bind
