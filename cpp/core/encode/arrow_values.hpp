// One chunk of an Arrow column, value by value: readers that give the code of value i in a dictionary
// (for categories) or the value as a double (for numbers). i counts from the chunk's offset.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/encode/arrow.hpp"
#include "core/encode/lookup.hpp"
#include "core/text/texts.hpp"

namespace tb::arrow {

template <class T>
T load(const void* base, std::size_t i) {  // Arrow advises alignment but does not promise it
  T x;
  std::memcpy(&x, static_cast<const char*>(base) + i * sizeof(T), sizeof(T));
  return x;
}

// Of a chunk whose values lie in its second buffer, `size` bytes each.
inline const char* first_value(const Array& a, std::size_t size) {
  return a.length == 0 ? nullptr : static_cast<const char*>(a.buffers[1]) + static_cast<std::size_t>(a.offset) * size;
}

inline bool bit(const void* bits, std::size_t i) {
  return (static_cast<const unsigned char*>(bits)[i >> 3] >> (i & 7)) & 1;
}

class Validity {
 public:
  explicit Validity(const Array& a)
      : bits_(a.length > 0 && a.null_count != 0 && a.n_buffers > 0 ? a.buffers[0] : nullptr),
        offset_(static_cast<std::size_t>(a.offset)) {}
  bool any() const { return bits_ != nullptr; }
  bool operator()(std::size_t i) const { return bits_ == nullptr || bit(bits_, offset_ + i); }

 private:
  const void* bits_;
  std::size_t offset_;
};

// ---- texts

template <class Offset>
class Texts {
 public:
  explicit Texts(const Array& a) {
    if (a.length == 0) return;
    start_ = first_value(a, sizeof(Offset));
    bytes_ = static_cast<const char*>(a.buffers[2]);
    const auto end = load<Offset>(start_, static_cast<std::size_t>(a.length));
    size_ = bytes_ == nullptr || end < 0 ? 0 : static_cast<std::uint64_t>(end);
    safe_ = size_ < kShort ? 0 : size_ - kShort + 1;
  }
  TB_INLINE std::int32_t code(Known& levels, bool grow, std::size_t i) const {
    const auto from = static_cast<std::uint64_t>(load<Offset>(start_, i));
    const auto len = static_cast<std::uint64_t>(load<Offset>(start_, i + 1)) - from;
    if (len > kShort || from >= safe_) [[unlikely]]
      return long_or_last(levels, grow, i, from, len);
    const std::int32_t code = levels.find(word_of_text(bytes_ + from, len));
    return code >= 0 || !grow ? code : new_text(levels, bytes_ + from, len, i);
  }
  // What tells a text from all others, if that is a word; false if not.
  TB_INLINE bool key(std::size_t i, Word& w) const {
    const auto from = static_cast<std::uint64_t>(load<Offset>(start_, i));
    const auto len = static_cast<std::uint64_t>(load<Offset>(start_, i + 1)) - from;
    if (len > kShort || from >= safe_) [[unlikely]]
      return false;
    w = word_of_text(bytes_ + from, len);
    return true;
  }
  TextRef text(std::size_t i) const {
    const auto from = static_cast<std::uint64_t>(load<Offset>(start_, i));
    const auto len = static_cast<std::uint64_t>(load<Offset>(start_, i + 1)) - from;
    if (from > size_ || len > size_ - from) throw BadRow{kOutside, i};
    return {len == 0 ? "" : bytes_ + from, len, TextRef::utf8};
  }

 private:
  [[gnu::noinline]] std::int32_t long_or_last(Known& levels, bool grow, std::size_t i, std::uint64_t from,
                                              std::uint64_t len) const {
    if (from > size_ || len > size_ - from) throw BadRow{kOutside, i};
    return text_code(levels, grow, bytes_ + from, len, i);
  }

  const char* start_ = nullptr;
  const char* bytes_ = nullptr;
  std::uint64_t size_ = 0;
  std::uint64_t safe_ = 0;  // before this place, 16 bytes may be read
};

// 16 bytes per text: its length, then up to 12 bytes of it; or 4 bytes of it, a buffer and a place there.
class Views {
 public:
  explicit Views(const Array& a) {
    if (a.length == 0) return;
    views_ = first_value(a, 16);
    buffers_ = a.buffers + 2;
    count_ = static_cast<std::uint64_t>(a.n_buffers - 3);
    sizes_ = a.buffers[a.n_buffers - 1];
  }
  TB_INLINE std::int32_t code(Known& levels, bool grow, std::size_t i) const {
    const char* const view = views_ + i * 16;
    const auto len = load<std::uint32_t>(view, 0);
    if (len > 12) return far(levels, grow, i, view, len);
    const unsigned char* mask = kMask + (kShort - len);
    const std::uint64_t tail = load<std::uint32_t>(view, 3);
    const std::uint64_t b = std::endian::native == std::endian::little ? tail : tail << 32;
    const std::int32_t code = levels.find({load_word(view + 4) & load_word(mask), b & load_word(mask + 8), len});
    return code >= 0 || !grow ? code : new_text(levels, view + 4, len, i);
  }
  // A text in the view is known by the view itself. If its bytes past the end are not zeros, it is looked up as a text
  // of its own, and found to be none.
  TB_INLINE bool key(std::size_t i, Word& w) const {
    const char* const view = views_ + i * 16;
    w = {load_word(view), load_word(view + 8), 0};
    return load<std::uint32_t>(view, 0) <= 12;
  }
  TextRef text(std::size_t i) const {
    const char* const view = views_ + i * 16;
    const auto len = load<std::uint32_t>(view, 0);
    return {len > 12 ? place(i, view, len) : view + 4, len, TextRef::utf8};
  }

 private:
  [[gnu::noinline]] std::int32_t far(Known& levels, bool grow, std::size_t i, const char* view,
                                     std::uint64_t len) const {
    return text_code(levels, grow, place(i, view, len), len, i);
  }
  const char* place(std::size_t i, const char* view, std::uint64_t len) const {
    const auto buffer = load<std::uint32_t>(view + 8, 0);
    const std::uint64_t from = load<std::uint32_t>(view + 12, 0);
    if (buffer >= count_ || sizes_ == nullptr) throw BadRow{kOutside, i};
    const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(0, load<std::int64_t>(sizes_, buffer)));
    if (from > size || len > size - from) throw BadRow{kOutside, i};
    return static_cast<const char*>(buffers_[buffer]) + from;
  }

  const char* views_ = nullptr;
  const void** buffers_ = nullptr;
  const void* sizes_ = nullptr;
  std::uint64_t count_ = 0;
};

// ---- numbers

// Derived::value(i) is the number.
template <class Derived>
struct NumberReader {
  TB_INLINE std::int32_t code(Known& levels, bool grow, std::size_t i) const {
    return number_code(levels, grow, static_cast<const Derived*>(this)->value(i), i);
  }
};

template <class T>
struct Numbers : NumberReader<Numbers<T>> {
  explicit Numbers(const Array& a) : data(first_value(a, sizeof(T))) {}
  T value(std::size_t i) const { return load<T>(data, i); }
  const char* data;
};

struct Bits : NumberReader<Bits> {
  explicit Bits(const Array& a)
      : data(a.length == 0 ? nullptr : a.buffers[1]), offset(static_cast<std::size_t>(a.offset)) {}
  std::int32_t value(std::size_t i) const { return bit(data, offset + i); }
  const void* data;
  std::size_t offset;
};

// IEEE 754 half precision.
struct Halves : NumberReader<Halves> {
  explicit Halves(const Array& a) : raw(a) {}
  float value(std::size_t i) const {
    const std::uint32_t h = raw.value(i);
    const std::uint32_t sign = (h & 0x8000u) << 16, exponent = (h >> 10) & 31, fraction = h & 0x3FF;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | (fraction << 13));
    if (exponent == 0) return std::copysign(static_cast<float>(fraction) * 0x1p-24f, std::bit_cast<float>(sign));
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  }
  Numbers<std::uint16_t> raw;
};

// A two's complement integer of 32 to 256 bits, lowest word first, over a power of ten.
struct Decimals : NumberReader<Decimals> {
  Decimals(const Array& a, const Type& type)
      : bytes(static_cast<std::size_t>(type.bits / 8)),
        data(first_value(a, bytes)),
        scale(std::pow(10.0L, std::abs(type.scale))),
        divide(type.scale > 0) {}
  double value(std::size_t i) const {
    const char* p = data + i * bytes;
    long double x = 0;
    if (bytes == 4) {
      x = load<std::int32_t>(p, 0);
    } else {
      const bool negative = load<std::int64_t>(p, bytes / 8 - 1) < 0;  // then -x = ~x + 1
      for (std::size_t k = bytes / 8; k-- > 0;) {
        const auto word = load<std::uint64_t>(p, k);
        x = x * 0x1p64L + static_cast<long double>(negative ? ~word : word);
      }
      if (negative) x = -(x + 1);
    }
    return static_cast<double>(divide ? x / scale : x * scale);
  }
  std::size_t bytes;
  const char* data;
  long double scale;
  bool divide;
};

// visit(reader) with the reader of this type.
template <class Visit>
void with_integer_reader(const Array& a, Dtype dtype, Visit&& visit) {
  switch (dtype) {
    case Dtype::i8:
      return visit(Numbers<std::int8_t>(a));
    case Dtype::i16:
      return visit(Numbers<std::int16_t>(a));
    case Dtype::i32:
      return visit(Numbers<std::int32_t>(a));
    case Dtype::i64:
      return visit(Numbers<std::int64_t>(a));
    case Dtype::u8:
      return visit(Numbers<std::uint8_t>(a));
    case Dtype::u16:
      return visit(Numbers<std::uint16_t>(a));
    case Dtype::u32:
      return visit(Numbers<std::uint32_t>(a));
    default:
      return visit(Numbers<std::uint64_t>(a));
  }
}

template <class Visit>
void with_number_reader(const Array& a, const Type& type, Visit&& visit) {
  if (type.layout == Layout::bits) return visit(Bits(a));
  if (type.layout == Layout::half) return visit(Halves(a));
  if (type.layout == Layout::decimal) return visit(Decimals(a, type));
  if (type.number == Dtype::f32) return visit(Numbers<float>(a));
  if (type.number == Dtype::f64) return visit(Numbers<double>(a));
  with_integer_reader(a, type.number, visit);
}

// visit(reader) with the reader of this layout; not for Layout::null.
template <class Visit>
void with_reader(const Array& a, const Type& type, Visit&& visit) {
  switch (type.layout) {
    case Layout::text32:
      return visit(Texts<std::int32_t>(a));
    case Layout::text64:
      return visit(Texts<std::int64_t>(a));
    case Layout::view:
      return visit(Views(a));
    default:
      return with_number_reader(a, type, visit);
  }
}

}  // namespace tb::arrow
