// What Unicode says of a character, as Python's str and re say it: does \w match it, what is its small letter.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tb {

class Characters {
 public:
  enum Flag : std::uint8_t { word = 1, white = 2, cased = 4, ignored = 8, unspaced = 16 };

  static const Characters& all();  // made once, when it is first asked for

  std::uint8_t flags(std::uint32_t c) const { return entry(c).flags; }
  bool is(std::uint32_t c, Flag flag) const { return (flags(c) & flag) != 0; }
  // The first character of its small letters; only kDotted has two.
  std::uint32_t lower(std::uint32_t c) const {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(c) + shift_[entry(c).shift]);
  }

 private:
  struct Entry {
    std::uint8_t flags = 0, shift = 0;
  };
  using Page = std::array<Entry, 256>;

  Characters();
  Entry& writable(std::uint32_t c);
  const Entry& entry(std::uint32_t c) const { return pages_[page_[c >> 8]][c & 0xFF]; }

  std::array<std::uint16_t, 0x1100> page_{};  // 0: nothing is said of any character there
  std::vector<Page> pages_;
  std::vector<std::int32_t> shift_;
};

inline constexpr std::uint32_t kDotted = 0x130;        // capital I with a dot: its small letters are i and kDotAbove
inline constexpr std::uint32_t kDotAbove = 0x307;      // no letter
inline constexpr std::uint32_t kSigma = 0x3A3;         // its small letter depends on where it stands
inline constexpr std::uint32_t kSmallSigma = 0x3C3;    // within a word
inline constexpr std::uint32_t kFinalSigma = 0x3C2;    // at its end
inline constexpr std::uint32_t kNoCharacter = 0xFFFD;  // in the place of half a surrogate pair

}  // namespace tb
