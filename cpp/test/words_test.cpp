// Words of texts held in every form, each in an allocation of exactly its size, so that the sanitizers see a byte too
// many; and counts by threads beside counts by hand.
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/text/analyzer.hpp"
#include "core/encode/lookup.hpp"
#include "core/text/word_counts.hpp"
#include "core/text/word_sums.hpp"
#include "test/check.hpp"

namespace {

using namespace tb;
using Strings = std::vector<std::string>;

// A text in memory of its own.
template <class Unit>
struct Held {
  explicit Held(const std::basic_string<Unit>& s) : data(new Unit[s.size()]), size(s.size()) {
    std::memcpy(data.get(), s.data(), s.size() * sizeof(Unit));
  }
  TextRef ref(TextRef::Form form) const { return {data.get(), size, form}; }
  std::unique_ptr<Unit[]> data;
  std::size_t size;
};

Strings pieces(const TextRef& text, const Analysis& how = {}) {
  Analyzer analyzer(how);
  Strings out;
  analyzer.pieces(text, [&](const char* p, std::size_t len) { out.emplace_back(p, len); });
  return out;
}

Strings pieces(const std::string& text, const Analysis& how = {}) {
  const Held<char> held(text);
  return pieces(held.ref(TextRef::utf8), how);
}

bool is_refused(const std::string& text) {
  try {
    pieces(text);
  } catch (const NotUtf8&) {
    return true;
  }
  return false;
}

TEST(words_of_every_form) {
  CHECK((pieces("Hello, big World a9 x") == Strings{"hello", "big", "world", "a9"}));
  CHECK((pieces("\xC3\x89tude") == Strings{"\xC3\xA9tude"}));
  const Held<char16_t> two(u"Étude Ж9");
  CHECK((pieces(two.ref(TextRef::ucs2)) == Strings{"\xC3\xA9tude",
                                                   "\xD0\xB6"
                                                   "9"}));
  const Held<char32_t> four(U"Étude \U0001F600 ab");
  CHECK((pieces(four.ref(TextRef::ucs4)) == Strings{"\xC3\xA9tude", "ab"}));
  const Held<char> one("\xC9tude");
  CHECK((pieces(one.ref(TextRef::latin1)) == Strings{"\xC3\xA9tude"}));
  CHECK(pieces("").empty());
}

TEST(words_in_rows_and_characters) {
  CHECK((pieces("ab cd ef", {Analysis::words, 2, 2, true}) == Strings{"ab cd", "cd ef"}));
  CHECK((pieces("a  B", {Analysis::characters, 1, 2, true}) == Strings{"a", " ", "b", "a ", " b"}));
  CHECK((pieces("\xE4\xB8\xAD\xE6\x96\x87ok") ==
         Strings{"\xE4\xB8\xAD", "\xE6\x96\x87", "\xE4\xB8\xAD\xE6\x96\x87", "ok"}));
}

TEST(texts_that_are_none) {
  CHECK(is_refused("ab \xFF"));
  CHECK(is_refused("ab \xE4\xB8"));
  CHECK(is_refused("\xED\xA0\x80"));
  const Held<char16_t> half(std::u16string{u'a', u'b', char16_t{0xD800}, u'c', u'd'});
  CHECK((pieces(half.ref(TextRef::ucs2)) == Strings{"ab", "cd"}));
}

TEST(counts_by_threads) {
  std::mt19937 rng(7);
  std::vector<Held<char>> held;
  Strings texts;
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (unsigned k = rng() % 60; k > 0; --k) text += "word" + std::to_string(rng() % (1 + rng() % 5000)) + " ";
    texts.push_back(text);
    held.emplace_back(text);
  }
  std::vector<TextRef> refs;
  for (std::size_t i = 0; i < held.size(); ++i) refs.push_back(i % 10 == 3 ? TextRef() : held[i].ref(TextRef::utf8));
  Known known;
  WordCounts found;
  count_words(refs, known, true, {}, found);
  CHECK(found.start.size() == refs.size() + 1);
  std::size_t next = 0;  // words are numbered in the order of the rows
  for (std::size_t i = 0; i < refs.size(); ++i) {
    std::map<std::size_t, int> row;
    for (std::int32_t p = found.start[i]; p < found.start[i + 1]; ++p) {
      const auto at = static_cast<std::size_t>(p);
      CHECK(row.emplace(static_cast<std::size_t>(found.index[at]), found.small[at]).second);
    }
    std::map<std::size_t, int> expected;
    if (!refs[i].missing()) {
      expected[0] = 1;
      for (const std::string& word : pieces(texts[i])) {
        const auto code = static_cast<std::size_t>(known.find_text(word.data(), word.size()));
        CHECK(code <= next);
        next += code == next ? 1 : 0;
        ++expected[1 + code];
      }
    }
    CHECK(row == expected);
  }
  CHECK(next == known.size());
}

TEST(rare_words_share_cells) {
  const Held<char> first("aa bb cc aa bb aa"), second("dd ee aa");
  Known known;
  WordCounts found;
  count_words(std::vector{first.ref(TextRef::utf8), second.ref(TextRef::utf8)}, known, true, {{}, 2, 1}, found);
  CHECK(found.shared && known.size() == 3);
  CHECK(known.find_text("aa", 2) == 0 && known.find_text("bb", 2) == 1 && known.find(word_of(std::int64_t{0})) == 2);
  CHECK(found.start[1] == 4 && found.start[2] == 7);  // dd and ee are one entry
  CHECK(found.wide && found.large[5] + found.large[6] == 3);
}

TEST(sums_while_reading) {
  std::mt19937 rng(8);
  std::vector<Held<char>> held;
  Strings texts;
  std::vector<std::int32_t> y;
  std::vector<double> w;
  for (int i = 0; i < 4000; ++i) {
    std::string text;
    for (unsigned k = rng() % 60; k > 0; --k) text += "word" + std::to_string(rng() % (1 + rng() % 9000)) + " ";
    texts.push_back(text);
    held.emplace_back(text);
    y.push_back(static_cast<std::int32_t>(rng() % 4) - 1);
    w.push_back(static_cast<double>(rng() % 3));
  }
  std::vector<TextRef> refs;
  for (const auto& h : held) refs.push_back(h.ref(TextRef::utf8));
  for (const bool once : {false, true}) {
    Known known;
    WordSums sums(known, {}, 3, once);
    sums.add(std::span(refs).first(2500), y.data(), w.data());
    sums.add(std::span(refs).subspan(2500), y.data() + 2500, w.data() + 2500);
    std::vector<double> count(3 * known.size()), rows(3), expected(count.size()), expected_rows(3);
    sums.write(count.data(), rows.data());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (y[i] < 0) continue;
      const auto c = static_cast<std::size_t>(y[i]);
      expected_rows[c] += w[i];
      std::map<std::string, double> row;
      for (const std::string& word : pieces(texts[i])) row[word] = once ? 1 : row[word] + 1;
      for (const auto& [word, times] : row) {
        const auto code = static_cast<std::size_t>(known.find_text(word.data(), word.size()));
        expected[c * known.size() + code] += w[i] * times;
      }
    }
    CHECK(count == expected && rows == expected_rows);
  }
}

}  // namespace
