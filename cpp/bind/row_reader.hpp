// A row that comes as a dict becomes numbers and codes. False, here, is always: take the general path through a table.
#pragma once
#include <cmath>
#include <vector>

#include "bind/bind.hpp"
#include "core/rowpath/row_terms.hpp"

namespace tb::bind {

// Labels to codes, and the labels that were seen for the first time.
struct LevelReader {
  nb::dict codes;
  std::int64_t* slot;
  bool other;   // asked for a label unseen: an answer, not a warning
  bool grows;   // may learn new labels
  bool truths;  // its type lists False and True
  nb::object numpy_bool;
  std::vector<nb::object> added;
  PyObject* fresh = nullptr;  // of the row at hand

  // A label that any table takes for what it is.
  static bool plain(PyObject* value) {
    if (PyUnicode_CheckExact(value)) return true;
    if (!PyLong_CheckExact(value)) return false;
    int beyond = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &beyond);
    return beyond == 0 && number > -(1LL << 53) && number < (1LL << 53);
  }

  // False: the general path.
  bool read(PyObject* value, bool learning) {
    *slot = kMissingCode;
    fresh = nullptr;
    if (!value || value == Py_None) return true;
    if (PyUnicode_CheckExact(value)) {  // most are: no need to ask what else it could be
    } else if (PyBool_Check(value) || reinterpret_cast<PyObject*>(Py_TYPE(value)) == numpy_bool.ptr()) {
      if (!truths) return false;
    } else if (PyFloat_Check(value)) {
      if (std::isnan(PyFloat_AsDouble(value))) return true;
    } else if (!PyUnicode_Check(value) && !PyIndex_Check(value)) {
      return false;
    }
    if (PyObject* code = PyDict_GetItemWithError(codes.ptr(), value)) {
      *slot = PyLong_AsLongLong(code);
      return true;
    }
    if (PyErr_Occurred() || !plain(value)) {
      PyErr_Clear();
      return false;
    }
    if (learning && grows) {
      *slot = static_cast<std::int64_t>(PyDict_Size(codes.ptr()));
      fresh = value;
      return true;
    }
    *slot = kOtherCode;
    return !learning && other;
  }

  void keep_fresh() {
    if (!fresh) return;
    nb::object label = nb::borrow(fresh);
    codes[label] = *slot;
    added.push_back(std::move(label));
    fresh = nullptr;
  }
};

inline bool read_number(PyObject* value, double& x) {
  x = NAN;
  if (!value || value == Py_None) return true;
  if (!PyFloat_Check(value) && !PyLong_Check(value)) return false;
  x = PyFloat_AsDouble(value);
  if (x == -1.0 && PyErr_Occurred()) {
    PyErr_Clear();
    return false;
  }
  return !std::isinf(x);
}

// Where the value of a column of the row goes: one of the two is null.
struct Place {
  double* number = nullptr;
  LevelReader* level = nullptr;
};

// The values of a row, each to its place.
class RowReader {
 public:
  RowReader() = default;
  RowReader(const nb::list& names, std::vector<Place> places) : places_(std::move(places)) {
    for (nb::handle name : names) {
      names_.push_back(nb::borrow(name));
      in_order_ = in_order_ && PyUnicode_CheckExact(name.ptr());
    }
    for (const Place& p : places_) {
      if (p.level) levels_.push_back(p.level);
    }
  }

  // A value may have an __eq__ or __hash__ of its own, in which another thread gets its turn and reads a row of its
  // own into the same places: then neither is trusted.
  bool read(nb::handle row, bool learning) {
    const std::size_t turn = ++turns_;
    std::size_t met = in_order_ ? read_in_order(row, learning) : 0;
    if (met == kRefused) return false;
    for (std::size_t j = met; j < places_.size(); ++j) {
      PyObject* value = PyDict_GetItemWithError(row.ptr(), names_[j].ptr());
      if (!value && PyErr_Occurred()) {  // a lookup that raised is not an error yet: the general path says it in words
        PyErr_Clear();
        return false;
      }
      met += value != nullptr;
      if (!put(j, value, learning)) return false;
    }
    return met == static_cast<std::size_t>(PyDict_Size(row.ptr())) && turn == turns_;
  }

  void keep_fresh() {
    for (LevelReader* level : levels_) level->keep_fresh();
  }

  // The row that another reader of the same columns has read; false if the labels of the two have other codes.
  bool take(const RowReader& other) {
    ++turns_;
    for (std::size_t j = 0; j < places_.size(); ++j) {
      const Place &to = places_[j], &from = other.places_[j];
      if (!to.level != !from.level) return false;
      if (to.number) *to.number = *from.number;
      if (!to.level) continue;
      if (PyDict_Size(to.level->codes.ptr()) != PyDict_Size(from.level->codes.ptr())) return false;
      *to.level->slot = *from.level->slot, to.level->fresh = from.level->fresh;
    }
    return true;
  }

  std::size_t columns() const { return places_.size(); }

 private:
  static constexpr std::size_t kRefused = static_cast<std::size_t>(-1);

  // Most rows have the keys of the last, in the order of the columns: no need to look them up. How many were as
  // expected; the rest is looked up. A stream often has one object for a key of all of its rows, which is then kept.
  std::size_t read_in_order(nb::handle row, bool learning) {
    PyObject *key = nullptr, *value = nullptr;
    Py_ssize_t at = 0;
    std::size_t j = 0;
    for (; j < places_.size() && PyDict_Next(row.ptr(), &at, &key, &value); ++j) {
      if (key != names_[j].ptr()) {
        if (!PyUnicode_CheckExact(key) || PyUnicode_Compare(key, names_[j].ptr()) != 0) break;
        names_[j] = nb::borrow(key);
      }
      if (!put(j, value, learning)) return kRefused;
    }
    return j;
  }

  bool put(std::size_t j, PyObject* value, bool learning) {
    const Place& p = places_[j];
    return p.level ? p.level->read(value, learning) : read_number(value, *p.number);
  }

  std::vector<nb::object> names_;
  std::vector<Place> places_;
  std::vector<LevelReader*> levels_;
  bool in_order_ = true;  // names are texts
  std::size_t turns_ = 0;
};

}  // namespace tb::bind
