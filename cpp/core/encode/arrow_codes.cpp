#include "core/encode/arrow_codes.hpp"

#include <algorithm>
#include <cstring>
#include <exception>

#include "core/encode/arrow_values.hpp"
#include "core/encode/text_memo.hpp"
#include "core/runtime/threads.hpp"

namespace tb::arrow {
namespace {

// The row of an error counts from the chunk's first row until it passes here.
template <class F>
void in_chunk(std::size_t first, std::size_t col, F&& f) {
  try {
    f();
  } catch (BadRow& e) {
    throw BadRow{e.why, first + e.row, col};
  } catch (BadValue& e) {
    throw BadValue{e.kind, first + e.row, col, e.value};
  }
}

// Codes of texts that the memo holds, from the first on; how many these are. By itself, so that all it needs stays in
// registers: a call that might change a reader or the levels would have them fetched anew for each text.
template <bool nulls, class Reader>
std::size_t codes_again(Reader reader, Validity valid, const TextMemo& memo, std::size_t from, std::size_t rows,
                        std::int32_t* codes) {
  const TextMemo::Entries entries = memo.entries();
  for (std::size_t i = 0; i < rows; ++i) {
    if (nulls && !valid(from + i)) {
      codes[i] = kMissing;
      continue;
    }
    Word w;
    if (!reader.key(from + i, w)) [[unlikely]]
      return i;
    const TextMemo::Entry& e = entries.at(w);
    if (!e.holds(w)) [[unlikely]]
      return i;
    codes[i] = e.code;
  }
  return rows;
}

// Of a reader of texts, most of which have come before.
template <class Reader>
void encode_again(const Reader& reader, const Validity& valid, Known& levels, bool grow, Codes& out, std::size_t first,
                  std::size_t count) {
  TextMemo memo;
  out.fill_blocks(first, count, [&](std::size_t from, std::size_t rows, std::int32_t* codes) {
    for (std::size_t i = 0;; ++i) {
      i += valid.any() ? codes_again<true>(reader, valid, memo, from + i, rows - i, codes + i)
                       : codes_again<false>(reader, valid, memo, from + i, rows - i, codes + i);
      if (i == rows) return;
      codes[i] = reader.code(levels, grow, from + i);
      Word w;
      if (codes[i] >= 0 && reader.key(from + i, w)) memo.put(w, codes[i]);  // one that is not known now may be later
    }
  });
}

void encode_plain(const Array& chunk, const Type& type, Known& levels, bool grow, Codes& out, std::size_t first) {
  const auto rows = static_cast<std::size_t>(chunk.length);
  if (type.layout == Layout::null) return out.fill(first, rows, [](std::size_t) { return kMissing; });
  const Validity valid(chunk);
  with_reader(chunk, type, [&](const auto& reader) {
    const auto fill = [&](auto&& code) {
      if (valid.any())
        out.fill(first, rows, [&](std::size_t i) { return valid(i) ? code(i) : kMissing; });
      else
        out.fill(first, rows, code);
    };
    Word w;
    if constexpr (requires { reader.key(0, w); }) {
      if (rows >= TextMemo::kManyRows) return encode_again(reader, valid, levels, grow, out, first, rows);
    }
    fill([&](std::size_t i) { return reader.code(levels, grow, i); });
  });
}

// A dictionary's value that cannot be a level (not UTF-8, infinite) is an error only in a row that holds it.
std::int32_t code_or_not_yet(const auto& reader, Known& levels, std::size_t i) {
  try {
    return reader.code(levels, true, i);
  } catch (const BadRow&) {
    return kNotYet;
  } catch (const BadValue&) {
    return kNotYet;
  }
}

// Adds the dictionary's values to the levels in their order, and their codes to `codes`.
void declare_values(const Array& values, const Type& type, Known& levels, std::vector<std::int32_t>& codes) {
  if (type.layout == Layout::null) return;
  const Validity valid(values);
  with_reader(values, type, [&](const auto& reader) {
    for (std::size_t v = 0; v < static_cast<std::size_t>(values.length); ++v) {
      const std::int32_t code = valid(v) ? code_or_not_yet(reader, levels, v) : kMissing;
      if (code >= 0) codes.push_back(code);
    }
  });
}

// code_of: by the dictionary's own index.
void encode_indices(const Array& chunk, const Type& type, Known& levels, bool grow, std::vector<std::int32_t>& code_of,
                    Codes& out, std::size_t first) {
  const Array& values = *chunk.dictionary;
  const Validity valid(chunk), valid_value(values);
  // Called once for each value of the dictionary that occurs.
  const auto find = [&](std::size_t v, std::size_t i) {
    if (type.layout == Layout::null || !valid_value(v)) return code_of[v] = kMissing;
    try {
      with_reader(values, type, [&](const auto& reader) { code_of[v] = reader.code(levels, grow, v); });
    } catch (BadRow& e) {
      throw BadRow{e.why, i};
    } catch (BadValue& e) {
      throw BadValue{e.kind, i, 0, e.value};
    }
    return code_of[v];
  };
  with_integer_reader(chunk, type.index, [&](const auto& index) {
    const auto code = [&](std::size_t i) {
      if (!valid(i)) return kMissing;
      const auto v = static_cast<std::size_t>(index.value(i));  // a negative index becomes a huge one
      if (v >= code_of.size()) throw BadRow{kOutside, i};
      return code_of[v] == kNotYet ? find(v, i) : code_of[v];
    };
    using T = decltype(index.value(0));
    out.fill_blocks(first, static_cast<std::size_t>(chunk.length),
                    [&](std::size_t from, std::size_t rows, std::int32_t* block) {
                      if (!valid.any() && all_known<T>(index.data + from * sizeof(T), rows, code_of, block)) return;
                      for (std::size_t i = 0; i < rows; ++i) block[i] = code(from + i);
                    });
  });
}

// Chunks mostly share one dictionary: the same buffers.
bool same_values(const Array& a, const Array& b) {
  return a.length == b.length && a.offset == b.offset && a.n_buffers == b.n_buffers &&
         (a.length == 0 || std::equal(a.buffers, a.buffers + a.n_buffers, b.buffers));
}

Encoding encode_dictionary(const Column& column, Known& levels, bool grow, bool declare, std::size_t col) {
  Encoding out;
  const Array* last = nullptr;
  for (const auto& chunk : column.chunks) {
    if (!declare || !grow) break;
    if (last == nullptr || !same_values(*last, *chunk->dictionary)) {
      declare_values(*chunk->dictionary, column.type, levels, out.declared);
    }
    last = chunk->dictionary;
  }
  out.codes = Codes(column.rows, levels.size());
  std::vector<std::int32_t> code_of;
  std::size_t first = 0;
  last = nullptr;
  for (const auto& chunk : column.chunks) {
    if (last == nullptr || !same_values(*last, *chunk->dictionary)) {
      code_of.assign(static_cast<std::size_t>(chunk->dictionary->length), kNotYet);
    }
    last = chunk->dictionary;
    in_chunk(first, col, [&] { encode_indices(*chunk, column.type, levels, grow, code_of, out.codes, first); });
    first += static_cast<std::size_t>(chunk->length);
  }
  return out;
}

constexpr std::size_t kFewCells = 32768;  // less is not worth waking threads

}  // namespace

Encoding encode(const Column& column, Known& levels, bool grow, bool declare, std::size_t col) {
  if (column.type.dictionary) return encode_dictionary(column, levels, grow, declare, col);
  Encoding out;
  out.codes = Codes(column.rows, levels.size());
  std::size_t first = 0;
  for (const auto& chunk : column.chunks) {
    in_chunk(first, col, [&] { encode_plain(*chunk, column.type, levels, grow, out.codes, first); });
    first += static_cast<std::size_t>(chunk->length);
  }
  return out;
}

std::vector<Encoding> encode(const std::vector<Column>& columns, std::vector<Known>& levels, bool grow,
                             const std::vector<bool>& declare) {
  std::vector<Encoding> out(columns.size());
  std::vector<std::exception_ptr> error(columns.size());
  const auto one = [&](std::size_t j, int) {
    try {
      out[j] = encode(columns[j], levels[j], grow, declare[j], j);
    } catch (...) {
      error[j] = std::current_exception();
    }
  };
  std::size_t cells = 0;
  for (const Column& c : columns) cells += c.rows;
  if (cells < kFewCells) {
    for (std::size_t j = 0; j < columns.size(); ++j) one(j, 0);
  } else {
    parallel_for(columns.size(), one);
  }
  for (const auto& e : error) {
    if (e) std::rethrow_exception(e);
  }
  return out;
}

}  // namespace tb::arrow
