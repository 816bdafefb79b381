// Arrow columns: takes the C structs out of their Python capsules and gives them to the core.
#include "core/arrow.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bind/levels.hpp"
#include "core/arrow_codes.hpp"

namespace tb::bind {
namespace {

constexpr const char* kStream = "arrow_array_stream";

bool is_capsule(nb::handle x, const char* name) { return PyCapsule_IsValid(x.ptr(), name) != 0; }

template <class T>
T* contents(nb::handle capsule, const char* name) {
  auto* p = static_cast<T*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (p == nullptr) throw nb::python_error();
  if (p->release == nullptr) {
    throw nb::value_error("this Arrow capsule has been used before; take a new one from the column");
  }
  return p;
}

bool is_array_pair(nb::handle x) {
  return nb::isinstance<nb::tuple>(x) && nb::len(x) == 2 && is_capsule(x[0], "arrow_schema") &&
         is_capsule(x[1], "arrow_array");
}

[[noreturn]] void no_arrow(nb::handle x) {
  const std::string what =
      std::string(
          "expected an Arrow column (an object with __arrow_c_stream__ or __arrow_c_array__, or what they "
          "return), got ") +
      nb::type_name(x.type()).c_str();
  throw nb::type_error(what.c_str());
}

// What the column itself hands out, if x is not that already.
nb::object capsules_of(nb::handle x) {
  if (is_capsule(x, kStream) || is_capsule(x, "arrow_schema") || is_array_pair(x)) return nb::borrow(x);
  if (nb::hasattr(x, "__arrow_c_stream__")) return x.attr("__arrow_c_stream__")();
  if (nb::hasattr(x, "__arrow_c_array__")) return x.attr("__arrow_c_array__")();
  no_arrow(x);
}

arrow::Column column_of(nb::handle x) {
  const nb::object capsules = capsules_of(x);
  if (is_capsule(capsules, kStream)) {
    return arrow::read(arrow::Owned<arrow::Stream>(contents<arrow::Stream>(capsules, kStream)));
  }
  if (!is_array_pair(capsules)) no_arrow(x);
  auto* schema = contents<arrow::Schema>(capsules[0], "arrow_schema");
  auto* array = contents<arrow::Array>(capsules[1], "arrow_array");
  return arrow::read(arrow::Owned<arrow::Schema>(schema), arrow::Owned<arrow::Array>(array));
}

NumberKind kind_of(const arrow::Type& type) {
  if (type.layout == arrow::Layout::bits) return NumberKind::boolean;
  const bool real = type.layout != arrow::Layout::number || type.number == Dtype::f64 || type.number == Dtype::f32;
  return real ? NumberKind::real : NumberKind::integer;
}

struct Result {
  nb::object codes, fresh, declared;
};

Result result_of(arrow::Encoding& encoding, const Dictionary& levels, std::size_t before, NumberKind kind) {
  return {array_of(std::move(encoding.codes)), levels_from(levels, before, kind),
          encoding.declared ? nb::object(levels_from(*encoding.declared, 0, kind)) : nb::none()};
}

nb::tuple arrow_codes(nb::handle x, const nb::sequence& known, bool grow, bool declare) {
  Dictionary levels = dictionary_of(known);
  const std::size_t before = levels.size();
  const arrow::Column column = column_of(x);
  arrow::Encoding encoding;
  {
    const nb::gil_scoped_release free;
    encoding = arrow::encode(column, levels, grow, declare, 0);
  }
  const Result r = result_of(encoding, levels, before, kind_of(column.type));
  return nb::make_tuple(r.codes, r.fresh, r.declared);
}

nb::tuple arrow_codes_many(const nb::sequence& xs, const nb::sequence& known, bool grow, std::vector<bool> declare) {
  const std::size_t d = nb::len(xs);
  if (declare.empty()) declare.resize(d, false);
  if (nb::len(known) != d || declare.size() != d) throw nb::value_error("one list of levels is needed for each column");
  std::vector<Dictionary> levels;
  std::vector<std::size_t> before;
  std::vector<arrow::Column> columns;
  for (const nb::handle list : known) {
    levels.push_back(dictionary_of(nb::cast<nb::sequence>(list)));
    before.push_back(levels.back().size());
  }
  for (const nb::handle x : xs) columns.push_back(column_of(x));
  std::vector<arrow::Encoding> encodings;
  {
    const nb::gil_scoped_release free;
    encodings = arrow::encode(columns, levels, grow, declare);
  }
  nb::list codes, fresh, declared;
  for (std::size_t j = 0; j < d; ++j) {
    const Result r = result_of(encodings[j], levels[j], before[j], kind_of(columns[j].type));
    codes.append(r.codes);
    fresh.append(r.fresh);
    declared.append(r.declared);
  }
  return nb::make_tuple(codes, fresh, declared);
}

}  // namespace

void bind_arrow(nb::module_& m) {
  m.def("arrow_codes", &arrow_codes, nb::arg("column").none(), nb::arg("levels"), nb::arg("grow"),
        nb::arg("declare") = false,
        "(codes, new levels, declared): codes of an Arrow column of texts, numbers or a dictionary of these. -1: "
        "missing; -2: no level, when the levels may not grow. declared: all values of a dictionary column, else None. "
        "With declare these become levels first, in their order.");
  m.def("arrow_codes_many", &arrow_codes_many, nb::arg("columns"), nb::arg("levels"), nb::arg("grow"),
        nb::arg("declare") = std::vector<bool>{}, "The same for many columns by threads: three lists.");
}

}  // namespace tb::bind
