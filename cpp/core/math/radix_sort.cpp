#include "core/math/radix_sort.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <utility>

namespace tb {
namespace {

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
  std::array<double, kRun> buffer;
  count = 0;
  for (std::size_t first = 0; first < x.n; first += kRun) {
    const std::size_t run = std::min(kRun, x.n - first);
    const double* value = read_values(x.col[column], rows, first, run, buffer.data());
    if (!bad.check(value, first, run, column)) return false;
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

// Digits are of 8 bits: 256 places to write to are as many as the address translation caches bear.
// Five digits from the highest in which keys differ nearly always tell all keys apart; what is left in disorder is a
// few neighbours, put right by insertion. If it is more than that, the other digits are sorted too.
template <bool tagged>
void Sorted::radix_sort() {
  std::uint64_t differ = 0;
  for (std::size_t i = 1; i < count; ++i) differ |= key[i] ^ key[0];
  if (differ == 0) return;
  const auto high = static_cast<std::size_t>(63 - std::countl_zero(differ)) / 8;
  const std::size_t low = high < 5 ? 0 : high - 4;
  sort_digits<tagged>(low, high + 1);
  if (low > 0 && !insertion_sort<tagged>(2 * count)) sort_digits<tagged>(0, high + 1);
}

// By digits low .. end of the keys, the least significant first; a digit that all keys share (floats of 4 bytes and
// whole numbers have many) is skipped.
template <bool tagged>
void Sorted::sort_digits(std::size_t low, std::size_t end) {
  std::array<std::array<std::uint32_t, 256>, 8> place{};
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t p = low; p < end; ++p) ++place[p][(key[i] >> (8 * p)) & 255];
  }
  for (std::size_t p = low; p < end; ++p) {
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

// False if it would take more moves than that.
template <bool tagged>
bool Sorted::insertion_sort(std::size_t moves) {
  for (std::size_t i = 1; i < count; ++i) {
    const std::uint64_t k = key[i];
    if (key[i - 1] <= k) continue;
    const std::uint32_t t = tagged ? tag[i] : 0;
    std::size_t j = i;
    for (; j > 0 && key[j - 1] > k && moves > 0; --j, --moves) {
      key[j] = key[j - 1];
      if constexpr (tagged) tag[j] = tag[j - 1];
    }
    key[j] = k;
    if constexpr (tagged) tag[j] = t;
    if (moves == 0) return false;
  }
  return true;
}

}  // namespace tb
