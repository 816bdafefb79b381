#include "kernels/marginal.hpp"

#include "kernels/simd.hpp"

namespace tb::TB_ISA {
namespace {

constexpr std::size_t kStep = 16;  // numbers at a time
constexpr int kStepVecs = static_cast<int>(kStep) / W;
static_assert(kMarginalPad % kStep == 0);

TB_INLINE double total(const Vec (&v)[kStepVecs]) {
  double lane[kStep], sum = 0.0;
  for (int q = 0; q < kStepVecs; ++q) store(lane + q * W, v[q]);
  for (std::size_t q = 0; q < kStep; ++q) sum += lane[q];
  return sum;
}

TB_INLINE double product(const double* a, const double* b, std::size_t size) {
  Vec sums[kStepVecs] = {};
  for (std::size_t i = 0; i < size; i += kStep) {
    for (int q = 0; q < kStepVecs; ++q) sums[q] += load(a + i + q * W) * load(b + i + q * W);
  }
  return total(sums);
}

TB_INLINE void take_away(double* a, double times, const double* b, std::size_t size) {
  const Vec f = set(times);
  for (std::size_t i = 0; i < size; i += W) store(a + i, load(a + i) - f * load(b + i));
}

}  // namespace

void combine_columns(const double* columns, std::size_t stride, const double* x, std::size_t d, double* z) {
  for (std::size_t i = 0; i < stride; i += kStep) {
    Vec sums[kStepVecs] = {};
    const std::size_t end = i + kStep < d ? i + kStep : d;
    for (std::size_t j = 0; j < end; ++j) {
      const Vec f = set(x[j]);
      for (int q = 0; q < kStepVecs; ++q) sums[q] += f * load(columns + j * stride + i + q * W);
    }
    for (int q = 0; q < kStepVecs; ++q) store(z + i + q * W, sums[q]);
  }
}

void orthonormal(double* q, std::size_t count, std::size_t stride, double* r) {
  for (std::size_t j = 0; j < count; ++j) {
    double* own = q + j * stride;
    const double length = __builtin_sqrt(product(own, own, stride));
    const Vec scale = set(1.0 / length);
    for (std::size_t i = 0; i < stride; i += W) store(own + i, load(own + i) * scale);
    r[j * count + j] = length;
    for (std::size_t k = j + 1; k < count; ++k) {
      const double along = product(own, q + k * stride, stride);
      take_away(q + k * stride, along, own, stride);
      r[j * count + k] = along;
    }
  }
}

double square_outside(const double* q, std::size_t count, std::size_t stride, const double* z, const double* place,
                      double* work) {
  for (std::size_t i = 0; i < stride; i += W) store(work + i, load(z + i) - load(place + i));
  for (std::size_t j = 0; j < count; ++j) {
    take_away(work, product(q + j * stride, work, stride), q + j * stride, stride);
  }
  return product(work, work, stride);
}

}  // namespace tb::TB_ISA
