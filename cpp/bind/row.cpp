// One row at a time: a dict is read straight into the tally, or scored straight from it.
// A fast path only: whatever is unusual (a new class, a new level, a key never met, a value of the wrong type) is
// answered with "not done", and the caller takes the careful way through a table.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <cmath>

#include "bind/bind.hpp"
#include "core/estimates.hpp"
#include "core/exact_sum.hpp"

namespace tb::bind {
namespace {

using Table = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

struct Place {
  PyObject* name;        // borrowed from names_
  PyObject* levels;      // label -> code, borrowed; null for a real column
  std::size_t at;        // real: column of the moments; discrete: offset of its levels
  std::size_t discrete;  // number of the discrete column
};

class RowDoor {
 public:
  RowDoor(nb::list names, nb::list levels, nb::dict classes, Vector weight, Table n, Table mean, Table low, Table m2,
          Table count, Sizes sizes, std::vector<double> levels_counted, int ddof, bool shared, double smoothing,
          double alpha, nb::object log_prior, bool laplace)
      : names_(names),
        levels_(levels),
        classes_(classes),
        weight_(weight),
        n_(n),
        mean_(mean),
        low_(low),
        m2_(m2),
        count_(count),
        N_(std::move(levels_counted)),
        options_{ddof, shared, smoothing},
        alpha_(alpha),
        laplace_(laplace) {
    const std::size_t K = weight.shape(0), d = nb::len(names);
    if (nb::len(levels) != d || nb::len(classes) != K || n.shape(0) != K || mean.shape(0) != K || low.shape(0) != K ||
        m2.shape(0) != K || count.shape(0) != K || mean.shape(1) != n.shape(1) || low.shape(1) != n.shape(1) ||
        m2.shape(1) != n.shape(1))
      throw nb::value_error("the parts of a row door do not fit together");
    std::size_t real = 0, discrete = 0, offset = 0;
    for (std::size_t j = 0; j < d; ++j) {
      nb::handle lv = levels[j];
      Place p{names[j].ptr(), nullptr, real, 0};
      if (lv.is_none()) {
        ++real;
      } else {
        if (discrete >= sizes.shape(0)) throw nb::value_error("more discrete columns than sizes");
        p = {names[j].ptr(), lv.ptr(), offset, discrete};
        offset += static_cast<std::size_t>(sizes.data()[discrete++]);
      }
      places_.push_back(p);
    }
    if (real != n.shape(1) || offset != count.shape(1) || N_.size() != discrete)
      throw nb::value_error("the parts of a row door do not fit together");
    if (!log_prior.is_none()) {
      const auto given = nb::cast<Doubles>(log_prior, false);
      if (given.shape(0) != K) throw nb::value_error("one prior per class");
      fixed_prior_.assign(given.data(), given.data() + K);
    }
    for (const auto& item : classes) labels_.push_back(item.first.ptr());
    D_ = discrete;
    total_.assign(K * D_, 0.0);
    for (std::size_t j = 0; j < d; ++j)
      if (places_[j].levels)
        for (std::size_t c = 0; c < K; ++c)
          for (std::size_t v = 0; v < static_cast<std::size_t>(sizes.data()[places_[j].discrete]); ++v)
            total_[c * D_ + places_[j].discrete] += count_.data()[c * count_.shape(1) + places_[j].at + v];
    x_.resize(d);
    code_.resize(d);
    mean_hat_.resize(K * n.shape(1));
    low_hat_.resize(K * n.shape(1));
    scale_.resize(K * n.shape(1));
    constant_.resize(K * n.shape(1));
    epsilon_.resize(n.shape(1));
    score_.resize(K);
  }

  bool learn(const nb::dict& row, nb::handle label, double w) {
    PyObject* found = PyDict_GetItemWithError(classes_.ptr(), label.ptr());
    if (!found) return careful();
    if (!read(row)) return false;
    const auto c = static_cast<std::size_t>(PyLong_AsSize_t(found));
    const std::size_t dg = n_.shape(1), L = count_.shape(1), K = weight_.shape(0);
    for (std::size_t j = 0; j < places_.size(); ++j) {
      if (!places_[j].levels &&
          x_[j] == x_[j]) {  // a sum of squares beyond double: the careful way refuses it in words
        const std::size_t i = c * dg + places_[j].at;
        const double delta = n_.data()[i] > 0 ? x_[j] - mean_.data()[i] : 0.0;
        if (!std::isfinite(m2_.data()[i] + delta * delta * (n_.data()[i] + w))) return false;
      }
      if (!places_[j].levels || code_[j] < 0)
        continue;  // a level counted for the first time changes N: the careful way
      double before = 0;
      for (std::size_t k = 0; k < K; ++k)
        before += count_.data()[k * L + places_[j].at + static_cast<std::size_t>(code_[j])];
      if (before <= 0) return false;
    }
    for (std::size_t j = 0; j < places_.size(); ++j) {
      const Place& p = places_[j];
      if (p.levels) {
        if (code_[j] < 0) continue;
        count_.data()[c * L + p.at + static_cast<std::size_t>(code_[j])] += w;
        total_[c * D_ + p.discrete] += w;
      } else if (x_[j] == x_[j]) {
        const std::size_t i = c * dg + p.at;
        const double n = n_.data()[i] + w;
        const double delta = (x_[j] - mean_.data()[i]) - low_.data()[i];
        if (n_.data()[i] == 0) {
          mean_.data()[i] = x_[j], low_.data()[i] = 0.0;
        } else {
          const Pair mean = exact_sum(mean_.data()[i], low_.data()[i] + delta * (w / n));
          mean_.data()[i] = mean.high, low_.data()[i] = mean.low;
          m2_.data()[i] += delta * delta * (n_.data()[i] * (w / n));
        }
        n_.data()[i] = n;
      }
    }
    weight_.data()[c] += w;
    stale_ = true;
    return true;
  }

  // {label: probability}, or None for the careful way.
  nb::object proba(const nb::dict& row) {
    if (!read(row)) return nb::none();
    const std::size_t K = weight_.shape(0), dg = n_.shape(1), L = count_.shape(1);
    if (stale_) refresh();
    double most = -INFINITY;
    for (std::size_t c = 0; c < K; ++c) {
      double s = prior_[c];
      for (std::size_t j = 0; j < places_.size(); ++j) {
        const Place& p = places_[j];
        if (p.levels) {
          if (code_[j] < 0) continue;
          s += log_share(count_.data()[c * L + p.at + static_cast<std::size_t>(code_[j])], total_[c * D_ + p.discrete],
                         alpha_, N_[p.discrete]);
        } else if (x_[j] == x_[j]) {
          const std::size_t i = c * dg + p.at;
          const double t = ((x_[j] - mean_hat_[i]) - low_hat_[i]) * scale_[i];
          s += constant_[i] - t * t;
        }
      }
      score_[c] = s;
      most = std::fmax(most, s);
    }
    if (!(most > -INFINITY)) return nb::none();
    double sum = 0;
    for (std::size_t c = 0; c < K; ++c) sum += score_[c] = std::exp(score_[c] - most);
    nb::dict out;
    for (std::size_t c = 0; c < K; ++c) {
      PyObject* p = PyFloat_FromDouble(score_[c] / sum);
      if (!p || PyDict_SetItem(out.ptr(), labels_[c], p) < 0) nb::raise_python_error();
      Py_DECREF(p);
    }
    return out;
  }

 private:
  // A lookup that raised (an unhashable value, say) is not an error yet: the careful way says it in words.
  static bool careful() {
    PyErr_Clear();
    return false;
  }

  bool read(const nb::dict& row) {
    std::size_t met = 0;
    for (std::size_t j = 0; j < places_.size(); ++j) {
      const Place& p = places_[j];
      x_[j] = NAN;
      code_[j] = -1;
      PyObject* value = PyDict_GetItemWithError(row.ptr(), p.name);
      if (!value) {
        if (PyErr_Occurred()) return careful();
        continue;
      }
      ++met;
      if (value == Py_None) continue;
      if (p.levels) {
        PyObject* code = PyDict_GetItemWithError(p.levels, value);
        if (!code) return careful();
        code_[j] = PyLong_AsLong(code);
      } else {
        if (!PyFloat_Check(value) && !PyLong_Check(value)) return false;
        x_[j] = PyFloat_AsDouble(value);
        if (x_[j] == -1.0 && PyErr_Occurred()) return careful();
        if (std::isinf(x_[j])) return false;
      }
    }
    return met == static_cast<std::size_t>(PyDict_Size(row.ptr()));
  }

  void refresh() {
    const std::size_t K = weight_.shape(0), dg = n_.shape(1);
    gaussian_estimate(K, dg, {n_.data(), mean_.data(), low_.data(), m2_.data()}, options_,
                      {mean_hat_.data(), low_hat_.data(), scale_.data(), epsilon_.data()});
    for (std::size_t i = 0; i < K * dg; ++i) {
      const double var = scale_[i];
      scale_[i] = var > 0 ? std::sqrt(0.5 / var) : 0.0;
      constant_[i] = var > 0 ? -0.5 * std::log(6.283185307179586 * var) : 0.0;
    }
    prior_ = fixed_prior_;
    if (prior_.empty()) {
      double total = 0;
      for (std::size_t c = 0; c < K; ++c) total += weight_.data()[c] + (laplace_ ? 1.0 : 0.0);
      for (std::size_t c = 0; c < K; ++c)
        prior_.push_back(std::log((weight_.data()[c] + (laplace_ ? 1.0 : 0.0)) / total));
    }
    stale_ = false;
  }

  nb::list names_, levels_;
  nb::dict classes_;
  Vector weight_;
  Table n_, mean_, low_, m2_, count_;
  std::vector<double> N_;
  GaussianOptions options_;
  double alpha_;
  bool laplace_;
  std::vector<Place> places_;
  std::vector<PyObject*> labels_;
  std::vector<double> fixed_prior_, prior_;
  std::size_t D_ = 0;
  std::vector<double> total_, x_, mean_hat_, low_hat_, scale_, constant_, epsilon_, score_;
  std::vector<long> code_;
  bool stale_ = true;
};

}  // namespace

void bind_row(nb::module_& m) {
  nb::class_<RowDoor>(m, "RowDoor", "Learns and scores one dict at a time, in the arrays of a tally.")
      .def(nb::init<nb::list, nb::list, nb::dict, Vector, Table, Table, Table, Table, Table, Sizes, std::vector<double>,
                    int, bool, double, double, nb::object, bool>(),
           nb::arg("names"), nb::arg("levels"), nb::arg("classes"), nb::arg("weight").noconvert(),
           nb::arg("n").noconvert(), nb::arg("mean").noconvert(), nb::arg("low").noconvert(), nb::arg("m2").noconvert(),
           nb::arg("count").noconvert(), nb::arg("sizes").noconvert(), nb::arg("levels_counted"), nb::arg("ddof"),
           nb::arg("shared"), nb::arg("smoothing"), nb::arg("alpha"), nb::arg("log_prior").none(), nb::arg("laplace"))
      .def("learn", &RowDoor::learn, nb::arg("row"), nb::arg("label"), nb::arg("weight"))
      .def("proba", &RowDoor::proba, nb::arg("row"));

  m.def(
      "gaussian_estimate",
      [](const Matrix& n, const Matrix& mean, const Matrix& low, const Matrix& m2, int ddof, bool shared,
         double smoothing) {
        const std::size_t K = n.shape(0), d = n.shape(1);
        for (const Matrix* m : {&mean, &low, &m2})
          if (m->shape(0) != K || m->shape(1) != d) throw nb::value_error("n, mean, low and m2 differ in shape");
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
