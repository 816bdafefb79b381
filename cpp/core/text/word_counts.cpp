#include "core/text/word_counts.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>

namespace tb {
namespace {

void widen(WordCounts& out) {
  if (out.wide) return;
  out.wide = true;
  std::copy_n(out.small.data(), out.small.size(), out.large.extend(out.small.size()));
  out.small.shrink(0);
  out.small.fit();
}

class Counting {
 public:
  Counting(std::size_t before, WordCounts& out) : before_(before), out_(out) {
    if (out_.start.size() == 0) out_.start.push(0);
  }

  // Blocks come here in their order.
  void take(const RowWords& w) {
    const std::size_t more = w.index.size(), from = out_.index.size();
    if (from + more > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
      throw std::length_error("a table holds more than 2147483647 different words of rows; learn it in batches");
    }
    std::copy(w.index.begin(), w.index.end(), out_.index.extend(more));
    for (std::size_t k = 0; k < more; ++k) {
      const auto column = static_cast<std::size_t>(w.index[k]);
      if (column <= before_) continue;
      const std::size_t fresh = column - 1 - before_;
      if (fresh >= seen_.size()) seen_.resize(fresh + 1, 0);
      seen_[fresh] += static_cast<std::uint64_t>(w.count[k]);
    }
    take_counts(w.count);
    std::transform(w.start.begin() + 1, w.start.end(), out_.start.extend(w.rows()),
                   [&](std::int32_t end) { return static_cast<std::int32_t>(from) + end; });
  }

  // How often each new word was seen.
  const std::vector<std::uint64_t>& seen() const { return seen_; }

 private:
  void take_counts(const std::vector<std::int32_t>& count) {
    const bool fits = std::all_of(count.begin(), count.end(), [](std::int32_t x) { return x <= 255; });
    if (!fits) widen(out_);
    if (out_.wide) {
      std::copy(count.begin(), count.end(), out_.large.extend(count.size()));
    } else {
      std::transform(count.begin(), count.end(), out_.small.extend(count.size()),
                     [](std::int32_t x) { return static_cast<std::uint8_t>(x); });
    }
  }

  const std::size_t before_;
  WordCounts& out_;
  std::vector<std::uint64_t> seen_;
};

// Which new words stay: the most frequent ones, and of equally frequent ones the first in the order of their letters.
std::vector<char> chosen(const Dictionary& fresh, const std::vector<std::uint64_t>& seen, std::size_t room) {
  std::vector<std::size_t> order(fresh.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto sooner = [&](std::size_t a, std::size_t b) {
    return seen[a] != seen[b] ? seen[a] > seen[b] : fresh.text(a) < fresh.text(b);
  };
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(room);
  std::nth_element(order.begin(), middle, order.end(), sooner);
  std::vector<char> out(fresh.size(), 0);
  std::for_each(order.begin(), middle, [&](std::size_t c) { out[c] = 1; });
  return out;
}

// Entries of one row that have come to share a cell become one.
void fold(WordCounts& out, const std::vector<std::int32_t>& to, std::size_t before) {
  Growing<std::int32_t>& count = out.large;
  std::vector<std::size_t> place;
  std::size_t end = 0, from = 0;
  for (std::size_t row = 0; row + 1 < out.start.size(); ++row) {
    const std::size_t first = end, stop = static_cast<std::size_t>(out.start[row + 1]);
    for (; from < stop; ++from) {
      const auto code = static_cast<std::size_t>(out.index[from]) - 1;
      const std::int32_t mine = out.index[from] > 0 && code >= before ? 1 + to[code - before] : out.index[from];
      if (place.size() <= static_cast<std::size_t>(mine)) place.resize(static_cast<std::size_t>(mine) + 1, SIZE_MAX);
      std::size_t& at = place[static_cast<std::size_t>(mine)];
      if (at != SIZE_MAX && at >= first && at < end && out.index[at] == mine) {
        count[at] += count[from];
        continue;
      }
      at = end;
      out.index[end] = mine;
      count[end++] = count[from];
    }
    out.start[row + 1] = static_cast<std::int32_t>(end);
  }
  out.index.shrink(end);
  count.shrink(end);
}

std::size_t own_words(const Dictionary* all, std::size_t size) {
  std::size_t own = 0;
  for (std::size_t c = 0; c < size; ++c) own += all->is_text(c) ? 1 : 0;
  return own;
}

// Too many words: some of the new ones go into shared cells.
void share(const Dictionary* all, Known& known, const std::vector<std::uint64_t>& seen, const WordOptions& options,
           WordCounts& out) {
  const std::size_t before = known.before(), own = own_words(all, before);
  const std::size_t room = options.most > own ? options.most - own : 0;
  if (seen.size() <= room) return;
  const std::unique_ptr<Dictionary> fresh = known.take();
  const std::vector<char> stays = chosen(*fresh, seen, room);
  std::vector<std::int32_t> to(fresh->size());
  for (std::size_t c = 0; c < fresh->size(); ++c) {
    if (stays[c]) to[c] = known.add_text(fresh->text(c).data(), fresh->text(c).size());
  }
  for (std::size_t c = 0; c < fresh->size(); ++c) {
    if (stays[c]) continue;
    const Word cell = word_of(static_cast<std::int64_t>(cell_of(fresh->text(c), options.cells)));
    const std::int32_t code = known.find(cell);
    to[c] = code >= 0 ? code : known.add(cell);
  }
  out.shared = true;
  widen(out);  // a cell may be met more often than any of its words
  fold(out, to, before);
}

}  // namespace

void count_words(std::span<const TextRef> texts, Known& known, bool grow, const WordOptions& options, WordCounts& out) {
  const Dictionary* all = known.all();
  Counting counting(known.size(), out);
  WordRounds(known, grow, options).read(texts, [&](const RowWords& w, std::size_t) { counting.take(w); });
  if (grow) share(all, known, counting.seen(), options, out);
  out.index.fit(), out.small.fit(), out.large.fit(), out.start.fit();
}

}  // namespace tb
