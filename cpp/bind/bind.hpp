// What the binding files share: array types without conversion, and one register function each.
// A binding checks shapes, releases the GIL and calls the core; no loop over data lives here.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/encode/columns.hpp"

namespace nb = nanobind;

namespace tb::bind {

using Doubles = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Labels = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Sizes = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using AnyMatrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::device::cpu>;
template <class T, int N>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<N>, nb::c_contig>;

// Releases the GIL for its scope. While Python ends, a daemon thread must not have it back: CPython then ends the
// thread by unwinding its stack (until 3.13), which C++ answers with std::terminate. Such a thread waits here for the
// process to end, as CPython lets it do from 3.14 on.
class GilRelease {
 public:
  GilRelease() : state_(PyEval_SaveThread()) {}
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;
  ~GilRelease() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {  // not an exception: C functions throw none
      for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
  }

 private:
  PyThreadState* state_;
};

// A new NumPy array that owns its (uninitialised) memory.
template <class T, int N>
Array<T, N> make_array(const std::size_t (&shape)[N]) {
  std::size_t size = 1;
  for (const std::size_t s : shape) size *= s;
  T* data = new T[size > 0 ? size : 1];
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return Array<T, N>(data, N, shape, owner);
}

// A new NumPy array that owns the vector's memory.
template <class T>
Array<T, 1> array_of(std::vector<T>&& from) {
  auto* held = new std::vector<T>(std::move(from));
  nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array<T, 1>(held->data(), {held->size()}, owner);
}

// The Python class _core.Columns: owns the column descriptions and keeps the arrays alive.
struct PyColumns {
  Columns view;
  std::vector<Column> col;
  nb::object keep;
  void finish();  // sets view from col and view.n
};

// The Python class _core.Csr.
struct PyCsr {
  Csr view;
  nb::object keep;
};

std::optional<Dtype> known_dtype(const nb::dlpack::dtype& t);
Dtype dtype_of(const nb::dlpack::dtype& t);  // throws nb::type_error for anything else
// The columns of a matrix of any memory order, described in col.
Columns columns_of(const AnyMatrix& a, Dtype t, std::vector<Column>& col);

inline const double* weights_or_null(const std::optional<Doubles>& w, std::size_t n) {
  if (!w) return nullptr;
  if (w->shape(0) != n) throw nb::value_error("weights have another length than the table");
  return w->data();
}

// A new exception of this module, a ValueError; lives as long as the process.
inline PyObject* new_error(const nb::module_& m, const char* name) {
  const std::string full = std::string(PyModule_GetName(m.ptr())) + "." + name;
  PyObject* error = PyErr_NewException(full.c_str(), PyExc_ValueError, nullptr);
  if (!error) nb::raise_python_error();
  return error;
}

void bind_columns(nb::module_& m);
void bind_statistics(nb::module_& m);
void bind_tables(nb::module_& m);
void bind_scores(nb::module_& m);
void bind_cuts(nb::module_& m);
void bind_kernel(nb::module_& m);
void bind_levels(nb::module_& m);
void bind_words(nb::module_& m);
void bind_level_list(nb::module_& m);
void bind_row(nb::module_& m);
void bind_estimates(nb::module_& m);
void bind_objects(nb::module_& m);
void bind_arrow(nb::module_& m);
void bind_discriminant(nb::module_& m);
void bind_discriminant_parts(nb::module_& m);
void bind_fast_matrix(nb::module_& m);
void bind_joint_counts(nb::module_& m);
void bind_families(nb::module_& m);
void bind_averaged(nb::module_& m);
void bind_leave_one_out(nb::module_& m);
void bind_chains(nb::module_& m);
void bind_ensemble_choices(nb::module_& m);
void bind_boosting(nb::module_& m);
void bind_neighbors(nb::module_& m);
void bind_level_scores(nb::module_& m);

}  // namespace tb::bind
