#include "core/discriminant/marginal_model.hpp"

#include <algorithm>

#include "kernels/marginal.hpp"

namespace tb {

ScaledVectors::ScaledVectors(std::size_t d, std::size_t stride) : vectors(d * stride), unit(d, 1.0), power(d) {
  std::fill_n(vectors.data(), d * stride, 0.0);
}

void ScaledVectors::scale(std::size_t j, std::size_t stride, std::size_t d) {
  double* v = vectors.data() + j * stride;
  double most = 0.0;
  for (std::size_t i = 0; i < d; ++i) most = std::max(most, std::abs(v[i]));
  if (most == 0.0) return;
  power[j] = std::clamp(std::ilogb(most), -1000, 1000);
  const double down = std::ldexp(1.0, -power[j]);
  for (std::size_t i = 0; i < d; ++i) v[i] *= down;
  unit[j] = std::ldexp(1.0, power[j]);
}

MarginalModel::MarginalModel(const Columns& of, const Quadratic& by)
    : cols(of), q(by), d(of.d), stride((d + kMarginalPad - 1) / kMarginalPad * kMarginalPad) {
  const std::size_t matrices = q.shared ? 1 : q.classes;
  for (std::size_t j = 0; j < d; ++j) {
    if (matrices > 0 && q.factor[j * d + j] != 0.0) keep.push_back(static_cast<std::uint32_t>(j));
  }
  for (std::size_t k = 0; k < matrices; ++k) columns.push_back(columns_of(k));
  roots_.resize(matrices);
  once_ = std::make_unique<std::once_flag[]>(matrices);
  places.assign((q.shared ? q.classes : 1) * stride, 0.0);
  if (!q.shared) return;
  const WhitenedMeans means = whitened_means(q, d);
  centre = means.centre;
  for (std::size_t c = 0; c < q.classes; ++c) std::copy_n(means.place.data() + c * d, d, places.data() + c * stride);
}

ScaledVectors MarginalModel::columns_of(std::size_t k) const {
  ScaledVectors out(d, stride);
  const double* factor = q.factor + k * d * d;
  for (std::size_t j = 0; j < d; ++j) {
    for (std::size_t i = j; i < d; ++i) out.vectors.data()[j * stride + i] = factor[i * d + j];
    out.scale(j, stride, d);
  }
  return out;
}

const ScaledVectors& MarginalModel::root(std::size_t k) const {
  std::call_once(once_[k], [&] {
    auto made = std::make_unique<ScaledVectors>(d, stride);
    double* l = made->vectors.data();
    for (const std::uint32_t i : keep) {
      const double* f = q.factor + (k * d + i) * d;
      double* own = l + i * stride;
      for (const std::uint32_t t : keep) {
        if (t >= i) break;
        for (std::size_t j = 0; j <= t; ++j) own[j] -= f[t] * l[t * stride + j];
      }
      for (std::size_t j = 0; j < i; ++j) own[j] /= f[i];
      own[i] = 1.0 / f[i];
    }
    for (const std::uint32_t i : keep) made->scale(i, stride, d);
    roots_[k] = std::move(made);
  });
  return *roots_[k];
}

}  // namespace tb
