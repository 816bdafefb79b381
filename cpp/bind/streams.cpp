// The learner of streams.
#include "core/streams/stream_learner.hpp"

#include <nanobind/stl/vector.h>

#include <cmath>
#include <numeric>
#include <optional>

#include "bind/checked.hpp"
#include "bind/row_reader.hpp"
#include "bind/streams.hpp"

namespace tb::bind {
namespace {

using streams::StreamLearner;
constexpr std::size_t kFewRows = 256;  // the same number is in estimators/streaming_bayes.py
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void check_rows(const StreamLearner& self, const Matrix& x) {
  expect(x.shape(1) == static_cast<std::size_t>(self.columns()), "x must have the columns of the learner");
  for (std::size_t i = 0; i < x.size(); ++i) expect(!std::isinf(x.data()[i]), "x must not be infinite");
}

// To the last digit: the learner's experts work in single precision.
void predict(const StreamLearner& self, const double* x, double* p) {
  self.predict(x, p);
  const std::size_t K = static_cast<std::size_t>(self.classes());
  const double sum = std::accumulate(p, p + K, 0.0);
  for (std::size_t c = 0; c < K; ++c) p[c] /= sum;
}

Array<double, 2> py_predict(const StreamLearner& self, const Matrix& x) {
  check_rows(self, x);
  expect(self.classes() > 0, "there are no classes yet");
  const std::size_t n = x.shape(0), K = static_cast<std::size_t>(self.classes());
  auto p = make_array<double, 2>({n, K});
  const GilRelease release;
  for (std::size_t i = 0; i < n; ++i) predict(self, x.data() + i * x.shape(1), p.data() + i * K);
  return p;
}

Array<double, 1> py_learn(StreamLearner& self, const Matrix& x, const Labels& y) {
  check_rows(self, x);
  expect(y.shape(0) == x.shape(0), "y must have an entry for each row");
  for (std::size_t i = 0; i < y.size(); ++i)
    expect(y.data()[i] >= 0 && y.data()[i] < streams::kMostClasses, "y must lie between 0 and 999");
  auto before = make_array<double, 1>({x.shape(0)});
  std::optional<GilRelease> release;  // few rows are learned in place: no other thread may fork on the way
  if (x.shape(0) >= kFewRows) release.emplace();
  for (std::size_t i = 0; i < x.shape(0); ++i) before.data()[i] = self.learn(x.data() + i * x.shape(1), y.data()[i]);
  return before;
}

// The usual dict, read without a table. None or false, here, is: let a table look at the row.
class StreamRow {
 public:
  // levels: {label: code} of each categorical column, None of a number; labels: each with its code, in their order.
  StreamRow(nb::object learner, const nb::list& names, const nb::list& levels, nb::dict labels)
      : kept_(std::move(learner)), learner_(nb::cast<StreamLearner&>(kept_)), labels_(std::move(labels)) {
    const std::size_t d = nb::len(names);
    expect(d == static_cast<std::size_t>(learner_.columns()) && nb::len(levels) == d, "a name and levels per column");
    values_.resize(d), codes_.resize(d), readers_.reserve(d);
    const nb::object numpy_bool = nb::module_::import_("numpy").attr("bool_");
    std::vector<Place> places(d);
    for (std::size_t j = 0; j < d; ++j) {
      places[j].number = &values_[j];
      if (levels[j].is_none()) continue;
      readers_.push_back({nb::cast<nb::dict>(levels[j]), &codes_[j], false, false, false, numpy_bool, {}});
      places[j] = {nullptr, &readers_.back()};
      categorical_.push_back(j);
    }
    for (const auto& [label, code] : labels_) {
      const int c = nb::cast<int>(code);
      expect(c >= 0 && c < learner_.classes(), "codes of labels are classes of the learner");
      order_.emplace_back(label.ptr(), c);
    }
    proba_.resize(static_cast<std::size_t>(learner_.classes()));
    reader_ = RowReader(names, std::move(places));
  }

  bool learn(nb::handle row, nb::handle label) {
    if (!PyUnicode_CheckExact(label.ptr()) && !PyLong_CheckExact(label.ptr())) return false;
    PyObject* code = PyDict_GetItemWithError(labels_.ptr(), label.ptr());
    if (!code || !read(row)) {
      PyErr_Clear();
      return false;
    }
    learner_.learn(values_.data(), static_cast<int>(PyLong_AsLong(code)));
    return true;
  }

  nb::object proba(nb::handle row) {
    if (!read(row)) return nb::none();
    predict(learner_, values_.data(), proba_.data());
    nb::dict out;
    for (const auto& [label, c] : order_) {
      const nb::object p = nb::steal(PyFloat_FromDouble(proba_[static_cast<std::size_t>(c)]));
      if (!p || PyDict_SetItem(out.ptr(), label, p.ptr()) < 0) nb::raise_python_error();
    }
    return out;
  }

 private:
  bool read(nb::handle row) {
    if (!PyDict_CheckExact(row.ptr()) || !reader_.read(row, true)) return false;
    for (std::size_t j : categorical_) values_[j] = codes_[j] < 0 ? NAN : static_cast<double>(codes_[j]);
    return proba_.size() == static_cast<std::size_t>(learner_.classes());
  }

  nb::object kept_;
  StreamLearner& learner_;  // in kept_
  nb::dict labels_;
  std::vector<double> values_, proba_;
  std::vector<std::int64_t> codes_;
  std::vector<LevelReader> readers_;
  std::vector<std::size_t> categorical_;
  std::vector<std::pair<PyObject*, int>> order_;  // labels borrowed from labels_
  RowReader reader_;
};

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
      .def(
          "copy", [](const StreamLearner& self) { return StreamLearner(self); }, "One that learns by itself.")
      .def_prop_ro("seen", &StreamLearner::seen)
      .def_prop_ro("classes", &StreamLearner::classes)
      .def_prop_ro("columns", &StreamLearner::columns)
      .def(
          "bytes", [](const StreamLearner& self) { return array_of(self.bytes()); }, "All of its state.")
      .def_static(
          "read", [](const Bytes& bytes) { return StreamLearner::read(bytes.data(), bytes.size()); },
          nb::arg("bytes").noconvert(), "The learner with this state; ValueError if it is none.");

  nb::class_<StreamRow>(m, "StreamRow", "Reads one dict at a time for a StreamLearner.")
      .def(nb::init<nb::object, const nb::list&, const nb::list&, nb::dict>(), nb::arg("learner"), nb::arg("names"),
           nb::arg("levels"), nb::arg("labels"))
      .def("learn", &StreamRow::learn, nb::arg("row").none(), nb::arg("label").none())
      .def("proba", &StreamRow::proba, nb::arg("row").none());
}

}  // namespace tb::bind
