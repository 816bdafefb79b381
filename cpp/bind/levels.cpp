// Categories of NumPy arrays and Python objects to codes.
#include "bind/levels.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "core/lookup.hpp"
#include "core/plain_codes.hpp"

namespace tb::bind {
namespace {

std::string level_name(std::size_t i) { return "level " + std::to_string(i); }

// The word of a Python number; false if it is none.
bool word_of_python(nb::handle x, Word& w) {
  if (PyFloat_Check(x.ptr())) {
    w = word_of(PyFloat_AsDouble(x.ptr()));
    return true;
  }
  if (!PyIndex_Check(x.ptr())) return false;
  const nb::object whole = nb::steal(PyNumber_Index(x.ptr()));
  if (!whole.is_valid()) throw nb::python_error();
  int overflow = 0;
  const long long small = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
  if (overflow == 0) {
    w = word_of(static_cast<std::int64_t>(small));
    return true;
  }
  const unsigned long long large = PyLong_AsUnsignedLongLong(whole.ptr());
  if (PyErr_Occurred() != nullptr) throw nb::python_error();  // an integer of more than 64 bits
  w = word_of(static_cast<std::uint64_t>(large));
  return true;
}

std::int32_t add_level(Dictionary& levels, nb::handle level, std::size_t i) {
  if (PyUnicode_Check(level.ptr())) {
    Py_ssize_t len = 0;
    const char* p = PyUnicode_AsUTF8AndSize(level.ptr(), &len);
    if (p == nullptr) throw nb::python_error();  // half of a surrogate pair
    return levels.add_text(p, static_cast<std::size_t>(len));
  }
  Word w;
  if (!word_of_python(level, w)) {
    const std::string what = level_name(i) + " is a " + nb::type_name(level.type()).c_str() + ", not a str or a number";
    throw nb::type_error(what.c_str());
  }
  if (PyFloat_Check(level.ptr()) && std::isnan(PyFloat_AsDouble(level.ptr()))) {
    throw nb::value_error((level_name(i) + " is NaN, which means missing").c_str());
  }
  return levels.add(w);
}

double real_of(const Word& w) {
  if (w.tag == kInteger) return static_cast<double>(static_cast<std::int64_t>(w.a));
  if (w.tag == kUnsigned) return static_cast<double>(w.a);
  double x;
  std::memcpy(&x, &w.a, 8);
  return x;
}

nb::object python_number(const Word& w, NumberKind kind) {
  if (kind == NumberKind::boolean) return nb::bool_(w.a != 0);
  if (kind == NumberKind::real) return nb::float_(real_of(w));
  return w.tag == kUnsigned ? nb::object(nb::int_(w.a)) : nb::object(nb::int_(static_cast<std::int64_t>(w.a)));
}

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

nb::tuple fixed_codes(nb::handle values, const nb::sequence& known, bool grow) {
  const Buffer array(values);
  const FixedTexts texts = texts_of(array);
  Dictionary levels = dictionary_of(known);
  const std::size_t before = levels.size();
  Codes codes;
  {
    const nb::gil_scoped_release free;
    codes = encode(texts, levels, grow);
  }
  return nb::make_tuple(array_of(std::move(codes)), levels_from(levels, before, NumberKind::integer));
}

using AnyLevels = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Dictionary dictionary_of_numbers(const AnyLevels& known) {
  const Dtype dtype = dtype_of(known.dtype());
  const auto add_all = [&](const auto* x) {
    Dictionary levels(known.shape(0));
    for (std::size_t i = 0; i < known.shape(0); ++i) {
      if constexpr (std::is_same_v<decltype(*x), const double&>) {
        if (std::isnan(x[i])) throw nb::value_error((level_name(i) + " is NaN, which means missing").c_str());
      }
      if (levels.add(word_of(x[i])) != static_cast<std::int32_t>(i)) {
        throw nb::value_error((level_name(i) + " is listed twice").c_str());
      }
    }
    return levels;
  };
  switch (dtype) {
    case Dtype::f64:
      return add_all(static_cast<const double*>(known.data()));
    case Dtype::i64:
      return add_all(static_cast<const std::int64_t*>(known.data()));
    case Dtype::u64:
      return add_all(static_cast<const std::uint64_t*>(known.data()));
    default:
      throw nb::type_error("levels must be an array of float64, int64 or uint64");
  }
}

template <class T>
nb::object number_levels(const Dictionary& levels, std::size_t first) {
  auto out = make_array<T, 1>({levels.size() - first});
  for (std::size_t c = first; c < levels.size(); ++c) {
    const Word w = levels.number(c);
    if constexpr (std::is_same_v<T, double>)
      out.data()[c - first] = real_of(w);
    else
      out.data()[c - first] = static_cast<T>(w.a);
  }
  return nb::cast(out);
}

nb::tuple number_codes(const PyColumns& column, const AnyLevels& known, bool grow) {
  if (column.view.d != 1) throw nb::value_error("number_codes takes a table of one column");
  const Column& x = column.view.col[0];
  Dictionary levels = dictionary_of_numbers(known);
  const std::size_t before = levels.size();
  Codes codes;
  {
    const nb::gil_scoped_release free;
    codes = encode(x, column.view.n, levels, grow, 0);
  }
  const bool real = x.dtype == Dtype::f64 || x.dtype == Dtype::f32;
  const nb::object fresh = real                    ? number_levels<double>(levels, before)
                           : x.dtype == Dtype::u64 ? number_levels<std::uint64_t>(levels, before)
                                                   : number_levels<std::int64_t>(levels, before);
  return nb::make_tuple(array_of(std::move(codes)), fresh);
}

}  // namespace

Dictionary dictionary_of(const nb::sequence& known) {
  Dictionary levels(nb::len(known));
  std::size_t i = 0;
  for (const nb::handle level : known) {
    if (add_level(levels, level, i) != static_cast<std::int32_t>(i)) {
      throw nb::value_error((level_name(i) + " is listed twice").c_str());
    }
    ++i;
  }
  return levels;
}

nb::list levels_from(const Dictionary& levels, std::size_t first, NumberKind kind) {
  nb::list out;
  for (std::size_t c = first; c < levels.size(); ++c) {
    if (levels.is_text(c)) {
      const std::string_view text = levels.text(c);
      out.append(nb::str(text.data(), text.size()));
    } else {
      out.append(python_number(levels.number(c), kind));
    }
  }
  return out;
}

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
  m.def("fixed_codes", &fixed_codes, nb::arg("values"), nb::arg("levels"), nb::arg("grow"),
        "Codes of a NumPy array of 'U' or 'S' type, and the new levels as str.");
  m.def("number_codes", &number_codes, nb::arg("column"), nb::arg("levels").noconvert(), nb::arg("grow"),
        "Codes of a table of one column, and the new levels: float64, or int64 or uint64 of integers. NaN is missing.");
  bind_objects(m);
  bind_arrow(m);
}

}  // namespace tb::bind
