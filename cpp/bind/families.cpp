// Networks: probabilities of families out of joint tables, scores of rows, leave-one-out losses of smaller networks.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bind/fast_counted.hpp"
#include "bind/joint_counts.hpp"
#include "bind/large_array.hpp"
#include "bind/few_row_models.hpp"
#include "core/encode/check_rows.hpp"
#include "core/networks/families.hpp"
#include "core/networks/family_losses.hpp"
#include "core/networks/network.hpp"
#include "core/rowpath/network_row.hpp"

namespace tb::bind {
namespace {

using IntTable = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Terms = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using RealLogs = nb::ndarray<const double, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
using Concentrations = std::optional<Doubles>;

// Children with their parents, of d columns.
struct Arrows {
  std::vector<std::int32_t> child, parent;
  std::vector<std::int64_t> start;

  Arrows(std::size_t d, const Ints& children, const Ints& parents, const Sizes& starts)
      : child(copy_of(children)), parent(copy_of(parents)), start(copy_of(starts)) {
    expect(start.size() == child.size() + 1 && start[0] == 0, "parent_start: one more than there are families");
    for (std::size_t f = 0; f < child.size(); ++f) {
      expect(child[f] >= 0 && static_cast<std::size_t>(child[f]) < d, "a child is not a column");
      expect(start[f] <= start[f + 1], "parent_start must not fall");
    }
    expect(static_cast<std::size_t>(start.back()) == parent.size(), "parent_start must end with the parents");
    for (const std::int32_t p : parent) expect(p >= 0 && static_cast<std::size_t>(p) < d, "a parent is not a column");
  }
  Families view(const std::int64_t* table = nullptr, const std::int32_t* group = nullptr) const {
    return {child.size(), child.data(), parent.data(), start.data(), table, group};
  }
};

// Every column is a child once, and no sooner than its parents.
void check_topology(const Families& families, std::size_t d) {
  expect(families.count == d, "every column must be the child of one family");
  std::vector<bool> seen(d, false);
  for (std::size_t f = 0; f < d; ++f) {
    for (std::int64_t i = families.parent_start[f]; i < families.parent_start[f + 1]; ++i) {
      expect(seen[static_cast<std::size_t>(families.parent[i])], "a parent must come before its children");
    }
    const auto j = static_cast<std::size_t>(families.child[f]);
    expect(!seen[j], "a column is the child of two families");
    seen[j] = true;
  }
}

// The Python class _core.Families: families with the tables that they are read from, checked once.
class PyFamilies {
 public:
  PyFamilies(const PyJointCounts& counts, const Ints& child, const Ints& parent, const Sizes& parent_start,
             const Sizes& table, const std::optional<IntTable>& group)
      : counts_(counts), arrows_(counts.columns(), child, parent, parent_start), table_(copy_of(table)) {
    if (group) {
      expect(group->shape(0) == child.shape(0) && group->shape(1) == counts.classes(),
             "group must be (families, classes)");
      group_.assign(group->data(), group->data() + group->size());
      for (const std::int32_t g : group_)
        expect(g >= 0 && static_cast<std::size_t>(g) < counts.classes(), "a group is not below the classes");
    }
    check_members();
  }

  const PyJointCounts& counts() const { return counts_; }
  Families view() const { return arrows_.view(table_.data(), group_.empty() ? nullptr : group_.data()); }
  const double* concentrations_or_null(const Concentrations& s) const {
    if (!s) return nullptr;
    expect(s->shape(0) == arrows_.parent.size(), "strengths: one for each parent");
    for (std::size_t i = 0; i < s->shape(0); ++i) expect((*s)(i) >= 0, "strengths must not be negative");
    return s->data();
  }

 private:
  // table[i] must be the table of the child and the parents up to number i.
  void check_members() const {
    const Tables& tables = counts_.tables();
    expect(table_.size() == arrows_.parent.size(), "table: one for each parent");
    for (std::size_t f = 0; f < arrows_.child.size(); ++f) {
      const auto first = static_cast<std::size_t>(arrows_.start[f]),
                 end = static_cast<std::size_t>(arrows_.start[f + 1]);
      for (std::size_t i = first; i < end; ++i) {
        expect(table_[i] >= 0 && static_cast<std::size_t>(table_[i]) < tables.count, "a family's table does not exist");
        const auto t = static_cast<std::size_t>(table_[i]);
        expect(tables.order(t) == i - first + 2 && has(t, arrows_.child[f]), "not the family's table");
        for (std::size_t e = first; e <= i; ++e) {
          const std::int32_t p = arrows_.parent[e];
          expect(has(t, p) && p != arrows_.child[f], "not the family's table");
          for (std::size_t g = first; g < e; ++g) expect(arrows_.parent[g] != p, "a parent is named twice");
        }
      }
    }
  }
  bool has(std::size_t t, std::int32_t j) const {
    const std::int32_t* column = counts_.tables().columns(t);
    return std::find(column, column + counts_.tables().order(t), j) != column + counts_.tables().order(t);
  }

  const PyJointCounts& counts_;  // kept alive by Python
  Arrows arrows_;
  std::vector<std::int64_t> table_;
  std::vector<std::int32_t> group_;
};

Array<double, 1> py_concentrations(const PyFamilies& self, const Doubles& grid) {
  expect(grid.shape(0) > 0, "the grid is empty");
  const Families families = self.view();
  auto out = make_array<double, 1>({static_cast<std::size_t>(families.parent_start[families.count])});
  const GilRelease release;
  family_concentrations(self.counts().counts(), self.counts().tables(), families, self.counts().smoothing(),
                        {grid.data(), grid.shape(0)}, out.data());
  return out;
}

std::tuple<Array<double, 2>, Array<std::int64_t, 1>> py_logs(const PyFamilies& self,
                                                             const Concentrations& concentrations) {
  const double* a = self.concentrations_or_null(concentrations);
  const Families families = self.view();
  const std::vector<std::size_t> offset = family_offsets(self.counts().tables(), families);
  auto out = make_large<double, 2>({offset.back(), self.counts().classes()});
  auto places = make_array<std::int64_t, 1>({offset.size()});
  for (std::size_t f = 0; f < offset.size(); ++f) places.data()[f] = static_cast<std::int64_t>(offset[f]);
  {
    const GilRelease release;
    family_logs(self.counts().counts(), self.counts().tables(), families, self.counts().smoothing(), a, offset.data(),
                out.data());
  }
  return {out, places};
}

// The fast path of a network; see core/rowpath/network_row.hpp.
struct FastNetwork : FastCounted<NetworkRow> {
  FastNetwork(const PyFamilies& families, const std::optional<Doubles>& grid, Columns1 which, const nb::list& labels,
              const std::vector<bool>& truths, const std::vector<Doubles>& points, const std::vector<Exist>& exist)
      : FastCounted(families.counts(), {std::move(which), labels, truths, points, exist}, shape_of(families),
                    copy_of(families.counts().levels()), families.counts().smoothing().alpha,
                    grid ? copy_of(*grid) : std::vector<double>{}) {}

 private:
  static NetworkShape shape_of(const PyFamilies& families) {
    const Families f = families.view();
    check_topology(f, families.counts().columns());
    const auto parents = static_cast<std::size_t>(f.parent_start[f.count]);
    return {{f.child, f.child + f.count},
            {f.parent, f.parent + parents},
            {f.parent_start, f.parent_start + f.count + 1},
            {f.table, f.table + parents},
            {f.group, f.group + (f.group ? f.count * families.counts().classes() : 0)}};
  }
};

Ladder::Reals make_steps(const PyFamilies& self, std::size_t n, const std::optional<Ints>& step,
                         const std::optional<RealLogs>& logs) {
  const std::size_t count = self.view().count;
  Ladder::Reals out;
  out.step.assign(count, -1);
  if (!step) return out;
  expect(logs && logs->shape(1) > 0, "steps of real columns need their logs");
  expect(logs->shape(2) == n && logs->shape(3) == self.counts().classes(),
         "logs must be (reals, parents + 1, rows, classes)");
  out.step.assign(step->data(), step->data() + step->shape(0));
  std::size_t discrete = 0;
  for (const std::int32_t s : out.step) {
    expect(s >= -1 && s < static_cast<std::int32_t>(logs->shape(0)), "a step is neither -1 nor a real column");
    discrete += s < 0;
  }
  expect(discrete == count, "as many steps of -1 as there are families");
  out.most = logs->shape(1) - 1;
  out.log = logs->data();
  return out;
}

Array<double, 2> py_losses(const PyFamilies& self, const AnyCodes& codes, const Labels& y,
                           const std::optional<Doubles>& w, const Concentrations& concentrations,
                           const std::optional<Ints>& step, const std::optional<RealLogs>& logs) {
  const double* a = self.concentrations_or_null(concentrations);
  const PyJointCounts& counted = self.counts();
  const Families families = self.view();
  const std::size_t n = codes.shape(1);
  const double* weights = weights_or_null(w, n);
  expect(codes.shape(0) == counted.columns(), "codes must be (columns, rows)");
  expect(y.shape(0) == n, "y: one per row");
  Ladder::Reals reals = make_steps(self, n, step, logs);
  std::size_t most = reals.most;
  for (std::size_t f = 0; f < families.count; ++f) most = std::max(most, families.parents(f));
  auto out = make_array<double, 2>({most + 1, reals.step.size()});
  const GilRelease release;
  check_rows(y.data(), weights, n, counted.classes());
  const Ladder ladder(counted.counts(), counted.tables(), families, counted.smoothing(), a, counted.class_weight(),
                      std::move(reals));
  with_codes(codes, [&](const auto* p) {
    check_codes(p, counted.tables().size, counted.columns(), n);
    family_losses(ladder, p, y.data(), weights, n, out.data());
  });
  return out;
}

// Real columns as children of d discrete ones; see core/networks/gaussian_families.hpp. Their values come with the
// rows.
class PyReals {
 public:
  PyReals(const std::vector<std::int64_t>& sizes, const Ints& parent, const Sizes& start, const Terms& terms)
      : parent_(copy_of(parent)), start_(copy_of(start)), terms_(terms) {
    expect(!start_.empty() && start_[0] == 0, "real_start must begin with 0");
    view_.count = start_.size() - 1;
    view_.classes = terms.shape(2);
    for (std::size_t f = 0; f < view_.count; ++f) expect(start_[f] <= start_[f + 1], "real_start must not fall");
    expect(static_cast<std::size_t>(start_.back()) == parent_.size(), "real_start must end with the parents");
    for (const std::int32_t p : parent_)
      expect(p >= 0 && static_cast<std::size_t>(p) < sizes.size(), "a parent is not a column");
    view_.offset.assign(view_.count + 1, 0);
    for (std::size_t f = 0; f < view_.count; ++f) {
      std::size_t cells = 1;
      for (auto i = static_cast<std::size_t>(start_[f]); i < static_cast<std::size_t>(start_[f + 1]); ++i) {
        const auto size = static_cast<std::size_t>(sizes[static_cast<std::size_t>(parent_[i])]);
        if (__builtin_mul_overflow(cells, size, &cells)) throw std::length_error("too many cells");
      }
      if (__builtin_add_overflow(view_.offset[f], cells, &view_.offset[f + 1]))
        throw std::length_error("too many cells");
    }
    expect(view_.offset.back() == terms.shape(0) && terms.shape(1) == 3, "terms must be (cells, 3, classes)");
  }

  std::size_t classes() const { return view_.classes; }
  RealFamilies with(const Matrix& value, std::size_t n) const {
    expect(value.shape(0) == view_.count && value.shape(1) == n, "values must be (real columns, rows)");
    RealFamilies out = view_;
    out.parent = parent_.data();
    out.parent_start = start_.data();
    out.terms = terms_.data();
    out.value = value.data();
    out.rows = n;
    return out;
  }

 private:
  std::vector<std::int32_t> parent_;
  std::vector<std::int64_t> start_;
  Terms terms_;
  RealFamilies view_;
};

Array<double, 2> py_real_scores(const AnyCodes& codes, const Sizes& sizes, const Ints& parent, const Sizes& start,
                                const Terms& terms, const Matrix& value) {
  const std::size_t n = codes.shape(1);
  check_sizes(sizes);
  expect(codes.shape(0) == sizes.shape(0), "codes must be (columns, rows)");
  const PyReals described(copy_of(sizes), parent, start, terms);
  const RealFamilies reals = described.with(value, n);
  auto out = make_large<double, 2>({n, described.classes()});
  const GilRelease release;
  with_codes(codes, [&](const auto* p) {
    check_codes(p, sizes.data(), sizes.shape(0), n);
    real_scores(reals, sizes.data(), p, n, out.data());
  });
  return out;
}

// The Python class _core.Network: the tables of a network ready to score, checked once.
class PyNetwork {
 public:
  PyNetwork(const Sizes& sizes, const Ints& child, const Ints& parent, const Sizes& parent_start, const Matrix& logs,
            const std::optional<Ints>& real_parent, const std::optional<Sizes>& real_start,
            const std::optional<Terms>& terms)
      : sizes_(copy_of(sizes)),
        arrows_(sizes.shape(0), child, parent, parent_start),
        logs_(logs),
        shares_(logs_.data(), logs_.size()) {
    check_sizes(sizes);
    const std::int32_t none = 0;
    const std::int64_t zero = 0;
    offset_ = family_offsets(Tables(sizes_.size(), sizes_.data(), 0, &none, &zero), arrows_.view());
    expect(offset_.back() == logs.shape(0) && logs.shape(1) > 0, "logs must be (cells, classes)");
    for (std::size_t f = 0; f + 1 < offset_.size(); ++f) {
      expect(offset_[f + 1] - offset_[f] < std::size_t{1} << 32, "a family has more than 2**32 cells");
    }
    check_topology(arrows_.view(), sizes_.size());
    if (!terms) return;
    expect(real_parent && real_start, "terms of real columns need their parents");
    reals_.emplace(sizes_, *real_parent, *real_start, *terms);
    expect(reals_->classes() == logs.shape(1), "terms must be (cells, 3, classes)");
  }

  Array<double, 2> scores(const AnyCodes& codes, const std::optional<Matrix>& value) const {
    const std::size_t d = sizes_.size(), n = codes.shape(1);
    expect(codes.shape(0) == d, "codes must be (columns, rows)");
    expect(!value || reals_, "a network without real columns has no values of them");
    const RealFamilies reals = value ? reals_->with(*value, n) : RealFamilies{};
    auto out = make_large<double, 2>({n, logs_.shape(1)});
    const GilRelease release;
    with_codes(codes, [&](const auto* p) {
      check_codes(p, sizes_.data(), d, n);
      network_scores(with(reals), p, n, out.data());
    });
    return out;
  }

  // For a network whose columns are all discrete.
  FastMatrix few_rows(const Doubles& prior, const MatrixCodes& codes) const {
    expect(!reals_, "real columns have no codes");
    const ScoreCodes scores = [this](const Packed& packed, double* out) {
      const auto score = [&](const auto* p) { network_scores(with({}), p, packed.n, out); };
      if (packed.bytes == 1) return score(static_cast<const std::uint8_t*>(packed.code));
      if (packed.bytes == 2) return score(static_cast<const std::uint16_t*>(packed.code));
      score(static_cast<const std::uint32_t*>(packed.code));
    };
    return fast_matrix(prior, logs_.shape(1), sizes_, codes, scores, nb::find(*this));
  }

 private:
  Network with(const RealFamilies& reals) const {
    return {sizes_.size(),  logs_.shape(1), sizes_.data(), arrows_.view(),
            offset_.data(), logs_.data(),   reals,         &shares_};
  }

  std::vector<std::int64_t> sizes_;
  Arrows arrows_;
  Matrix logs_;
  Shares shares_;
  std::vector<std::size_t> offset_;
  std::optional<PyReals> reals_;
};

}  // namespace

void bind_families(nb::module_& m) {
  // TooManyMissing(row, cells): missing values of one row hang together in a table that is too large to sum over.
  static PyObject* too_many = new_error(m, "TooManyMissing");
  m.attr("TooManyMissing") = nb::borrow(too_many);
  nb::register_exception_translator(
      [](const std::exception_ptr& p, void*) {
        try {
          std::rethrow_exception(p);
        } catch (const TooManyMissing& e) {
          PyErr_SetObject(too_many, nb::make_tuple(e.row, e.cells).ptr());
        }
      },
      nullptr);
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  const auto maybe = [](const char* name) { return nb::arg(name).noconvert().none() = nb::none(); };
  nb::class_<PyFamilies>(m, "Families", "Children with their parents, and the tables they are read from.")
      .def(nb::init<const PyJointCounts&, const Ints&, const Ints&, const Sizes&, const Sizes&,
                    const std::optional<IntTable>&>(),
           nb::keep_alive<1, 2>(), nb::arg("counts"), array("child"), array("parent"), array("parent_start"),
           array("table"), maybe("group"),
           "table: for each parent, that of the child and the parents up to it. group (families, classes): classes "
           "with\n"
           "one number share their counts.")
      .def("strengths", &py_concentrations, array("grid"),
           "For each parent of each family, the back-off strength of the grid with the best leave-one-out likelihood.")
      .def("logs", &py_logs, array("strengths").none(),
           "(log P(child | class, parents), offsets): the cells [parents in order][child] of one family after another, "
           "a row\n"
           "of classes each. With strengths each parent's estimate backs off to the one without it, else Laplace.")
      .def("losses", &py_losses, array("codes"), array("y"), array("w").none(), array("strengths").none(),
           maybe("step"), maybe("logs"),
           "(most parents + 1, families): the leave-one-out log-loss of the network of the first families with at most "
           "so\n"
           "many parents each. With real columns step says of each column in order which of them it is (-1: the next\n"
           "family), and logs (reals, most parents + 1, rows, classes) hold their log densities without the row.");
  nb::class_<FastNetwork, FastRowTerm>(m, "FastNetwork")
      .def(nb::init<const PyFamilies&, const std::optional<Doubles>&, Columns1, const nb::list&,
                    const std::vector<bool>&, const std::vector<Doubles>&, const std::vector<Exist>&>(),
           nb::arg("families"), array("grid").none(), nb::arg("columns"), nb::arg("labels"), nb::arg("truths"),
           nb::arg("points"), nb::arg("exist"),
           "labels: of each column {label: code}, None for a number that is cut at its points. grid: None for Laplace.")
      .def("sums", &FastNetwork::sums);
  nb::class_<PyNetwork>(m, "Network", "The tables of a network, ready to score rows.")
      .def(nb::init<const Sizes&, const Ints&, const Ints&, const Sizes&, const Matrix&, const std::optional<Ints>&,
                    const std::optional<Sizes>&, const std::optional<Terms>&>(),
           array("sizes"), array("child"), array("parent"), array("parent_start"), array("logs"), maybe("real_parent"),
           maybe("real_start"), maybe("terms"),
           "Parents come before their children; logs: as Families gives them. Real columns are normal given their "
           "parents'\n"
           "cell; terms (cells, 3, classes): mean, sqrt(1 / (2 variance)), log of the norm.")
      .def("scores", &PyNetwork::scores, array("codes"), maybe("values"),
           "(rows, classes): log P(row | class); missing values (codes with all bits set) are summed out exactly. "
           "values: of\n"
           "real columns, (columns, rows), NaN missing.")
      .def("fast_matrix", &PyNetwork::few_rows, array("prior"), nb::arg("codes"), "For few rows of a matrix.");
  m.def("real_scores", &py_real_scores, array("codes"), array("sizes"), array("real_parent"), array("real_start"),
        array("terms"), array("values"),
        "(rows, classes): the sum of the log densities of real columns, see Network; a value with a missing parent\n"
        "is left out.");
}

}  // namespace tb::bind
