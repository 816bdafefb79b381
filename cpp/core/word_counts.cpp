#include "core/word_counts.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>

#include "core/lookup.hpp"
#include "core/threads.hpp"

namespace tb {
namespace {

constexpr std::size_t kBlock = 1 << 16;  // bytes of text, or so; one text is never cut
constexpr std::size_t kRow = 16;         // and so many for a row

struct Span {
  std::size_t begin, end;
};

std::vector<Span> blocks_of(const std::vector<TextRef>& texts) {
  std::vector<Span> out;
  std::size_t begin = 0, load = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    load += texts[i].bytes() + kRow;
    if (load < kBlock && i + 1 < texts.size()) continue;
    out.push_back({begin, i + 1});
    begin = i + 1;
    load = 0;
  }
  return out;
}

// The rows of one block at a time. Words that are not known have codes of this worker's own, from known.size() on.
class Worker {
 public:
  Worker(const Dictionary* all, std::size_t size, bool grow, const WordOptions& options)
      : known_(all != nullptr ? Known(*all, size) : Known()),
        grow_(grow),
        cells_(options.cells),
        analyzer_(options.analysis),
        place_(size, kNowhere) {}

  void read(const std::vector<TextRef>& texts, const Span& span) {
    index.clear(), count.clear(), ends.clear();
    for (std::size_t i = span.begin; i < span.end && !bad; ++i) {
      if (!texts[i].missing()) read_row(texts[i], i);
      ends.push_back(index.size());
    }
  }

  std::optional<BadRow> bad;  // the first one of this worker

  Dictionary fresh;              // of the words of this worker's own
  std::vector<std::int32_t> to;  // their codes among all; shorter than fresh: not yet numbered
  std::vector<std::int32_t> index, count;
  std::vector<std::size_t> ends;

 private:
  static constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();

  void read_row(const TextRef& text, std::size_t row) {
    const std::size_t first = index.size();
    index.push_back(-1);  // there is a text
    count.push_back(1);
    try {
      analyzer_.pieces(text, [&](const char* p, std::size_t len) {
        const std::int32_t code = code_of(p, len);
        if (code >= 0) add(static_cast<std::size_t>(code), first);
      });
    } catch (const NotUtf8&) {
      bad = BadRow{kNotUtf8, row};
    }
  }

  std::int32_t code_of(const char* p, std::size_t len) {
    std::int32_t code = len <= kShort ? known_.find(word_of_text(p, len)) : known_.find_text(p, len);
    if (code >= 0) return code;
    if (!grow_) return known_.find(word_of(static_cast<std::int64_t>(cell_of({p, len}, cells_))));
    code = len <= kShort ? fresh.find(word_of_text(p, len)) : fresh.find_text(p, len);
    if (code < 0) {
      code = fresh.add_text(p, len);
      place_.push_back(kNowhere);
    }
    return static_cast<std::int32_t>(known_.size()) + code;
  }

  // Where a word stands in the row at hand is remembered by its code; what is remembered of another row does not agree.
  void add(std::size_t code, std::size_t first) {
    const std::uint32_t at = place_[code];
    if (at > first && at < index.size() && index[at] == static_cast<std::int32_t>(code)) {
      ++count[at];
      return;
    }
    place_[code] = static_cast<std::uint32_t>(index.size());
    index.push_back(static_cast<std::int32_t>(code));
    count.push_back(1);
  }

  const Known known_;
  const bool grow_;
  const std::size_t cells_;
  Analyzer analyzer_;
  std::vector<std::uint32_t> place_;
};

void widen(WordCounts& out) {
  if (out.wide) return;
  out.wide = true;
  std::copy_n(out.small.data(), out.small.size(), out.large.extend(out.small.size()));
  out.small.shrink(0);
  out.small.fit();
}

class Counting {
 public:
  Counting(Known& known, WordCounts& out) : known_(known), before_(known.size()), out_(out) {
    if (out_.start.size() == 0) out_.start.push(0);
  }

  // Blocks come here in their order.
  void take(Worker& w) {
    for (std::size_t c = w.to.size(); c < w.fresh.size(); ++c) {
      const std::string_view text = w.fresh.text(c);
      std::int32_t code = known_.find_text(text.data(), text.size());
      if (code < 0) {
        code = known_.add_text(text.data(), text.size());
        seen_.push_back(0);
      }
      w.to.push_back(code);
    }
    const std::size_t more = w.index.size(), from = out_.index.size();
    if (from + more > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
      throw std::length_error("a table holds more than 2147483647 different words of rows; learn it in batches");
    }
    std::int32_t* index = out_.index.extend(more);
    for (std::size_t k = 0; k < more; ++k) {
      const auto code = static_cast<std::size_t>(w.index[k]);
      const bool new_word = w.index[k] >= 0 && code >= before_;
      const std::int32_t mine = new_word ? w.to[code - before_] : w.index[k];
      if (new_word) seen_[static_cast<std::size_t>(mine) - before_] += static_cast<std::uint64_t>(w.count[k]);
      index[k] = 1 + mine;
    }
    take_counts(w.count);
    for (const std::size_t end : w.ends) out_.start.push(static_cast<std::int32_t>(from + end));
  }

  // How often each new word was met.
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

  Known& known_;
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

std::size_t cell_of(std::string_view word, std::size_t cells) {
  std::uint64_t h = 14695981039346656037u;  // FNV-1a
  for (const char c : word) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return static_cast<std::size_t>((h ^ h >> 32) % cells);
}

void count_words(const std::vector<TextRef>& texts, Known& known, bool grow, const WordOptions& options,
                 WordCounts& out) {
  const std::vector<Span> blocks = blocks_of(texts);
  std::vector<std::unique_ptr<Worker>> workers(static_cast<std::size_t>(threads()));
  const Dictionary* all = known.all();
  const std::size_t before = known.size();
  Counting counting(known, out);
  parallel_ordered(
      blocks.size(),
      [&](std::size_t b, int thread) {
        auto& worker = workers[static_cast<std::size_t>(thread)];
        if (!worker) worker = std::make_unique<Worker>(all, before, grow, options);
        worker->read(texts, blocks[b]);
      },
      [&](std::size_t, int thread) {
        if (const auto& worker = workers[static_cast<std::size_t>(thread)]) counting.take(*worker);
      });
  std::optional<BadRow> bad;
  for (const auto& worker : workers) {
    if (worker && worker->bad && (!bad || worker->bad->row < bad->row)) bad = worker->bad;
  }
  if (bad) throw *bad;
  workers.clear();
  if (grow) share(all, known, counting.seen(), options, out);
  out.index.fit(), out.small.fit(), out.large.fit(), out.start.fit();
}

}  // namespace tb
