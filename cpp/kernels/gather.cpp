#include "kernels/gather.hpp"

#include "kernels/simd.hpp"

namespace tb::TB_ISA {
namespace {

template <class T>
void gather_column(const char* at, std::ptrdiff_t stride, const std::uint32_t* row, std::size_t count, double* out,
                   std::size_t step) {
  for (std::size_t k = 0; k < count; ++k) {
    T x;
    std::memcpy(&x, at + static_cast<std::ptrdiff_t>(row[k]) * stride, sizeof x);
    out[k * step] = static_cast<double>(x);
  }
}

void gather_any(const Column& c, const char* at, const std::uint32_t* row, std::size_t count, double* out,
                std::size_t step) {
  switch (c.dtype) {
    case Dtype::f64:
      return gather_column<double>(at, c.stride, row, count, out, step);
    case Dtype::f32:
      return gather_column<float>(at, c.stride, row, count, out, step);
    case Dtype::i8:
      return gather_column<std::int8_t>(at, c.stride, row, count, out, step);
    case Dtype::i16:
      return gather_column<std::int16_t>(at, c.stride, row, count, out, step);
    case Dtype::i32:
      return gather_column<std::int32_t>(at, c.stride, row, count, out, step);
    case Dtype::i64:
      return gather_column<std::int64_t>(at, c.stride, row, count, out, step);
    case Dtype::u8:
      return gather_column<std::uint8_t>(at, c.stride, row, count, out, step);
    case Dtype::u16:
      return gather_column<std::uint16_t>(at, c.stride, row, count, out, step);
    case Dtype::u32:
      return gather_column<std::uint32_t>(at, c.stride, row, count, out, step);
    case Dtype::u64:
      return gather_column<std::uint64_t>(at, c.stride, row, count, out, step);
    case Dtype::b1:
      return gather_column<std::uint8_t>(at, c.stride, row, count, out, step);
  }
}

}  // namespace

void gather_rows(const Columns& x, std::size_t begin, const std::uint32_t* row, std::size_t count, double* out) {
  if (x.row_major && x.d > 0 && x.col[0].dtype == Dtype::f64) {
    const char* first = x.col[0].data + static_cast<std::ptrdiff_t>(begin) * x.col[0].stride;
    for (std::size_t k = 0; k < count; ++k) {
      __builtin_memcpy(out + k * x.d, first + static_cast<std::ptrdiff_t>(row[k]) * x.col[0].stride, x.d * 8);
    }
    return;
  }
  for (std::size_t j = 0; j < x.d; ++j) {
    const Column& c = x.col[j];
    gather_any(c, c.data + static_cast<std::ptrdiff_t>(begin) * c.stride, row, count, out + j, x.d);
  }
}

}  // namespace tb::TB_ISA
