// A model opened for few rows of a matrix: one call for what a Scorer takes several for, the parameters checked once.
// The same parts as those of discriminant_parts.cpp and scores.cpp, so the same bits.
#include "bind/few_row_models.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>

#include <string_view>

#include "bind/joint_counts.hpp"
#include "core/networks/network.hpp"
#include "core/scoring/scorer.hpp"

namespace tb::bind {
namespace {

using Factors = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

FastMatrix fast_gaussian(const Doubles& prior, const Factors& terms) {
  const std::size_t K = prior.shape(0);
  expect(terms.shape(0) == 4 && terms.shape(1) == K, "terms must be (4, classes, columns)");
  return fast_matrix(prior, K, terms.shape(2), gaussian_rows(terms.data(), K), nb::cast(terms));
}

FastMatrix fast_affine(const Doubles& prior, const Matrix& weight, const Doubles& bias, const Doubles& centre) {
  const std::size_t K = prior.shape(0), d = weight.shape(1);
  expect(weight.shape(0) == K && bias.shape(0) == K && centre.shape(0) == d,
         "weight must be (classes, columns), bias (classes), centre (columns)");
  return fast_matrix(prior, K, d, affine_rows({weight.data(), bias.data(), centre.data(), K}),
                     nb::make_tuple(weight, bias, centre));
}

FastMatrix fast_quadratic(const Doubles& prior, const Matrix& mean, const Matrix& low, const Factors& factor,
                          const Doubles& constant) {
  const std::size_t K = prior.shape(0), d = mean.shape(1);
  expect(mean.shape(0) == K && low.shape(0) == K && low.shape(1) == d && constant.shape(0) == K,
         "mean and low must be (classes, columns), constant (classes)");
  const bool shared = factor.shape(0) == 1;
  expect((shared || factor.shape(0) == K) && factor.shape(1) == d && factor.shape(2) == d,
         "factor must be (classes, columns, columns), or (1, columns, columns) for all classes");
  return fast_matrix(prior, K, d, quadratic_rows({mean.data(), low.data(), factor.data(), shared, constant.data(), K}),
                     nb::make_tuple(mean, low, factor, constant));
}

void make_codes(MatrixCodes* self, const Sizes& levels, const std::optional<Sizes>& cuts, const Doubles& at,
                const std::optional<Flags>& here) {
  check_sizes(levels);
  if (cuts) check_cuts(levels.shape(0), *cuts, at);
  MatrixCodes made{copy_of(levels), cuts.has_value(), {}, copy_of(at)};
  if (cuts) made.cuts = copy_of(*cuts);
  if (here) made.here.assign(here->data(), here->data() + here->shape(0));
  std::size_t all = 0;
  for (const std::int64_t n : made.levels) all += static_cast<std::size_t>(n);
  expect(!here || here->shape(0) == all, "here: one for each level of each column");
  new (self) MatrixCodes(std::move(made));
}

template <class Out>
bool answer(const FastMatrix& fast, const Columns& x, void (Scorer::*how)(Out*) const, Out* out) {
  const GilRelease release;
  return fast.model->score(x, [&](std::unique_ptr<Part> part) {
    Scorer scorer(x.n, fast.prior.shape(0), fast.prior.data(), false);
    scorer.add(std::move(part));
    (scorer.*how)(out);
  });
}

// None: not a matrix of this kind, or with something in it of which more is to be said. Then it is read as any table
// is.
nb::object ask(const FastMatrix& fast, nb::handle matrix, std::string_view how, std::size_t most) {
  AnyMatrix x;
  if (!nb::try_cast(matrix, x, false)) return nb::none();
  const auto type = known_dtype(x.dtype());
  const std::size_t n = x.shape(0);
  if (!type || n == 0 || n > most || x.shape(1) != fast.columns) return nb::none();
  std::vector<Column> column;
  const Columns rows = columns_of(x, *type, column);
  try {
    if (how == "best") {
      auto out = make_array<std::int64_t, 1>({n});
      return answer(fast, rows, &Scorer::best, out.data()) ? nb::cast(out) : nb::none();
    }
    if (how != "proba" && how != "log_proba") return nb::none();
    auto out = make_array<double, 2>({n, fast.prior.shape(0)});
    const auto asked = how == "proba" ? &Scorer::proba : &Scorer::log_proba;
    return answer(fast, rows, asked, out.data()) ? nb::cast(out) : nb::none();
  } catch (const BadValue&) {  // whoever reads the table names the column
    return nb::none();
  } catch (const TooManyMissing&) {
    return nb::none();
  }
}

}  // namespace

FastMatrix fast_matrix(const Doubles& prior, std::size_t classes, std::size_t columns, std::unique_ptr<FewRows> model,
                       nb::object keep) {
  expect(prior.shape(0) > 0 && columns > 0, "at least one class and one column are needed");
  expect(prior.shape(0) == classes, "the prior must be of as many classes");
  return {columns, prior, std::move(model), std::move(keep)};
}

FastMatrix fast_matrix(const Doubles& prior, std::size_t classes, const std::vector<std::int64_t>& levels,
                       const MatrixCodes& codes, ScoreCodes scores, nb::object keep) {
  expect(codes.levels == levels, "the codes must be of as many levels as the model has");
  return fast_matrix(prior, classes, levels.size(), coded_rows(codes, classes, std::move(scores)), std::move(keep));
}

void bind_fast_matrix(nb::module_& m) {
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  nb::class_<MatrixCodes>(m, "MatrixCodes", "How a matrix becomes codes.")
      .def("__init__", &make_codes, array("levels"), array("cuts").none(), array("at"), array("here").none(),
           "How many levels each column has; how many cuts, and where (None: whole numbers are codes themselves); "
           "which\nlevels of all columns there are, the others being missing (None: all).");
  nb::class_<FastMatrix>(m, "FastMatrix", "A model that answers for few rows of a matrix in one call.")
      .def_static("gaussian", &fast_gaussian, array("prior"), array("terms"),
                  "Scores sum_j log N(x_j; mean, var), from gaussian_terms; nothing for NaN.")
      .def_static("affine", &fast_affine, array("prior"), array("weight"), array("bias"), array("centre"),
                  "Scores bias + weight (x - centre).")
      .def_static("quadratic", &fast_quadratic, array("prior"), array("mean"), array("low"), array("factor"),
                  array("constant"), "Scores constant - |factor (x - mean - low)|^2 / 2, factor lower triangular.")
      .def("predict", &ask, nb::arg("matrix"), nb::arg("how"), nb::arg("most"),
           "'proba', 'log_proba' or 'best' of each row; None for another question, for anything but a matrix of "
           "numbers with\nat most `most` rows, and where more is to be said of a value than its score.");
}

}  // namespace tb::bind
