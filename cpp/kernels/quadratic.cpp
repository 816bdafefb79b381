#include "kernels/quadratic.hpp"

#include "kernels/simd.hpp"

namespace tb::TB_ISA {
namespace {

// A group is kVecs vectors of rows; kForms linear forms are taken at a time: 12 sums in AVX2's 16 registers, 24 in
// AVX-512's 32.
constexpr int kVecs = W == 8 ? 4 : 2;
constexpr int kForms = 6;
constexpr std::size_t kGroup = static_cast<std::size_t>(kVecs * W);
static_assert(kRows % kGroup == 0);

std::size_t groups_of(std::size_t rows) { return (rows + kGroup - 1) / kGroup; }

// sums[m] += sum over j < count of a[m * step + j] * x_j.
template <int forms>
TB_INLINE void multiply(const double* a, std::size_t step, std::size_t count, const double* x, Vec (&sums)[forms][kVecs]) {
  for (std::size_t j = 0; j < count; ++j, x += kGroup) {
    Vec v[kVecs];
#pragma GCC unroll 8
    for (int q = 0; q < kVecs; ++q) v[q] = load(x + q * W);
#pragma GCC unroll 8
    for (int m = 0; m < forms; ++m) {
      const Vec f = set(a[static_cast<std::size_t>(m) * step + j]);
#pragma GCC unroll 8
      for (int q = 0; q < kVecs; ++q) sums[m][q] += f * v[q];
    }
  }
}

// Rows i .. i + forms - 1 of a lower triangle.
template <int forms>
TB_INLINE void multiply_triangle(const double* factor, std::size_t d, std::size_t i, const double* x, Vec (&sums)[forms][kVecs]) {
  const double* a = factor + i * d;
  multiply<forms>(a, d, i, x, sums);
#pragma GCC unroll 8
  for (int t = 0; t < forms; ++t) {
#pragma GCC unroll 8
    for (int m = t; m < forms; ++m) {
      const Vec f = set(a[static_cast<std::size_t>(m) * d + i + static_cast<std::size_t>(t)]);
#pragma GCC unroll 8
      for (int q = 0; q < kVecs; ++q) sums[m][q] += f * load(x + (i + static_cast<std::size_t>(t)) * kGroup + q * W);
    }
  }
}

// body.template operator()<forms>(i): from 0 to count in steps of kForms and a rest.
template <class F>
TB_INLINE void by_forms(std::size_t count, F&& body) {
  std::size_t i = 0;
  for (; i + kForms <= count; i += kForms) body.template operator()<kForms>(i);
  switch (count - i) {
    case 5: return body.template operator()<5>(i);
    case 4: return body.template operator()<4>(i);
    case 3: return body.template operator()<3>(i);
    case 2: return body.template operator()<2>(i);
    case 1: return body.template operator()<1>(i);
    default: return;
  }
}

template <int forms>
void add_squares(const double* factor, std::size_t d, std::size_t i, const double* x, double* squares) {
  Vec z[forms][kVecs] = {};
  multiply_triangle<forms>(factor, d, i, x, z);
  for (int q = 0; q < kVecs; ++q) {
    Vec sum = load(squares + q * W);
    for (int m = 0; m < forms; ++m) sum += z[m][q] * z[m][q];
    store(squares + q * W, sum);
  }
}

template <int forms>
void put_forms(const double* factor, std::size_t d, std::size_t i, const double* x, double* z) {
  Vec sums[forms][kVecs] = {};
  multiply_triangle<forms>(factor, d, i, x, sums);
  for (int m = 0; m < forms; ++m) {
    for (int q = 0; q < kVecs; ++q) store(z + (i + static_cast<std::size_t>(m)) * kGroup + q * W, sums[m][q]);
  }
}

void add_unless(std::uint64_t leave, std::size_t from, std::size_t rows, const double* terms, double* acc) {
  if (leave == 0) {
    for (std::size_t r = 0; r < rows; ++r) acc[r] += terms[r];
    return;
  }
  for (std::size_t r = 0; r < rows; ++r) {
    if (((leave >> (from + r)) & 1) == 0) acc[r] += terms[r];
  }
}

// Adds what is in registers to acc of `forms` classes from class c on.
template <int forms>
TB_INLINE void add_terms(const Vec (&terms)[forms][kVecs], std::size_t g, std::size_t rows, std::uint64_t leave, double* acc) {
  const std::size_t r0 = g * kGroup, count = rows - r0 < kGroup ? rows - r0 : kGroup;
  for (int m = 0; m < forms; ++m) {
    double lane[kGroup];
    for (int q = 0; q < kVecs; ++q) store(lane + q * W, terms[m][q]);
    add_unless(leave, r0, count, lane, acc + static_cast<std::size_t>(m) * kRows + r0);
  }
}

template <class T>
void load_column(const char* at, std::ptrdiff_t stride, std::size_t rows, double* lanes) {
  for (std::size_t r = 0; r < kGroup; ++r) {
    T x = T();
    if (r < rows) std::memcpy(&x, at + static_cast<std::ptrdiff_t>(r) * stride, sizeof x);
    lanes[r] = static_cast<double>(x);
  }
}

void load_any_column(const Column& c, std::size_t r0, std::size_t rows, double* lanes) {
  const char* at = c.data + static_cast<std::ptrdiff_t>(r0) * c.stride;
  switch (c.dtype) {
    case Dtype::f64: return load_column<double>(at, c.stride, rows, lanes);
    case Dtype::f32: return load_column<float>(at, c.stride, rows, lanes);
    case Dtype::i8: return load_column<std::int8_t>(at, c.stride, rows, lanes);
    case Dtype::i16: return load_column<std::int16_t>(at, c.stride, rows, lanes);
    case Dtype::i32: return load_column<std::int32_t>(at, c.stride, rows, lanes);
    case Dtype::i64: return load_column<std::int64_t>(at, c.stride, rows, lanes);
    case Dtype::u8: return load_column<std::uint8_t>(at, c.stride, rows, lanes);
    case Dtype::u16: return load_column<std::uint16_t>(at, c.stride, rows, lanes);
    case Dtype::u32: return load_column<std::uint32_t>(at, c.stride, rows, lanes);
    case Dtype::u64: return load_column<std::uint64_t>(at, c.stride, rows, lanes);
    case Dtype::b1: return load_column<std::uint8_t>(at, c.stride, rows, lanes);
  }
}

// A whole group of rows that lie side by side.
template <class T>
void load_rows(const char* at, std::ptrdiff_t stride, std::size_t d, double* lanes) {
  const char* row[kGroup];
  for (std::size_t r = 0; r < kGroup; ++r) row[r] = at + static_cast<std::ptrdiff_t>(r) * stride;
  for (std::size_t j = 0; j < d; ++j, lanes += kGroup) {
#pragma GCC unroll 32
    for (std::size_t r = 0; r < kGroup; ++r) {
      T x;
      std::memcpy(&x, row[r] + j * sizeof(T), sizeof x);
      lanes[r] = static_cast<double>(x);
    }
  }
}

void load_group(const Columns& x, std::size_t r0, std::size_t rows, double* lanes) {
  if (x.row_major && rows == kGroup) {
    const char* at = x.col[0].data + static_cast<std::ptrdiff_t>(r0) * x.col[0].stride;
    if (x.col[0].dtype == Dtype::f64) return load_rows<double>(at, x.col[0].stride, x.d, lanes);
    if (x.col[0].dtype == Dtype::f32) return load_rows<float>(at, x.col[0].stride, x.d, lanes);
  }
  for (std::size_t j = 0; j < x.d; ++j) load_any_column(x.col[j], r0, rows, lanes + j * kGroup);
}

// lanes -= centre; bits of the rows that are not finite (x - x is then not 0).
std::uint64_t centre_group(std::size_t d, const double* centre, double* lanes) {
  Vec trouble[kVecs] = {};
  for (std::size_t j = 0; j < d; ++j, lanes += kGroup) {
    const Vec shift = set(centre ? centre[j] : 0.0);
    for (int q = 0; q < kVecs; ++q) {
      const Vec v = load(lanes + q * W);
      trouble[q] += v - v;
      store(lanes + q * W, v - shift);
    }
  }
  double lane[kGroup];
  for (int q = 0; q < kVecs; ++q) store(lane + q * W, trouble[q]);
  std::uint64_t bits = 0;
  for (std::size_t r = 0; r < kGroup; ++r) bits |= static_cast<std::uint64_t>(lane[r] != 0.0) << r;
  return bits;
}

}  // namespace

std::uint64_t load_lanes(const Columns& x, std::size_t r0, std::size_t rows, const double* centre, double* lanes) {
  std::uint64_t odd = 0;
  for (std::size_t g = 0; g < groups_of(rows); ++g, lanes += kGroup * x.d) {
    const std::size_t from = g * kGroup, count = rows - from < kGroup ? rows - from : kGroup;
    load_group(x, r0 + from, count, lanes);
    odd |= centre_group(x.d, centre, lanes) << from;
  }
  return odd;
}

void add_quadratic(const double* lanes, std::size_t rows, std::uint64_t leave, std::size_t d, const double* mean,
                   const double* factor, double constant, double* work, double* acc) {
  const std::size_t groups = groups_of(rows);
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t j = 0; j < d; ++j) {
      const Vec shift = set(mean[j]);
      const std::size_t at = (g * d + j) * kGroup;
      for (int q = 0; q < kVecs; ++q) store(work + at + q * W, load(lanes + at + q * W) - shift);
    }
  }
  double squares[kRows] = {};
  by_forms(d, [&]<int forms>(std::size_t i) {  // these rows of the factor stay in cache for all groups
    for (std::size_t g = 0; g < groups; ++g) add_squares<forms>(factor, d, i, work + g * d * kGroup, squares + g * kGroup);
  });
  for (std::size_t r = 0; r < rows; ++r) squares[r] = constant - 0.5 * squares[r];
  add_unless(leave, 0, rows, squares, acc);
}

void whiten(const double* lanes, std::size_t rows, std::size_t d, const double* factor, double* z) {
  by_forms(d, [&]<int forms>(std::size_t i) {
    for (std::size_t g = 0; g < groups_of(rows); ++g) put_forms<forms>(factor, d, i, lanes + g * d * kGroup, z + g * d * kGroup);
  });
}

void add_distances(const double* z, std::size_t rows, std::uint64_t leave, std::size_t d, const double* centre,
                   const double* constant, std::size_t classes, double* acc) {
  by_forms(classes, [&]<int forms>(std::size_t c) {
    for (std::size_t g = 0; g < groups_of(rows); ++g) {
      Vec sums[forms][kVecs] = {};
      const double* at = z + g * d * kGroup;
      for (std::size_t i = 0; i < d; ++i, at += kGroup) {
        for (int m = 0; m < forms; ++m) {
          const Vec shift = set(centre[(c + static_cast<std::size_t>(m)) * d + i]);
          for (int q = 0; q < kVecs; ++q) {
            const Vec t = load(at + q * W) - shift;
            sums[m][q] += t * t;
          }
        }
      }
      for (int m = 0; m < forms; ++m) {
        for (int q = 0; q < kVecs; ++q) sums[m][q] = constant[c + static_cast<std::size_t>(m)] - 0.5 * sums[m][q];
      }
      add_terms<forms>(sums, g, rows, leave, acc + c * kRows);
    }
  });
}

void add_affine(const double* lanes, std::size_t rows, std::uint64_t leave, std::size_t d, const double* weight,
                const double* bias, std::size_t classes, double* acc) {
  by_forms(classes, [&]<int forms>(std::size_t c) {
    for (std::size_t g = 0; g < groups_of(rows); ++g) {
      Vec sums[forms][kVecs];
      for (int m = 0; m < forms; ++m) {
        for (int q = 0; q < kVecs; ++q) sums[m][q] = set(bias[c + static_cast<std::size_t>(m)]);
      }
      multiply<forms>(weight + c * d, d, d, lanes + g * d * kGroup, sums);
      add_terms<forms>(sums, g, rows, leave, acc + c * kRows);
    }
  });
}

}  // namespace tb::TB_ISA
