// Rows or columns in JSON → columns. A fast way for what is plain: {"rows": [{...}, ...]} or {"columns": {name: [...]}}
// and nothing beside, with known names, each once in a row, and one type in a column. Whatever else it is, right or
// wrong, is not read here: the caller takes the general path, which has the words for it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tb {

// What Arrow would make of the values: whole numbers with a fraction among them are reals. Null fits all.
struct JsonColumn {
  enum Kind { nothing, truths, integers, reals, texts };
  Kind kind = nothing;
  std::size_t rows = 0, nulls = 0;
  std::vector<std::uint8_t> valid;  // bits, as in Arrow
  std::vector<std::uint8_t> truth;  // one byte each
  std::vector<std::int64_t> integer;
  std::vector<double> real;
  std::vector<std::int32_t> offset;  // of the texts: rows + 1
  std::vector<char> text;
};

struct JsonTable {
  std::size_t rows = 0;
  std::vector<JsonColumn> columns;  // one for each name; of those that were not there rows = 0
};

class JsonReader {
 public:
  explicit JsonReader(const std::vector<std::string>& names);
  // Nothing: it is not plain, has no row, or more than `most`.
  std::optional<JsonTable> read(std::string_view body, std::size_t most) const;

 private:
  std::unordered_map<std::string, std::size_t> place_;
};

}  // namespace tb
