// Bodies in allocations of exactly their size, so that the sanitizers see a byte too many: whole, cut short, changed.
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/encode/json_table.hpp"
#include "test/check.hpp"

namespace {

using namespace tb;

const JsonReader kReader({"a", "b", "\xC3\xA9"});

std::optional<JsonTable> read(const std::string& body, std::size_t most = 1000) {
  const std::unique_ptr<char[]> held(new char[body.size()]);
  std::memcpy(held.get(), body.data(), body.size());
  return kReader.read({held.get(), body.size()}, most);
}

const std::string kRows =
    R"( {"rows" : [{"a": 1, "b": "x\u00e9\n", "\u00e9": true}, {}, {"b": null, "a": -2.5e0},{"b":"\ud83d\ude00"}]} )";
const std::string kColumns = R"({"columns":{"b":["x",null],"a":[0.1,123456789012345678]}})";

std::string text_at(const JsonColumn& c, std::size_t i) {
  const auto from = static_cast<std::size_t>(c.offset[i]), to = static_cast<std::size_t>(c.offset[i + 1]);
  return {c.text.data() + from, to - from};
}

TEST(json_rows_become_columns) {
  const auto found = read(kRows);
  CHECK(found && found->rows == 4);
  const JsonColumn &a = found->columns[0], &b = found->columns[1], &e = found->columns[2];
  CHECK(a.kind == JsonColumn::reals && a.nulls == 2 && a.valid[0] == 0b0101);
  CHECK(a.real[0] == 1.0 && a.real[2] == -2.5);
  CHECK(b.kind == JsonColumn::texts && b.valid[0] == 0b1001 && b.offset.size() == 5);
  CHECK(text_at(b, 0) == "x\xC3\xA9\n" && text_at(b, 1).empty() && text_at(b, 3) == "\xF0\x9F\x98\x80");
  CHECK(e.kind == JsonColumn::truths && e.valid[0] == 1 && e.truth[0] == 1 && e.truth.size() == 4);
}

TEST(json_columns_are_taken_as_they_are) {
  CHECK(!read(kColumns));  // a whole number that is no double, among doubles
  const auto found = read(R"({"columns":{"b":["x",null],"a":[0.1,12]}})");
  CHECK(found && found->rows == 2 && found->columns[2].rows == 0);
  CHECK(found->columns[0].real[0] == 0.1 && found->columns[0].real[1] == 12.0);
}

TEST(json_that_is_not_plain_is_left_alone) {
  for (const char* body : {"",
                           "{",
                           "[]",
                           "{}",
                           R"({"rows":[]})",
                           R"({"rows":[{}],"prior":[1]})",
                           R"({"rows":[{"c":1}]})",
                           R"({"rows":[{"a":1,"a":1}]})",
                           R"({"rows":[{"a":1},{"a":"1"}]})",
                           R"({"rows":[{"a":[1]}]})",
                           R"({"rows":[{"a":01}]})",
                           R"({"rows":[{"a":1.}]})",
                           R"({"rows":[{"a":.5}]})",
                           R"({"rows":[{"a":+1}]})",
                           R"({"rows":[{"a":-}]})",
                           R"({"rows":[{"a":1e}]})",
                           R"({"rows":[{"a":1e999}]})",
                           R"({"rows":[{"a":NaN}]})",
                           R"({"rows":[{"a":9223372036854775808}]})",
                           R"({"rows":[{"a":true},{"a":1}]})",
                           R"({"rows":[{"a":nul}]})",
                           R"({"rows":[{"a":"\ud800"}]})",
                           R"({"rows":[{"a":"\udc00"}]})",
                           R"({"rows":[{"a":"\ud800\u0041"}]})",
                           R"({"rows":[{"a":"\x"}]})",
                           R"({"rows":[{"a":"\u12g4"}]})",
                           R"({"rows":[{"a":1}]} x)",
                           R"({"rows":[{"a":1},]})",
                           R"({"rows":[{"a":1,}]})",
                           R"({"rows":[1]})",
                           "{\"rows\":[{\"a\":\"\n\"}]}",
                           "{\"rows\":[{\"a\":\"\xC3\"}]}",
                           "{\"rows\":[{\"a\":\"\xED\xA0\x80\"}]}",
                           R"({"columns":{}})",
                           R"({"columns":{"a":[]}})",
                           R"({"columns":{"a":[1],"b":[1,2]}})",
                           R"({"columns":{"a":[1],"a":[1]}})"}) {
    CHECK(!read(body));
  }
  CHECK(read(R"({"rows":[{"a":1},{"a":2}]})", 2) && !read(R"({"rows":[{"a":1},{"a":2}]})", 1));
  CHECK(read(R"({"columns":{"a":[1,2]}})", 2) && !read(R"({"columns":{"a":[1,2]}})", 1));
}

TEST(json_of_many_gaps_asks_for_no_more_memory_than_it_has_bytes) {
  const JsonReader reader({"a", "b", "c", "d", "e"});
  std::string body = R"({"rows":[{"a":1,"b":2,"c":3,"d":4,"e":5})";
  for (int i = 0; i < 500; ++i) body += ",{}";
  CHECK(!reader.read(body + "]}", 1000));
  CHECK(reader.read(body + std::string(10'000, ' ') + "]}", 1000));
}

TEST(json_cut_short_or_changed_is_read_within_bounds) {
  for (std::size_t n = 0; n + 1 < kRows.size(); ++n) CHECK(!read(kRows.substr(0, n)));
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  const std::string bytes = "\"\\{}[],:0123456789.eE+-utrfnab \x80\xC3\xED";
  for (int round = 0; round < 20'000; ++round) {
    std::string body = round % 2 == 0 ? kRows : kColumns;
    for (std::size_t change = 0; change < 1 + below(3); ++change) body[below(body.size())] = bytes[below(bytes.size())];
    const auto found = read(body);
    if (!found) continue;
    for (const JsonColumn& c : found->columns) {
      CHECK(c.rows == 0 || c.rows == found->rows);
      CHECK(c.valid.size() == (c.rows + 7) / 8);
      CHECK(c.kind != JsonColumn::texts || static_cast<std::size_t>(c.offset.back()) == c.text.size());
    }
  }
}

}  // namespace
