#include "core/text/row_words.hpp"

#include <algorithm>

#include "core/runtime/threads.hpp"

namespace tb {
namespace {

constexpr std::size_t kBlock = 1 << 15;  // bytes of text, or so; one text is never cut
// Bytes of text for each thread between two times that new words become known to all. Until then every thread has them
// for itself: so a round is no longer than all before it, of which the first have most of the new words.
constexpr std::size_t kRound = 1 << 18;

struct Span {
  std::size_t begin, end;
};

std::vector<Span> blocks_of(std::span<const TextRef> texts) {
  std::vector<Span> out;
  std::size_t begin = 0, load = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    load += load_of(texts[i]);
    if (load < kBlock && i + 1 < texts.size()) continue;
    out.push_back({begin, i + 1});
    begin = i + 1;
    load = 0;
  }
  return out;
}

}  // namespace

std::size_t cell_of(std::string_view word, std::size_t cells) {
  std::uint64_t h = 14695981039346656037u;  // FNV-1a
  for (const char c : word) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return static_cast<std::size_t>((h ^ h >> 32) % cells);
}

void RowWords::read(std::span<const TextRef> texts) {
  index.clear(), count.clear(), start.clear();
  start.push_back(0);
  place_.resize(known_.size() + fresh_.size(), kNowhere);
  bad.reset();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    try {
      if (!texts[i].missing()) read_row(texts[i]);
    } catch (const NotUtf8&) {
      bad = i;
      return;
    }
    start.push_back(static_cast<std::int32_t>(index.size()));
  }
}

void RowWords::read_row(const TextRef& text) {
  const std::size_t first = index.size();
  index.push_back(0);  // there is a text
  count.push_back(1);
  analyzer_.pieces(text, [&](const char* p, std::size_t len) {
    const std::int32_t code = code_of(p, len);
    if (code >= 0) add(static_cast<std::size_t>(code), first);
  });
}

std::int32_t RowWords::code_of(const char* p, std::size_t len) {
  std::int32_t code = len <= kShort ? known_.find(word_of_text(p, len)) : known_.find_text(p, len);
  if (code >= 0) return code;
  if (!grow_) return known_.find(word_of(static_cast<std::int64_t>(cell_of({p, len}, cells_))));
  code = len <= kShort ? fresh_.find(word_of_text(p, len)) : fresh_.find_text(p, len);
  if (code < 0) {
    code = fresh_.add_text(p, len);
    place_.push_back(kNowhere);
  }
  return static_cast<std::int32_t>(known_.size()) + code;
}

// Where a word stands in the row at hand is remembered by its code; what is remembered of another row does not agree.
void RowWords::add(std::size_t code, std::size_t first) {
  const std::uint32_t at = place_[code];
  if (at > first && at < index.size() && index[at] == static_cast<std::int32_t>(1 + code)) {
    ++count[at];
    return;
  }
  place_[code] = static_cast<std::uint32_t>(index.size());
  index.push_back(static_cast<std::int32_t>(1 + code));
  count.push_back(1);
}

void RowWords::forget_fresh() {
  if (fresh_.size() == 0) return;
  fresh_ = Dictionary();
  to_.clear();
}

void WordRounds::read(std::span<const TextRef> texts, const Take& take) {
  readers_.resize(std::max(readers_.size(), static_cast<std::size_t>(threads())));
  const std::size_t most = kRound * readers_.size();
  for (std::size_t begin = 0, end = 0; begin < texts.size(); begin = end) {
    const std::size_t room = grow_ ? std::clamp(bytes_, kBlock, most) : SIZE_MAX;
    std::size_t load = 0;
    while (end < texts.size() && load < room) load += load_of(texts[end++]);
    bytes_ += load;
    round(texts.subspan(begin, end - begin), begin, take);
  }
}

void WordRounds::round(std::span<const TextRef> texts, std::size_t first, const Take& take) {
  const std::vector<Span> blocks = blocks_of(texts);
  Dictionary fresh;  // what is new: the threads read `known_` until the end of the round
  std::optional<std::size_t> bad;
  const auto before = static_cast<std::int32_t>(known_.size());
  const auto number = [&](std::string_view text) { return before + fresh.add_text(text.data(), text.size()); };
  parallel_ordered(
      blocks.size(),
      [&](std::size_t b, int thread) {
        auto& reader = readers_[static_cast<std::size_t>(thread)];
        if (!reader) reader = std::make_unique<RowWords>(known_, grow_, options_);
        reader->read(texts.subspan(blocks[b].begin, blocks[b].end - blocks[b].begin));
      },
      [&](std::size_t b, int thread) {
        RowWords* reader = readers_[static_cast<std::size_t>(thread)].get();
        if (bad || reader == nullptr) return;  // null: it failed before this block, and says so below
        if (reader->bad) {
          bad = blocks[b].begin + *reader->bad;
          return;
        }
        reader->number_fresh(number);
        take(*reader, first + blocks[b].begin);
      });
  if (bad) throw BadRow{kNotUtf8, first + *bad};
  for (std::size_t c = 0; c < fresh.size(); ++c) known_.add_text(fresh.text(c).data(), fresh.text(c).size());
  for (const auto& reader : readers_) {
    if (reader) reader->forget_fresh();
  }
}

}  // namespace tb
