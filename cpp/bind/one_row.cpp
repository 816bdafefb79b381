// One row at a time: a dict becomes numbers and codes, and the terms of core/rowpath/row_model.hpp do the rest.
// A fast path only: whatever is unusual (a new class, a key unseen, a value of the wrong type) is answered with "not
// done", and the caller takes the general path through a table.
#include "core/rowpath/row_model.hpp"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>

#include "bind/fast_row_term.hpp"
#include "bind/model_lock.hpp"
#include "core/rowpath/fixed_share.hpp"

namespace tb::bind {
namespace {

constexpr double kMostWeight = 1e10;  // the same number is in estimators/one_row.py

void expect(bool fits) {
  if (!fits) throw nb::value_error("the terms of a fast row do not fit together");
}

nb::object statistics_array(const std::vector<double>& from, std::size_t K, double share = 1.0) {
  const std::size_t d = K ? from.size() / K : 0;
  auto out = make_array<double, 2>({K, d});
  std::transform(from.begin(), from.end(), out.data(), [&](double x) { return x * share; });
  return nb::cast(out);
}

void expect_shape(const Matrix& a, const Columns1& columns, const Matrix& like) {
  expect(a.shape(1) == columns.size() && a.shape(0) == like.shape(0));
}

template <class Term>
struct FastNumbers : FastRowTerm {
  template <class... A>
  explicit FastNumbers(Columns1 which, A&&... arguments) : core(std::forward<A>(arguments)...) {
    columns = std::move(which);
  }
  RowTerm& term() override { return core; }
  std::size_t classes() const override { return core.classes(); }
  Place place(std::size_t i) override { return {&core.numbers[i], nullptr}; }
  nb::object counted(const std::vector<double>& sums) const {
    return statistics_array(sums, core.classes(), core.share());
  }
  Term core;
};

struct FastGaussian : FastNumbers<GaussianRow> {
  FastGaussian(Columns1 which, const Matrix& n, const Matrix& mean, const Matrix& low, const Matrix& m2, int ddof,
               bool shared, double smoothing)
      : FastNumbers(which, (check(which, n, mean, low, m2), n.shape(0)), which.size(),
                    GaussianSums{n.data(), mean.data(), low.data(), m2.data()},
                    GaussianOptions{ddof, shared, smoothing}) {}
  static void check(const Columns1& which, const Matrix& n, const Matrix& mean, const Matrix& low, const Matrix& m2) {
    for (const Matrix* a : {&n, &mean, &low, &m2}) expect_shape(*a, which, n);
  }
  nb::dict sums() const {
    nb::dict out;
    out["n"] = counted(core.n), out["mean"] = statistics_array(core.mean, core.classes());
    out["low"] = statistics_array(core.low, core.classes()), out["m2"] = counted(core.m2);
    return out;
  }
};

struct FastLogGaussian : FastNumbers<LogGaussianRow> {
  FastLogGaussian(Columns1 which, const Matrix& n, const Matrix& mean, const Matrix& low, const Matrix& m2, int ddof,
                  bool shared, double smoothing, const Matrix& zero, const Doubles& alpha)
      : FastNumbers(which, (check(which, n, mean, low, m2, zero, alpha), n.shape(0)), which.size(),
                    GaussianSums{n.data(), mean.data(), low.data(), m2.data()},
                    GaussianOptions{ddof, shared, smoothing}, zero.data(), alpha.data()) {}
  static void check(const Columns1& which, const Matrix& n, const Matrix& mean, const Matrix& low, const Matrix& m2,
                    const Matrix& zero, const Doubles& alpha) {
    FastGaussian::check(which, n, mean, low, m2), expect_shape(zero, which, n);
    expect(alpha.shape(0) == which.size());
  }
  nb::dict sums() const {
    nb::dict out;
    out["n"] = counted(core.logs.n), out["mean"] = statistics_array(core.logs.mean, core.classes());
    out["low"] = statistics_array(core.logs.low, core.classes()), out["m2"] = counted(core.logs.m2);
    out["zero"] = counted(core.zero);
    return out;
  }
};

struct FastPoisson : FastNumbers<PoissonRow> {
  FastPoisson(Columns1 which, const Matrix& n, const Matrix& sum, const Doubles& alpha)
      : FastNumbers(which, (check(which, n, sum, alpha), n.shape(0)), which.size(), n.data(), sum.data(),
                    alpha.data()) {}
  static void check(const Columns1& which, const Matrix& n, const Matrix& sum, const Doubles& alpha) {
    expect_shape(n, which, n), expect_shape(sum, which, n);
    expect(alpha.shape(0) == which.size());
  }
  nb::dict sums() const {
    nb::dict out;
    out["n"] = counted(core.n), out["sum"] = counted(core.sum);
    return out;
  }
};

struct FastMultinomial : FastNumbers<MultinomialRow> {
  FastMultinomial(Columns1 which, const Matrix& sum, const Doubles& alpha)
      : FastNumbers(which, (check(which, sum, alpha), sum.shape(0)), which.size(), sum.data(), alpha.data()) {}
  static void check(const Columns1& which, const Matrix& sum, const Doubles& alpha) {
    expect_shape(sum, which, sum);
    expect(alpha.shape(0) == which.size());
  }
  nb::dict sums() const {
    nb::dict out;
    out["sum"] = counted(core.sum);
    return out;
  }
};

struct FastThreshold : FastNumbers<ThresholdRow> {
  FastThreshold(Columns1 which, const Matrix& no, const Matrix& yes, const Doubles& alpha, double threshold)
      : FastNumbers(which, (FastPoisson::check(which, no, yes, alpha), no.shape(0)), which.size(), no.data(),
                    yes.data(), alpha.data(), threshold) {}
  nb::dict sums() const {
    nb::dict out;
    out["no"] = counted(core.no), out["yes"] = counted(core.yes);
    return out;
  }
};

using Booleans = std::vector<bool>;
using Exist = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// count: (classes, levels) of each column; exist: which levels there are, met or not.
std::vector<LevelColumn> level_columns(const std::vector<Matrix>& count, const std::vector<Exist>& exist,
                                       const std::vector<double>& number, const Booleans& grows) {
  const std::size_t d = count.size();
  expect(d > 0 && exist.size() == d && number.size() == d && grows.size() == d);
  std::vector<LevelColumn> out;
  out.reserve(d);
  for (std::size_t j = 0; j < d; ++j) {
    expect(count[j].shape(0) == count[0].shape(0) && exist[j].shape(0) >= count[j].shape(1));
    out.push_back({LevelTree(count[j].shape(0), count[j].shape(1), count[j].data(), count[j].shape(1)),
                   {exist[j].data(), exist[j].data() + exist[j].shape(0)},
                   number[j],
                   grows[j]});
  }
  return out;
}

nb::dict sums_of(const LevelsRow& levels) {
  auto count = make_array<double, 2>({levels.classes(), levels.levels()});
  auto sizes = make_array<std::int64_t, 1>({levels.columns().size()});
  levels.write(count.data(), sizes.data());
  nb::dict out;
  out["count"] = count, out["sizes"] = sizes;
  return out;
}

struct FastLevels : FastRowTerm {
  FastLevels(const nb::dict& levels, const std::vector<Matrix>& count, const std::vector<Exist>& exist,
             const std::vector<double>& number, double alpha, bool other, const Booleans& grows, const Booleans& truths)
      : core(count.empty() ? 0 : count[0].shape(0), level_columns(count, exist, number, grows), alpha, other) {
    expect(levels.size() == count.size() && truths.size() == count.size());
    const nb::object numpy_bool = nb::module_::import_("numpy").attr("bool_");
    for (const auto& [column, codes] : levels) {
      const std::size_t i = columns.size();
      columns.push_back(nb::cast<std::size_t>(column));
      readers_.push_back({nb::cast<nb::dict>(codes), &core.codes[i], other, grows[i], truths[i], numpy_bool, {}});
    }
  }
  RowTerm& term() override { return core; }
  std::size_t classes() const override { return core.classes(); }
  Place place(std::size_t i) override { return {nullptr, &readers_[i]}; }
  nb::dict sums() const { return sums_of(core); }
  // column -> the labels learned since the fast path was opened, in their order
  nb::dict added() const {
    nb::dict out;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      nb::list labels;
      for (const nb::object& label : readers_[i].added) labels.append(label);
      out[nb::int_(columns[i])] = labels;
    }
    return out;
  }
  std::size_t moves() const { return core.moves(); }
  LevelsRow core;

 private:
  std::vector<LevelReader> readers_;
};

struct FastCuts : FastNumbers<CutsRow> {
  FastCuts(Columns1 which, const std::vector<Doubles>& points, const std::vector<Matrix>& count,
           const std::vector<Exist>& exist, const std::vector<double>& number, double alpha, bool other)
      : FastNumbers(which,
                    (expect(points.size() == which.size() && count.size() == which.size() && !count.empty()),
                     count[0].shape(0)),
                    copied(points), level_columns(count, exist, number, Booleans(count.size(), false)), alpha, other) {}
  static std::vector<std::vector<double>> copied(const std::vector<Doubles>& points) {
    std::vector<std::vector<double>> out;
    for (const Doubles& p : points) out.emplace_back(p.data(), p.data() + p.shape(0));
    return out;
  }
  nb::dict sums() const { return sums_of(core.levels); }
};

class FastRow {
 public:
  // The same model at other half-lives, beside this one, which keeps all rows: what half_life='auto' mixes.
  struct Mixture {
    nb::list kept;  // alive
    std::vector<FastRow*> members;
    std::vector<double> half_lives;
    FixedShare share;
    std::vector<double> likelihood, proba;
  };

  FastRow(const nb::list& names, nb::dict classes, const Doubles& weight, const nb::object& prior, nb::list parts,
          nb::object lock)
      : classes_(std::move(classes)),
        parts_(std::move(parts)),
        guard_(std::move(lock)),
        lock_(nb::cast<const Lock*>(guard_)),
        model_({weight.data(), weight.data() + weight.shape(0)}, prior_of(prior, weight.shape(0)), terms_of(parts_)) {
    const std::size_t K = weight.shape(0);
    expect(nb::len(classes_) == K);
    std::vector<Place> places(nb::len(names));
    for (nb::handle item : parts_) {
      auto& part = nb::cast<FastRowTerm&>(item);
      expect(part.classes() == K);
      for (std::size_t i = 0; i < part.columns.size(); ++i) {
        expect(part.columns[i] < places.size());
        places[part.columns[i]] = part.place(i);
      }
    }
    for (const Place& p : places) expect(p.number || p.level);
    reader_ = RowReader(names, std::move(places));
    for (const auto& [label, code] : classes_) {
      expect(nb::cast<std::size_t>(code) == labels_.size());
      labels_.push_back(label.ptr());
    }
  }

  void mix(nb::list others, std::vector<double> half_lives, std::vector<double> weights, double share, double least) {
    std::vector<FastRow*> members;
    for (nb::handle other : others) {
      members.push_back(nb::cast<FastRow*>(other));
      expect(members.back() != this && members.back()->labels_.size() == labels_.size() &&
             members.back()->reader_.columns() == reader_.columns());
    }
    expect(members.size() == half_lives.size() && members.size() + 1 == weights.size());
    const std::size_t n = weights.size();
    mixture_ = std::make_unique<Mixture>(Mixture{std::move(others), std::move(members), std::move(half_lives),
                                                 FixedShare(std::move(weights), share, least), std::vector<double>(n),
                                                 std::vector<double>(labels_.size())});
  }

  void unmix() { mixture_.reset(); }

  // The weight of this model and of each beside it; empty where there is no mixture.
  std::vector<double> mixture_weights() const { return mixture_ ? mixture_->share.weights() : std::vector<double>(); }

  // Whether learn_unlocked may; not before somebody with the lock has found that nothing else has to be looked after.
  void let_in(bool rows) { open_ = rows; }

  // learn for whoever has not taken the lock: once the row is read nothing else runs until it is learned. False also
  // while somebody has the lock, and for what learn would not be asked for.
  bool learn_unlocked(nb::handle row, nb::handle label, nb::handle weight, nb::handle half_life) {
    if (!open_ || !PyDict_CheckExact(row.ptr()) || label.is_none() || !PyFloat_CheckExact(weight.ptr())) return false;
    const double w = PyFloat_AsDouble(weight.ptr());
    return w > 0 && w <= kMostWeight && add(row, label, w, half_life, [&] { return open_ && lock_->is_free(); });
  }

  // half_life: None, or in how many rows what was learned before counts half as much; a text: the mixture learns.
  bool learn(const nb::dict& row, nb::handle label, double w, nb::handle half_life) {
    return add(row, label, w, half_life, [] { return true; });
  }

  bool forget(const nb::dict& row, nb::handle label, double w) {
    PyObject* found = PyDict_GetItemWithError(classes_.ptr(), label.ptr());
    if (!found) return careful();
    if (!reader_.read(row, false)) return false;
    const auto c = static_cast<std::size_t>(PyLong_AsSize_t(found));
    if (!model_.gives(c, w)) return false;
    model_.forget(c, w);
    ++changes_;
    return true;
  }

  bool decay(double factor) {
    if (!model_.decay(factor)) return false;
    ++changes_;
    return true;
  }

  // {label: probability}, or None for the general path.
  nb::object proba(nb::handle row) {
    const double* found = PyDict_CheckExact(row.ptr()) && reader_.read(row, false) ? model_.proba() : nullptr;
    return found ? by_label(found) : nb::none();
  }

  // The same of the mixture.
  nb::object mixed_proba(nb::handle row) {
    if (!mixture_ || !PyDict_CheckExact(row.ptr()) || !reader_.read(row, false) || !shared()) return nb::none();
    Mixture& m = *mixture_;
    std::fill(m.proba.begin(), m.proba.end(), 0.0);
    for (std::size_t i = 0; i <= m.members.size(); ++i) {
      const double* p = member(i).model_.proba();
      if (!p) return nb::none();
      for (std::size_t c = 0; c < m.proba.size(); ++c) m.proba[c] += m.share.weights()[i] * p[c];
    }
    return by_label(m.proba.data());
  }

  std::size_t changes() const { return changes_; }
  std::size_t learned() const { return learned_; }

  Array<double, 1> weight() const {
    const std::vector<double> now = model_.weight();
    auto out = make_array<double, 1>({now.size()});
    std::copy(now.begin(), now.end(), out.data());
    return out;
  }

 private:
  nb::object by_label(const double* found) const {
    nb::dict out;
    for (std::size_t c = 0; c < labels_.size(); ++c) {
      PyObject* p = PyFloat_FromDouble(found[c]);
      if (!p || PyDict_SetItem(out.ptr(), labels_[c], p) < 0) nb::raise_python_error();
      Py_DECREF(p);
    }
    return out;
  }

  // A lookup that raised (an unhashable value, say) is not an error yet: the general path says it in words.
  static bool careful() {
    PyErr_Clear();
    return false;
  }

  static RowPrior prior_of(const nb::object& prior, std::size_t K) {
    if (nb::isinstance<nb::float_>(prior)) return {{}, nb::cast<double>(prior)};
    const auto given = nb::cast<Doubles>(prior, false);
    expect(given.shape(0) == K);
    return {{given.data(), given.data() + K}, 0.0};
  }

  static std::vector<RowTerm*> terms_of(const nb::list& parts) {
    std::vector<RowTerm*> out;
    for (nb::handle part : parts) out.push_back(&nb::cast<FastRowTerm&>(part).term());
    return out;
  }

  template <class May>
  bool add(nb::handle row, nb::handle label, double w, nb::handle half_life, const May& may) {
    const bool mixed = PyUnicode_Check(half_life.ptr());
    if (mixed != (mixture_ != nullptr)) return false;  // half_life was changed
    bool fades = !mixed && !half_life.is_none();
    const double rows = !fades || PyBool_Check(half_life.ptr()) ? NAN : PyFloat_AsDouble(half_life.ptr());
    if (fades && (PyErr_Occurred() || !(rows >= 1))) return careful();
    fades = fades && !std::isinf(rows);
    PyObject* found = PyDict_GetItemWithError(classes_.ptr(), label.ptr());
    if (!found) return careful();
    if (!reader_.read(row, true) || !may()) return false;  // what runs Python's code is done
    const auto c = static_cast<std::size_t>(PyLong_AsSize_t(found));
    if (mixed) return add_to_all(c, w);
    if (!model_.takes(c, w) || (fades && !model_.fade(rows))) return false;
    take_in(c, w);
    return true;
  }

  void take_in(std::size_t c, double w) {
    reader_.keep_fresh();
    model_.learn(c, w);
    ++changes_, ++learned_;
  }

  // The row at hand, in every model of the mixture; weights follow what each gave its class before.
  bool add_to_all(std::size_t c, double w) {
    Mixture& m = *mixture_;
    if (!shared()) return false;
    for (std::size_t i = 0; i <= m.members.size(); ++i) {
      FastRow& one = member(i);
      if (!one.model_.takes(c, w) || (i > 0 && !one.model_.fades(m.half_lives[i - 1]))) return false;
      const double* p = one.model_.proba();
      if (!p) return false;
      m.likelihood[i] = p[c];
    }
    m.share.update(m.likelihood);
    for (std::size_t i = 0; i <= m.members.size(); ++i) {
      if (i > 0) member(i).model_.fade(m.half_lives[i - 1]);
      member(i).take_in(c, w);
    }
    return true;
  }

  FastRow& member(std::size_t i) { return i == 0 ? *this : *mixture_->members[i - 1]; }

  // The row that was read here becomes that of all members.
  bool shared() {
    return std::all_of(mixture_->members.begin(), mixture_->members.end(),
                       [&](FastRow* other) { return other->reader_.take(reader_); });
  }

  nb::dict classes_;
  nb::list parts_;  // kept alive
  nb::object guard_;
  const Lock* lock_;  // in guard_
  RowReader reader_;
  bool open_ = false;
  std::vector<PyObject*> labels_;  // borrowed from classes_
  RowModel model_;
  std::unique_ptr<Mixture> mixture_;
  std::size_t changes_ = 0, learned_ = 0;
};

}  // namespace

void bind_row(nb::module_& m) {
  nb::class_<Lock>(m, "Lock", "The lock of a model: whoever has it may take it again.")
      .def(nb::init<>())
      .def("__enter__", &Lock::enter)
      .def(
          "__exit__", [](Lock& self, nb::handle, nb::handle, nb::handle) { self.leave(); }, nb::arg("kind").none(),
          nb::arg("error").none(), nb::arg("trace").none());

  nb::class_<FastRowTerm>(m, "FastRowTerm", "What one distribution knows of a row: its columns, and sums of its own.");

  nb::class_<FastGaussian, FastRowTerm>(m, "FastGaussian")
      .def(nb::init<Columns1, const Matrix&, const Matrix&, const Matrix&, const Matrix&, int, bool, double>(),
           nb::arg("columns"), nb::arg("n").noconvert(), nb::arg("mean").noconvert(), nb::arg("low").noconvert(),
           nb::arg("m2").noconvert(), nb::arg("ddof"), nb::arg("shared"), nb::arg("var_smoothing"))
      .def("sums", &FastGaussian::sums);

  nb::class_<FastLogGaussian, FastRowTerm>(m, "FastLogGaussian")
      .def(nb::init<Columns1, const Matrix&, const Matrix&, const Matrix&, const Matrix&, int, bool, double,
                    const Matrix&, const Doubles&>(),
           nb::arg("columns"), nb::arg("n").noconvert(), nb::arg("mean").noconvert(), nb::arg("low").noconvert(),
           nb::arg("m2").noconvert(), nb::arg("ddof"), nb::arg("shared"), nb::arg("var_smoothing"), nb::kw_only(),
           nb::arg("zero").noconvert(), nb::arg("alpha").noconvert())
      .def("sums", &FastLogGaussian::sums);

  nb::class_<FastPoisson, FastRowTerm>(m, "FastPoisson")
      .def(nb::init<Columns1, const Matrix&, const Matrix&, const Doubles&>(), nb::arg("columns"),
           nb::arg("n").noconvert(), nb::arg("sum").noconvert(), nb::arg("alpha").noconvert())
      .def("sums", &FastPoisson::sums);

  nb::class_<FastMultinomial, FastRowTerm>(m, "FastMultinomial")
      .def(nb::init<Columns1, const Matrix&, const Doubles&>(), nb::arg("columns"), nb::arg("sum").noconvert(),
           nb::arg("alpha").noconvert())
      .def("sums", &FastMultinomial::sums);

  nb::class_<FastThreshold, FastRowTerm>(m, "FastThreshold")
      .def(nb::init<Columns1, const Matrix&, const Matrix&, const Doubles&, double>(), nb::arg("columns"),
           nb::arg("no").noconvert(), nb::arg("yes").noconvert(), nb::arg("alpha").noconvert(), nb::arg("threshold"))
      .def("sums", &FastThreshold::sums);

  nb::class_<FastLevels, FastRowTerm>(m, "FastLevels", "levels: column -> {label: code}; it becomes the object's own.")
      .def(nb::init<const nb::dict&, const std::vector<Matrix>&, const std::vector<Exist>&, const std::vector<double>&,
                    double, bool, const Booleans&, const Booleans&>(),
           nb::arg("levels"), nb::arg("count"), nb::arg("exist"), nb::arg("number"), nb::arg("alpha"), nb::arg("other"),
           nb::arg("grows"), nb::arg("truths"))
      .def("sums", &FastLevels::sums)
      .def("added", &FastLevels::added)
      .def_prop_ro("moves", &FastLevels::moves, "How often counts were moved to make room for more levels.");

  nb::class_<FastCuts, FastRowTerm>(m, "FastCuts")
      .def(nb::init<Columns1, const std::vector<Doubles>&, const std::vector<Matrix>&, const std::vector<Exist>&,
                    const std::vector<double>&, double, bool>(),
           nb::arg("columns"), nb::arg("points"), nb::arg("count"), nb::arg("exist"), nb::arg("number"),
           nb::arg("alpha"), nb::arg("other"))
      .def("sums", &FastCuts::sums);

  nb::class_<FastRow>(m, "FastRow",
                      "Learns and scores one dict at a time. prior: what is added to each class weight, or log priors.")
      .def(nb::init<const nb::list&, nb::dict, const Doubles&, const nb::object&, nb::list, nb::object>(),
           nb::arg("names"), nb::arg("classes"), nb::arg("weight").noconvert(), nb::arg("prior"), nb::arg("parts"),
           nb::arg("lock"))
      .def("let_in", &FastRow::let_in, nb::arg("rows"))
      .def("mix", &FastRow::mix, nb::arg("others"), nb::arg("half_lives"), nb::arg("weights"), nb::arg("share"),
           nb::arg("least"), "Make it the first of a mixture: the others fade, this one does not.")
      .def("unmix", &FastRow::unmix)
      .def("mixture_weights", &FastRow::mixture_weights)
      .def("mixed_proba", &FastRow::mixed_proba, nb::arg("row").none())
      .def("learn_unlocked", &FastRow::learn_unlocked, nb::arg("row").none(), nb::arg("label").none(),
           nb::arg("weight").none(), nb::arg("half_life").none())
      .def("learn", &FastRow::learn, nb::arg("row"), nb::arg("label"), nb::arg("weight"),
           nb::arg("half_life") = nb::none())
      .def("forget", &FastRow::forget, nb::arg("row"), nb::arg("label"), nb::arg("weight"))
      .def("decay", &FastRow::decay, nb::arg("factor"))
      .def("proba", &FastRow::proba, nb::arg("row").none())
      .def("weight", &FastRow::weight)
      .def_prop_ro("changes", &FastRow::changes, "How often it has learned, forgotten or faded.")
      .def_prop_ro("learned", &FastRow::learned, "Rows learned since it was made.");
}

}  // namespace tb::bind
