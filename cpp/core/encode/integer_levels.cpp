// integer_levels: the distinct values of an integer column, and each value's place among them.
#include <algorithm>
#include <limits>
#include <mutex>
#include <stdexcept>

#include "core/encode/labels.hpp"
#include "core/runtime/threads.hpp"
#include "kernels/integer_range.hpp"

namespace tb {
namespace {

constexpr std::size_t kBlock = 1 << 15;
constexpr std::uint64_t kRange = 1 << 16;  // a table of all values between the smallest and the largest
constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();

template <class T, bool side_by_side>
struct Values {
  const char* data;
  std::ptrdiff_t stride;
  std::size_t n;
  T at(std::size_t i) const {
    T v;
    const auto step = side_by_side ? static_cast<std::ptrdiff_t>(sizeof v) : stride;
    __builtin_memcpy(&v, data + static_cast<std::ptrdiff_t>(i) * step, sizeof v);
    return v;
  }
  std::int64_t operator[](std::size_t i) const { return static_cast<std::int64_t>(at(i)); }
  template <class F>
  void blocks(F&& f) const {
    parallel_for((n + kBlock - 1) / kBlock, [&](std::size_t b, int) { f(b * kBlock, std::min(n, (b + 1) * kBlock)); });
  }
};

// Open addressing; a place holds a value and its code, code < 0: empty.
class Table {
 public:
  explicit Table(std::size_t values) {
    std::size_t size = 16;
    while (size < 2 * values) size *= 2;
    place_.assign(size, Place{0, -1});
  }
  // The place of v, or where it would go.
  std::size_t find(std::int64_t v) const {
    const std::size_t mask = place_.size() - 1;
    std::size_t at = hash(v) & mask;
    while (place_[at].code >= 0 && place_[at].value != v) at = (at + 1) & mask;
    return at;
  }
  bool insert(std::int64_t v, std::int32_t code) {
    const std::size_t at = find(v);
    if (place_[at].code >= 0) return false;
    place_[at] = {v, code};
    if (2 * ++used_ > place_.size()) grow();
    return true;
  }
  std::int32_t code(std::int64_t v) const { return place_[find(v)].code; }
  void values(std::vector<std::int64_t>& out) const {
    for (const Place& p : place_)
      if (p.code >= 0) out.push_back(p.value);
  }

 private:
  struct Place {
    std::int64_t value;
    std::int32_t code;
  };
  static std::size_t hash(std::int64_t v) {
    auto h = static_cast<std::uint64_t>(v) * 0x9E3779B97F4A7C15u;
    h ^= h >> 32;
    h *= 0xD6E8FEB86659FD93u;
    return static_cast<std::size_t>(h ^ (h >> 32));
  }
  void grow() {
    std::vector<Place> old(2 * place_.size(), Place{0, -1});
    old.swap(place_);
    for (const Place& p : old)
      if (p.code >= 0) place_[find(p.value)] = p;
  }
  std::vector<Place> place_;
  std::size_t used_ = 0;
};

template <class T, bool side_by_side>
std::vector<std::int64_t> by_range(const Values<T, side_by_side>& y, std::int64_t low, std::uint64_t range,
                                   std::int32_t* codes) {
  std::vector<std::int32_t> code(range, -1);
  std::mutex mutex;
  y.blocks([&](std::size_t begin, std::size_t end) {
    std::vector<unsigned char> seen(range, 0);
    unsigned char* const mark = seen.data();
    const auto own = y;  // a byte may alias anything but local variables
    const std::int64_t from = low;
    std::int32_t* const to = codes;
    for (std::size_t i = begin; i < end; ++i) to[i] = static_cast<std::int32_t>(own[i] - from);
    for (std::size_t i = begin; i < end; ++i) mark[to[i]] = 1;
    const std::lock_guard lock(mutex);
    for (std::uint64_t v = 0; v < range; ++v)
      if (seen[v]) code[v] = 0;
  });
  std::vector<std::int64_t> levels;
  for (std::uint64_t v = 0; v < range; ++v) {
    if (code[v] < 0) continue;
    code[v] = static_cast<std::int32_t>(levels.size());
    levels.push_back(static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + v));
  }
  if (levels.size() == range) return levels;  // without missing values: places are codes
  y.blocks([&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) codes[i] = code[static_cast<std::size_t>(codes[i])];
  });
  return levels;
}

template <class T, bool side_by_side>
std::vector<std::int64_t> by_hash(const Values<T, side_by_side>& y, std::int32_t* codes) {
  std::vector<Table> own(static_cast<std::size_t>(threads()), Table(1024));
  parallel_for((y.n + kBlock - 1) / kBlock, [&](std::size_t b, int thread) {
    Table& t = own[static_cast<std::size_t>(thread)];
    for (std::size_t i = b * kBlock; i < std::min(y.n, (b + 1) * kBlock); ++i) t.insert(y[i], 0);
  });
  std::vector<std::int64_t> levels;
  for (const Table& t : own) t.values(levels);
  own.clear();
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  if (levels.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    throw std::invalid_argument("more than 2^31 - 1 distinct labels");
  Table all(levels.size());
  for (std::size_t k = 0; k < levels.size(); ++k) all.insert(levels[k], static_cast<std::int32_t>(k));
  y.blocks([&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) codes[i] = all.code(y[i]);
  });
  return levels;
}

template <class T, bool side_by_side>
std::vector<std::int64_t> levels_in(const Column& c, std::size_t n, std::int32_t* codes) {
  if (n == 0) return {};
  const Values<T, side_by_side> y{c.data, c.stride, n};
  std::int64_t low = std::numeric_limits<std::int64_t>::max(), high = kSmallest;
  std::mutex mutex;
  y.blocks([&](std::size_t begin, std::size_t end) {
    const Dtype signed_too = c.dtype == Dtype::u64 ? Dtype::i64 : c.dtype;
    const Range r =
        TB_CALL(range_of, c.data + static_cast<std::ptrdiff_t>(begin) * c.stride, end - begin, c.stride, signed_too);
    const std::lock_guard lock(mutex);
    low = std::min(low, r.low);
    high = std::max(high, r.high);
  });
  // An unsigned value beyond int64 has become negative.
  if (c.dtype == Dtype::u64 && low < 0)
    throw std::invalid_argument("labels beyond 2^63 - 1 are not supported; give them as strings");
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  return range < kRange ? by_range(y, low, range + 1, codes) : by_hash(y, codes);
}

template <class T>
std::vector<std::int64_t> levels_of(const Column& c, std::size_t n, std::int32_t* codes) {
  return c.stride == static_cast<std::ptrdiff_t>(sizeof(T)) ? levels_in<T, true>(c, n, codes)
                                                            : levels_in<T, false>(c, n, codes);
}

}  // namespace

std::vector<std::int64_t> integer_levels(const Column& y, std::size_t n, std::int32_t* codes) {
  switch (y.dtype) {
    case Dtype::i8:
      return levels_of<std::int8_t>(y, n, codes);
    case Dtype::i16:
      return levels_of<std::int16_t>(y, n, codes);
    case Dtype::i32:
      return levels_of<std::int32_t>(y, n, codes);
    case Dtype::i64:
      return levels_of<std::int64_t>(y, n, codes);
    case Dtype::u16:
      return levels_of<std::uint16_t>(y, n, codes);
    case Dtype::u32:
      return levels_of<std::uint32_t>(y, n, codes);
    case Dtype::u64:
      return levels_of<std::uint64_t>(y, n, codes);
    case Dtype::u8:
    case Dtype::b1:
      return levels_of<std::uint8_t>(y, n, codes);
    default:
      throw std::invalid_argument("labels must be integers or booleans");
  }
}

}  // namespace tb
