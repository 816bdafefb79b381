#include "core/encode/numpy_codes.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "core/encode/lookup.hpp"
#include "core/runtime/threads.hpp"
#include "core/encode/utf8.hpp"
#include "kernels/known_codes.hpp"

namespace tb {
namespace {

std::uint32_t character(const FixedTexts& t, const char* row, std::size_t k) {
  std::uint32_t c;
  std::memcpy(&c, row + 4 * k, 4);
  return t.unit == FixedTexts::ucs4_swapped ? __builtin_bswap32(c) : c;
}

// The row as UTF-8, without the NULs at its end.
std::vector<char> utf8_of(const FixedTexts& t, const char* row, std::size_t i) {
  std::size_t len = t.width;
  if (t.unit == FixedTexts::bytes) {
    while (len > 0 && row[len - 1] == 0) --len;
    return {row, row + len};
  }
  while (len > 0 && character(t, row, len - 1) == 0) --len;
  std::vector<char> out(4 * len);
  char* end = out.data();
  for (std::size_t k = 0; k < len; ++k) {
    end = put_utf8(character(t, row, k), end);
    if (end == nullptr) throw BadRow{"the text holds half of a surrogate pair or no character at all", i};
  }
  out.resize(static_cast<std::size_t>(end - out.data()));
  return out;
}

template <class T>
Codes encode_numbers(const Column& column, std::size_t rows, Known& levels, bool grow, std::size_t col) {
  Codes out(rows, levels.size());
  try {
    out.fill(0, rows, [&](std::size_t i) {
      T x;
      std::memcpy(&x, column.data + static_cast<std::ptrdiff_t>(i) * column.stride, sizeof(T));
      return number_code(levels, grow, x, i);
    });
  } catch (BadValue& e) {
    throw BadValue{e.kind, e.row, col, e.value};
  }
  return out;
}

// All numbers that a column has mostly show in its first rows. The others are then looked up by all threads at once,
// into the codes that the first rows gave; from the first block with a number that has none, it goes on row by row.
constexpr std::size_t kHead = 1 << 14, kBlock = 1 << 16;

// Rows from `head` on, of which the numbers have codes in code_of. Returns how many rows have theirs.
template <class T>
std::size_t look_up(const Column& column, std::size_t head, std::size_t rows, const std::vector<std::int32_t>& code_of,
                    std::int8_t* out) {
  std::int8_t of[256];
  for (std::size_t v = 0; v < 256; ++v)
    of[v] = static_cast<std::int8_t>(v < code_of.size() ? code_of[v] : kNotYet);  // bytes: all codes are below 127
  std::vector<char> fine((rows - head + kBlock - 1) / kBlock);
  parallel_for(fine.size(), [&](std::size_t b, int) {
    const std::size_t from = head + b * kBlock, count = std::min(kBlock, rows - from);
    const KnownCodes task{column.data + from * sizeof(T), column.dtype, count, of};
    fine[b] = TB_CALL(known_codes, task, out + from);
  });
  const auto known = std::find(fine.begin(), fine.end(), 0) - fine.begin();
  return std::min(rows, head + static_cast<std::size_t>(known) * kBlock);
}

template <class T>
Appearances number(const Column& column, const Column* there, std::size_t rows, std::size_t size) {
  Appearances out;
  out.codes = Codes(rows, 0);
  std::vector<std::int32_t> code_of(size, kNotYet);
  const auto code = [&](std::size_t i) {
    if (there && there->data[static_cast<std::ptrdiff_t>(i) * there->stride] == 0) return kMissing;
    T v;
    std::memcpy(&v, column.data + static_cast<std::ptrdiff_t>(i) * column.stride, sizeof v);
    if (v >= size) throw std::invalid_argument("a number is too large");
    if (code_of[v] == kNotYet) {
      code_of[v] = static_cast<std::int32_t>(out.first.size());
      out.first.push_back(static_cast<std::int64_t>(i));
    }
    return code_of[v];
  };
  const bool plain = !there && column.stride == static_cast<std::ptrdiff_t>(sizeof(T));
  const auto fill = [&](std::size_t first, std::size_t end) {
    out.codes.fill_blocks(first, end - first, [&](std::size_t from, std::size_t count, std::int32_t* block) {
      if (plain && all_known<T>(column.data + (first + from) * sizeof(T), count, code_of, block)) return;
      for (std::size_t i = 0; i < count; ++i) block[i] = code(first + from + i);
    });
  };
  std::size_t done = std::min(rows, kHead);
  fill(0, done);
  if (plain && done < rows && out.codes.bytes()) done = look_up<T>(column, done, rows, code_of, out.codes.bytes());
  fill(done, rows);
  return out;
}

}  // namespace

// Rows of equal texts are equal bytes, padding included. So the rows go through a dictionary of their bytes
// as they are, and only the first of each kind becomes UTF-8 and is looked up among the levels.
Codes encode(const FixedTexts& t, Known& levels, bool grow) {
  const std::size_t bytes = t.unit == FixedTexts::bytes ? t.width : 4 * t.width;
  const bool dense = t.stride == static_cast<std::ptrdiff_t>(bytes);
  Dictionary kinds;
  std::vector<std::int32_t> code_of;  // by kind
  Codes out(t.rows, levels.size());
  out.fill(0, t.rows, [&](std::size_t i) {
    const char* row = t.data + static_cast<std::ptrdiff_t>(i) * t.stride;
    const bool wide = dense && (t.rows - i) * bytes >= kShort;  // 16 bytes may be read
    const std::int32_t found =
        bytes <= kShort && wide ? kinds.find(word_of_text(row, bytes)) : kinds.find_text(row, bytes);
    if (found >= 0) return code_of[static_cast<std::size_t>(found)];
    const std::vector<char> text = utf8_of(t, row, i);
    kinds.add_text(row, bytes);
    code_of.push_back(text_code(levels, grow, text.data(), text.size(), i));
    return code_of.back();
  });
  return out;
}

Codes encode(const Column& column, std::size_t rows, Known& levels, bool grow, std::size_t col) {
  switch (column.dtype) {
    case Dtype::f64:
      return encode_numbers<double>(column, rows, levels, grow, col);
    case Dtype::f32:
      return encode_numbers<float>(column, rows, levels, grow, col);
    case Dtype::i8:
      return encode_numbers<std::int8_t>(column, rows, levels, grow, col);
    case Dtype::i16:
      return encode_numbers<std::int16_t>(column, rows, levels, grow, col);
    case Dtype::i32:
      return encode_numbers<std::int32_t>(column, rows, levels, grow, col);
    case Dtype::i64:
      return encode_numbers<std::int64_t>(column, rows, levels, grow, col);
    case Dtype::u8:
    case Dtype::b1:
      return encode_numbers<std::uint8_t>(column, rows, levels, grow, col);
    case Dtype::u16:
      return encode_numbers<std::uint16_t>(column, rows, levels, grow, col);
    case Dtype::u32:
      return encode_numbers<std::uint32_t>(column, rows, levels, grow, col);
    default:
      return encode_numbers<std::uint64_t>(column, rows, levels, grow, col);
  }
}

Appearances by_appearance(const Column& column, const Column* there, std::size_t rows, std::size_t size) {
  switch (column.dtype) {
    case Dtype::u8:
      return number<std::uint8_t>(column, there, rows, size);
    case Dtype::u16:
      return number<std::uint16_t>(column, there, rows, size);
    case Dtype::u32:
      return number<std::uint32_t>(column, there, rows, size);
    default:
      throw std::invalid_argument("codes are of 8, 16 or 32 bits without a sign");
  }
}

}  // namespace tb
