// The code of one value of row i among the levels: found, or added if they may grow, or kUnseen.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/encode/columns.hpp"
#include "core/encode/known_levels.hpp"
#include "core/encode/utf8.hpp"

namespace tb {

// A value that cannot be read, with its place.
struct BadRow {
  const char* why;
  std::size_t row;
  std::size_t col = 0;
};
inline constexpr const char* kNotUtf8 = "the text is not valid UTF-8";
inline constexpr const char* kOutside = "the Arrow data points outside its buffers";

// The lookup must melt into the loop over the rows; a new level is rare and stays outside.
#define TB_INLINE [[gnu::always_inline]] inline

[[gnu::noinline]] inline std::int32_t new_text(Known& levels, const char* p, std::size_t len, std::size_t i) {
  if (!is_utf8(p, len)) throw BadRow{kNotUtf8, i};
  return levels.add_text(p, len);
}

// The code of any text.
inline std::int32_t text_code(Known& levels, bool grow, const char* p, std::size_t len, std::size_t i) {
  const std::int32_t code = levels.find_text(p, len);
  return code >= 0 || !grow ? code : new_text(levels, p, len, i);
}

// NaN is missing; an infinity is no category.
template <class T>
TB_INLINE std::int32_t number_code(Known& levels, bool grow, T x, std::size_t i) {
  Word w;
  if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(x)) {
      if (std::isnan(x)) return kMissing;
      throw BadValue{BadValue::infinite, i, 0, static_cast<double>(x)};
    }
    w = word_of(static_cast<double>(x));
  } else if constexpr (std::is_unsigned_v<T>) {
    w = word_of(static_cast<std::uint64_t>(x));
  } else {
    w = word_of(static_cast<std::int64_t>(x));
  }
  const std::int32_t code = levels.find(w);
  return code >= 0 || !grow ? code : levels.add(w);
}

}  // namespace tb
