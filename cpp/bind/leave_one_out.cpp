#include "bind/checked.hpp"

#include "core/discriminant/leave_one_out.hpp"
#include "core/discriminant/leave_one_out_diagonal.hpp"

namespace tb::bind {
namespace {

using Rows = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Places = nb::ndarray<const std::int32_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

Array<double, 1> py_class_distances(const PyColumns& cols, const Labels& y, const Matrix& mean, const Matrix& low) {
  expect(y.shape(0) == cols.view.n && mean.shape(1) == cols.view.d, "y must be (rows), mean (classes, columns)");
  expect(low.shape(0) == mean.shape(0) && low.shape(1) == mean.shape(1), "low must be (classes, columns)");
  auto out = make_array<double, 1>({cols.view.n});
  const GilRelease release;
  class_distances(cols.view, y.data(), mean.data(), low.data(), mean.shape(0), out.data());
  return out;
}

// The Python class _core.LeaveOneOutRows: the rows that are left out one at a time; keeps the arrays alive.
struct PyLeaveOneOutRows {
  Rows row;
  Sizes start;
  Matrix about;

  PyLeaveOneOutRows(const Rows& which, const Sizes& starts, const Matrix& said)
      : row(which), start(starts), about(said) {
    expect(start.shape(0) > 0 && about.shape(0) == 5 && about.shape(1) == row.shape(0),
           "start must be (classes + 1), about (5, rows)");
  }
  LeftRows view(std::size_t classes) const {
    expect(start.shape(0) == classes + 1, "start must be (classes + 1)");
    const std::size_t m = row.shape(0);
    const double* at = about.data();
    return {m, row.data(), start.data(), at, at + m, at + 2 * m, at + 3 * m, at + 4 * m};
  }
};

// The Python class _core.Frames: covariances by their eigenvectors, to be shrunk; keeps the arrays alive.
struct PyFrames {
  Cube vector;
  Matrix value, about;
  Cube log_det;
  Doubles gamma;

  PyFrames(const Cube& vectors, const Matrix& values, const Matrix& said, const Cube& dets, const Doubles& gammas)
      : vector(vectors), value(values), about(said), log_det(dets), gamma(gammas) {
    const std::size_t F = vector.shape(0), d = value.shape(1);
    expect(vector.shape(1) == d && vector.shape(2) == d && value.shape(0) == F,
           "vector must be (frames, columns, columns), value (frames, columns)");
    expect(about.shape(0) == 3 && about.shape(1) == F && log_det.shape(0) == F && log_det.shape(1) == kLogDetTerms &&
               log_det.shape(2) == gamma.shape(0),
           "about must be (3, frames), log_det (frames, terms, gammas)");
  }
  Frames view(std::size_t d) const {
    expect(value.shape(1) == d, "vector must be (frames, columns, columns), value (frames, columns)");
    const std::size_t F = vector.shape(0);
    const double* at = about.data();
    return {F, vector.data(), value.data(), at, at + F, at + 2 * F, log_det.data()};
  }
};

Array<double, 2> py_leave_one_out_losses(const PyColumns& cols, const Matrix& mean, const Matrix& low,
                                         const Doubles& prior, const PyLeaveOneOutRows& rows, const PyFrames& frames,
                                         const Places& frame, std::size_t outside) {
  const std::size_t d = cols.view.d, K = mean.shape(0), A = frame.shape(0), G = frames.gamma.shape(0);
  expect(mean.shape(1) == d && low.shape(0) == K && low.shape(1) == d && prior.shape(0) == K,
         "mean and low must be (classes, columns), prior (classes)");
  expect(frame.shape(1) == 2 && frame.shape(2) == K, "frame must be (alphas, 2, classes)");
  const LeaveOneOut job{cols.view,    mean.data(), low.data(),   prior.data(),  K, A, G, frames.gamma.data(),
                        frame.data(), outside,     rows.view(K), frames.view(d)};
  auto out = make_array<double, 2>({A, G});
  const GilRelease release;
  leave_one_out_losses(job, out.data());
  return out;
}

// The Python class _core.AxisRows: rows with the variances of the statistics without each; keeps the arrays alive.
struct PyAxisRows {
  Cube away, own;
  Matrix shared, level;
  Bytes there;

  PyAxisRows(const Cube& distances, const Cube& own_variances, const Matrix& shared_variances, const Matrix& levels,
             const Bytes& scored)
      : away(distances), own(own_variances), shared(shared_variances), level(levels), there(scored) {
    const std::size_t n = away.shape(0), K = away.shape(1), d = away.shape(2);
    expect(is(own, n, K) && own.shape(2) == d, "away and own must be (rows, classes, columns)");
    expect(is(shared, n, d) && is(there, n, d), "shared and there must be (rows, columns)");
    expect(is(level, n, K + 1), "level must be (rows, classes + 1)");
  }
  template <class A>
  static bool is(const A& a, std::size_t rows, std::size_t columns) {
    return a.shape(0) == rows && a.shape(1) == columns;
  }
};

Array<double, 2> py_leave_one_out_diagonal(const PyAxisRows& rows, const Matrix& prior, const Labels& y,
                                           const Doubles& weight, const Doubles& alpha, const Doubles& gamma) {
  const std::size_t n = rows.away.shape(0), K = rows.away.shape(1), A = alpha.shape(0), G = gamma.shape(0);
  expect(PyAxisRows::is(prior, n, K), "prior must be (rows, classes)");
  expect(y.shape(0) == n && weight.shape(0) == n, "y and weight must be (rows)");
  LeaveOneOutDiagonal job{};
  job.rows = n;
  job.classes = K;
  job.d = rows.away.shape(2);
  job.alphas = A;
  job.gammas = G;
  job.away = rows.away.data();
  job.own = rows.own.data();
  job.shared = rows.shared.data();
  job.level = rows.level.data();
  job.there = rows.there.data();
  job.prior = prior.data();
  job.y = y.data();
  job.weight = weight.data();
  job.alpha = alpha.data();
  job.gamma = gamma.data();
  auto out = make_array<double, 2>({A, G});
  const GilRelease release;
  leave_one_out_diagonal(job, out.data());
  return out;
}

}  // namespace

void bind_leave_one_out(nb::module_& m) {
  m.attr("LOG_DET_TERMS") = kLogDetTerms;
  m.def("class_distances", &py_class_distances, nb::arg("cols"), nb::arg("y").noconvert(), nb::arg("mean").noconvert(),
        nb::arg("low").noconvert(),
        "|x - mean_y - low_y|^2 of each row; NaN for a row with a missing value or a negative y.");
  const auto array = [](const char* name) { return nb::arg(name).noconvert(); };
  nb::class_<PyLeaveOneOutRows>(m, "LeaveOneOutRows",
                                "Rows that are left out one at a time, class by class in order of size.")
      .def(nb::init<const Rows&, const Sizes&, const Matrix&>(), array("row"), array("start"), array("about"),
           "row: which of the table; start: where each class starts; about: size, step, grow, weight and prior of "
           "each.");
  nb::class_<PyFrames>(m, "Frames", "Covariances by their eigenvectors, to be shrunk by each of the gammas.")
      .def(nb::init<const Cube&, const Matrix&, const Matrix&, const Cube&, const Doubles&>(), array("vector"),
           array("value"), array("about"), array("log_det"), array("gamma"),
           "about: share, trace and level of the frames; log_det: its series in the level.");
  m.def("leave_one_out_losses", &py_leave_one_out_losses, nb::arg("cols"), array("mean"), array("low"), array("prior"),
        nb::arg("rows"), nb::arg("frames"), array("frame"), nb::arg("outside"),
        "(alphas, gammas): the weighted sum of -log P(class | x), each row left out; see "
        "core/discriminant/leave_one_out.hpp.\n"
        "frame: which of the frames each class has, for the rows of others and for its own.");
  nb::class_<PyAxisRows>(m, "AxisRows", "Rows with the variances along the axes, leave-one-out.")
      .def(nb::init<const Cube&, const Cube&, const Matrix&, const Matrix&, const Bytes&>(), array("away"),
           array("own"), array("shared"), array("level"), array("there"),
           "See core/discriminant/leave_one_out_diagonal.hpp.");
  m.def("leave_one_out_diagonal", &py_leave_one_out_diagonal, nb::arg("rows"), array("prior"), array("y"),
        array("weight"), array("alpha"), array("gamma"),
        "(alphas, gammas): the same for covariances along the axes; see core/discriminant/leave_one_out_diagonal.hpp.");
}

}  // namespace tb::bind
