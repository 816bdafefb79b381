// What components of an ensemble look up by level.
#include "core/ensemble/level_scores.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bind/checked.hpp"

namespace tb::bind {
namespace {

using Roots = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using OwnScores = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Scale = std::tuple<Ints, Sizes, Doubles>;              // column, start, value
using Density = std::tuple<Matrix, Roots, Doubles, double>;  // mean, root, constant, freedom

// The Python class _core.LevelScores. It keeps the arrays that it was made of.
class PyLevelScores {
 public:
  PyLevelScores(Doubles bias, std::vector<std::tuple<int, Matrix, double>> encodings,
                std::optional<std::tuple<Scale, Density, double>> density)
      : bias_(std::move(bias)), tables_(std::move(encodings)), density_(std::move(density)) {
    const std::size_t K = bias_.shape(0);
    scores_ = {K, bias_.data(), {}, {}};
    for (const auto& [column, table, weight] : tables_) {
      expect(column >= 0 && table.shape(0) > 0 && table.shape(1) == K, "a table must be (levels + 1, classes)");
      need(static_cast<std::size_t>(column));
      scores_.encodings.push_back({static_cast<std::size_t>(column), table.shape(0) - 1, table.data(), weight});
    }
    if (density_) check_density(K);
  }

  bool add(const AnyCodes& codes, const OwnScores& out) const {
    const std::size_t n = codes.shape(1);
    expect(codes.shape(0) >= columns_, "codes must be (columns, rows)");
    expect(out.shape(0) == n && out.shape(1) == scores_.classes, "out must be (rows, classes)");
    double* to = out.data();
    return with_codes(codes, [&]<class T>(const T* p) {
      const GilRelease release;
      return add_level_scores(scores_, p, codes.shape(0), n, to);
    });
  }

 private:
  void need(std::size_t column) { columns_ = std::max(columns_, column + 1); }

  void check_density(std::size_t K) {
    const auto& [scale, density, weight] = *density_;
    const auto& [column, start, value] = scale;
    const auto& [mean, root, constant, freedom] = density;
    const std::size_t p = column.shape(0);
    expect(start.shape(0) == p + 1 && start(0) == 0 && start(p) == static_cast<std::int64_t>(value.shape(0)),
           "start: where the values of each dimension begin, and their end");
    for (std::size_t i = 0; i < p; ++i) {
      expect(start(i) < start(i + 1) && column(i) >= 0, "each dimension needs a column and values");
      need(static_cast<std::size_t>(column(i)));
    }
    expect(mean.shape(0) == K && mean.shape(1) == p && constant.shape(0) == K && root.shape(0) == K &&
               root.shape(1) == p && root.shape(2) == p,
           "mean must be (classes, dimensions), root (classes, dimensions, dimensions), constant (classes)");
    scores_.density = {p,           column.data(),   start.data(), value.data(), mean.data(),
                       root.data(), constant.data(), freedom,      weight};
  }

  Doubles bias_;
  std::vector<std::tuple<int, Matrix, double>> tables_;
  std::optional<std::tuple<Scale, Density, double>> density_;
  LevelScores scores_;
  std::size_t columns_ = 0;
};

}  // namespace

void bind_level_scores(nb::module_& m) {
  nb::class_<PyLevelScores>(m, "LevelScores", "Biases, target encodings and the Gaussian discriminant of an ensemble.")
      .def(nb::init<Doubles, std::vector<std::tuple<int, Matrix, double>>,
                    std::optional<std::tuple<Scale, Density, double>>>(),
           nb::arg("bias"), nb::arg("encodings"), nb::arg("density").none(),
           "bias: (classes,). encodings: (column, (levels + 1, classes), weight) of each. density: ((column, start, "
           "value) of\nthe normal scores, (mean, root, constant, degrees of freedom), weight), or None.")
      .def("add", &PyLevelScores::add, nb::arg("codes").noconvert(), nb::arg("out").noconvert(),
           "Add the scores of packed codes (columns, rows) to out (rows, classes); return whether a value is missing.");
}

}  // namespace tb::bind
