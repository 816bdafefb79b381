#include "bind/bind.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cmath>

#include "core/counts/counts.hpp"
#include "core/counts/sparse_sums.hpp"
#include "core/encode/labels.hpp"
#include "core/moments/moments.hpp"
#include "core/runtime/stream.hpp"
#include "core/counts/column_sums.hpp"

namespace tb::bind {
namespace {

using Table = Array<double, 2>;
using Weights = std::optional<Doubles>;

void check_rows(const Labels& y, std::size_t n) {
  if (y.shape(0) != n) throw nb::value_error("class codes have another length than the table");
}

Labelled labelled(const PyColumns& x, const Labels& y, const Weights& w, std::size_t K) {
  check_rows(y, x.view.n);
  return {x.view, y.data(), weights_or_null(w, x.view.n), K};
}

std::tuple<Table, Table, Table, Table> py_moments(const PyColumns& x, const Labels& y, const Weights& w, std::size_t K,
                                                  bool logs) {
  Labelled t = labelled(x, y, w, K);
  t.logs = logs;
  auto n = make_array<double>({K, t.x.d}), mean = make_array<double>({K, t.x.d});
  auto low = make_array<double>({K, t.x.d}), m2 = make_array<double>({K, t.x.d});
  {
    const GilRelease release;
    moments(t, n.data(), mean.data(), low.data(), m2.data());
  }
  return {n, mean, low, m2};
}

std::tuple<Table, Table> py_sums(const PyColumns& x, const Labels& y, const Weights& w, std::size_t K) {
  const Labelled t = labelled(x, y, w, K);
  auto n = make_array<double>({K, t.x.d}), s = make_array<double>({K, t.x.d});
  {
    const GilRelease release;
    sums(t, n.data(), s.data());
  }
  return {n, s};
}

std::tuple<Table, Table> py_binary_counts(const PyColumns& x, double threshold, const Labels& y, const Weights& w,
                                          std::size_t K) {
  if (std::isnan(threshold)) throw nb::value_error("the threshold is NaN");
  const Labelled t = labelled(x, y, w, K);
  auto n = make_array<double>({K, t.x.d}), ones = make_array<double>({K, t.x.d});
  {
    const GilRelease release;
    binary_counts(t, threshold, n.data(), ones.data());
  }
  return {n, ones};
}

Table py_csr_sums(const PyCsr& x, const Labels& y, const Weights& w, std::size_t K, std::optional<double> threshold) {
  check_rows(y, x.view.n);
  if (threshold && !(*threshold >= 0.0))
    throw nb::value_error("with a sparse table the threshold must not be negative");
  const double* weights = weights_or_null(w, x.view.n);
  auto out = make_array<double>({K, x.view.d});
  {
    const GilRelease release;
    csr_sums(x.view, y.data(), weights, K, threshold ? &*threshold : nullptr, out.data());
  }
  return out;
}

using Counted = std::tuple<Table, Array<std::int64_t, 1>>;

void check_codes(const Labelled& t, const PyColumns& x, const Sizes& sizes, std::int64_t limit) {
  for (const Column& c : x.col) {
    if (c.dtype == Dtype::f64 || c.dtype == Dtype::f32)
      throw nb::type_error("codes must be integers; a column holds floats");
  }
  if (sizes.shape(0) != t.x.d) throw nb::value_error("sizes and columns differ in number");
  if (limit < 0 || limit > std::int64_t{1} << 31) throw nb::value_error("limit must lie between 0 and 2**31");
  for (std::size_t j = 0; j < t.x.d; ++j) {
    if (sizes(j) < 0 || sizes(j) > limit) throw nb::value_error("a size is negative or beyond the limit");
  }
}

Counted written(const CodeCounts& c, std::size_t K) {
  auto flat = make_array<double>({K, c.total()});
  auto grown = make_array<std::int64_t>({c.size.size()});
  c.write(K, flat.data());
  std::copy(c.size.begin(), c.size.end(), grown.data());
  return {flat, grown};
}

Counted py_counts(const PyColumns& x, const Labels& y, const Weights& w, std::size_t K, const Sizes& sizes,
                  std::int64_t limit) {
  const Labelled t = labelled(x, y, w, K);
  check_codes(t, x, sizes, limit);
  CodeCounts c;
  {
    const GilRelease release;
    c = counts(t, sizes.data(), limit);
  }
  return written(c, K);
}

std::optional<Counted> py_counts_of_codes(const PyColumns& x, const Labels& y, std::size_t K, const Sizes& sizes,
                                          std::int64_t limit) {
  const Labelled t = labelled(x, y, std::nullopt, K);
  check_codes(t, x, sizes, limit);
  std::optional<CodeCounts> c;
  {
    const GilRelease release;
    c = counts_of_codes(t, sizes.data(), limit);
  }
  if (!c) return std::nullopt;
  return written(*c, K);
}

Array<double, 1> py_class_weights(const Labels& y, const Weights& w, std::size_t K) {
  const double* weights = weights_or_null(w, y.shape(0));
  auto out = make_array<double>({K});
  {
    const GilRelease release;
    class_weights(y.data(), weights, y.shape(0), K, out.data());
  }
  return out;
}

std::tuple<Array<std::int32_t, 1>, Array<std::int64_t, 1>> py_integer_levels(
    const nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>& y) {
  const Dtype t = dtype_of(y.dtype());
  if (t == Dtype::f64 || t == Dtype::f32) throw nb::type_error("labels must be integers or booleans");
  const Column c{static_cast<const char*>(y.data()), y.stride(0) * static_cast<std::ptrdiff_t>(item_size(t)), t};
  auto codes = make_array<std::int32_t>({y.shape(0)});
  std::vector<std::int64_t> found;
  {
    const GilRelease release;
    found = integer_levels(c, y.shape(0), codes.data());
  }
  auto levels = make_array<std::int64_t>({found.size()});
  std::copy(found.begin(), found.end(), levels.data());
  return {codes, levels};
}

bool py_check_csr(const PyCsr& x) {
  const nb::object values = nb::cast<nb::tuple>(x.keep)[0];
  const std::size_t nnz = nb::len(values);
  const GilRelease release;
  return check_csr(x.view, nnz);
}

}  // namespace

void bind_statistics(nb::module_& m) {
  const auto cols = nb::arg("cols");
  const auto y = nb::arg("y").noconvert();
  const auto w = nb::arg("w").noconvert().none();
  const auto K = nb::arg("K");
  m.def(
      "moments", &py_moments, cols, y, w, K, nb::arg("logs") = false,
      "(n, mean, low, m2) of every class and column: the weight of the values that are not missing, their mean, what\n"
      "it lacks as a float64, and the sum of their squares about mean + low. With logs, of the logarithms of positive\n"
      "values; others are missing.");
  m.def("sums", &py_sums, cols, y, w, K,
        "(n, s) of every class and column: the weight of the values that are not missing, and the sum of w * x.");
  m.def("binary_counts", &py_binary_counts, cols, nb::arg("threshold"), y, w, K,
        "(n, ones) of every class and column: the weight of the values that are not missing, and of those above\n"
        "the threshold.");
  m.def("csr_sums", &py_csr_sums, nb::arg("csr"), y, w, K, nb::arg("threshold").none(),
        "The sum of w * x of every class and column, or with a threshold the weight of the rows with x above it.");
  m.def("counts", &py_counts, cols, y, w, K, nb::arg("sizes").noconvert(), nb::arg("limit"),
        "(counts, sizes): the weight of every code of every column in every class; column j's codes begin at\n"
        "sum(sizes[:j]). A negative code is missing; a column grows up to limit levels.");
  m.def("counts_of_codes", &py_counts_of_codes, cols, y, K, nb::arg("sizes").noconvert(), nb::arg("limit"),
        "The same without weights, or None if some number of some row is negative or not below the limit.");
  m.def("class_weights", &py_class_weights, y, w, K, "The total weight of every class.");
  m.def("integer_levels", &py_integer_levels, nb::arg("y").noconvert(),
        "(codes, levels): the distinct values in ascending order, and the place of each value among them.");
  m.def("check_csr", &py_check_csr, nb::arg("csr"),
        "Raise ValueError unless the arrays describe a matrix of that width. Whether the indices of each row rise.");
  m.def(
      "stream",
      [](const PyColumns& x) {
        const GilRelease release;
        return stream(x.view);
      },
      cols, "Read every byte of the table once with all threads (the limit of a bench); the answer has no meaning.");
}

}  // namespace tb::bind
