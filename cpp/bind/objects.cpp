// Categories that are arbitrary Python objects to codes. The only binding with a loop over rows: objects cannot be
// hashed or compared without the interpreter.
#include <array>
#include <cmath>
#include <cstring>

#include "bind/levels.hpp"
#include "bind/objects.hpp"

namespace tb::bind {
namespace {

bool is_plain(nb::handle x) {
  return PyUnicode_CheckExact(x.ptr()) || PyLong_CheckExact(x.ptr()) || PyBool_Check(x.ptr());
}

bool is_missing_type(nb::handle x) {
  const nb::str name = nb::steal<nb::str>(PyType_GetName(Py_TYPE(x.ptr())));
  return std::strcmp(name.c_str(), "NAType") == 0 || std::strcmp(name.c_str(), "NaTType") == 0;
}

// NaN of any number type, and whatever else does not plainly equal itself.
bool differs_from_itself(nb::handle x) {
  const nb::object differs = nb::steal(PyObject_RichCompare(x.ptr(), x.ptr(), Py_NE));
  if (!differs.is_valid()) throw nb::python_error();
  const int truth = PyObject_IsTrue(differs.ptr());
  if (truth < 0) PyErr_Clear();
  return truth != 0;
}

class ObjectEncoder {
 public:
  ObjectEncoder(const LevelList& list, bool grow) : levels_(list), grow_(grow) {}

  Codes encode(const Objects& values) {
    Codes out(values.rows(), levels_.size());
    out.fill(0, values.rows(), [&](std::size_t i) { return cached_code(values[i], i); });
    return out;
  }

  nb::object grown(nb::handle list) { return levels_.grown(list); }

 private:
  struct Seen {
    nb::object value;  // kept alive, so that no other object can take its address
    std::int32_t code = kUnseen;
  };

  // The same few objects mostly come again and again: their address is enough.
  std::int32_t cached_code(nb::object x, std::size_t row) {
    const auto address = reinterpret_cast<std::uintptr_t>(x.ptr());
    Seen& seen = seen_[(address >> 4 ^ address >> 12) % seen_.size()];
    if (seen.value.is(x)) return seen.code;
    const std::int32_t code = code_of(x, row);
    seen.code = code;
    seen.value = std::move(x);
    return code;
  }

  std::int32_t code_of(const nb::object& x, std::size_t row) {
    if (x.is_none() || (PyFloat_Check(x.ptr()) && std::isnan(PyFloat_AsDouble(x.ptr())))) return kMissing;
    if (!is_plain(x) && is_missing_type(x)) return kMissing;
    if (!is_plain(x)) check_hashable(x, row);
    const std::int32_t code = levels_.find(x);
    if (code >= 0) return code;
    if (!is_plain(x) && differs_from_itself(x)) return kMissing;
    return grow_ ? levels_.add(x) : kUnseen;
  }

  static void check_hashable(const nb::object& x, std::size_t row) {
    if (PyObject_Hash(x.ptr()) != -1) return;
    if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) throw nb::python_error();
    PyErr_Clear();
    const std::string what = "row " + std::to_string(row) + " holds a " + nb::type_name(x.type()).c_str() +
                             ", which is not hashable and so cannot be a category";
    throw nb::type_error(what.c_str());
  }

  LabelReader levels_;
  bool grow_;
  std::array<Seen, 256> seen_;
};

}  // namespace

void bind_objects(nb::module_& m) {
  m.def(
      "object_codes",
      [](nb::handle values, nb::handle list, bool grow) {
        const Objects rows(values);
        ObjectEncoder encoder(level_list(list), grow);
        nb::object codes = codes_array(encoder.encode(rows));
        return nb::make_tuple(codes, encoder.grown(list));
      },
      nb::arg("values"), nb::arg("levels"), nb::arg("grow"),
      nb::sig("def object_codes(values: object, levels: LevelList, grow: bool) -> tuple"),
      "(codes, levels) of an object array, list or tuple of hashable objects. None, NaN, NA and NaT are missing.");
}

}  // namespace tb::bind
