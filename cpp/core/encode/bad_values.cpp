#include "core/encode/bad_values.hpp"

#include <cmath>

#include "kernels/pack.hpp"

namespace tb {

double value_at(const Column& c, std::size_t row) {
  double v;
  TB_CALL(pack, c.data + static_cast<std::ptrdiff_t>(row) * c.stride, c.stride, c.dtype, 1, &v, 1);
  return v;
}

double value_at(const RowList& b, std::size_t k, std::size_t column) {
  const char* row = b.x + static_cast<std::ptrdiff_t>(b.row[k]) * b.stride;
  return b.dtype == Dtype::f64 ? reinterpret_cast<const double*>(row)[column]
                               : static_cast<double>(reinterpret_cast<const float*>(row)[column]);
}

BadValue overflow(const Labelled& t, std::size_t j) {
  BadValue worst{BadValue::overflow, 0, j, 0.0};
  for (std::size_t i = 0; i < t.x.n; ++i) {
    if (t.y[i] < 0 || (t.w && t.w[i] == 0.0)) continue;
    const double v = value_at(t.x.col[j], i);
    if (std::abs(v) > std::abs(worst.value)) {
      worst.row = i;
      worst.value = v;
    }
  }
  return worst;
}

}  // namespace tb
