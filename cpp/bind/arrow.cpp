// Arrow columns: takes the C structs out of their Python capsules and gives them to the core.
#include "core/encode/arrow.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bind/levels.hpp"
#include "core/encode/arrow_codes.hpp"

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

}  // namespace

arrow::Column arrow_column(nb::handle x) {
  const nb::object capsules = capsules_of(x);
  if (is_capsule(capsules, kStream)) {
    return arrow::read(arrow::Owned<arrow::Stream>(contents<arrow::Stream>(capsules, kStream)));
  }
  if (!is_array_pair(capsules)) no_arrow(x);
  auto* schema = contents<arrow::Schema>(capsules[0], "arrow_schema");
  auto* array = contents<arrow::Array>(capsules[1], "arrow_array");
  return arrow::read(arrow::Owned<arrow::Schema>(schema), arrow::Owned<arrow::Array>(array));
}

namespace {

NumberKind kind_of(const arrow::Type& type) {
  if (type.layout == arrow::Layout::bits) return NumberKind::boolean;
  const bool real = type.layout != arrow::Layout::number || type.number == Dtype::f64 || type.number == Dtype::f32;
  return real ? NumberKind::real : NumberKind::integer;
}

nb::object declared_of(const arrow::Encoding& encoding) {
  auto out = make_array<std::int32_t, 1>({encoding.declared.size()});
  std::copy(encoding.declared.begin(), encoding.declared.end(), out.data());
  return nb::cast(out);
}

nb::tuple arrow_codes_many(const nb::list& xs, const nb::list& lists, bool grow, std::vector<bool> declare) {
  const std::size_t d = nb::len(xs);
  if (declare.empty()) declare.resize(d, false);
  if (nb::len(lists) != d || declare.size() != d) throw nb::value_error("one list of levels is needed for each column");
  std::vector<const LevelList*> levels;
  std::vector<Known> known;
  std::vector<arrow::Column> columns;
  for (const nb::handle list : lists) {
    levels.push_back(&level_list(list));
    known.push_back(levels.back()->known());
  }
  for (const nb::handle x : xs) columns.push_back(arrow_column(x));
  std::vector<arrow::Encoding> encodings;
  {
    const GilRelease free;
    const Reading lock(levels);
    encodings = arrow::encode(columns, known, grow, declare);
  }
  nb::list codes, longer, declared;
  for (std::size_t j = 0; j < d; ++j) {
    codes.append(codes_array(std::move(encodings[j].codes)));
    longer.append(grown(lists[j], known[j], kind_of(columns[j].type)));
    declared.append(declared_of(encodings[j]));
  }
  return nb::make_tuple(codes, longer, declared);
}

nb::tuple arrow_codes(nb::handle x, nb::handle list, bool grow, bool declare) {
  nb::list xs, lists;
  xs.append(x);
  lists.append(list);
  const nb::tuple found = arrow_codes_many(xs, lists, grow, {declare});
  return nb::make_tuple(found[0][0], found[1][0], found[2][0]);
}

}  // namespace

void bind_arrow(nb::module_& m) {
  m.def("arrow_codes", &arrow_codes, nb::arg("column").none(), nb::arg("levels"), nb::arg("grow"),
        nb::arg("declare") = false,
        nb::sig("def arrow_codes(column: object, levels: LevelList, grow: bool, declare: bool = False) -> tuple"),
        "(codes, levels, declared): codes of an Arrow column of texts, numbers or a dictionary of these. -1: missing; "
        "-2: no level, when they may not grow. With grow and declare all values of a dictionary column become levels "
        "first, in their order; declared: the codes of those.");
  m.def("arrow_codes_many", &arrow_codes_many, nb::arg("columns"), nb::arg("levels"), nb::arg("grow"),
        nb::arg("declare") = std::vector<bool>{}, "The same for many columns by threads: three lists.");
}

}  // namespace tb::bind
