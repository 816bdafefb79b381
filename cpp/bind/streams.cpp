// The learner of streams.
#include "core/streams/stream_learner.hpp"

#include <nanobind/stl/vector.h>

#include <cmath>

#include "bind/checked.hpp"
#include "bind/streams.hpp"

namespace tb::bind {
namespace {

using streams::StreamLearner;
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void check_rows(const StreamLearner& self, const Matrix& x) {
  expect(x.shape(1) == static_cast<std::size_t>(self.columns()), "x must have the columns of the learner");
  for (std::size_t i = 0; i < x.size(); ++i) expect(!std::isinf(x.data()[i]), "x must not be infinite");
}

Array<double, 2> py_predict(const StreamLearner& self, const Matrix& x) {
  check_rows(self, x);
  expect(self.classes() > 0, "there are no classes yet");
  const std::size_t n = x.shape(0), K = static_cast<std::size_t>(self.classes());
  auto p = make_array<double, 2>({n, K});
  const GilRelease release;
  for (std::size_t i = 0; i < n; ++i) self.predict(x.data() + i * x.shape(1), p.data() + i * K);
  return p;
}

Array<double, 1> py_learn(StreamLearner& self, const Matrix& x, const Labels& y) {
  check_rows(self, x);
  expect(y.shape(0) == x.shape(0), "y must have an entry for each row");
  for (std::size_t i = 0; i < y.size(); ++i)
    expect(y.data()[i] >= 0 && y.data()[i] < streams::kMostClasses, "y must lie between 0 and 999");
  auto before = make_array<double, 1>({x.shape(0)});
  const GilRelease release;
  for (std::size_t i = 0; i < x.shape(0); ++i) before.data()[i] = self.learn(x.data() + i * x.shape(1), y.data()[i]);
  return before;
}

nb::list py_drifts(const StreamLearner& self) {
  nb::list found;
  for (const streams::Drift& drift : self.drifts())
    found.append(nb::make_tuple(drift.change.row, drift.change.since, drift.change.before, drift.change.after,
                                nb::cast(drift.bits)));
  return found;
}

}  // namespace

void bind_streams(nb::module_& m) {
  nb::class_<StreamLearner>(m, "StreamLearner", "A classifier for streams: experts with several memories, stacked.")
      .def(
          "__init__",
          [](StreamLearner* self, const Flags& categorical) {
            expect(categorical.size() > 0, "there must be a column");
            new (self)
                StreamLearner(std::vector<std::uint8_t>(categorical.data(), categorical.data() + categorical.size()));
          },
          nb::arg("categorical").noconvert())
      .def(
          "grow",
          [](StreamLearner& self, int classes) {
            expect(classes >= 1 && classes <= streams::kMostClasses, "classes must lie between 1 and 1000");
            self.grow(classes);
          },
          nb::arg("classes"), "Make room for so many classes.")
      .def("predict", &py_predict, nb::arg("x").noconvert(), "P(class | x), (rows, classes); NaN is missing.")
      .def("learn", &py_learn, nb::arg("x").noconvert(), nb::arg("y").noconvert(),
           "Predict each row, then learn it, with room for its class; the probability that its class had before.")
      .def("drifts", &py_drifts, "(row, rows since the change, loss before, loss after, bits of each column) each.")
      .def(
          "memory",
          [](const StreamLearner& self) { return std::vector<double>(self.memory().begin(), self.memory().end()); },
          "Weights of the half-lives.")
      .def(
          "weights",
          [](const StreamLearner& self) {
            std::vector<double> found;
            for (int e = 0; e < streams::kExperts; ++e) found.push_back(self.weight(e));
            return found;
          },
          "Stacking weights of the experts.")
      .def_prop_ro("seen", &StreamLearner::seen)
      .def_prop_ro("classes", &StreamLearner::classes)
      .def_prop_ro("columns", &StreamLearner::columns)
      .def(
          "bytes", [](const StreamLearner& self) { return array_of(self.bytes()); }, "All of its state.")
      .def_static(
          "read", [](const Bytes& bytes) { return StreamLearner::read(bytes.data(), bytes.size()); },
          nb::arg("bytes").noconvert(), "The learner with this state; ValueError if it is none.");
}

}  // namespace tb::bind
