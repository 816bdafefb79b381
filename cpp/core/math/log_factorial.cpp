#include "core/math/log_factorial.hpp"

#include <math.h>  // lgamma_r: std::lgamma writes a global, and several threads come here

#include <array>
#include <cstddef>

namespace tb {
namespace {

double slow(double x) {
  int sign = 0;
  return lgamma_r(x + 1, &sign);
}

std::array<double, 256> make_table() {
  std::array<double, 256> t{};
  for (std::size_t i = 0; i < t.size(); ++i) t[i] = slow(static_cast<double>(i));
  return t;
}

}  // namespace

double log_factorial(double x) {
  static const std::array<double, 256> table = make_table();
  if (x < 256) {
    const auto whole = static_cast<std::size_t>(x);
    if (static_cast<double>(whole) == x) return table[whole];
  }
  return slow(x);
}

}  // namespace tb
