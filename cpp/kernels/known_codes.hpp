// Numbers looked up in a table of codes that are known already.
#pragma once
#include <cstdint>

#include "core/encode/columns.hpp"
#include "core/runtime/dispatch.hpp"

namespace tb {

struct KnownCodes {
  const char* x;  // n numbers without sign, one after another: u8, u16 or u32
  Dtype dtype;
  std::size_t n;
  const std::int8_t* of;  // 256 codes, by number; negative: not known
};

}  // namespace tb

// out[i] = of[x[i]]. False, with anything in out, if some number is above 255 or has no code.
TB_DECLARE(bool, known_codes, (const KnownCodes& t, std::int8_t* out))
