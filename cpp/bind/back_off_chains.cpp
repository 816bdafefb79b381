// Chains of smoothed estimates (core/ensemble/back_off_chains.hpp).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>

#include "bind/checked.hpp"
#include "bind/large_array.hpp"
#include "core/ensemble/back_off_chains.hpp"
#include "core/encode/check_rows.hpp"

namespace tb::bind {
namespace {

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Logs = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

void check_alpha(double alpha) { expect(alpha >= 0 && std::isfinite(alpha), "alpha must be a number of at least 0"); }

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
  const GilRelease release;
  tb::check_rows(y.data(), weight, y.shape(0), K);
}

// The Python class _core.ChainOutputs: where the terms of chains go.
class PyOutputs {
 public:
  PyOutputs(std::size_t count, const Ints& output, const Doubles& scale)
      : count_(count), output_(copy_of(output)), scale_(copy_of(scale)) {
    expect(output_.size() == scale_.size(), "output and scale: one for each chain");
    for (const std::int32_t p : output_)
      expect(p >= -1 && (p < 0 || static_cast<std::size_t>(p) < count), "an output is not there");
  }

  std::size_t count() const { return count_; }
  // spread: whether the terms of a chain of the class may be shared out, output -1.
  Outputs of(const PyChains& chains, bool spread) const {
    const Chains& all = chains.get();
    expect(output_.size() == all.count, "output and scale: one for each chain");
    for (std::size_t i = 0; i < output_.size(); ++i)
      expect(output_[i] >= 0 || (spread && all.child[i] < 0 && count_ > chains.columns()), "an output is not there");
    return {count_, output_.data(), scale_.data()};
  }

 private:
  std::size_t count_;
  std::vector<std::int32_t> output_;
  std::vector<double> scale_;
};

// The Python class _core.ChainSmoothing: how estimates are drawn to the one with a parent less.
class PySmoothing {
 public:
  PySmoothing(const Doubles& grid, std::size_t rows, double alpha, double pseudo_count,
              const std::optional<Doubles>& concentrations)
      : grid_(copy_of(grid)), rows_(rows), alpha_(alpha), pseudo_count_(pseudo_count) {
    expect(pseudo_count >= 0 && pseudo_count <= 1e6, "pseudo_count must lie between 0 and a million");
    expect(all_at_least(grid, 0.0), "grid must be finite and not negative");
    check_alpha(alpha);
    if (!concentrations) return;
    expect(all_at_least(*concentrations, 0.0), "strengths must be finite and not negative");
    concentrations_ = copy_of(*concentrations);
  }

  SmoothingOptions get() const {
    return {{grid_.data(), grid_.size()}, rows_, alpha_, pseudo_count_, concentrations_.has_value()};
  }
  // The known concentrations, if there are any: one for each order.
  void write_known(Array<double, 1>& out) const {
    if (!concentrations_) return;
    expect(concentrations_->size() == out.shape(0), "strengths: one for each order");
    std::copy(concentrations_->begin(), concentrations_->end(), out.data());
  }

 private:
  std::vector<double> grid_;
  std::size_t rows_;
  double alpha_, pseudo_count_;
  std::optional<std::vector<double>> concentrations_;
};

void py_count(const PyChains& self, const AnyCodes& codes, const Labels& y, const std::optional<Doubles>& w,
              const OwnCounts& out) {
  const std::size_t K = out.shape(1);
  check_rows(self, codes, y, w, K);
  expect(out.shape(0) == self.get().counts.back(), "counts must be (cells, classes)");
  expect(!w || out.dtype() == nb::dtype<double>(), "weights are counted in float64");
  const GilRelease release;
  with_counts(out.dtype(), out.data(), [&](const auto* counts) {
    using Count = std::remove_const_t<std::remove_pointer_t<decltype(counts)>>;
    with_codes(codes, [&]<class T>(const T* p) {
      count_chains(self.get(), Rows<T>{p, codes.shape(1), y.data(), w ? w->data() : nullptr}, K,
                   const_cast<Count*>(counts));
    });
  });
}

std::tuple<Array<double, 1>, Array<float, 2>, Array<float, 3>> py_learn(const PyChains& self, const AnyCounts& counts,
                                                                        const AnyCodes& codes, const Labels& y,
                                                                        const std::optional<Doubles>& w,
                                                                        const PySmoothing& smoothing,
                                                                        const PyOutputs& outputs) {
  const std::size_t K = counts.shape(1), n = codes.shape(1);
  const Chains& chains = self.get();
  check_rows(self, codes, y, w, K);
  expect(counts.shape(0) == chains.counts.back(), "counts must be (cells, classes)");
  const Outputs to = outputs.of(self, false);
  auto concentrations =
      make_array<double, 1>({static_cast<std::size_t>(chains.parent_start[chains.count]) + chains.count});
  smoothing.write_known(concentrations);
  auto logs = make_large<float, 2>({chains.orders.back(), K});
  auto terms = make_large<float, 3>({to.count, n, K});
  {
    const GilRelease release;
    std::fill_n(terms.data(), to.count * n * K, 0.0f);
    with_counts(counts.dtype(), counts.data(), [&](const auto* from) {
      with_codes(codes, [&]<class T>(const T* p) {
        learn_chains(chains, from, K, Rows<T>{p, n, y.data(), w ? w->data() : nullptr}, smoothing.get(), to,
                     concentrations.data(), logs.data(), terms.data());
      });
    });
  }
  return {concentrations, logs, terms};
}

Array<double, 3> py_terms(const PyChains& self, const Logs& logs, const AnyCodes& codes, const PyOutputs& outputs) {
  const std::size_t K = logs.shape(1), n = codes.shape(1);
  expect(codes.shape(0) == self.columns(), "codes must be (columns, rows)");
  expect(logs.shape(0) == self.get().orders.back(), "logs must be (order cells, classes)");
  const Outputs to = outputs.of(self, true);
  auto out = make_large<double, 3>({to.count, n, K});
  const GilRelease release;
  std::fill_n(out.data(), to.count * n * K, 0.0);
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
  check_alpha(alpha);
  auto logs = make_large<double, 2>({self.get().orders.back(), K});
  const GilRelease release;
  with_counts(counts.dtype(), counts.data(),
              [&](const auto* from) { laplace_chains(self.get(), from, K, alpha, logs.data()); });
  return logs;
}

}  // namespace

void bind_chains(nb::module_& m) {
  nb::class_<PyOutputs>(m, "ChainOutputs", "Into which output the term of each chain is added, and times what.")
      .def(nb::init<std::size_t, const Ints&, const Doubles&>(), nb::arg("count"), nb::arg("output").noconvert(),
           nb::arg("scale").noconvert(),
           "output and scale: one for each chain. Output -1, which only terms takes, of a chain of the class: what "
           "each\n"
           "parent adds goes to the output of its column, the rest to the last output.");
  nb::class_<PySmoothing>(m, "ChainSmoothing", "How each estimate is drawn to the one with a parent less.")
      .def(
          nb::init<const Doubles&, std::size_t, double, double, const std::optional<Doubles>&>(),
          nb::arg("grid").noconvert(), nb::arg("rows"), nb::arg("alpha"), nb::arg("pseudo_count"),
          nb::arg("strengths").noconvert().none() = nb::none(),
          "The strength of each order is chosen from grid by leave-one-out on the first rows. With an empty grid alpha "
          "is\n"
          "added to each count instead. pseudo_count: rows that every value of a child has besides, spread over the\n"
          "classes. strengths: known ones, from which none is chosen again.");
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
          "orders", [](const PyChains& self) { return self.get().orders.back(); }, "How many estimates per class.")
      .def("count", &py_count, nb::arg("codes").noconvert(), nb::arg("y").noconvert(), nb::arg("w").noconvert().none(),
           nb::arg("out").noconvert(), "Adds the rows to the counts (cells, classes), uint32 or float64.")
      .def("learn", &py_learn, nb::arg("counts").noconvert(), nb::arg("codes").noconvert(), nb::arg("y").noconvert(),
           nb::arg("w").noconvert().none(), nb::arg("smoothing"), nb::arg("outputs"),
           "(strengths, logs, terms): the strength of each order, the logs of all estimates, and the leave-one-out "
           "terms\n"
           "(outputs, rows, classes) of rows that have been counted.")
      .def("laplace", &py_laplace, nb::arg("counts").noconvert(), nb::arg("alpha"),
           "The logs of all estimates with alpha added to each count, in float64.")
      .def("terms", &py_terms, nb::arg("logs").noconvert(), nb::arg("codes").noconvert(), nb::arg("outputs"),
           "(outputs, rows, classes): the sums of scale * log P of the chains of each output.");
}

}  // namespace tb::bind
