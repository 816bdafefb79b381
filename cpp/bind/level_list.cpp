#include "bind/level_list.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <set>

namespace tb::bind {
namespace {

double real_of(const Word& w) {
  if (w.tag == kInteger) return static_cast<double>(static_cast<std::int64_t>(w.a));
  if (w.tag == kUnsigned) return static_cast<double>(w.a);
  double x;
  std::memcpy(&x, &w.a, 8);
  return x;
}

nb::object python_number(const Word& w, NumberKind kind) {
  if (kind == NumberKind::boolean) return nb::bool_(w.a != 0);
  if (kind == NumberKind::real || w.tag == kReal) return nb::float_(real_of(w));
  return w.tag == kUnsigned ? nb::object(nb::int_(w.a)) : nb::object(nb::int_(static_cast<std::int64_t>(w.a)));
}

bool same_word(const Dictionary& a, std::size_t i, const Dictionary& b, std::size_t j) {
  if (a.is_text(i) || b.is_text(j)) return a.is_text(i) && b.is_text(j) && a.text(i) == b.text(j);
  const Word x = a.number(i), y = b.number(j);
  return x.a == y.a && x.tag == y.tag;
}

// Does the store go on after the list with just these?
bool goes_on(const LevelList& list, const Dictionary& fresh, const std::vector<nb::object>& labels) {
  const LevelStore& store = *list.store;
  if (store.labels.size() - list.size < fresh.size()) return false;
  for (std::size_t c = 0; c < fresh.size(); ++c) {
    const bool same =
        fresh.is_other(c) ? store.labels[list.size + c].is(labels[c]) : same_word(store.words, list.size + c, fresh, c);
    if (!same) return false;
  }
  return true;
}

void add_others(LevelStore& store, std::size_t first) {
  for (std::size_t c = first; c < store.labels.size(); ++c) {
    if (store.words.is_other(c)) store.others[store.labels[c]] = c;
  }
}

std::shared_ptr<LevelStore> fork(const LevelList& list) {
  auto store = std::make_shared<LevelStore>();
  const auto first = list.store->labels.begin();
  store->words = list.store->words.head(list.size);
  store->labels.assign(first, first + static_cast<std::ptrdiff_t>(list.size));
  add_others(*store, 0);
  return store;
}

// No Python code runs here: it could come back for the mutex.
void append(LevelStore& store, std::unique_ptr<Dictionary> fresh, std::vector<nb::object>& labels) {
  const std::unique_lock<ForkMutex> alone(store.mutex);
  if (store.labels.empty()) {
    store.words = std::move(*fresh);
    store.labels = std::move(labels);
    return;
  }
  for (std::size_t c = 0; c < fresh->size(); ++c) store.words.append_from(*fresh, c);
  for (nb::object& label : labels) store.labels.push_back(std::move(label));
}

bool equal(nb::handle a, nb::handle b) {
  const nb::object same = nb::steal(PyObject_RichCompare(a.ptr(), b.ptr(), Py_EQ));
  const int truth = same.is_valid() ? PyObject_IsTrue(same.ptr()) : -1;
  if (truth < 0) PyErr_Clear();
  return truth > 0;
}

void check_label(nb::handle x, std::size_t i) {
  const std::string name = "level " + std::to_string(i);
  if (x.is_none() || (PyFloat_Check(x.ptr()) && std::isnan(PyFloat_AsDouble(x.ptr())))) {
    throw nb::value_error((name + " is None or NaN, which means missing").c_str());
  }
  if (PyObject_Hash(x.ptr()) == -1) throw nb::python_error();
}

nb::tuple extended(nb::handle self, const nb::iterable& labels) {
  LabelReader reader(level_list(self));
  std::vector<std::int32_t> found;
  for (const nb::handle x : labels) {
    check_label(x, found.size());
    const std::int32_t code = reader.find(x);
    found.push_back(code >= 0 ? code : reader.add(x));
  }
  auto codes = make_array<std::int32_t, 1>({found.size()});
  std::copy(found.begin(), found.end(), codes.data());
  return nb::make_tuple(codes, reader.grown(self));
}

void make_list(LevelList* place, const nb::iterable& labels) {
  LevelList list{std::make_shared<LevelStore>(), 0};
  LabelReader reader(list);
  std::size_t i = 0;
  for (const nb::handle x : labels) {
    check_label(x, i);
    if (reader.find(x) >= 0) throw nb::value_error(("level " + std::to_string(i) + " is listed twice").c_str());
    reader.add(x);
    ++i;
  }
  reader.fill(*list.store);
  new (place) LevelList{list.store, i};
}

Array<std::int32_t, 1> found_codes(const LevelList& list, const nb::sequence& labels) {
  const LabelReader reader(list);
  auto codes = make_array<std::int32_t, 1>({nb::len(labels)});
  std::size_t i = 0;
  for (const nb::handle x : labels) {
    check_label(x, i);
    codes.data()[i++] = reader.find(x);
  }
  return codes;
}

nb::object text_label(const Dictionary& words, std::size_t code) {
  const std::string_view text = words.text(code);
  return nb::str(text.data(), text.size());
}

nb::tuple labels_of(const LevelList& list) {
  nb::object out = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(list.size)));
  if (!out.is_valid()) throw nb::python_error();
  for (std::size_t c = 0; c < list.size; ++c) {
    nb::object& label = list.store->labels[c];
    if (!label.is_valid()) label = text_label(list.store->words, c);
    if (PyTuple_SetItem(out.ptr(), static_cast<Py_ssize_t>(c), nb::borrow(label).release().ptr()) != 0)
      throw nb::python_error();
  }
  return nb::cast<nb::tuple>(out);
}

}  // namespace

const LevelList& level_list(nb::handle x) {
  if (!nb::isinstance<LevelList>(x)) {
    throw nb::type_error((std::string("expected a LevelList, got ") + nb::type_name(x.type()).c_str()).c_str());
  }
  return *nb::inst_ptr<LevelList>(x);
}

Reading::Reading(std::vector<const LevelList*> lists) {
  std::set<LevelStore*> stores;  // each once, always in the same order
  for (const LevelList* list : lists) stores.insert(list->store.get());
  for (LevelStore* store : stores) locks_.emplace_back(store->mutex);
}

// Equal numbers are one label whatever their types, as in a dict: 3, 3.0, True, np.int64(3), Decimal(3).
Label::Label(nb::handle x) {
  if (PyUnicode_Check(x.ptr())) {
    Py_ssize_t len = 0;
    const char* p = PyUnicode_AsUTF8AndSize(x.ptr(), &len);
    if (p == nullptr) {  // half of a surrogate pair: no text that Arrow could hold
      PyErr_Clear();
      return;
    }
    kind_ = Kind::text;
    text_ = {p, static_cast<std::size_t>(len)};
  } else if (!PyBytes_Check(x.ptr()) && !PyTuple_Check(x.ptr()) && (as_integer(x) || as_real(x))) {
    kind_ = Kind::word;
  }
}

bool Label::as_integer(nb::handle x) {
  if (!PyIndex_Check(x.ptr())) return false;
  const nb::object whole = nb::steal(PyNumber_Index(x.ptr()));
  if (whole.is_valid()) {
    int overflow = 0;
    const long long small = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
    if (overflow == 0) {
      word_ = word_of(static_cast<std::int64_t>(small));
      return true;
    }
    const unsigned long long large = PyLong_AsUnsignedLongLong(whole.ptr());
    if (PyErr_Occurred() == nullptr) {
      word_ = word_of(static_cast<std::uint64_t>(large));
      return true;
    }
  }
  PyErr_Clear();  // NumPy's booleans, integers of more than 64 bits
  return false;
}

bool Label::as_real(nb::handle x) {
  if (!PyFloat_Check(x.ptr()) && PyType_GetSlot(Py_TYPE(x.ptr()), Py_nb_float) == nullptr) return false;
  const nb::object number = nb::steal(PyNumber_Float(x.ptr()));
  if (!number.is_valid()) {
    PyErr_Clear();
    return false;
  }
  word_ = word_of(PyFloat_AsDouble(number.ptr()));
  return PyFloat_Check(x.ptr()) || equal(x, number);
}

std::int32_t Label::find(const Known& known) const {
  return kind_ == Kind::text ? known.find_text(text_.data(), text_.size()) : known.find(word_);
}

std::int32_t Label::add(Known& known) const {
  if (kind_ == Kind::text) return known.add_text(text_.data(), text_.size());
  return kind_ == Kind::word ? known.add(word_) : known.add_other();
}

std::int32_t LabelReader::find(nb::handle x) const {
  const Label label(x);
  return label.other() ? find_other(x) : label.find(known_);
}

std::int32_t LabelReader::find_other(nb::handle x) const {
  PyObject* code = PyDict_GetItemWithError(list_.store->others.ptr(), x.ptr());
  const bool mine = code != nullptr && PyLong_AsSize_t(code) < list_.size;
  if (!mine && PyErr_Occurred() == nullptr) code = PyDict_GetItemWithError(strangers_.ptr(), x.ptr());
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return code != nullptr ? static_cast<std::int32_t>(PyLong_AsLong(code)) : kUnseen;
}

std::int32_t LabelReader::add(nb::handle x) {
  const Label label(x);
  if (label.other()) strangers_[x] = known_.size();
  added_.push_back(nb::borrow(x));
  return label.add(known_);
}

nb::object LabelReader::grown(nb::handle list) { return bind::grown(list, known_, std::move(added_)); }

void LabelReader::fill(LevelStore& store) {
  if (added_.empty()) return;
  append(store, known_.take(), added_);
  add_others(store, 0);
}

nb::object grown(nb::handle list, Known& known, std::vector<nb::object> labels) {
  if (labels.empty()) return nb::borrow(list);
  LevelList out = level_list(list);
  if (!goes_on(out, *known.fresh(), labels)) {
    if (out.store->labels.size() > out.size) out.store = fork(out);
    append(*out.store, known.take(), labels);
    add_others(*out.store, out.size);
  }
  out.size = known.fresh() != nullptr ? known.size() : out.store->labels.size();
  return nb::cast(out);
}

nb::object grown(nb::handle list, Known& known, NumberKind kind) {
  std::vector<nb::object> labels;
  for (std::size_t c = 0; known.fresh() != nullptr && c < known.fresh()->size(); ++c) {
    const bool text = known.fresh()->is_text(c);
    labels.push_back(text ? nb::object() : python_number(known.fresh()->number(c), kind));
  }
  return grown(list, known, std::move(labels));
}

void bind_level_list(nb::module_& m) {
  nb::class_<LevelList>(m, "LevelList",
                        "Labels by code: the first of a store that only grows by appending. Lists that came from one "
                        "another share it.")
      .def("__init__", &make_list, nb::arg("labels") = nb::tuple(),
           "Hashable labels, each once. Equal numbers are one label, whatever their types.")
      .def("__len__", [](const LevelList& list) { return list.size; })
      .def("labels", &labels_of, "A tuple of them.")
      .def("find", &found_codes, nb::arg("labels"), "Codes of the given labels; -2 if one is not in the list.")
      .def("extend", &extended, nb::arg("labels"),
           "(codes, list): codes of the given labels, and the list with those that were new at its end.")
      .def(
          "shares", [](const LevelList& a, const LevelList& b) { return a.store == b.store; }, nb::arg("other"),
          "Do the two share one store?");
  m.def("dictionaries_made", &Dictionary::made, "How many dictionaries this process has made so far.");
}

}  // namespace tb::bind
