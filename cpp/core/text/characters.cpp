#include "core/text/characters.hpp"

#include <algorithm>

#include "core/text/characters_table.hpp"

namespace tb {

const Characters& Characters::all() {
  static const Characters made;
  return made;
}

Characters::Characters() : pages_(1), shift_(1, 0) {
  for (const characters::Run& run : characters::kFlags) {
    for (std::uint32_t c = run.first; c <= run.last; ++c) writable(c).flags = static_cast<std::uint8_t>(run.value);
  }
  for (const characters::Run& run : characters::kShifts) {
    const auto known = std::find(shift_.begin(), shift_.end(), run.value);
    const auto place = static_cast<std::uint8_t>(known - shift_.begin());
    if (known == shift_.end()) shift_.push_back(run.value);
    for (std::uint32_t c = run.first; c <= run.last; ++c) writable(c).shift = place;
  }
}

Characters::Entry& Characters::writable(std::uint32_t c) {
  std::uint16_t& page = page_[c >> 8];
  if (page == 0) {
    page = static_cast<std::uint16_t>(pages_.size());
    pages_.emplace_back();
  }
  return pages_[page][c & 0xFF];
}

}  // namespace tb
