#include "core/encode/arrow_texts.hpp"

#include "core/encode/arrow_values.hpp"

namespace tb::arrow {
namespace {

std::vector<TextRef> plain(const Array& chunk, Layout layout) {
  const auto rows = static_cast<std::size_t>(chunk.length);
  std::vector<TextRef> out(rows);
  const Validity valid(chunk);
  const auto fill = [&](const auto& reader) {
    for (std::size_t i = 0; i < rows; ++i) {
      if (valid(i)) out[i] = reader.text(i);
    }
  };
  if (layout == Layout::text32) fill(Texts<std::int32_t>(chunk));
  if (layout == Layout::text64) fill(Texts<std::int64_t>(chunk));
  if (layout == Layout::view) fill(Views(chunk));
  return out;  // of Layout::null all are missing
}

std::vector<TextRef> by_index(const Array& chunk, const Type& type) {
  const std::vector<TextRef> values = plain(*chunk.dictionary, type.layout);
  const auto rows = static_cast<std::size_t>(chunk.length);
  std::vector<TextRef> out(rows);
  const Validity valid(chunk);
  with_integer_reader(chunk, type.index, [&](const auto& reader) {
    for (std::size_t i = 0; i < rows; ++i) {
      if (!valid(i)) continue;
      const auto at = static_cast<std::uint64_t>(reader.value(i));  // below 0: beyond all
      if (at >= values.size()) throw BadRow{kOutside, i};
      out[i] = values[at];
    }
  });
  return out;
}

}  // namespace

std::vector<TextRef> texts_of(const Column& column) {
  const Type& type = column.type;
  if (!type.is_text() && type.layout != Layout::null) throw Unsupported{describe(type) + ", where texts are wanted"};
  std::vector<TextRef> out;
  for (const Owned<Array>& chunk : column.chunks) {
    try {
      std::vector<TextRef> found = type.dictionary ? by_index(*chunk, type) : plain(*chunk, type.layout);
      if (out.empty()) {
        out = std::move(found);  // most columns are one piece: nothing lies here twice
      } else {
        out.insert(out.end(), found.begin(), found.end());
      }
    } catch (const BadRow& e) {
      throw BadRow{e.why, out.size() + e.row};
    }
  }
  return out;
}

}  // namespace tb::arrow
