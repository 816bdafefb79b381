// Cuts as short decimals. A cut halfway between two values tells each of them to who knows the other, and a forgotten
// row may have had one of them. The shortest decimal in the middle half of the interval separates the same values.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/encode/cut_points.hpp"
#include "core/runtime/threads.hpp"
#include "kernels/cut_points.hpp"

namespace tb {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();
constexpr int kDigits = 17;  // any two different doubles have a decimal of so many digits between them, or none

double power(int k) { return std::pow(10.0, k); }

double decimal(double whole, int k) { return k < 0 ? whole / power(-k) : whole * power(k); }

struct Neighbours {  // for each cut the greatest value below it and the least that is not
  std::vector<double> below, above;
};

}  // namespace

double shortest_between(double a, double b, double otherwise) {
  const double middle = a / 2 + b / 2, half = b / 2 - a / 2, largest = std::max(std::fabs(a), std::fabs(b));
  if (!(a < b) || !std::isfinite(largest) || largest < 1e-290 || largest > 1e290) return otherwise;
  const int top = static_cast<int>(std::floor(std::log10(largest)));
  for (int k = top; k > top - kDigits - 1; --k) {
    const double found = decimal(std::round(middle / power(k)), k);
    if (a < found && found < b && std::fabs(found - middle) <= half / 2) return found;
  }
  const auto low = static_cast<int>(std::floor(std::log10(half)));  // an interval far narrower than its distance from 0
  const double found = decimal(std::round(middle / power(low)), low);
  return a < found && found < b ? found : otherwise;
}

void round_cuts(const Columns& x, const Rows& rows, const std::int64_t* size, double* cut) {
  std::vector<std::size_t> start(x.d + 1, 0);
  for (std::size_t j = 0; j < x.d; ++j) start[j + 1] = start[j] + static_cast<std::size_t>(size[j]);
  const std::size_t m = start[x.d];
  std::vector<Neighbours> found(static_cast<std::size_t>(threads()));
  for (auto& own : found) own = {std::vector<double>(m, -kNone), std::vector<double>(m, kNone)};
  each_tile(x, rows, [&](const Tile& t) {
    const std::size_t first = start[t.column], count = start[t.column + 1] - first;
    Neighbours& own = found[static_cast<std::size_t>(t.thread)];
    std::array<std::int32_t, kMostRows> code;
    TB_CALL(count_cuts, t.value, t.count, cut + first, count, code.data());
    for (std::size_t i = 0; i < t.count && count > 0; ++i) {
      if (code[i] < 0) continue;
      const std::size_t at = first + static_cast<std::size_t>(code[i]);
      if (at > first) own.above[at - 1] = std::min(own.above[at - 1], t.value[i]);
      if (at < first + count) own.below[at] = std::max(own.below[at], t.value[i]);
    }
  });
  Neighbours& all = found[0];
  for (const auto& own : found) {
    for (std::size_t i = 0; i < m; ++i) {
      all.below[i] = std::max(all.below[i], own.below[i]);
      all.above[i] = std::min(all.above[i], own.above[i]);
    }
  }
  for (std::size_t j = 0; j < x.d; ++j) {
    for (std::size_t i = start[j]; i < start[j + 1]; ++i) {  // no value between two cuts: each keeps to its side
      if (i > start[j] && all.below[i] < cut[i - 1]) all.below[i] = cut[i - 1] / 2 + cut[i] / 2;
      if (i + 1 < start[j + 1] && all.above[i] >= cut[i + 1]) all.above[i] = cut[i] / 2 + cut[i + 1] / 2;
    }
  }
  for (std::size_t i = 0; i < m; ++i) cut[i] = shortest_between(all.below[i], all.above[i], cut[i]);
}

}  // namespace tb
