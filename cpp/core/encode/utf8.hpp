// Is this text? Only levels are asked, when they are first seen, so plainness goes before speed.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tb {

// The number of bytes of the UTF-8 character at p, at most `left`; 0 if there is none.
inline std::size_t utf8_length(const unsigned char* p, std::size_t left) {
  const auto more = [&](std::size_t i) { return i < left && (p[i] & 0xC0) == 0x80; };
  if (p[0] < 0x80) return 1;
  if (p[0] < 0xC2) return 0;  // a continuation, or a longer form of ASCII
  if (p[0] < 0xE0) return more(1) ? 2 : 0;
  if (p[0] < 0xF0) {
    if (!more(1) || !more(2)) return 0;
    if (p[0] == 0xE0 && p[1] < 0xA0) return 0;   // a longer form
    if (p[0] == 0xED && p[1] >= 0xA0) return 0;  // a surrogate
    return 3;
  }
  if (p[0] > 0xF4 || !more(1) || !more(2) || !more(3)) return 0;
  if (p[0] == 0xF0 && p[1] < 0x90) return 0;   // a longer form
  if (p[0] == 0xF4 && p[1] >= 0x90) return 0;  // above U+10FFFF
  return 4;
}

inline bool is_utf8(const char* text, std::size_t len) {
  const auto* p = reinterpret_cast<const unsigned char*>(text);
  for (std::size_t i = 0; i < len;) {
    const std::size_t step = utf8_length(p + i, len - i);
    if (step == 0) return false;
    i += step;
  }
  return true;
}

// Writes the character as UTF-8 and returns the end; null if it is a surrogate or no character at all.
inline char* put_utf8(std::uint32_t c, char* out) {
  const auto tail = [&](unsigned shift) { *out++ = static_cast<char>(0x80 | ((c >> shift) & 0x3F)); };
  if (c < 0x80) {
    *out++ = static_cast<char>(c);
  } else if (c < 0x800) {
    *out++ = static_cast<char>(0xC0 | (c >> 6));
    tail(0);
  } else if (c < 0x10000) {
    if (c >= 0xD800 && c < 0xE000) return nullptr;
    *out++ = static_cast<char>(0xE0 | (c >> 12));
    tail(6), tail(0);
  } else if (c < 0x110000) {
    *out++ = static_cast<char>(0xF0 | (c >> 18));
    tail(12), tail(6), tail(0);
  } else {
    return nullptr;
  }
  return out;
}

}  // namespace tb
