#include "kernels/moments.hpp"

#include "kernels/walk.hpp"

namespace tb::TB_ISA {
namespace {

template <bool weighted>
struct Plain {
  static constexpr std::size_t fields = kMomentFields;
  template <class V, std::size_t R>
  __attribute__((always_inline)) void add(const V (&x)[R], const V (&w)[R], double* acc, std::size_t size) {
    const V shift = read<V>(acc);
    V sum = read<V>(acc + size), square = read<V>(acc + 2 * size);
    for (std::size_t r = 0; r < R; ++r) {
      const V z = x[r] - shift;
      const V wz = weighted ? w[r] * z : z;
      sum += wz;
      square += wz * z;
    }
    write(acc + size, sum);
    write(acc + 2 * size, square);
  }
};

struct Careful {
  static constexpr std::size_t fields = kMomentFields;
  template <class V, std::size_t R>
  __attribute__((always_inline)) void add(const V (&x)[R], const V (&w)[R], double* acc, std::size_t size) {
    V shift = read<V>(acc), sum = read<V>(acc + size), square = read<V>(acc + 2 * size), n = read<V>(acc + 3 * size);
    for (std::size_t r = 0; r < R; ++r) {
      shift = pick(shift == shift, shift, x[r]);
      const V z = pick(x[r] == x[r], x[r] - shift, V{});
      const V wz = w[r] * z;
      sum += wz;
      square += wz * z;
      n += pick(x[r] == x[r], w[r], V{});
    }
    write(acc, shift);
    write(acc + size, sum);
    write(acc + 2 * size, square);
    write(acc + 3 * size, n);
  }
};

template <class T>
bool open(const T* x, std::size_t d, bool no_shift, double* slot) {
  const std::size_t size = padded(d), whole = narrow(d) ? d : d / W * W;
  double trouble = 0.0;  // x - x is 0 for finite x, else NaN
  for (std::size_t i = 0; i < size; ++i) {
    const double v = no_shift ? __builtin_nan("") : static_cast<double>(x[i < whole ? i : d - W + (i - whole)]);
    trouble += v - v;
    slot[i] = v;
  }
  for (std::size_t i = size; i < kMomentFields * size; ++i) slot[i] = 0.0;
  return no_shift || trouble == 0.0;
}

// a += b for d columns that lie side by side in both.
void chan(std::size_t d, const ClassMoments& a, const ClassMoments& b) {
  for (std::size_t j = 0; j < d; ++j) {
    const double na = a.n[j], nb = b.n[j], n = na + nb;
    const double share = n > 0.0 ? nb / n : 0.0;
    const double delta = (b.shift[j] - a.shift[j]) + (b.offset[j] - a.offset[j]);
    const double between = na > 0.0 && nb > 0.0 ? delta * delta * (na * share) : 0.0;
    a.n[j] = n;
    a.offset[j] = na > 0.0 ? a.offset[j] + delta * share : b.offset[j];
    a.shift[j] = na > 0.0 ? a.shift[j] : b.shift[j];
    a.m2[j] += b.m2[j] + between;
  }
}

}  // namespace

std::size_t moments_size(std::size_t d) { return kMomentFields * padded(d); }

bool open_moments(const RowList& b, std::size_t row, bool no_shift, double* slot) {
  const char* x = b.x + static_cast<std::ptrdiff_t>(row) * b.stride;
  return b.dtype == Dtype::f64 ? open(reinterpret_cast<const double*>(x), b.d, no_shift, slot)
                               : open(reinterpret_cast<const float*>(x), b.d, no_shift, slot);
}

void add_moments(const RowList& b, double* acc) {
  if (b.w) {
    Plain<true> op;
    walk(b, acc, op);
  } else {
    Plain<false> op;
    walk(b, acc, op);
  }
}

void add_moments_careful(const RowList& b, double* acc) {
  Careful op;
  walk(b, acc, op);
}

Closed close_moments(double* slot, std::size_t d, double weight) {
  constexpr double most = 256.0;  // a shift within some 16 standard deviations of the mean is good enough
  const std::size_t size = padded(d);
  double *shift = slot, *offset = slot + size, *m2 = slot + 2 * size, *n = slot + 3 * size;
  double trouble = 0.0;  // x - x is 0 for finite x, else NaN
  int cancelled = 0;
  for (std::size_t j = 0; j < size; ++j) {
    if (weight >= 0.0) n[j] = weight;
    const double sum = offset[j], square = m2[j];
    trouble += (sum - sum) + (square - square);
    offset[j] = n[j] > 0.0 ? sum / n[j] : 0.0;
    shift[j] = n[j] > 0.0 ? shift[j] : 0.0;
    const double centred = square - sum * offset[j];
    const bool lost = square > most * centred;
    m2[j] = lost ? -square : centred;
    cancelled |= lost;
  }
  if (trouble != 0.0) return Closed::not_finite;
  return cancelled ? Closed::cancelled : Closed::well;
}

ClassMoments moments_of_column(double* slot, std::size_t d, std::size_t j) {
  const std::size_t size = padded(d);
  double* at = slot + place(j, d);
  return {at + 3 * size, at, at + size, at + 2 * size};
}

void merge_moments(double* slot, std::size_t d, const ClassMoments& total) {
  const std::size_t whole = narrow(d) ? d : d / W * W;
  chan(whole, total, moments_of_column(slot, d, 0));
  if (whole == d) return;
  chan(d - whole, {total.n + whole, total.shift + whole, total.offset + whole, total.m2 + whole},
       moments_of_column(slot, d, whole));
}

}  // namespace tb::TB_ISA
