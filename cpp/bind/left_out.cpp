#include "bind/checked.hpp"

#include "core/left_out.hpp"
#include "core/left_out_axes.hpp"

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
  const nb::gil_scoped_release release;
  class_distances(cols.view, y.data(), mean.data(), low.data(), mean.shape(0), out.data());
  return out;
}

LeftRows left_rows(const Rows& row, const Sizes& start, const Matrix& about, std::size_t classes) {
  const std::size_t m = row.shape(0);
  expect(start.shape(0) == classes + 1 && about.shape(0) == 5 && about.shape(1) == m,
         "start must be (classes + 1), about (5, rows)");
  const double* at = about.data();
  return {m, row.data(), start.data(), at, at + m, at + 2 * m, at + 3 * m, at + 4 * m};
}

Array<double, 2> py_left_out_losses(const PyColumns& cols, const Matrix& mean, const Matrix& low, const Doubles& prior,
                                    const Rows& row, const Sizes& start, const Matrix& about, const Cube& vector,
                                    const Matrix& value, const Matrix& frames, const Cube& log_det, const Places& frame,
                                    const Doubles& gamma, std::size_t outside) {
  const std::size_t d = cols.view.d, K = mean.shape(0), F = vector.shape(0), A = frame.shape(0), G = gamma.shape(0);
  expect(mean.shape(1) == d && low.shape(0) == K && low.shape(1) == d && prior.shape(0) == K,
         "mean and low must be (classes, columns), prior (classes)");
  expect(vector.shape(1) == d && vector.shape(2) == d && value.shape(0) == F && value.shape(1) == d,
         "vector must be (frames, columns, columns), value (frames, columns)");
  expect(frames.shape(0) == 3 && frames.shape(1) == F && log_det.shape(0) == F && log_det.shape(1) == kLogDetTerms &&
             log_det.shape(2) == G,
         "frames must be (3, frames), log_det (frames, terms, gammas)");
  expect(frame.shape(1) == 2 && frame.shape(2) == K, "frame must be (alphas, 2, classes)");
  const double* about_frames = frames.data();
  const LeftOut job{
      cols.view,
      mean.data(),
      low.data(),
      prior.data(),
      K,
      A,
      G,
      gamma.data(),
      frame.data(),
      outside,
      left_rows(row, start, about, K),
      {F, vector.data(), value.data(), about_frames, about_frames + F, about_frames + 2 * F, log_det.data()}};
  auto out = make_array<double, 2>({A, G});
  const nb::gil_scoped_release release;
  left_out_losses(job, out.data());
  return out;
}

Array<double, 2> py_left_out_axes(const Cube& away, const Cube& own, const Matrix& shared, const Matrix& level,
                                  const Bytes& there, const Matrix& prior, const Labels& y, const Doubles& weight,
                                  const Doubles& alpha, const Doubles& gamma) {
  const std::size_t n = away.shape(0), K = away.shape(1), d = away.shape(2), A = alpha.shape(0), G = gamma.shape(0);
  const auto is = [](const auto& a, std::size_t rows, std::size_t columns) {
    return a.shape(0) == rows && a.shape(1) == columns;
  };
  expect(is(own, n, K) && own.shape(2) == d, "away and own must be (rows, classes, columns)");
  expect(is(shared, n, d) && is(there, n, d), "shared and there must be (rows, columns)");
  expect(is(level, n, K + 1) && is(prior, n, K), "level must be (rows, classes + 1), prior (rows, classes)");
  expect(y.shape(0) == n && weight.shape(0) == n, "y and weight must be (rows)");
  const LeftOutAxes job{n,
                        K,
                        d,
                        A,
                        G,
                        away.data(),
                        own.data(),
                        shared.data(),
                        level.data(),
                        there.data(),
                        prior.data(),
                        y.data(),
                        weight.data(),
                        alpha.data(),
                        gamma.data()};
  auto out = make_array<double, 2>({A, G});
  const nb::gil_scoped_release release;
  left_out_axes(job, out.data());
  return out;
}

}  // namespace

void bind_left_out(nb::module_& m) {
  m.attr("LOG_DET_TERMS") = kLogDetTerms;
  m.def("class_distances", &py_class_distances, nb::arg("cols"), nb::arg("y").noconvert(), nb::arg("mean").noconvert(),
        nb::arg("low").noconvert(),
        "|x - mean_y - low_y|^2 of each row; NaN for a row with a missing value or a negative y.");
  m.def("left_out_losses", &py_left_out_losses, nb::arg("cols"), nb::arg("mean").noconvert(),
        nb::arg("low").noconvert(), nb::arg("prior").noconvert(), nb::arg("row").noconvert(),
        nb::arg("start").noconvert(), nb::arg("about").noconvert(), nb::arg("vector").noconvert(),
        nb::arg("value").noconvert(), nb::arg("frames").noconvert(), nb::arg("log_det").noconvert(),
        nb::arg("frame").noconvert(), nb::arg("gamma").noconvert(), nb::arg("outside"),
        "(alphas, gammas): the weighted sum of -log P(class | x), each row left out; see core/left_out.hpp.\n"
        "about: size, step, grow, weight and prior of the rows; frames: share, trace and level of the frames.");
  m.def("left_out_axes", &py_left_out_axes, nb::arg("away").noconvert(), nb::arg("own").noconvert(),
        nb::arg("shared").noconvert(), nb::arg("level").noconvert(), nb::arg("there").noconvert(),
        nb::arg("prior").noconvert(), nb::arg("y").noconvert(), nb::arg("weight").noconvert(),
        nb::arg("alpha").noconvert(), nb::arg("gamma").noconvert(),
        "(alphas, gammas): the same for covariances along the axes; see core/left_out_axes.hpp.");
}

}  // namespace tb::bind
