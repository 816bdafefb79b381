#include "core/encode/dictionary.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <random>
#include <stdexcept>
#include <utility>

namespace tb {
namespace {

HashSeed draw_seed() {
  try {
    std::random_device draw;
    const auto word = [&] { return (static_cast<std::uint64_t>(draw()) << 32) | draw(); };
    return {word(), word()};
  } catch (const std::exception&) {  // a machine without a source of chance
    return {0x2D358DCCAA6C78A5u, 0x8BB84B93962EACC9u};
  }
}

// len > 16: the last 16 bytes are taken as they are and may overlap those before.
std::uint64_t hash_long(const char* p, std::size_t len) {
  std::uint64_t h = kSeed.a ^ len;
  for (std::size_t i = 0; i + 16 < len; i += 16) {
    h = folded_product(load_word(p + i) ^ h, load_word(p + i + 8) ^ kSeed.b);
  }
  return folded_product(load_word(p + len - 16) ^ h, load_word(p + len - 8) ^ kSeed.b);
}

constexpr std::size_t kLeastSlots = 512;  // so many that a handful of levels rarely share a slot

constexpr std::size_t kManySlots = 1 << 17;  // memory counts from here on

std::atomic<std::uint64_t> dictionaries_made{0};

}  // namespace

const HashSeed kSeed = draw_seed();

Dictionary::Dictionary(std::size_t expected)
    : slots_(std::max(kLeastSlots, std::bit_ceil(4 * expected))), mask_(slots_.size() - 1) {
  levels_.reserve(expected);
  dictionaries_made.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t Dictionary::made() { return dictionaries_made.load(std::memory_order_relaxed); }

Dictionary Dictionary::head(std::size_t size) const {
  Dictionary out(size);
  for (std::size_t code = 0; code < size; ++code) out.append_from(*this, code);
  return out;
}

std::int32_t Dictionary::find_long(const char* p, std::size_t len) const {
  const Word w{hash_long(p, len), len, kLong};
  for (std::size_t s = home(w);; s = (s + 1) & mask_) {
    const Slot& e = slots_[s];
    if (e.code < 0) return kUnseen;
    if (e.a == w.a && e.b == w.b && e.tag == w.tag &&
        std::memcmp(bytes_.data() + levels_[static_cast<std::size_t>(e.code)].a, p, len) == 0) {
      return e.code;
    }
  }
}

std::int32_t Dictionary::find_text(const char* p, std::size_t len) const {
  return len <= kShort ? find(word_of_text_at_edge(p, len)) : find_long(p, len);
}

std::int32_t Dictionary::add(const Word& w) {
  const std::int32_t code = find(w);
  return code >= 0 ? code : append(w, w);
}

std::int32_t Dictionary::add_text(const char* p, std::size_t len) {
  if (len <= kShort) return add(word_of_text_at_edge(p, len));
  const std::int32_t code = find_long(p, len);
  if (code >= 0) return code;
  const Word level{bytes_.size(), len, kLong};
  bytes_.insert(bytes_.end(), p, p + len);
  return append({hash_long(p, len), len, kLong}, level);
}

std::int32_t Dictionary::add_other() {
  const Word w{levels_.size(), 0, kOther};
  return append(w, w);
}

void Dictionary::append_from(const Dictionary& other, std::size_t code) {
  const Word& w = other.levels_[code];
  if (w.tag == kLong) {
    add_text(other.bytes_.data() + w.a, w.b);
  } else if (w.tag == kOther) {
    add_other();
  } else {
    append(w, w);
  }
}

std::string_view Dictionary::text(std::size_t code) const {
  const Word& w = levels_[code];
  if (w.tag == kLong) return {bytes_.data() + w.a, w.b};
  return {reinterpret_cast<const char*>(&w), w.tag};  // its two words come first
}

std::int32_t Dictionary::append(const Word& key, const Word& level) {
  if (levels_.size() >= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw std::length_error("a column has more than 2147483647 levels");
  }
  if (2 * (levels_.size() + 1) > slots_.size()) grow();
  const auto code = static_cast<std::int32_t>(levels_.size());
  levels_.push_back(level);
  place(key, code);
  return code;
}

void Dictionary::place(const Word& key, std::int32_t code) {
  std::size_t s = home(key);
  while (slots_[s].code >= 0) s = (s + 1) & mask_;
  slots_[s] = {key.a, key.b, key.tag, code};
}

void Dictionary::grow() {
  const std::size_t times = slots_.size() < kManySlots ? 4 : 2;
  const auto old = std::exchange(slots_, std::vector<Slot, OwnPages<Slot>>(times * slots_.size()));
  mask_ = slots_.size() - 1;
  for (const Slot& e : old) {
    if (e.code >= 0) place({e.a, e.b, e.tag}, e.code);
  }
}

}  // namespace tb
