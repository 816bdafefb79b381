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

constexpr int kLaneVecs = static_cast<int>(kMarginalLanes) / W;

// A number of each lane.
struct Lane {
  Vec v[kLaneVecs];
};
TB_INLINE Lane at(const double* p, std::size_t i) {
  Lane out;
  for (int q = 0; q < kLaneVecs; ++q) out.v[q] = load(p + i * kMarginalLanes + q * W);
  return out;
}
TB_INLINE void put(double* p, std::size_t i, const Lane& x) {
  for (int q = 0; q < kLaneVecs; ++q) store(p + i * kMarginalLanes + q * W, x.v[q]);
}
TB_INLINE void add_product(Lane& sum, const Lane& a, const Lane& b) {
  for (int q = 0; q < kLaneVecs; ++q) sum.v[q] += a.v[q] * b.v[q];
}
TB_INLINE void take_product(Lane& from, const Lane& a, const Lane& b) {
  for (int q = 0; q < kLaneVecs; ++q) from.v[q] -= a.v[q] * b.v[q];
}

// In four sums: one need not wait for the other.
TB_INLINE Lane product_of(const double* a, const double* b, std::size_t begin, std::size_t end) {
  Lane sum[kMarginalStep] = {};
  std::size_t i = begin;
  for (; i + kMarginalStep <= end; i += kMarginalStep) {
    for (std::size_t t = 0; t < kMarginalStep; ++t) add_product(sum[t], at(a, i + t), at(b, i + t));
  }
  for (; i < end; ++i) add_product(sum[0], at(a, i), at(b, i));
  for (int q = 0; q < kLaneVecs; ++q) sum[0].v[q] = (sum[0].v[q] + sum[1].v[q]) + (sum[2].v[q] + sum[3].v[q]);
  return sum[0];
}

// What `some` vectors from `of` on, d numbers apart, have along own is taken away; r: how much.
template <std::size_t some>
TB_INLINE void take_along(const double* own, double* of, std::size_t d, std::size_t begin, std::size_t end, double* r) {
  Lane along[some] = {};
  for (std::size_t i = begin; i < end; ++i) {
    const Lane x = at(own, i);
    for (std::size_t t = 0; t < some; ++t) add_product(along[t], x, at(of + t * d * kMarginalLanes, i));
  }
  for (std::size_t i = begin; i < end; ++i) {
    const Lane x = at(own, i);
    for (std::size_t t = 0; t < some; ++t) {
      Lane left = at(of + t * d * kMarginalLanes, i);
      take_product(left, along[t], x);
      put(of + t * d * kMarginalLanes, i, left);
    }
  }
  for (std::size_t t = 0; t < some; ++t) put(r, t, along[t]);
}

}  // namespace

void combine_lanes(const double* columns, std::size_t stride, const double* x, std::size_t d, double* z) {
  constexpr std::size_t some = 4;
  for (std::size_t i = 0; i < d; i += some) {
    Lane sum[some] = {};
    const std::size_t end = i + some < d ? i + some : d;  // the first j numbers of column j are 0
    for (std::size_t j = 0; j < end; ++j) {
      const Lane e = at(x, j);
      for (std::size_t t = 0; t < some; ++t) {
        const Vec f = set(columns[j * stride + i + t]);
        for (int q = 0; q < kLaneVecs; ++q) sum[t].v[q] += f * e.v[q];
      }
    }
    for (std::size_t t = 0; i + t < end; ++t) put(z, i + t, sum[t]);
  }
}

void orthonormal_lanes(double* q, std::size_t count, std::size_t d, const std::uint32_t* begin,
                       const std::uint32_t* end, double* r) {
  const std::size_t apart = d * kMarginalLanes;
  for (std::size_t t = 0; t < count; ++t) {
    double* own = q + t * apart;
    Lane length = product_of(own, own, begin[t], end[t]), scale;
    for (int v = 0; v < kLaneVecs; ++v) {
      length.v[v] = square_root(length.v[v]);
      scale.v[v] = 1.0 / length.v[v];
    }
    for (std::size_t i = begin[t]; i < end[t]; ++i) {
      Lane x = at(own, i);
      for (int v = 0; v < kLaneVecs; ++v) x.v[v] *= scale.v[v];
      put(own, i, x);
    }
    double* to = r + t * count * kMarginalLanes;
    put(to, t, length);
    std::size_t u = t + 1;
    for (; u + 3 <= count; u += 3) take_along<3>(own, q + u * apart, d, begin[t], end[t], to + u * kMarginalLanes);
    for (; u < count; ++u) take_along<1>(own, q + u * apart, d, begin[t], end[t], to + u * kMarginalLanes);
  }
}

void outside_lanes(const double* q, std::size_t count, std::size_t d, const std::uint32_t* begin, const double* z,
                   const double* place, double* work, double* square) {
  for (std::size_t i = 0; i < d; ++i) {
    Lane x = at(z, i);
    for (int v = 0; v < kLaneVecs; ++v) x.v[v] -= set(place[i]);
    put(work, i, x);
  }
  for (std::size_t t = 0; t < count; ++t) {
    const double* own = q + t * d * kMarginalLanes;
    const Lane along = product_of(own, work, begin[t], d);
    for (std::size_t i = begin[t]; i < d; ++i) {
      Lane left = at(work, i);
      take_product(left, along, at(own, i));
      put(work, i, left);
    }
  }
  put(square, 0, product_of(work, work, 0, d));
}

void solve_lanes(const double* r, std::size_t count, double* x, double* square) {
  Lane sum{};
  for (std::size_t a = 0; a < count; ++a) {
    Lane own = at(x, a);
    for (std::size_t b = 0; b < a; ++b) take_product(own, at(r, b * count + a), at(x, b));
    const Lane under = at(r, a * count + a);
    for (int v = 0; v < kLaneVecs; ++v) own.v[v] /= under.v[v];
    add_product(sum, own, own);
    put(x, a, own);
  }
  put(square, 0, sum);
}

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
