#include "core/sorted.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <utility>

namespace tb {
namespace {

constexpr std::size_t kDigits = 8;  // of 8 bits: 256 write streams are what the address translation caches bear
constexpr std::size_t kRun = 1024;

}  // namespace

// Memory that is never touched costs nothing, so the buffers are as long as the longest column could need.
Sorted::Sorted(std::size_t n, Tag kind)
    : key(std::make_unique_for_overwrite<std::uint64_t[]>(n)),
      tag(kind == Tag::none ? nullptr : std::make_unique_for_overwrite<std::uint32_t[]>(n)),
      kind_(kind),
      key2_(std::make_unique_for_overwrite<std::uint64_t[]>(n)),
      tag2_(kind == Tag::none ? nullptr : std::make_unique_for_overwrite<std::uint32_t[]>(n)) {
  if (n > std::numeric_limits<std::uint32_t>::max()) {
    throw std::invalid_argument("cuts are found from at most 4294967295 rows; pass a sample of the rows");
  }
}

bool Sorted::sort(const Columns& x, std::size_t column, const Rows& rows, FirstInfinite& bad) {
  std::array<double, kRun> value;
  count = 0;
  for (std::size_t first = 0; first < x.n; first += kRun) {
    const std::size_t run = std::min(kRun, x.n - first);
    read_values(x.col[column], rows, first, run, value.data());
    if (!bad.check(value.data(), first, run, column)) return false;
    for (std::size_t i = 0; i < run; ++i) {  // without branches: written always, kept if not NaN
      key[count] = key_of(value[i]);
      if (kind_ == Tag::label) tag[count] = static_cast<std::uint32_t>(rows.y[first + i]);
      if (kind_ == Tag::row) tag[count] = static_cast<std::uint32_t>(first + i);
      count += value[i] == value[i];
    }
  }
  kind_ == Tag::none ? radix_sort<false>() : radix_sort<true>();
  return true;
}

// From the least significant digit; a digit that all keys share (floats of 4 bytes and whole numbers have many)
// is skipped.
template <bool tagged>
void Sorted::radix_sort() {
  std::array<std::array<std::uint32_t, 256>, kDigits> place{};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t p = 0; p < kDigits; ++p) ++place[p][(key[i] >> (8 * p)) & 255];
  }
  for (std::size_t p = 0; p < kDigits && count > 1; ++p) {
    auto& at = place[p];
    if (at[(key[0] >> (8 * p)) & 255] == count) continue;
    std::uint32_t sum = 0;
    for (auto& a : at) sum += std::exchange(a, sum);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t k = key[i];
      const std::uint32_t to = at[(k >> (8 * p)) & 255]++;
      key2_[to] = k;
      if constexpr (tagged) tag2_[to] = tag[i];
    }
    std::swap(key, key2_);
    if constexpr (tagged) std::swap(tag, tag2_);
  }
}

}  // namespace tb
