// Statistics → parameters: what tables and single rows compute alike.
#include "core/scoring/estimates.hpp"

#include "bind/large_array.hpp"
#include "kernels/logs.hpp"

namespace tb::bind {
namespace {

using Numbers = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using AnyShape = nb::ndarray<nb::numpy, double, nb::c_contig>;

void expect(bool fits, const char* otherwise) {
  if (!fits) throw nb::value_error(otherwise);
}

bool same(const Matrix& a, const Matrix& b) { return a.shape(0) == b.shape(0) && a.shape(1) == b.shape(1); }

AnyShape logs_of(const Numbers& x) {
  double* out = static_cast<double*>(allocate(sizeof(double) * x.size()));
  nb::capsule owner(out, [](void* p) noexcept { std::free(p); });
  std::vector<std::size_t> shape;
  for (std::size_t i = 0; i < x.ndim(); ++i) shape.push_back(x.shape(i));
  {
    GilRelease release;
    TB_CALL(logs, x.data(), x.size(), out);
  }
  return AnyShape(out, x.ndim(), shape.data(), owner);
}

Array<double, 2> totals_of(const Matrix& count, const Sizes& sizes) {
  const std::size_t K = count.shape(0), d = sizes.shape(0);
  const LevelSizes columns{d, sizes.data()};
  expect(columns.fill(count.shape(1)), "count must be (classes, sum of sizes)");
  auto out = make_array<double, 2>({K, d});
  GilRelease release;
  level_totals(K, columns, count.data(), out.data());
  return out;
}

}  // namespace

void bind_estimates(nb::module_& m) {
  m.def("logs", &logs_of, nb::arg("x").noconvert(),
        "log(x) of numbers of at least 0, by the kernel that one row is scored with too.");

  m.def("level_totals", &totals_of, nb::arg("count").noconvert(), nb::arg("sizes").noconvert(),
        "(classes, columns): how much was counted of each column; count (classes, levels of all columns).");

  m.def(
      "log_prior",
      [](const Doubles& weight, double added) {
        auto out = make_array<double, 1>({weight.shape(0)});
        log_prior(weight.data(), weight.shape(0), added, out.data());
        return out;
      },
      nb::arg("weight").noconvert(), nb::arg("added"), "log of the shares of weight + added.");

  m.def(
      "threshold_estimate",
      [](const Matrix& no, const Matrix& yes, const Doubles& alpha) {
        const std::size_t K = no.shape(0), d = no.shape(1);
        expect(same(no, yes) && alpha.shape(0) == d, "no, yes and alpha do not fit together");
        auto log_no = make_large<double, 2>({K, d}), log_yes = make_large<double, 2>({K, d});
        threshold_estimate(K, d, no.data(), yes.data(), alpha.data(), log_no.data(), log_yes.data());
        return nb::make_tuple(log_no, log_yes);
      },
      nb::arg("no").noconvert(), nb::arg("yes").noconvert(), nb::arg("alpha").noconvert(),
      "log P(no | class) and log P(yes | class).");

  m.def(
      "poisson_estimate",
      [](const Matrix& n, const Matrix& sum, const Doubles& alpha) {
        const std::size_t K = n.shape(0), d = n.shape(1);
        expect(same(n, sum) && alpha.shape(0) == d, "n, sum and alpha do not fit together");
        auto rate = make_large<double, 2>({K, d}), weight = make_large<double, 2>({K, d}),
             bias = make_large<double, 2>({K, d});
        poisson_estimate(K, d, n.data(), sum.data(), alpha.data(), {rate.data(), weight.data(), bias.data()});
        return nb::make_tuple(rate, weight, bias);
      },
      nb::arg("n").noconvert(), nb::arg("sum").noconvert(), nb::arg("alpha").noconvert(),
      "Rates, their logarithms and minus the rates; the latter two 0 for a column of zeros.");

  m.def(
      "log_shares",
      [](const Matrix& sum, const Doubles& alpha) {
        const std::size_t K = sum.shape(0), d = sum.shape(1);
        expect(alpha.shape(0) == d, "alpha must have a number for each column");
        auto out = make_large<double, 2>({K, d});
        GilRelease release;
        log_shares(K, d, sum.data(), alpha.data(), out.data());
        return out;
      },
      nb::arg("sum").noconvert(), nb::arg("alpha").noconvert(),
      "log of each row's shares of sum + alpha; a row of zeros is shared evenly.");

  m.def(
      "gaussian_estimate",
      [](const Matrix& n, const Matrix& mean, const Matrix& low, const Matrix& m2, int ddof, bool shared,
         double smoothing) {
        const std::size_t K = n.shape(0), d = n.shape(1);
        expect(same(n, mean) && same(n, low) && same(n, m2), "n, mean, low and m2 differ in shape");
        auto mu = make_array<double, 2>({K, d});
        auto rest = make_array<double, 2>({K, d});
        auto var = make_array<double, 2>({K, d});
        auto epsilon = make_array<double, 1>({d});
        gaussian_estimate(K, d, {n.data(), mean.data(), low.data(), m2.data()}, {ddof, shared, smoothing},
                          {mu.data(), rest.data(), var.data(), epsilon.data()});
        return nb::make_tuple(mu, rest, var, epsilon);
      },
      nb::arg("n").noconvert(), nb::arg("mean").noconvert(), nb::arg("low").noconvert(), nb::arg("m2").noconvert(),
      nb::arg("ddof"), nb::arg("shared"), nb::arg("smoothing"),
      "Means (mean and low), variances and what smoothing added, from a tally of moments.");
}

}  // namespace tb::bind
