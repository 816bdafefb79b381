// Networks: probabilities of families out of joint tables, scores of rows, leave-one-out losses of smaller networks.
#include "bind/bind.hpp"
#include "bind/large.hpp"

#include <algorithm>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include "core/families.hpp"
#include "core/family_losses.hpp"
#include "core/labels.hpp"
#include "core/network.hpp"
#include "core/threads.hpp"

namespace tb::bind {
namespace {

using Ints = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using IntTable = nb::ndarray<const std::int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Joint = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;   // uint32 or float64
using Packed = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;  // uint8, uint16 or uint32
using Strengths = std::optional<Doubles>;

void expect(bool fits, const char* otherwise) {
  if (!fits) throw nb::value_error(otherwise);
}

void check_sizes(const Sizes& sizes) {
  for (std::size_t j = 0; j < sizes.shape(0); ++j) {
    expect(sizes(j) >= 0 && sizes(j) < std::int64_t{1} << 31, "sizes must lie between 0 and 2**31");
  }
}

Tables make_tables(const Sizes& sizes, const Ints& columns, const Sizes& starts) {
  check_sizes(sizes);
  expect(starts.shape(0) > 0 && starts(0) == 0, "starts must begin with 0");
  for (std::size_t t = 0; t + 1 < starts.shape(0); ++t) expect(starts(t) <= starts(t + 1), "starts must not fall");
  expect(static_cast<std::size_t>(starts(starts.shape(0) - 1)) == columns.shape(0), "starts must end with the columns");
  return Tables(sizes.shape(0), sizes.data(), starts.shape(0) - 1, columns.data(), starts.data());
}

Families make_families(std::size_t d, std::size_t classes, const Ints& child, const Ints& parent, const Sizes& start,
                       const std::optional<IntTable>& group) {
  expect(start.shape(0) == child.shape(0) + 1 && start(0) == 0, "parent_start: one more than there are families");
  for (std::size_t f = 0; f < child.shape(0); ++f) {
    expect(child(f) >= 0 && static_cast<std::size_t>(child(f)) < d, "a child is not a column");
    expect(start(f) <= start(f + 1), "parent_start must not fall");
  }
  expect(static_cast<std::size_t>(start(child.shape(0))) == parent.shape(0), "parent_start must end with the parents");
  for (std::size_t i = 0; i < parent.shape(0); ++i) {
    expect(parent(i) >= 0 && static_cast<std::size_t>(parent(i)) < d, "a parent is not a column");
  }
  if (group) {
    expect(group->shape(0) == child.shape(0) && group->shape(1) == classes, "group must be (families, classes)");
    for (std::size_t i = 0; i < group->size(); ++i) {
      expect(group->data()[i] >= 0 && static_cast<std::size_t>(group->data()[i]) < classes,
             "a group is not below the classes");
    }
  }
  return {child.shape(0), child.data(), parent.data(), start.data(), nullptr, group ? group->data() : nullptr};
}

// What several functions take: everything that was counted, and how it is read.
struct Model {
  Tables tables;
  Counts counts;
  Families families;
  Smoothing smoothing;

  Model(const Matrix& single, const Joint& joint, const Sizes& sizes, const Ints& columns, const Sizes& starts,
        const Ints& child, const Ints& parent, const Sizes& parent_start, const Sizes& table,
        const std::optional<IntTable>& group, const Doubles& levels, double alpha)
      : tables(make_tables(sizes, columns, starts)),
        families(make_families(sizes.shape(0), single.shape(0), child, parent, parent_start, group)),
        smoothing{alpha, levels.data()} {
    std::size_t all = 0;
    for (std::size_t j = 0; j < sizes.shape(0); ++j) all += static_cast<std::size_t>(sizes(j));
    expect(single.shape(0) > 0 && single.shape(1) == all, "single must be (classes, sum of sizes)");
    expect(joint.shape(0) == single.shape(0) && joint.shape(1) == tables.cells(), "joint must be (classes, cells)");
    expect(levels.shape(0) == sizes.shape(0), "levels: one number per column");
    expect(alpha >= 0, "alpha must not be negative");
    const bool whole = joint.dtype() == nb::dtype<std::uint32_t>();
    if (!whole && joint.dtype() != nb::dtype<double>()) throw nb::type_error("joint must be uint32 or float64");
    counts = {single.shape(0), single.data(), whole ? static_cast<const std::uint32_t*>(joint.data()) : nullptr,
              whole ? nullptr : static_cast<const double*>(joint.data()), tables.cells()};
    check_members(table);
    families.table = table.data();
  }

  // table[i] must be the table of the child and the parents up to number i.
  void check_members(const Sizes& table) const {
    expect(table.shape(0) == static_cast<std::size_t>(families.parent_start[families.count]),
           "table: one for each parent");
    for (std::size_t f = 0; f < families.count; ++f) {
      const std::int64_t first = families.parent_start[f];
      for (std::int64_t i = first; i < families.parent_start[f + 1]; ++i) {
        expect(table(static_cast<std::size_t>(i)) >= 0 &&
                   static_cast<std::size_t>(table(static_cast<std::size_t>(i))) < tables.count,
               "a family's table does not exist");
        const auto t = static_cast<std::size_t>(table(static_cast<std::size_t>(i)));
        expect(tables.order(t) == static_cast<std::size_t>(i - first) + 2 && has(t, families.child[f]),
               "not the family's table");
        for (std::int64_t e = first; e <= i; ++e) {
          expect(has(t, families.parent[e]) && families.parent[e] != families.child[f], "not the family's table");
          for (std::int64_t g = first; g < e; ++g)
            expect(families.parent[g] != families.parent[e], "a parent is named twice");
        }
      }
    }
  }
  bool has(std::size_t t, std::int32_t j) const {
    for (std::size_t i = 0; i < tables.order(t); ++i)
      if (tables.columns(t)[i] == j) return true;
    return false;
  }
};

const double* strengths_or_null(const Strengths& s, const Ints& parent) {
  if (!s) return nullptr;
  expect(s->shape(0) == parent.shape(0), "strengths: one for each parent");
  for (std::size_t i = 0; i < s->shape(0); ++i) expect((*s)(i) >= 0, "strengths must not be negative");
  return s->data();
}

Array<double, 1> py_strengths(const Matrix& single, const Joint& joint, const Sizes& sizes, const Ints& columns,
                              const Sizes& starts, const Ints& child, const Ints& parent, const Sizes& parent_start,
                              const Sizes& table, const std::optional<IntTable>& group, const Doubles& levels,
                              double alpha, const Doubles& grid) {
  const Model m(single, joint, sizes, columns, starts, child, parent, parent_start, table, group, levels, alpha);
  expect(grid.shape(0) > 0, "the grid is empty");
  auto out = make_array<double, 1>({parent.shape(0)});
  const nb::gil_scoped_release release;
  family_strengths(m.counts, m.tables, m.families, m.smoothing, grid.data(), grid.shape(0), out.data());
  return out;
}

std::tuple<Array<double, 2>, Array<std::int64_t, 1>> py_logs(
    const Matrix& single, const Joint& joint, const Sizes& sizes, const Ints& columns, const Sizes& starts,
    const Ints& child, const Ints& parent, const Sizes& parent_start, const Sizes& table,
    const std::optional<IntTable>& group, const Doubles& levels, double alpha, const Strengths& strengths) {
  const Model m(single, joint, sizes, columns, starts, child, parent, parent_start, table, group, levels, alpha);
  const double* a = strengths_or_null(strengths, parent);
  const std::vector<std::size_t> offset = family_offsets(m.tables, m.families);
  auto out = make_large<double, 2>({offset.back(), m.counts.classes});
  auto places = make_array<std::int64_t, 1>({offset.size()});
  for (std::size_t f = 0; f < offset.size(); ++f) places.data()[f] = static_cast<std::int64_t>(offset[f]);
  {
    const nb::gil_scoped_release release;
    family_logs(m.counts, m.tables, m.families, m.smoothing, a, offset.data(), out.data());
  }
  return {out, places};
}

// f(pointer of the right type)
template <class F>
void with_codes(const Packed& codes, F&& f) {
  if (codes.dtype() == nb::dtype<std::uint8_t>())
    f(static_cast<const std::uint8_t*>(codes.data()));
  else if (codes.dtype() == nb::dtype<std::uint16_t>())
    f(static_cast<const std::uint16_t*>(codes.data()));
  else if (codes.dtype() == nb::dtype<std::uint32_t>())
    f(static_cast<const std::uint32_t*>(codes.data()));
  else
    throw nb::type_error("codes must be uint8, uint16 or uint32");
}

template <class T>
void check_codes(const T* codes, const Sizes& sizes, std::size_t n) {
  for (std::size_t j = 0; j < sizes.shape(0); ++j) {
    if (static_cast<std::uint64_t>(sizes.data()[j]) >= kNoCode<T>) continue;  // any code has a level
    const T most = static_cast<T>(sizes.data()[j]);
    T wrong = 0;
    for (std::size_t r = 0; r < n; ++r) wrong |= static_cast<T>(codes[j * n + r] + 1) > most;  // missing becomes 0
    if (wrong) throw std::invalid_argument("a code has no level");
  }
}

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

// The real columns of a network; parent, start, terms and value as in core/real_families.hpp.
using Terms = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

RealFamilies make_reals(const Sizes& sizes, std::size_t n, const Ints& parent, const Sizes& start, const Terms& terms,
                        const Matrix& value) {
  RealFamilies out;
  out.count = value.shape(0);
  out.classes = terms.shape(2);
  expect(start.shape(0) == out.count + 1 && start(0) == 0, "real_start: one more than there are real columns");
  for (std::size_t f = 0; f < out.count; ++f) expect(start(f) <= start(f + 1), "real_start must not fall");
  expect(static_cast<std::size_t>(start(out.count)) == parent.shape(0), "real_start must end with the parents");
  for (std::size_t i = 0; i < parent.shape(0); ++i) {
    expect(parent(i) >= 0 && static_cast<std::size_t>(parent(i)) < sizes.shape(0), "a parent is not a column");
  }
  out.offset.assign(out.count + 1, 0);
  for (std::size_t f = 0; f < out.count; ++f) {
    std::size_t cells = 1;
    for (std::int64_t i = start(f); i < start(f + 1); ++i) {
      if (__builtin_mul_overflow(
              cells, static_cast<std::size_t>(sizes(static_cast<std::size_t>(parent(static_cast<std::size_t>(i))))),
              &cells)) {
        throw std::length_error("too many cells");
      }
    }
    if (__builtin_add_overflow(out.offset[f], cells, &out.offset[f + 1])) throw std::length_error("too many cells");
  }
  expect(out.offset.back() == terms.shape(0) && terms.shape(1) == 3, "terms must be (cells, 3, classes)");
  expect(value.shape(1) == n, "values must be (real columns, rows)");
  out.parent = parent.data();
  out.parent_start = start.data();
  out.terms = terms.data();
  out.value = value.data();
  out.rows = n;
  return out;
}

Array<double, 2> py_real_scores(const Packed& codes, const Sizes& sizes, const Ints& parent, const Sizes& start,
                                const Terms& terms, const Matrix& value) {
  const std::size_t n = codes.shape(1), K = terms.shape(2);
  check_sizes(sizes);
  expect(codes.shape(0) == sizes.shape(0), "codes must be (columns, rows)");
  const RealFamilies reals = make_reals(sizes, n, parent, start, terms, value);
  auto out = make_large<double, 2>({n, K});
  const nb::gil_scoped_release release;
  with_codes(codes, [&](const auto* p) {
    check_codes(p, sizes, n);
    constexpr std::size_t span = 4096;
    parallel_for((n + span - 1) / span, [&](std::size_t s, int) {
      const std::size_t from = s * span, rows = std::min(span, n - from);
      std::fill_n(out.data() + from * K, rows * K, 0.0);
      add_reals(reals, sizes.data(), p, n, from, rows, out.data() + from * K);
    });
  });
  return out;
}

Array<double, 2> py_scores(const Packed& codes, const Sizes& sizes, const Ints& child, const Ints& parent,
                           const Sizes& parent_start, const Matrix& logs, const std::optional<Ints>& real_parent,
                           const std::optional<Sizes>& real_start, const std::optional<Terms>& terms,
                           const std::optional<Matrix>& value) {
  const std::size_t d = sizes.shape(0), K = logs.shape(1), n = codes.shape(1);
  check_sizes(sizes);
  expect(codes.shape(0) == d, "codes must be (columns, rows)");
  const Families families = make_families(d, K, child, parent, parent_start, std::nullopt);
  const std::int32_t none = 0;
  const std::int64_t zero = 0;
  const std::vector<std::size_t> offset = family_offsets(Tables(d, sizes.data(), 0, &none, &zero), families);
  expect(offset.back() == logs.shape(0) && K > 0, "logs must be (cells, classes)");
  for (std::size_t f = 0; f < families.count; ++f) {
    expect(offset[f + 1] - offset[f] < std::size_t{1} << 32, "a family has more than 2**32 cells");
  }
  check_topology(families, d);
  RealFamilies reals;
  if (value) {
    expect(real_parent && real_start && terms, "values of real columns need their parents and terms");
    reals = make_reals(sizes, n, *real_parent, *real_start, *terms, *value);
    expect(reals.classes == K, "terms must be (cells, 3, classes)");
  }
  auto out = make_large<double, 2>({n, K});
  const nb::gil_scoped_release release;
  with_codes(codes, [&](const auto* p) {
    check_codes(p, sizes, n);
    network_scores(Network{d, K, sizes.data(), families, offset.data(), logs.data(), reals}, p, n, out.data());
  });
  return out;
}

using RealLogs = nb::ndarray<const double, nb::ndim<4>, nb::c_contig, nb::device::cpu>;

Ladder::Reals make_steps(const Model& m, std::size_t n, const std::optional<Ints>& step,
                         const std::optional<RealLogs>& logs) {
  Ladder::Reals out;
  out.step.assign(m.families.count, -1);
  if (!step) return out;
  expect(logs && logs->shape(1) > 0, "steps of real columns need their logs");
  expect(logs->shape(2) == n && logs->shape(3) == m.counts.classes, "logs must be (reals, parents + 1, rows, classes)");
  out.step.assign(step->data(), step->data() + step->shape(0));
  std::size_t discrete = 0;
  for (const std::int32_t s : out.step) {
    expect(s >= -1 && s < static_cast<std::int32_t>(logs->shape(0)), "a step is neither -1 nor a real column");
    discrete += s < 0;
  }
  expect(discrete == m.families.count, "as many steps of -1 as there are families");
  out.most = logs->shape(1) - 1;
  out.log = logs->data();
  return out;
}

Array<double, 2> py_losses(const Packed& codes, const Labels& y, const std::optional<Doubles>& w,
                           const Doubles& class_weight, const Matrix& single, const Joint& joint, const Sizes& sizes,
                           const Ints& columns, const Sizes& starts, const Ints& child, const Ints& parent,
                           const Sizes& parent_start, const Sizes& table, const std::optional<IntTable>& group,
                           const Doubles& levels, double alpha, const Strengths& strengths,
                           const std::optional<Ints>& step, const std::optional<RealLogs>& logs) {
  const Model m(single, joint, sizes, columns, starts, child, parent, parent_start, table, group, levels, alpha);
  const double* a = strengths_or_null(strengths, parent);
  const std::size_t n = codes.shape(1);
  const double* weights = weights_or_null(w, n);
  expect(codes.shape(0) == sizes.shape(0), "codes must be (columns, rows)");
  expect(y.shape(0) == n && class_weight.shape(0) == m.counts.classes, "y: one per row; class_weight: one per class");
  Ladder::Reals reals = make_steps(m, n, step, logs);
  std::size_t most = reals.most;
  for (std::size_t f = 0; f < m.families.count; ++f) most = std::max(most, m.families.parents(f));
  auto out = make_array<double, 2>({most + 1, reals.step.size()});
  const nb::gil_scoped_release release;
  for (std::size_t r = 0; r < n; ++r) {
    check_class(y.data()[r], m.counts.classes);
    if (weights) check_weight(weights[r]);
  }
  const Ladder ladder(m.counts, m.tables, m.families, m.smoothing, a, class_weight.data(), std::move(reals));
  with_codes(codes, [&](const auto* p) {
    check_codes(p, sizes, n);
    family_losses(ladder, p, y.data(), weights, n, out.data());
  });
  return out;
}

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
#define TB_COUNTED                                                                                      \
  nb::arg("single").noconvert(), nb::arg("joint").noconvert(), nb::arg("sizes").noconvert(),            \
      nb::arg("columns").noconvert(), nb::arg("starts").noconvert(), nb::arg("child").noconvert(),      \
      nb::arg("parent").noconvert(), nb::arg("parent_start").noconvert(), nb::arg("table").noconvert(), \
      nb::arg("group").noconvert().none(), nb::arg("levels").noconvert(), nb::arg("alpha")
  m.def("family_strengths", &py_strengths, TB_COUNTED, nb::arg("grid").noconvert(),
        "For each parent of each family, the back-off strength of the grid with the best leave-one-out likelihood.");
  m.def("family_logs", &py_logs, TB_COUNTED, nb::arg("strengths").noconvert().none(),
        "(log P(child | class, parents), offsets): the cells [parents in order][child] of one family after another, a "
        "row\n"
        "of classes each. With strengths each parent's estimate backs off to the one without it, else Laplace.");
  m.def(
      "network_scores", &py_scores, nb::arg("codes").noconvert(), nb::arg("sizes").noconvert(),
      nb::arg("child").noconvert(), nb::arg("parent").noconvert(), nb::arg("parent_start").noconvert(),
      nb::arg("logs").noconvert(), nb::arg("real_parent").noconvert().none() = nb::none(),
      nb::arg("real_start").noconvert().none() = nb::none(), nb::arg("terms").noconvert().none() = nb::none(),
      nb::arg("values").noconvert().none() = nb::none(),
      "(rows, classes): log P(row | class); missing values (codes with all bits set) are summed out exactly. Parents\n"
      "come before their children. Real columns: values (columns, rows), NaN missing, normal given their parents' "
      "cell;\n"
      "terms (cells, 3, classes): mean, sqrt(1 / (2 variance)), log of the norm.");
  m.def("real_scores", &py_real_scores, nb::arg("codes").noconvert(), nb::arg("sizes").noconvert(),
        nb::arg("real_parent").noconvert(), nb::arg("real_start").noconvert(), nb::arg("terms").noconvert(),
        nb::arg("values").noconvert(),
        "(rows, classes): the sum of the log densities of real columns, see network_scores; a value with a missing "
        "parent\n"
        "is left out.");
  m.def(
      "family_losses", &py_losses, nb::arg("codes").noconvert(), nb::arg("y").noconvert(),
      nb::arg("w").noconvert().none(), nb::arg("class_weight").noconvert(), TB_COUNTED,
      nb::arg("strengths").noconvert().none(), nb::arg("step").noconvert().none() = nb::none(),
      nb::arg("logs").noconvert().none() = nb::none(),
      "(most parents + 1, families): the leave-one-out log-loss of the network of the first families with at most so\n"
      "many parents each. With real columns step says of each column in order which of them it is (-1: the next\n"
      "family), and logs (reals, most parents + 1, rows, classes) hold their log densities without the row.");
#undef TB_COUNTED
}

}  // namespace tb::bind
