// Sets of rows as bitmaps: one bit per row, whole blocks of kBitBlock rows.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/runtime/dispatch.hpp"

namespace tb {

constexpr std::size_t kBitBlock = 512;  // rows, so that every vector is a whole one
constexpr std::size_t kBlockWords = kBitBlock / 64;

}  // namespace tb

// out[i] = code[row[i]] as a byte, 255 if it is not below size (<= 255); code_bytes: 1, 2 or 4.
TB_DECLARE(void, gather_bytes,
           (const void* code, std::size_t code_bytes, const std::uint32_t* row, std::size_t count, std::size_t size,
            std::uint8_t* out))
// Bit i of bits[v * stride ..] = (x[i] == v), for v < levels and i < words * 64.
TB_DECLARE(void, level_bits,
           (const std::uint8_t* x, std::size_t words, std::size_t levels, std::size_t stride, std::uint64_t* bits))
// out = a & b
TB_DECLARE(void, and_bits, (const std::uint64_t* a, const std::uint64_t* b, std::size_t words, std::uint64_t* out))
// out[v] = the number of bits set in both a and b + v * stride, for v < count. words: whole blocks.
TB_DECLARE(void, count_both,
           (const std::uint64_t* a, const std::uint64_t* b, std::size_t stride, std::size_t count, std::size_t words,
            std::uint32_t* out))
