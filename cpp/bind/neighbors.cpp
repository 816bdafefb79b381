// The nearest of some points.
#include "core/ensemble/neighbors.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include "bind/checked.hpp"

namespace tb::bind {
namespace {

constexpr double kMostNumber = 1e100;  // so that no distance overflows

bool all_near(const Matrix& x) {
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(std::abs(x.data()[i]) <= kMostNumber)) return false;
  return true;
}

Points points_of(const Matrix& points, const std::optional<Matrix>& root) {
  const std::size_t n = points.shape(0), d = points.shape(1);
  expect(n < std::size_t{1} << 31, "there are 2**31 points or more");
  expect(!root || (root->shape(0) == d && root->shape(1) == d), "root must be (dimensions, dimensions)");
  expect(all_near(points) && (!root || all_near(*root)), "points and root must be finite");
  return {points.data(), n, d, root ? root->data() : nullptr};
}

std::pair<Array<std::int32_t, 2>, Array<double, 2>> py_neighbors(const Points& points, const Matrix& rows,
                                                                 std::int64_t most) {
  expect(rows.shape(1) == points.dimensions(), "rows must have the dimensions of the points");
  expect(most >= 0 && most < std::int64_t{1} << 31, "most must lie between 0 and 2**31");
  expect(all_near(rows), "rows must be finite");
  const std::size_t n = rows.shape(0), m = static_cast<std::size_t>(most);
  auto index = make_array<std::int32_t, 2>({n, m});
  auto distance = make_array<double, 2>({n, m});
  const GilRelease release;
  points.nearest(rows.data(), n, m, index.data(), distance.data());
  return {index, distance};
}

}  // namespace

void bind_neighbors(nb::module_& m) {
  nb::class_<Points>(m, "Points", "Points of which the nearest are asked for.")
      .def(
          "__init__",
          [](Points* self, const Matrix& points, const std::optional<Matrix>& root) {
            new (self) Points(points_of(points, root));
          },
          nb::arg("points").noconvert(), nb::arg("root").noconvert().none() = nb::none(),
          "points: (points, dimensions). root: (dimensions, dimensions), lower triangular; distances are |root (x - "
          "point)|.")
      .def("nearest", &py_neighbors, nb::arg("rows").noconvert(), nb::arg("most"),
           "(index, squared distance), (rows, most) each: the nearest points, the nearest first, and of equally near "
           "ones\nthe first. Where there are fewer, the others are -1, infinitely far away.");
}

}  // namespace tb::bind
