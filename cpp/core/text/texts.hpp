// One text as it lies in memory, whoever holds it: UTF-8 (Arrow), or characters of 1, 2 or 4 bytes (Python's str).
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/encode/utf8.hpp"

namespace tb {

struct TextRef {
  enum Form : std::uint8_t { utf8, latin1, ucs2, ucs4 };

  TextRef() = default;  // missing
  TextRef(const void* data, std::size_t units, Form form)
      : data_(data), size_(static_cast<std::uint64_t>(units) << 2 | form) {}

  bool missing() const { return data_ == nullptr; }
  const void* data() const { return data_; }
  std::size_t units() const { return static_cast<std::size_t>(size_ >> 2); }
  Form form() const { return static_cast<Form>(size_ & 3); }
  // No more bytes than these are read; as many are a fair guess of the work.
  std::size_t bytes() const { return units() << (form() == ucs4 ? 2 : form() == ucs2 ? 1 : 0); }

 private:
  const void* data_ = nullptr;
  std::uint64_t size_ = 0;
};

// Readers: next(i) gives the character at i and moves i behind it; before(i) moves i to the one before and gives it.

struct NotUtf8 {};  // thrown by Utf8Reader

class Utf8Reader {
 public:
  static constexpr bool bytes = true;
  explicit Utf8Reader(const TextRef& t) : p(static_cast<const unsigned char*>(t.data())), n(t.units()) {}
  std::uint32_t unit(std::size_t i) const { return p[i]; }
  std::uint32_t next(std::size_t& i) const {
    const std::size_t len = utf8_length(p + i, n - i);
    if (len == 0) throw NotUtf8{};
    std::uint32_t c = len == 1 ? p[i] : p[i] & (0x7Fu >> len);
    for (std::size_t k = 1; k < len; ++k) c = c << 6 | (p[i + k] & 0x3Fu);
    i += len;
    return c;
  }
  std::uint32_t before(std::size_t& i) const {  // what lies before i has been read once
    do --i;
    while ((p[i] & 0xC0) == 0x80);
    std::size_t at = i;
    return next(at);
  }

  const unsigned char* p;
  std::size_t n;
};

template <class Unit>
class UnitReader {
 public:
  static constexpr bool bytes = sizeof(Unit) == 1;
  explicit UnitReader(const TextRef& t) : p(static_cast<const Unit*>(t.data())), n(t.units()) {}
  std::uint32_t unit(std::size_t i) const { return p[i]; }
  std::uint32_t next(std::size_t& i) const {
    const std::uint32_t c = p[i++];
    return (c >= 0xD800 && c < 0xE000) || c > 0x10FFFF ? 0xFFFD : c;
  }
  std::uint32_t before(std::size_t& i) const {
    std::size_t at = --i;
    return next(at);
  }

  const Unit* p;
  std::size_t n;
};

template <class Visit>
void with_reader(const TextRef& t, Visit&& visit) {
  switch (t.form()) {
    case TextRef::utf8:
      return visit(Utf8Reader(t));
    case TextRef::latin1:
      return visit(UnitReader<std::uint8_t>(t));
    case TextRef::ucs2:
      return visit(UnitReader<std::uint16_t>(t));
    default:
      return visit(UnitReader<std::uint32_t>(t));
  }
}

}  // namespace tb
