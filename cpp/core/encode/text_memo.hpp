// The codes of texts that rows have had before, in front of the dictionaries while many rows are read.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/encode/dictionary.hpp"

namespace tb {

// A place for each text, which the last that fell there has: so large beside the few levels of most columns that two of
// them hardly ever share one. In a dictionary, which is half full, to look at the wrong place first is a branch that
// nobody foresees, and costs more than all of the rest; and whoever prepares texts that fall into one place here gains
// nothing but what a dictionary takes.
class TextMemo {
 public:
  struct Entry {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    std::uint32_t tag = 0;
    std::int32_t code = kUnseen;

    bool holds(const Word& w) const { return ((a ^ w.a) | (b ^ w.b) | (tag ^ w.tag)) == 0; }
  };

  // Where a word belongs, if anywhere. A word of zeros belongs into place 0, which never looks like it while empty.
  struct Entries {
    const Entry* first;
    const Entry& at(const Word& w) const { return first[((w.a ^ std::rotl(w.b + w.tag, 29)) * kOdd) >> kShift]; }
  };

  TextMemo() : entry_(std::make_unique<Entry[]>(kSize)) { entry_[0].tag = ~0u; }  // of no text

  Entries entries() const { return {entry_.get()}; }
  void put(const Word& w, std::int32_t code) {
    entry_[static_cast<std::size_t>(&entries().at(w) - entry_.get())] = {w.a, w.b, w.tag, code};
  }

  static constexpr std::size_t kManyRows = 4096;  // from which it pays

 private:
  static constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
  static constexpr int kShift = 55;
  static constexpr std::size_t kSize = std::size_t{1} << (64 - kShift);

  std::unique_ptr<Entry[]> entry_;
};

}  // namespace tb
