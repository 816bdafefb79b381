// Texts to the words of each row, as all who count or weigh words read them. Words that are new are numbered in the
// order of the rows, whatever the number of threads, and what a thread holds is bounded by a round of texts and the
// vocabulary.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/text/analyzer.hpp"
#include "core/encode/known_levels.hpp"
#include "core/encode/lookup.hpp"

namespace tb {

struct WordOptions {
  Analysis analysis;
  std::size_t most = SIZE_MAX;  // words with a cell of their own
  std::size_t cells = 1;        // shared by all others
};

// The cell that a word shares: the same on every machine, for ever.
std::size_t cell_of(std::string_view word, std::size_t cells);

// The words of some rows, read by one thread: rows of a sparse matrix. Column 0 says that there is a text at all,
// column 1 + c is word c of `known`. Nobody adds to that meanwhile.
class RowWords {
 public:
  // grow: words not known have codes of this reader's own, from known.size() on; else they are left out, or counted in
  // their shared cells where those are known.
  RowWords(const Known& known, bool grow, const WordOptions& options)
      : known_(known), grow_(grow), cells_(options.cells), analyzer_(options.analysis) {}

  // In the place of what was read before, up to the first row that cannot be read.
  void read(std::span<const TextRef> texts);

  std::size_t rows() const { return start.size() - 1; }
  std::vector<std::int32_t> index, count, start;  // start: rows + 1
  std::optional<std::size_t> bad;                 // the row that is no UTF-8

  // Words of this reader's own get the codes that `number` gives their letters, from known.size() on.
  template <class Number>
  void number_fresh(Number&& number) {
    for (std::size_t c = to_.size(); c < fresh_.size(); ++c) to_.push_back(number(fresh_.text(c)));
    if (to_.empty()) return;
    const auto own = static_cast<std::int32_t>(known_.size());
    for (std::int32_t& column : index) {
      if (column > own) column = 1 + to_[static_cast<std::size_t>(column - 1 - own)];
    }
  }
  void forget_fresh();  // they are known now

 private:
  static constexpr std::uint32_t kNowhere = UINT32_MAX;

  void read_row(const TextRef& text);
  std::int32_t code_of(const char* p, std::size_t len);
  void add(std::size_t code, std::size_t first);

  const Known& known_;
  const bool grow_;
  const std::size_t cells_;
  Analyzer analyzer_;
  Dictionary fresh_;              // words of this reader's own
  std::vector<std::int32_t> to_;  // their codes; shorter than fresh_: not yet numbered
  std::vector<std::uint32_t> place_;
};

// Many texts by all threads.
class WordRounds {
 public:
  WordRounds(Known& known, bool grow, const WordOptions& options) : known_(known), grow_(grow), options_(options) {}

  // take(words, first row) of the blocks of the texts, in their order and one at a time, with the codes that words have
  // in `known`, to which new ones are added. Throws BadRow.
  using Take = std::function<void(const RowWords&, std::size_t)>;
  void read(std::span<const TextRef> texts, const Take& take);

 private:
  void round(std::span<const TextRef> texts, std::size_t first, const Take& take);

  Known& known_;
  const bool grow_;
  const WordOptions options_;
  std::size_t bytes_ = 0;  // read so far
  std::vector<std::unique_ptr<RowWords>> readers_;
};

// How much work a text is, about: its bytes, and some for the row.
inline std::size_t load_of(const TextRef& text) { return text.bytes() + 16; }

}  // namespace tb
