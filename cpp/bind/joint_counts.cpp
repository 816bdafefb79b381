#include "bind/joint_counts.hpp"

#include <cmath>

namespace tb::bind {
namespace {

Tables make_tables(const Sizes& sizes, const Ints& columns, const Sizes& starts) {
  check_sizes(sizes);
  expect(starts.shape(0) > 0 && starts(0) == 0, "starts must begin with 0");
  for (std::size_t t = 0; t + 1 < starts.shape(0); ++t) expect(starts(t) <= starts(t + 1), "starts must not fall");
  expect(static_cast<std::size_t>(starts(starts.shape(0) - 1)) == columns.shape(0), "starts must end with the columns");
  return Tables(sizes.shape(0), sizes.data(), starts.shape(0) - 1, columns.data(), starts.data());
}

}  // namespace

void check_sizes(const Sizes& sizes) {
  for (std::size_t j = 0; j < sizes.shape(0); ++j) {
    expect(sizes(j) >= 0 && sizes(j) < std::int64_t{1} << 31, "sizes must lie between 0 and 2**31");
  }
}

PyJointCounts::PyJointCounts(const Matrix& single, const AnyCounts& joint, const Doubles& class_weight,
                             const Sizes& sizes, const Ints& columns, const Sizes& starts, const Doubles& levels,
                             double alpha)
    : single_(single),
      joint_(joint),
      class_weight_(class_weight),
      sizes_(sizes),
      columns_(columns),
      starts_(starts),
      levels_(levels),
      alpha_(alpha),
      tables_(make_tables(sizes, columns, starts)) {
  const std::size_t K = single.shape(0);
  std::size_t all = 0;
  for (std::size_t j = 0; j < sizes.shape(0); ++j) all += static_cast<std::size_t>(sizes(j));
  expect(K > 0 && single.shape(1) == all, "single must be (classes, sum of sizes), with at least one class");
  expect(joint.shape(0) == K && joint.shape(1) == tables_.cells(), "joint must be (classes, cells of the tables)");
  if (!whole() && joint.dtype() != nb::dtype<double>()) throw nb::type_error("joint must be uint32 or float64");
  expect(class_weight.shape(0) == K && all_at_least(class_weight, 0.0),
         "class_weight must hold a finite number >= 0 for each class");
  expect(levels.shape(0) == sizes.shape(0) && all_at_least(levels, 1.0),
         "levels must hold a finite number >= 1 for each column");
  expect(alpha >= 0 && std::isfinite(alpha), "alpha must be finite and not negative");
}

Counts PyJointCounts::counts() const {
  return {classes(), single_.data(), whole() ? static_cast<const std::uint32_t*>(joint()) : nullptr,
          whole() ? nullptr : static_cast<const double*>(joint()), tables_.cells()};
}

void bind_joint_counts(nb::module_& m) {
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  nb::class_<PyJointCounts>(m, "JointCounts", "What was counted of sets of columns, and how it is smoothed.")
      .def(nb::init<const Matrix&, const AnyCounts&, const Doubles&, const Sizes&, const Ints&, const Sizes&,
                    const Doubles&, double>(),
           array("single"), array("joint"), array("class_weight"), array("sizes"), array("columns"), array("starts"),
           array("levels"), nb::arg("alpha"),
           "Counts of the levels of all columns (classes, levels) and of the cells of all tables (classes, cells), "
           "uint32 or\n"
           "float64; class_weight; how many levels each column has; the columns of table t are [starts[t], starts[t + "
           "1]);\n"
           "levels: how many of each column share its probability; alpha: what is added to each of them.");
}

}  // namespace tb::bind
