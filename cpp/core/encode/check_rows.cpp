#include "core/encode/check_rows.hpp"

#include <stdexcept>

#include "core/encode/labels.hpp"
#include "core/counts/joint_tables.hpp"

namespace tb {

void check_rows(const std::int32_t* y, const double* w, std::size_t n, std::size_t classes) {
  for (std::size_t i = 0; i < n; ++i) check_class(y[i], classes);
  if (w) check_weights(w, n);
}

void check_weights(const double* w, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) check_weight(w[i]);
}

template <class T>
void check_codes(const T* codes, const std::int64_t* sizes, std::size_t d, std::size_t n) {
  for (std::size_t j = 0; j < d; ++j) {
    if (static_cast<std::uint64_t>(sizes[j]) >= kNoCode<T>) continue;  // any code has a level
    const T most = static_cast<T>(sizes[j]);
    T wrong = 0;
    for (std::size_t r = 0; r < n; ++r) wrong |= static_cast<T>(codes[j * n + r] + 1) > most;  // missing becomes 0
    if (wrong) throw std::invalid_argument("a code has no level");
  }
}

template void check_codes(const std::uint8_t*, const std::int64_t*, std::size_t, std::size_t);
template void check_codes(const std::uint16_t*, const std::int64_t*, std::size_t, std::size_t);
template void check_codes(const std::uint32_t*, const std::int64_t*, std::size_t, std::size_t);

}  // namespace tb
