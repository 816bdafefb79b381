// Rows in JSON as the buffers of Arrow columns: read without the GIL, handed over without a copy.
#include "core/encode/json_table.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "bind/bind.hpp"

namespace tb::bind {
namespace {

nb::object bytes_of(std::vector<char>&& from) {
  auto* held = new std::vector<char>(std::move(from));
  nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<char>*>(p); });
  auto* data = reinterpret_cast<std::uint8_t*>(held->data());
  return nb::cast(nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>(data, {held->size()}, owner));
}

nb::object values_of(JsonColumn& c) {
  switch (c.kind) {
    case JsonColumn::truths:
      return nb::cast(array_of(std::move(c.truth)));
    case JsonColumn::integers:
      return nb::cast(array_of(std::move(c.integer)));
    case JsonColumn::reals:
      return nb::cast(array_of(std::move(c.real)));
    case JsonColumn::texts:
      return bytes_of(std::move(c.text));
    case JsonColumn::nothing:
      break;
  }
  return nb::none();
}

nb::object read(const JsonReader& reader, const nb::bytes& body, std::size_t most) {
  const std::string_view text(body.c_str(), body.size());
  std::optional<JsonTable> found;
  {
    const GilRelease free;
    found = reader.read(text, most);
  }
  if (!found) return nb::none();
  static constexpr const char* kinds[] = {"nothing", "truths", "integers", "reals", "texts"};
  nb::list columns;
  for (std::size_t k = 0; k < found->columns.size(); ++k) {
    JsonColumn& c = found->columns[k];
    if (c.rows == 0) continue;
    const nb::object offsets = c.kind == JsonColumn::texts ? nb::cast(array_of(std::move(c.offset))) : nb::none();
    const nb::object values = values_of(c);
    columns.append(nb::make_tuple(k, kinds[c.kind], c.nulls, nb::cast(array_of(std::move(c.valid))), offsets, values));
  }
  return nb::make_tuple(found->rows, columns);
}

}  // namespace

void bind_json(nb::module_& m) {
  nb::class_<JsonReader>(m, "JsonReader", "Reads rows in JSON as columns, if they are plain.")
      .def(nb::init<const std::vector<std::string>&>(), nb::arg("names"))
      .def("read", &read, nb::arg("body"), nb::arg("most"),
           nb::sig("def read(self, body: bytes, most: int) -> tuple[int, list[tuple[int, str, int, object, object, "
                   "object]]] | None"),
           "The number of rows, and of each column that is there: its place among the names, what its values are "
           "(nothing, truths, integers, reals, texts), how many are null, and arrays: bits that say which are not, the "
           "offsets of texts, the values. None: the body is not {\"rows\": [{...}]} or {\"columns\": {name: [...]}} "
           "with "
           "these names, each once, and one type in a column, or it has no row or more than `most`.");
}

}  // namespace tb::bind
