// Rows that are Python objects.
#pragma once
#include <cstring>

#include "bind/bind.hpp"

namespace tb::bind {

// The rows: an object array (through the buffer protocol), a list or a tuple.
class Objects {
 public:
  explicit Objects(nb::handle values) : values_(nb::borrow(values)) {
    if (PyList_Check(values.ptr()) || PyTuple_Check(values.ptr())) {
      rows_ = nb::len(values_);
      return;
    }
    constexpr const char* what = "expected an object array of one dimension, a list or a tuple";
    if (PyObject_CheckBuffer(values.ptr()) == 0) throw nb::type_error(what);
    if (PyObject_GetBuffer(values.ptr(), &view_, PyBUF_STRIDED_RO | PyBUF_FORMAT) != 0) throw nb::python_error();
    if (view_.ndim != 1 || view_.format == nullptr || std::strcmp(view_.format, "O") != 0) {
      PyBuffer_Release(&view_);
      throw nb::type_error(what);
    }
    array_ = true;
    rows_ = static_cast<std::size_t>(view_.shape[0]);
  }
  Objects(const Objects&) = delete;
  Objects& operator=(const Objects&) = delete;
  ~Objects() {
    if (array_) PyBuffer_Release(&view_);
  }

  std::size_t rows() const { return rows_; }

  nb::object operator[](std::size_t i) const {
    if (!array_) {
      nb::object x = nb::steal(PySequence_GetItem(values_.ptr(), static_cast<Py_ssize_t>(i)));
      if (!x.is_valid()) throw nb::python_error();  // a comparison has shortened the list
      return x;
    }
    PyObject* x;
    std::memcpy(&x, static_cast<const char*>(view_.buf) + static_cast<std::ptrdiff_t>(i) * view_.strides[0], sizeof x);
    return x != nullptr ? nb::borrow(x) : nb::none();  // NumPy's empty() leaves null for None
  }

 private:
  nb::object values_;
  Py_buffer view_{};
  bool array_ = false;
  std::size_t rows_ = 0;
};

}  // namespace tb::bind
