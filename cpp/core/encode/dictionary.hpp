// The levels of a categorical column and their codes 0, 1, 2, ... A new level gets the next code, and
// no code ever changes: the dictionary only grows by appending.
//
// A level is a text or a number. A text of at most 16 bytes and every number fit in two words, so that
// looking one up is a multiplication and one comparison. A longer text is found by its hash and length
// and compared with the bytes kept here.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/runtime/memory.hpp"

namespace tb {

constexpr std::int32_t kMissing = -1;
constexpr std::int32_t kUnseen = -2;

// tag: 0..16 = a text of so many bytes, the rest of the words zero.
struct Word {
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint32_t tag = 0;
};
constexpr std::uint32_t kShort = 16;
constexpr std::uint32_t kLong = 17;      // a = hash, b = length
constexpr std::uint32_t kInteger = 18;   // a = an int64
constexpr std::uint32_t kUnsigned = 19;  // a = a uint64 above the range of int64
constexpr std::uint32_t kReal = 20;      // a = the bits of a double that is no such integer
constexpr std::uint32_t kOther = 21;     // a = its own code: a level kept elsewhere, that holds its code here

// Word by word: 16 bytes copied at once pass through memory, and the wait for that costs more than the lookup.
inline std::uint64_t load_word(const void* p) {
  std::uint64_t x;
  std::memcpy(&x, p, 8);
  return x;
}

// 16 bytes of ones, then 16 of zeros: the mask of a text of len bytes starts at 16 - len.
alignas(32) inline constexpr unsigned char kMask[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                        255, 255, 255, 255, 255, 255, 255, 255};

// len <= 16, and 16 bytes may be read from p.
inline Word word_of_text(const char* p, std::size_t len) {
  const unsigned char* mask = kMask + (kShort - len);
  return {load_word(p) & load_word(mask), load_word(p + 8) & load_word(mask + 8), static_cast<std::uint32_t>(len)};
}

// The same when only the len bytes themselves may be read.
inline Word word_of_text_at_edge(const char* p, std::size_t len) {
  std::uint64_t x[2] = {0, 0};
  if (len > 0) std::memcpy(x, p, len);
  return {x[0], x[1], static_cast<std::uint32_t>(len)};
}

// Numbers that are equal get equal words whatever their types: 1 == 1.0, 0.0 == -0.0, and integers
// above 2^53 keep all their digits. NaN is not a level; the caller takes it out.
inline Word word_of(std::int64_t x) { return {static_cast<std::uint64_t>(x), 0, kInteger}; }
inline Word word_of(std::uint64_t x) { return {x, 0, x >> 63 ? kUnsigned : kInteger}; }
inline Word word_of(double x) {
  constexpr double two63 = 9223372036854775808.0;
  if (x >= -two63 && x < two63) {
    const auto i = static_cast<std::int64_t>(x);
    if (static_cast<double>(i) == x) return word_of(i);
  } else if (x >= two63 && x < 2 * two63) {
    return word_of(static_cast<std::uint64_t>(x));  // a double this large is an integer
  }
  Word w{0, 0, kReal};
  std::memcpy(&w.a, &x, 8);
  return w;
}

class Dictionary {
 public:
  explicit Dictionary(std::size_t expected = 0);
  Dictionary(Dictionary&&) noexcept = default;  // moved, never copied: a copy costs what all levels cost
  Dictionary& operator=(Dictionary&&) noexcept = default;

  // How many this process has made so far: what must not depend on the number of levels makes none.
  static std::uint64_t made();

  // A new one with the first levels of this one.
  Dictionary head(std::size_t size) const;

  std::size_t size() const { return levels_.size(); }

  // The code of a level, or kUnseen.
  std::int32_t find(const Word& w) const;  // anything but a long text
  std::int32_t find_long(const char* p, std::size_t len) const;
  std::int32_t find_text(const char* p, std::size_t len) const;

  // The code of a level, which is appended if it is new.
  std::int32_t add(const Word& w);
  std::int32_t add_text(const char* p, std::size_t len);
  std::int32_t add_other();  // always new: nothing finds it

  // Appends level `code` of another dictionary, which must be new here.
  void append_from(const Dictionary& other, std::size_t code);

  bool is_other(std::size_t code) const { return levels_[code].tag == kOther; }
  bool is_text(std::size_t code) const { return levels_[code].tag <= kLong; }
  std::string_view text(std::size_t code) const;
  Word number(std::size_t code) const { return levels_[code]; }

 private:
  struct Slot {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    std::uint32_t tag = 0;
    std::int32_t code = kUnseen;  // of an empty slot
  };

  std::size_t home(const Word& w) const;
  std::int32_t append(const Word& key, const Word& level);
  void place(const Word& key, std::int32_t code);
  void grow();

  std::vector<Slot, OwnPages<Slot>> slots_;  // open addressing, a power of two, at most half full
  std::size_t mask_;
  std::vector<Word, OwnPages<Word>> levels_;  // by code; of a long text a = its place in bytes_, b = its length
  std::vector<char> bytes_;
};

// The two words, multiplied and folded. The seed is drawn once per process, so that nobody can prepare
// texts that all fall into one place; codes do not depend on it.
struct HashSeed {
  std::uint64_t a, b;
};
extern const HashSeed kSeed;

inline std::uint64_t folded_product(std::uint64_t x, std::uint64_t y) {
  __extension__ using Wide = unsigned __int128;
  const Wide z = static_cast<Wide>(x) * y;
  return static_cast<std::uint64_t>(z) ^ static_cast<std::uint64_t>(z >> 64);
}

inline std::size_t Dictionary::home(const Word& w) const {
  return folded_product(w.a ^ kSeed.a, w.b ^ w.tag ^ kSeed.b) & mask_;
}

inline std::int32_t Dictionary::find(const Word& w) const {
  for (std::size_t s = home(w);; s = (s + 1) & mask_) {
    const Slot& e = slots_[s];
    if (((e.a ^ w.a) | (e.b ^ w.b) | (e.tag ^ w.tag)) == 0 || e.code < 0) return e.code;
  }
}

}  // namespace tb
