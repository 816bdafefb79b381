// The fast path of counts of combinations of levels; see core/rowpath/counted_row.hpp.
#pragma once
#include <nanobind/stl/vector.h>

#include "bind/fast_row_term.hpp"
#include "bind/joint_counts.hpp"
#include "core/rowpath/counted_row.hpp"

namespace tb::bind {

using Exist = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// How the columns of counts are read from a dict. labels: of each column the codes of its labels, or None for one that
// is cut; truths: its type lists False and True.
struct CountedReaders {
  Columns1 columns;
  nb::list labels;
  std::vector<bool> truths;
  std::vector<Doubles> points;
  std::vector<Exist> exist;
};

template <class Row>
struct FastCounted : FastRowTerm {
  template <class... A>
  FastCounted(const PyJointCounts& counts, const CountedReaders& from, A&&... more)
      : core(sums_of(counts, from), std::forward<A>(more)...) {
    columns = from.columns;
    expect(columns.size() == counts.columns() && from.truths.size() == counts.columns(),
           "a place and a kind for each column");
    const nb::object numpy_bool = nb::module_::import_("numpy").attr("bool_");
    for (std::size_t j = 0; j < columns.size(); ++j) {
      const nb::dict codes = from.labels[j].is_none() ? nb::dict() : nb::cast<nb::dict>(from.labels[j]);
      readers_.push_back({codes, &core.codes[j], false, false, from.truths[j], numpy_bool, {}});
      cut_.push_back(from.labels[j].is_none());
    }
  }
  RowTerm& term() override { return core; }
  std::size_t classes() const override { return core.classes(); }
  Place place(std::size_t i) override {
    return cut_[i] ? Place{&core.numbers[i], nullptr} : Place{nullptr, &readers_[i]};
  }
  nb::dict sums() const {
    const std::size_t K = core.classes();
    auto single = make_array<double, 2>({K, core.single().size() / K});
    auto joint = make_array<std::uint32_t, 2>({K, core.joint().size() / K});
    std::copy(core.single().begin(), core.single().end(), single.data());
    std::copy(core.joint().begin(), core.joint().end(), joint.data());
    nb::dict out;
    out["single"] = single, out["joint"] = joint;
    return out;
  }
  Row core;

 private:
  static CountedSums sums_of(const PyJointCounts& counts, const CountedReaders& from) {
    const Tables& t = counts.tables();
    expect(nb::len(from.labels) == t.d && from.points.size() == t.d && from.exist.size() == t.d, "one for each column");
    expect(counts.whole(), "counts must be whole numbers");
    std::vector<CountedColumn> columns;
    for (std::size_t j = 0; j < t.d; ++j) {
      const Exist& exist = from.exist[j];
      expect(exist.shape(0) == static_cast<std::size_t>(t.size[j]), "exist: of each level of a column");
      columns.push_back(
          {from.labels[j].is_none(), copy_of(from.points[j]), {exist.data(), exist.data() + exist.shape(0)}});
    }
    const auto* joint = static_cast<const std::uint32_t*>(counts.joint());
    const Matrix& single = counts.single();
    return {counts.classes(),
            {{t.size, t.size + t.d}, {t.column, t.column + t.start[t.count]}, {t.start, t.start + t.count + 1}},
            std::move(columns),
            {single.data(), single.data() + single.size()},
            {joint, joint + counts.classes() * t.cells()}};
  }
  std::vector<LevelReader> readers_;
  std::vector<bool> cut_;
};

}  // namespace tb::bind
