#include "bind/bind.hpp"

#include "core/encode/integer_range.hpp"

#include <nanobind/stl/vector.h>

#include <tuple>

namespace tb::bind {

std::optional<Dtype> known_dtype(const nb::dlpack::dtype& t) {
  using Code = nb::dlpack::dtype_code;
  if (t.lanes == 1) {
    const auto code = static_cast<Code>(t.code);
    if (code == Code::Float && t.bits == 64) return Dtype::f64;
    if (code == Code::Float && t.bits == 32) return Dtype::f32;
    if (code == Code::Bool && t.bits == 8) return Dtype::b1;
    if (code == Code::Int) {
      if (t.bits == 8) return Dtype::i8;
      if (t.bits == 16) return Dtype::i16;
      if (t.bits == 32) return Dtype::i32;
      if (t.bits == 64) return Dtype::i64;
    }
    if (code == Code::UInt) {
      if (t.bits == 8) return Dtype::u8;
      if (t.bits == 16) return Dtype::u16;
      if (t.bits == 32) return Dtype::u32;
      if (t.bits == 64) return Dtype::u64;
    }
  }
  return std::nullopt;
}

Dtype dtype_of(const nb::dlpack::dtype& t) {
  if (const auto found = known_dtype(t)) return *found;
  throw nb::type_error("a column must be of floats of 4 or 8 bytes, integers or booleans");
}

Columns columns_of(const AnyMatrix& a, Dtype t, std::vector<Column>& col) {
  const auto size = static_cast<std::ptrdiff_t>(item_size(t));
  col.resize(a.shape(1));
  for (std::size_t j = 0; j < col.size(); ++j) {
    col[j] = {static_cast<const char*>(a.data()) + static_cast<std::ptrdiff_t>(j) * a.stride(1) * size,
              a.stride(0) * size, t};
  }
  return {a.shape(0), col.size(), col.data(), !col.empty() && (col.size() == 1 || a.stride(1) == 1)};
}

void PyColumns::finish() {
  view.d = col.size();
  view.col = col.data();
  view.row_major = !col.empty();
  for (std::size_t j = 1; j < col.size() && view.row_major; ++j) {
    view.row_major = col[j].dtype == col[0].dtype && col[j].stride == col[0].stride &&
                     col[j].data == col[0].data + static_cast<std::ptrdiff_t>(j * item_size(col[0].dtype));
  }
}

namespace {

using AnyColumn = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;

void from_matrix(PyColumns* self, const nb::object& matrix) {
  const auto a = nb::cast<AnyMatrix>(matrix, false);
  new (self) PyColumns{};
  self->keep = matrix;
  self->view = columns_of(a, dtype_of(a.dtype()), self->col);
}

void from_list(PyColumns* self, const nb::list& columns) {
  new (self) PyColumns{};
  self->keep = columns;
  for (const nb::handle h : columns) {
    const auto a = nb::cast<AnyColumn>(h, false);
    if (!self->col.empty() && a.shape(0) != self->view.n) throw nb::value_error("columns differ in length");
    self->view.n = a.shape(0);
    const Dtype t = dtype_of(a.dtype());
    self->col.push_back(
        {static_cast<const char*>(a.data()), a.stride(0) * static_cast<std::ptrdiff_t>(item_size(t)), t});
  }
  self->finish();
}

template <class T>
std::pair<const void*, Dtype> flat(const nb::object& o, T&& allowed, const char* what, std::size_t& length) {
  const auto a = nb::cast<nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(o, false);
  length = a.shape(0);
  const Dtype t = dtype_of(a.dtype());
  if (!allowed(t)) throw nb::type_error(what);
  return {a.data(), t};
}

void make_csr(PyCsr* self, const nb::object& value, const nb::object& index, const nb::object& start, std::size_t d) {
  new (self) PyCsr{};
  const auto number = [](Dtype t) {
    return t == Dtype::f64 || t == Dtype::f32 || t == Dtype::i64 || t == Dtype::i32 || t == Dtype::u8;
  };
  const auto integer = [](Dtype t) { return t == Dtype::i32 || t == Dtype::i64; };
  std::size_t values = 0, indices = 0, starts = 0;
  std::tie(self->view.value, self->view.value_type) =
      flat(value, number, "CSR values: float64, float32, int64, int32 or uint8", values);
  std::tie(self->view.index, self->view.index_type) = flat(index, integer, "CSR indices: int32 or int64", indices);
  const auto [pointer, pointer_type] = flat(start, integer, "CSR indptr: int32 or int64", starts);
  if (pointer_type != self->view.index_type) throw nb::type_error("CSR indices and indptr must be of one type");
  if (starts == 0 || values != indices) throw nb::value_error("CSR arrays do not fit together");
  self->view.start = pointer;
  self->view.n = starts - 1;
  self->view.d = d;
  self->keep = nb::make_tuple(value, index, start);
}

}  // namespace

void bind_columns(nb::module_& m) {
  nb::class_<PyColumns>(m, "Columns", "A table as the kernels see it; keeps the arrays alive, copies nothing.")
      .def("__init__", &from_list, nb::arg("columns"), "From a list of 1-D arrays of one length.")
      .def("__init__", &from_matrix, nb::arg("matrix"), "From a 2-D array of any memory order.")
      .def(
          "select",
          [](const PyColumns& self, const std::vector<std::size_t>& which) {
            PyColumns out;
            out.keep = self.keep;
            out.view.n = self.view.n;
            out.col.reserve(which.size());
            for (const std::size_t j : which) {
              if (j >= self.col.size()) throw nb::index_error("no such column");
              out.col.push_back(self.col[j]);
            }
            out.finish();
            return out;
          },
          nb::arg("which"))
      .def_prop_ro("n", [](const PyColumns& self) { return self.view.n; })
      .def_prop_ro("d", [](const PyColumns& self) { return self.view.d; });
  nb::class_<PyCsr>(m, "Csr", "Rows of a compressed sparse matrix; the caller vouches for sorted, valid indices.")
      .def("__init__", &make_csr, nb::arg("data"), nb::arg("indices"), nb::arg("indptr"), nb::arg("d"))
      .def_prop_ro("n", [](const PyCsr& self) { return self.view.n; })
      .def_prop_ro("d", [](const PyCsr& self) { return self.view.d; });
  m.def(
      "integer_range",
      [](const PyColumns& cols) {
        for (const Column& c : cols.col)
          if (c.dtype == Dtype::f64 || c.dtype == Dtype::f32) throw nb::type_error("integers or booleans are wanted");
        const Range r = [&] {
          const GilRelease free;
          return integer_range(cols.view);
        }();
        return nb::make_tuple(r.low, r.high);
      },
      nb::arg("cols"), "The smallest and largest value of a table of integers.");
}

}  // namespace tb::bind
