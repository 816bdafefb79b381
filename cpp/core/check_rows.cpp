#include "core/check_rows.hpp"

#include "core/labels.hpp"

namespace tb {

void check_rows(const std::int32_t* y, const double* w, std::size_t n, std::size_t classes) {
  for (std::size_t i = 0; i < n; ++i) check_class(y[i], classes);
  if (w) check_weights(w, n);
}

void check_weights(const double* w, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) check_weight(w[i]);
}

}  // namespace tb
