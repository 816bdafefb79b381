// Chains of smoothed estimates (core/chains.hpp).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <limits>

#include "bind/checked.hpp"
#include "bind/large.hpp"
#include "core/chains.hpp"
#include "core/check_rows.hpp"

namespace tb::bind {
namespace {

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Logs = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

bool all_at_least_0(const Doubles& a) {
  for (std::size_t i = 0; i < a.shape(0); ++i)
    if (!(a(i) >= 0 && a(i) <= std::numeric_limits<double>::max())) return false;
  return true;
}

// The Python class _core.Chains: a description that was checked once, and owns its numbers.
class PyChains {
 public:
  PyChains(std::size_t d, const Ints& column, const Sizes& start, const Bytes& map, const Ints& bins, const Ints& child,
           const Ints& parent, const Sizes& parent_start)
      : d_(d),
        column_(copy_of(column)),
        bins_(copy_of(bins)),
        child_(copy_of(child)),
        parent_(copy_of(parent)),
        start_(copy_of(start)),
        parent_start_(copy_of(parent_start)),
        map_(copy_of(map)),
        chains_(make()) {}

  const Chains& get() const { return chains_; }
  std::size_t columns() const { return d_; }

 private:
  Chains make() const {
    const std::size_t V = column_.size(), n = child_.size();
    expect(bins_.size() == V && start_.size() == V + 1 && start_[0] == 0, "views: a column, a start and bins for each");
    for (std::size_t v = 0; v < V; ++v) {
      expect(column_[v] >= 0 && static_cast<std::size_t>(column_[v]) < d_, "a view is of no column");
      expect(start_[v] < start_[v + 1] && static_cast<std::size_t>(start_[v + 1]) <= map_.size(), "a view has no map");
      expect(bins_[v] >= 1 && bins_[v] < kNoBin, "a view has 1 to 254 bins");
      for (std::int64_t i = start_[v]; i < start_[v + 1]; ++i) {
        expect(map_[static_cast<std::size_t>(i)] < bins_[v] || map_[static_cast<std::size_t>(i)] == kNoBin,
               "a bin is not there");
      }
    }
    expect(parent_start_.size() == n + 1 && parent_start_[0] == 0, "parent_start: one more than there are chains");
    for (std::size_t i = 0; i < n; ++i) {
      expect(child_[i] >= -1 && child_[i] < static_cast<std::int32_t>(V), "a child is no view");
      expect(parent_start_[i] <= parent_start_[i + 1], "parent_start must not fall");
    }
    expect(static_cast<std::size_t>(parent_start_[n]) == parent_.size(), "parent_start must end with the parents");
    for (const std::int32_t p : parent_) expect(p >= 0 && p < static_cast<std::int32_t>(V), "a parent is no view");
    return Chains(Views{V, column_.data(), start_.data(), map_.data(), bins_.data()}, n, child_.data(), parent_.data(),
                  parent_start_.data());
  }

  std::size_t d_;
  std::vector<std::int32_t> column_, bins_, child_, parent_;
  std::vector<std::int64_t> start_, parent_start_;
  std::vector<std::uint8_t> map_;
  Chains chains_;
};

void check_rows(const PyChains& self, const AnyCodes& codes, const Labels& y, const std::optional<Doubles>& w,
                std::size_t K) {
  expect(codes.shape(0) == self.columns(), "codes must be (columns, rows)");
  expect(y.shape(0) == codes.shape(1), "y: one for each row");
  const double* weight = weights_or_null(w, y.shape(0));
  const nb::gil_scoped_release release;
  tb::check_rows(y.data(), weight, y.shape(0), K);
}

Planes planes_of(const PyChains& self, std::size_t count, const Ints& of, const Doubles& scale, bool spread) {
  expect(of.shape(0) == self.get().count && scale.shape(0) == self.get().count, "plane and scale: one for each chain");
  for (std::size_t i = 0; i < of.shape(0); ++i) {
    if (spread && of(i) == -1 && self.get().child[i] < 0 && count > self.columns()) continue;
    expect(of(i) >= 0 && static_cast<std::size_t>(of(i)) < count, "a plane is not there");
  }
  return {count, of.data(), scale.data()};
}

void py_count(const PyChains& self, const AnyCodes& codes, const Labels& y, const std::optional<Doubles>& w,
              const OwnCounts& out) {
  const std::size_t K = out.shape(1);
  check_rows(self, codes, y, w, K);
  expect(out.shape(0) == self.get().counts.back(), "counts must be (cells, classes)");
  expect(!w || out.dtype() == nb::dtype<double>(), "weights are counted in float64");
  const nb::gil_scoped_release release;
  with_counts(out.dtype(), out.data(), [&](const auto* counts) {
    using Count = std::remove_const_t<std::remove_pointer_t<decltype(counts)>>;
    with_codes(codes, [&]<class T>(const T* p) {
      count_chains(self.get(), Rows<T>{p, codes.shape(1), y.data(), w ? w->data() : nullptr}, K,
                   const_cast<Count*>(counts));
    });
  });
}

std::tuple<Array<double, 1>, Array<float, 2>, Array<float, 3>> py_learn(
    const PyChains& self, const AnyCounts& counts, const AnyCodes& codes, const Labels& y,
    const std::optional<Doubles>& w, const Doubles& grid, std::size_t rows, double alpha, std::size_t planes,
    const Ints& plane, const Doubles& scale, const std::optional<Doubles>& given) {
  const std::size_t K = counts.shape(1), n = codes.shape(1);
  const Chains& chains = self.get();
  check_rows(self, codes, y, w, K);
  expect(counts.shape(0) == chains.counts.back(), "counts must be (cells, classes)");
  const Planes to = planes_of(self, planes, plane, scale, false);
  expect(all_at_least_0(grid), "grid must be finite and not negative");
  expect(alpha >= 0 && alpha <= std::numeric_limits<double>::max(), "alpha must be a number of at least 0");
  const Smooth smooth{grid.data(), grid.shape(0), rows, alpha, given.has_value()};
  auto strengths = make_array<double, 1>({static_cast<std::size_t>(chains.parent_start[chains.count]) + chains.count});
  if (given) {
    expect(given->shape(0) == strengths.shape(0), "strengths: one for each rung");
    expect(all_at_least_0(*given), "strengths must be finite and not negative");
    std::copy_n(given->data(), given->shape(0), strengths.data());
  }
  auto logs = make_large<float, 2>({chains.rungs.back(), K});
  auto terms = make_large<float, 3>({planes, n, K});
  {
    const nb::gil_scoped_release release;
    std::fill_n(terms.data(), planes * n * K, 0.0f);
    with_counts(counts.dtype(), counts.data(), [&](const auto* from) {
      with_codes(codes, [&]<class T>(const T* p) {
        learn_chains(chains, from, K, Rows<T>{p, n, y.data(), w ? w->data() : nullptr}, smooth, to, strengths.data(),
                     logs.data(), terms.data());
      });
    });
  }
  return {strengths, logs, terms};
}

Array<double, 3> py_terms(const PyChains& self, const Logs& logs, const AnyCodes& codes, std::size_t planes,
                          const Ints& plane, const Doubles& scale) {
  const std::size_t K = logs.shape(1), n = codes.shape(1);
  expect(codes.shape(0) == self.columns(), "codes must be (columns, rows)");
  expect(logs.shape(0) == self.get().rungs.back(), "logs must be (rung cells, classes)");
  const Planes to = planes_of(self, planes, plane, scale, true);
  auto out = make_large<double, 3>({planes, n, K});
  const nb::gil_scoped_release release;
  std::fill_n(out.data(), planes * n * K, 0.0);
  with_codes(codes, [&]<class T>(const T* p) {
    if (logs.dtype() == nb::dtype<float>())
      add_chains(self.get(), static_cast<const float*>(logs.data()), K, p, n, to, out.data());
    else if (logs.dtype() == nb::dtype<double>())
      add_chains(self.get(), static_cast<const double*>(logs.data()), K, p, n, to, out.data());
    else
      throw nb::type_error("logs must be float32 or float64");
  });
  return out;
}

Array<double, 2> py_laplace(const PyChains& self, const AnyCounts& counts, double alpha) {
  const std::size_t K = counts.shape(1);
  expect(counts.shape(0) == self.get().counts.back(), "counts must be (cells, classes)");
  expect(alpha >= 0 && alpha <= std::numeric_limits<double>::max(), "alpha must be a number of at least 0");
  auto logs = make_large<double, 2>({self.get().rungs.back(), K});
  const nb::gil_scoped_release release;
  with_counts(counts.dtype(), counts.data(),
              [&](const auto* from) { laplace_chains(self.get(), from, K, alpha, logs.data()); });
  return logs;
}

}  // namespace

void bind_chains(nb::module_& m) {
  nb::class_<PyChains>(m, "Chains", "Chains of estimates, each smoothed towards the one with a parent less.")
      .def(nb::init<std::size_t, const Ints&, const Sizes&, const Bytes&, const Ints&, const Ints&, const Ints&,
                    const Sizes&>(),
           nb::arg("columns"), nb::arg("column").noconvert(), nb::arg("start").noconvert(), nb::arg("map").noconvert(),
           nb::arg("bins").noconvert(), nb::arg("child").noconvert(), nb::arg("parent").noconvert(),
           nb::arg("parent_start").noconvert(),
           "Views (column, map from level to bin with one more for a missing value, 255: none; bins) and chains "
           "(child: a\n"
           "view, or -1 for the class; parents: views).")
      .def_prop_ro(
          "cells", [](const PyChains& self) { return self.get().counts.back(); }, "How many counts per class.")
      .def_prop_ro(
          "rungs", [](const PyChains& self) { return self.get().rungs.back(); }, "How many estimates per class.")
      .def("count", &py_count, nb::arg("codes").noconvert(), nb::arg("y").noconvert(), nb::arg("w").noconvert().none(),
           nb::arg("out").noconvert(), "Adds the rows to the counts (cells, classes), uint32 or float64.")
      .def("learn", &py_learn, nb::arg("counts").noconvert(), nb::arg("codes").noconvert(), nb::arg("y").noconvert(),
           nb::arg("w").noconvert().none(), nb::arg("grid").noconvert(), nb::arg("rows"), nb::arg("alpha"),
           nb::arg("planes"), nb::arg("plane").noconvert(), nb::arg("scale").noconvert(),
           nb::arg("strengths").noconvert().none() = nb::none(),
           "(strengths, logs, terms): the strength of each rung by leave-one-out on the first rows, the logs of all\n"
           "estimates, and the leave-one-out terms (planes, rows, classes) of rows that have been counted. With an "
           "empty\n"
           "grid alpha is added to each count instead. strengths: known ones, from which none is chosen again.")
      .def("laplace", &py_laplace, nb::arg("counts").noconvert(), nb::arg("alpha"),
           "The logs of all estimates with alpha added to each count, in float64.")
      .def("terms", &py_terms, nb::arg("logs").noconvert(), nb::arg("codes").noconvert(), nb::arg("planes"),
           nb::arg("plane").noconvert(), nb::arg("scale").noconvert(),
           "(planes, rows, classes): the sums of scale * log P of the chains of each plane. Plane -1 of a chain of the "
           "class:\n"
           "what each parent adds goes to the plane of its column, the rest to the last plane.");
}

}  // namespace tb::bind
