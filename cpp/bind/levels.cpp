// Categories of NumPy arrays to codes.
#include "bind/levels.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/encode/lookup.hpp"
#include "core/encode/numpy_codes.hpp"

namespace tb::bind {
namespace {

// A view of a NumPy array through the buffer protocol, which knows texts and objects too.
class Buffer {
 public:
  explicit Buffer(nb::handle array) {
    if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_STRIDED_RO | PyBUF_FORMAT) != 0) throw nb::python_error();
    if (view_.ndim != 1) {
      PyBuffer_Release(&view_);
      throw nb::type_error("a column must be an array of one dimension");
    }
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { PyBuffer_Release(&view_); }

  const char* data() const { return static_cast<const char*>(view_.buf); }
  std::size_t rows() const { return static_cast<std::size_t>(view_.shape[0]); }
  std::ptrdiff_t stride() const { return view_.strides[0]; }
  std::size_t item() const { return static_cast<std::size_t>(view_.itemsize); }
  std::string format() const { return view_.format != nullptr ? view_.format : "B"; }

 private:
  Py_buffer view_;
};

// "5w": 5 UCS-4 characters; "5s": 5 bytes; '>' and '<' before it: the byte order.
FixedTexts texts_of(const Buffer& a) {
  const std::string format = a.format();
  FixedTexts t{a.data(), a.stride(), a.rows(), 0, FixedTexts::bytes};
  if (format.ends_with('w')) {
    const char other = std::endian::native == std::endian::little ? '>' : '<';
    t.unit = format[0] == other ? FixedTexts::ucs4_swapped : FixedTexts::ucs4;
    t.width = a.item() / 4;
  } else if (format.ends_with('s')) {
    t.width = a.item();
  } else {
    throw nb::type_error("fixed_codes takes an array of NumPy's 'U' or 'S' type");
  }
  return t;
}

nb::tuple fixed_codes(nb::handle values, nb::handle list, bool grow) {
  const Buffer array(values);
  const FixedTexts texts = texts_of(array);
  const auto& levels = level_list(list);
  Known known = levels.known();
  Codes codes;
  {
    const GilRelease free;
    const Reading lock({&levels});
    codes = encode(texts, known, grow);
  }
  return nb::make_tuple(codes_array(std::move(codes)), grown(list, known, NumberKind::plain));
}

nb::tuple number_codes(const PyColumns& column, nb::handle list, bool grow) {
  if (column.view.d != 1) throw nb::value_error("number_codes takes a table of one column");
  const auto& levels = level_list(list);
  Known known = levels.known();
  Codes codes;
  {
    const GilRelease free;
    const Reading lock({&levels});
    codes = encode(column.view.col[0], column.view.n, known, grow, 0);
  }
  return nb::make_tuple(codes_array(std::move(codes)), grown(list, known, NumberKind::plain));
}

nb::tuple appearance_codes(const PyColumns& column, std::size_t size) {
  const Columns& x = column.view;
  if (x.d != 1 && x.d != 2) throw nb::value_error("appearance_codes takes one column, and one that says what is there");
  if (x.d == 2 && item_size(x.col[1].dtype) != 1) throw nb::value_error("what is there must be truths");
  Appearances found;
  {
    const GilRelease free;
    found = by_appearance(x.col[0], x.d == 2 ? x.col + 1 : nullptr, x.n, size);
  }
  auto first = make_array<std::int64_t, 1>({found.first.size()});
  std::copy(found.first.begin(), found.first.end(), first.data());
  return nb::make_tuple(codes_array(std::move(found.codes)), first);
}

}  // namespace

void bind_levels(nb::module_& m) {
  // BadRow(why, row, col): a value that is no text, or Arrow data that breaks its format.
  static PyObject* bad_row = new_error(m, "BadRow");
  m.attr("BadRow") = nb::borrow(bad_row);
  nb::register_exception_translator(
      [](const std::exception_ptr& p, void*) {
        try {
          std::rethrow_exception(p);
        } catch (const BadRow& e) {
          const nb::tuple args = nb::make_tuple(e.why, e.row, e.col);
          PyErr_SetObject(bad_row, args.ptr());
        } catch (const arrow::Unsupported& e) {
          PyErr_SetString(PyExc_TypeError, e.what.c_str());
        }
      },
      nullptr);
  bind_level_list(m);
  m.def("fixed_codes", &fixed_codes, nb::arg("values"), nb::arg("levels"), nb::arg("grow"),
        nb::sig("def fixed_codes(values: object, levels: LevelList, grow: bool) -> tuple"),
        "(codes, levels) of a NumPy array of 'U' or 'S' type. New levels are str.");
  m.def("number_codes", &number_codes, nb::arg("column"), nb::arg("levels"), nb::arg("grow"),
        nb::sig("def number_codes(column: Columns, levels: LevelList, grow: bool) -> tuple"),
        "(codes, levels) of a table of one column. New levels are int where they are whole, else float. NaN is "
        "missing.");
  m.def("appearance_codes", &appearance_codes, nb::arg("columns"), nb::arg("size"),
        nb::sig("def appearance_codes(columns: Columns, size: int) -> tuple"),
        "(codes, first) of whole numbers below size: numbered as they appear, and the row where each first did. A "
        "second\n"
        "column, if there is one, is 0 where the first is missing.");
  bind_objects(m);
  bind_arrow(m);
}

}  // namespace tb::bind
