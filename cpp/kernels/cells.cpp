#include "kernels/cells.hpp"

#include "kernels/simd.hpp"

namespace tb::TB_ISA {
namespace {

constexpr std::uint32_t kOut = ~std::uint32_t{0};

// One more digit, in numbers that stay kOut once they are.
template <class T>
void add_digit(const T* code, std::size_t rows, std::uint32_t size, std::uint32_t* cell) {
  for (std::size_t i = 0; i < rows; ++i) {
    const std::uint32_t v = code[i];
    cell[i] = v < size && cell[i] != kOut ? cell[i] * size + v : kOut;
  }
}

template <class T>
void add_digits(const CodeColumns& from, std::size_t begin, std::size_t rows, std::uint32_t* cell) {
  for (std::size_t k = 0; k < from.count; ++k) {
    const auto j = static_cast<std::size_t>(from.column[k]);
    add_digit(static_cast<const T*>(from.code) + j * from.n + begin, rows, static_cast<std::uint32_t>(from.size[j]),
              cell);
  }
}

}  // namespace

void cell_numbers(const CodeColumns& from, std::size_t begin, std::size_t rows, const std::int32_t* y,
                  std::uint32_t none, std::uint32_t* out) {
  for (std::size_t i = 0; i < rows; ++i)
    out[i] = !y ? 0 : y[begin + i] < 0 ? kOut : static_cast<std::uint32_t>(y[begin + i]);
  if (from.bytes == 1)
    add_digits<std::uint8_t>(from, begin, rows, out);
  else if (from.bytes == 2)
    add_digits<std::uint16_t>(from, begin, rows, out);
  else
    add_digits<std::uint32_t>(from, begin, rows, out);
  if (none == kOut) return;
  for (std::size_t i = 0; i < rows; ++i) out[i] = out[i] == kOut ? none : out[i];
}

}  // namespace tb::TB_ISA
