// Levels to codes with Arrow structs made by hand: every buffer lies in its own allocation of exactly its
// size, so that the sanitizers see one byte read too many, and releases are counted.
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/encode/arrow_codes.hpp"
#include "core/encode/lookup.hpp"
#include "core/encode/numpy_codes.hpp"
#include "test/check.hpp"

namespace {

using namespace tb;
using arrow::Array;
using arrow::Owned;
using arrow::Schema;
using arrow::Stream;
using Value = std::optional<std::string>;

int alive = 0;  // structs made and not released

// ---- makers

struct Memory {
  std::vector<std::unique_ptr<char[]>> buffers;
  std::vector<const void*> pointers;
  Array* dictionary = nullptr;

  template <class T>
  void add(const std::vector<T>& x) {
    buffers.emplace_back(new char[x.size() * sizeof(T)]);
    if (!x.empty()) std::memcpy(buffers.back().get(), x.data(), x.size() * sizeof(T));
    pointers.push_back(buffers.back().get());
  }
};

void release_array(Array* a) {
  auto* memory = static_cast<Memory*>(a->private_data);
  if (memory->dictionary != nullptr) {
    memory->dictionary->release(memory->dictionary);
    delete memory->dictionary;
  }
  delete memory;
  a->release = nullptr;
  --alive;
}

Array make_array(Memory* memory, std::size_t length, std::int64_t nulls = -1, std::int64_t offset = 0) {
  ++alive;
  return {static_cast<std::int64_t>(length),
          nulls,
          offset,
          static_cast<std::int64_t>(memory->pointers.size()),
          0,
          memory->pointers.data(),
          nullptr,
          memory->dictionary,
          release_array,
          memory};
}

struct Format {
  std::string format;
  Schema dictionary{};
};

void release_schema(Schema* s) {
  delete static_cast<Format*>(s->private_data);
  s->release = nullptr;
  --alive;
}

Schema make_schema(const char* format, const char* values = nullptr) {
  ++alive;
  auto* kept = new Format{format, {}};
  kept->dictionary.format = values;  // never released on its own: it belongs to its parent
  Schema* dictionary = values != nullptr ? &kept->dictionary : nullptr;
  return {kept->format.c_str(), nullptr, nullptr, 0, 0, nullptr, dictionary, release_schema, kept};
}

std::vector<std::uint8_t> bitmap(const std::vector<bool>& bits) {
  std::vector<std::uint8_t> out((bits.size() + 7) / 8);
  for (std::size_t i = 0; i < bits.size(); ++i) out[i / 8] |= static_cast<std::uint8_t>(bits[i] << (i % 8));
  return out;
}

std::vector<std::uint8_t> validity(const std::vector<Value>& values) {
  std::vector<bool> valid;
  for (const Value& v : values) valid.push_back(v.has_value());
  return bitmap(valid);
}

template <class Offset>
Memory* text_memory(const std::vector<Value>& values) {
  auto* m = new Memory;
  std::vector<Offset> start{0};
  std::vector<char> bytes;
  for (const Value& v : values) {
    if (v) bytes.insert(bytes.end(), v->begin(), v->end());
    start.push_back(static_cast<Offset>(bytes.size()));
  }
  m->add(validity(values));
  m->add(start);
  m->add(bytes);
  return m;
}

Memory* view_memory(const std::vector<Value>& values) {
  auto* m = new Memory;
  std::vector<char> views(16 * values.size()), near, far;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) continue;
    const std::string& v = *values[i];
    char* view = views.data() + 16 * i;
    const auto len = static_cast<std::int32_t>(v.size());
    std::memcpy(view, &len, 4);
    if (len <= 12) {
      std::memcpy(view + 4, v.data(), v.size());
      continue;
    }
    const std::int32_t which = i % 2;
    std::vector<char>& bytes = which == 0 ? near : far;
    const auto from = static_cast<std::int32_t>(bytes.size());
    bytes.insert(bytes.end(), v.begin(), v.end());
    std::memcpy(view + 4, v.data(), 4);
    std::memcpy(view + 8, &which, 4);
    std::memcpy(view + 12, &from, 4);
  }
  m->add(validity(values));
  m->add(views);
  m->add(near);
  m->add(far);
  m->add(std::vector<std::int64_t>{static_cast<std::int64_t>(near.size()), static_cast<std::int64_t>(far.size())});
  return m;
}

Memory* memory_of(const std::string& format, const std::vector<Value>& values) {
  if (format == "vu") return view_memory(values);
  return format == "u" ? text_memory<std::int32_t>(values) : text_memory<std::int64_t>(values);
}

arrow::Column column_of(const char* format, Memory* memory, std::size_t length, std::int64_t offset = 0,
                        const char* values = nullptr) {
  Schema schema = make_schema(format, values);
  Array array = make_array(memory, length, -1, offset);
  return arrow::read(Owned<Schema>(&schema), Owned<Array>(&array));
}

// ---- what is expected

std::vector<std::int32_t> to_ints(const Codes& c) {
  std::vector<std::int32_t> out(c.rows());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (c.dtype() == Dtype::i8)
      out[i] = static_cast<const std::int8_t*>(c.data())[i];
    else if (c.dtype() == Dtype::i16)
      out[i] = static_cast<const std::int16_t*>(c.data())[i];
    else
      out[i] = static_cast<const std::int32_t*>(c.data())[i];
  }
  return out;
}

std::vector<std::int32_t> oracle(const std::vector<Value>& values) {
  std::map<std::string, std::int32_t> code;
  std::vector<std::int32_t> out;
  for (const Value& v : values) {
    out.push_back(v ? code.emplace(*v, static_cast<std::int32_t>(code.size())).first->second : kMissing);
  }
  return out;
}

std::vector<Value> random_texts(std::size_t n, std::size_t kinds, unsigned seed) {
  std::mt19937 draw(seed);
  std::vector<Value> kind(kinds), out;
  for (std::size_t k = 1; k < kinds; ++k) {  // kind 0 is null
    kind[k] = std::string(draw() % 40, 'a');
    for (char& c : *kind[k]) c = static_cast<char>(draw() % 4);  // NULs too
  }
  for (std::size_t i = 0; i < n; ++i) out.push_back(kind[draw() % kinds]);
  return out;
}

template <class E, class F>
E thrown(F&& f) {
  try {
    f();
  } catch (E& e) {
    return std::move(e);
  }
  std::fprintf(stderr, "nothing was thrown\n");
  std::abort();
}

// ---- tests

TEST(levels_dictionary_grows) {
  Dictionary d;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < 5000; ++i) texts.push_back(std::string(i % 30, 'x') + std::to_string(i));
  texts.push_back("");
  texts.push_back(std::string(1, '\0'));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CHECK(d.add_text(texts[i].data(), texts[i].size()) == static_cast<std::int32_t>(i));
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CHECK(d.find_text(texts[i].data(), texts[i].size()) == static_cast<std::int32_t>(i));
    CHECK(d.text(i) == texts[i]);
  }
  CHECK(d.find_text("no", 2) == kUnseen);
  CHECK(d.find_text("no such text in the dictionary", 30) == kUnseen);
}

TEST(levels_numbers_equal_across_types) {
  Dictionary d;
  CHECK(d.add(word_of(std::int64_t{1})) == 0);
  CHECK(d.add(word_of(1.0)) == 0 && d.add(word_of(std::uint64_t{1})) == 0);
  CHECK(d.add(word_of(0.0)) == 1 && d.add(word_of(-0.0)) == 1);
  CHECK(d.add(word_of(0.5)) == 2);
  CHECK(d.add(word_of(std::numeric_limits<std::uint64_t>::max())) == 3);
  CHECK(d.add(word_of(9223372036854775808.0)) == 4 && d.add(word_of(std::uint64_t{1} << 63)) == 4);
  CHECK(d.add(word_of(std::numeric_limits<std::int64_t>::min())) == 5 && d.add(word_of(-9223372036854775808.0)) == 5);
  CHECK(d.add(word_of(1e300)) == 6 && d.add(word_of(std::numeric_limits<double>::infinity())) == 7);
}

TEST(levels_known_and_beyond) {
  Dictionary all;
  for (const char* text : {"a", "b", "longer than sixteen bytes"}) all.add_text(text, std::strlen(text));
  const std::uint64_t made = Dictionary::made();
  Known known(all, 2);
  CHECK(known.find_text("b", 1) == 1 && known.find_text("longer than sixteen bytes", 25) == kUnseen);
  CHECK(Dictionary::made() == made);  // looking makes nothing
  CHECK(known.add_other() == 2 && known.add_text("longer than sixteen bytes", 25) == 3 && known.add(word_of(0.5)) == 4);
  CHECK(known.find_text("longer than sixteen bytes", 25) == 3 && known.find(word_of(0.5)) == 4);
  CHECK(known.size() == 5 && all.size() == 3 && known.fresh()->is_other(0));
  Dictionary copied = all.head(2);
  for (std::size_t c = 0; c < 3; ++c) copied.append_from(*known.fresh(), c);
  CHECK(copied.size() == 5 && copied.find_text("a", 1) == 0 && copied.text(3) == "longer than sixteen bytes");
  CHECK(copied.is_other(2) && copied.find(word_of(0.5)) == 4);
}

TEST(levels_texts) {
  for (const char* format : {"u", "U", "vu"}) {
    for (const std::size_t kinds : {2u, 9u, 300u}) {
      const std::vector<Value> values = random_texts(2000, kinds, static_cast<unsigned>(kinds));
      for (const std::size_t offset : {0u, 1u, 13u}) {
        const std::vector<Value> part(values.begin() + static_cast<std::ptrdiff_t>(offset), values.end());
        const arrow::Column column =
            column_of(format, memory_of(format, values), part.size(), static_cast<std::int64_t>(offset));
        Known levels;
        CHECK(to_ints(encode(column, levels, true, false, 0).codes) == oracle(part));
      }
    }
  }
  CHECK(alive == 0);
}

TEST(levels_dictionary_column) {
  const std::vector<Value> values{"x", std::nullopt, "longer than sixteen bytes", "y"};
  for (const char* format : {"u", "U", "vu"}) {
    auto* m = new Memory;
    m->add(bitmap({true, true, true, false, true, true}));
    m->add(std::vector<std::int16_t>{3, 1, 2, -7, 0, 3});
    m->dictionary = new Array(make_array(memory_of(format, values), values.size()));
    const arrow::Column column = column_of("s", m, 6, 0, format);
    Known levels, declared;
    const arrow::Encoding out = encode(column, levels, true, false, 0);
    CHECK(to_ints(out.codes) == (std::vector<std::int32_t>{0, -1, 1, -1, 2, 0}));
    CHECK(out.declared.empty());
    const arrow::Encoding all = encode(column, declared, true, true, 0);
    CHECK(to_ints(all.codes) == (std::vector<std::int32_t>{2, -1, 1, -1, 0, 2}));
    CHECK(all.declared == (std::vector<std::int32_t>{0, 1, 2}));
  }
  CHECK(alive == 0);
}

TEST(levels_broken_arrow) {
  const auto texts_with = [](std::vector<std::int32_t> start) {
    auto* m = new Memory;
    m->pointers.push_back(nullptr);
    m->add(start);
    m->add(std::vector<char>{'a', 'b'});
    return column_of("u", m, start.size() - 1);
  };
  const std::vector<std::vector<std::int32_t>> bad{{0, 5, 2}, {0, -1, 2}, {-4, 0, 2}, {0, 0, -2}, {2, 1, 2}};
  for (const auto& start : bad) {
    const arrow::Column column = texts_with(start);
    Known levels;
    CHECK(thrown<BadRow>([&] { encode(column, levels, true, false, 3); }).col == 3);
  }
  auto* m = new Memory;  // a view into a buffer that is not there
  m->pointers.push_back(nullptr);
  m->add(std::vector<std::int32_t>{20, 0, 5, 0});
  m->add(std::vector<std::int64_t>{});
  const arrow::Column views = column_of("vu", m, 1);
  Known levels;
  CHECK(thrown<BadRow>([&] { encode(views, levels, true, false, 0); }).row == 0);
  auto* empty = new Memory;
  empty->pointers.assign(3, nullptr);
  thrown<std::invalid_argument>([&] { column_of("u", empty, 2); });
  auto* none = new Memory;
  none->pointers.assign(2, nullptr);
  thrown<std::invalid_argument>([&] { column_of("c", none, 0, 0, "u"); });
  thrown<arrow::Unsupported>([&] { column_of("tdD", new Memory, 0); });
  thrown<arrow::Unsupported>([&] { column_of("f", new Memory, 0, 0, "u"); });
}

// A stream of chunks of int32; fails at chunk `bad`.
struct Source {
  int next = 0, chunks, bad;
};

Stream make_stream(int chunks, int bad) {
  ++alive;
  Stream s{};
  s.private_data = new Source{0, chunks, bad};
  s.get_schema = [](Stream*, Schema* out) { return *out = make_schema("i"), 0; };
  s.get_next = [](Stream* self, Array* out) {
    auto* source = static_cast<Source*>(self->private_data);
    if (source->next == source->bad) return 5;
    if (source->next == source->chunks) return out->release = nullptr, 0;
    auto* m = new Memory;
    m->pointers.push_back(nullptr);
    m->add(std::vector<std::int32_t>(static_cast<std::size_t>(source->next), source->next));
    *out = make_array(m, static_cast<std::size_t>(source->next++), 0);
    return 0;
  };
  s.get_last_error = [](Stream*) -> const char* { return "out of luck"; };
  s.release = [](Stream* self) {
    delete static_cast<Source*>(self->private_data);
    self->release = nullptr;
    --alive;
  };
  return s;
}

TEST(levels_stream) {
  Stream good = make_stream(4, -1);
  {
    const arrow::Column column = arrow::read(Owned<Stream>(&good));
    CHECK(good.release == nullptr && column.rows == 6);
    Known levels;
    CHECK(to_ints(arrow::encode(column, levels, true, false, 0).codes) ==
          (std::vector<std::int32_t>{0, 1, 1, 2, 2, 2}));
    CHECK(alive > 0);
  }
  CHECK(alive == 0);
  for (const int bad : {0, 1, 3}) {
    Stream failing = make_stream(4, bad);
    const auto e = thrown<std::invalid_argument>([&] { arrow::read(Owned<Stream>(&failing)); });
    CHECK(std::string(e.what()).find("out of luck") != std::string::npos);
    CHECK(alive == 0);
  }
}

TEST(levels_numbers) {
  const auto codes = [](const arrow::Column& column) {
    Known levels;
    return to_ints(arrow::encode(column, levels, true, false, 0).codes);
  };
  auto* m = new Memory;
  m->add(bitmap({true, false, true, true}));
  m->add(std::vector<double>{1.5, 7, 1.5, -3});
  CHECK(codes(column_of("g", m, 3, 1)) == (std::vector<std::int32_t>{-1, 0, 1}));
  auto* bits = new Memory;
  bits->add(bitmap({true, true, false}));
  bits->add(bitmap({true, false, true}));
  CHECK(codes(column_of("b", bits, 3)) == (std::vector<std::int32_t>{0, 1, -1}));
  const std::vector<double> reals{2, 0.5, 2, std::numeric_limits<double>::quiet_NaN(), -0.0, 0.0};
  Known levels;
  const Column column{reinterpret_cast<const char*>(reals.data()), 8, Dtype::f64};
  CHECK(to_ints(encode(column, reals.size(), levels, true, 0)) == (std::vector<std::int32_t>{0, 1, 0, -1, 2, 2}));
}

TEST(levels_fixed_texts) {
  for (const std::size_t width : {0u, 1u, 3u, 16u, 17u}) {
    const std::size_t rows = 50;
    std::unique_ptr<char[]> bytes(new char[rows * width]());
    std::vector<Value> values;
    for (std::size_t i = 0; i < rows; ++i) {
      values.emplace_back(std::string(i * 7 % (width + 1), 'x'));
      std::memcpy(bytes.get() + i * width, values.back()->data(), values.back()->size());
    }
    Known levels;
    const FixedTexts texts{bytes.get(), static_cast<std::ptrdiff_t>(width), rows, width, FixedTexts::bytes};
    CHECK(to_ints(encode(texts, levels, true)) == oracle(values));
  }
}

TEST(levels_utf8) {
  char out[4];
  for (std::uint32_t c = 0; c < 0x120000; ++c) {
    const char* end = put_utf8(c, out);
    const bool character = c < 0x110000 && !(c >= 0xD800 && c < 0xE000);
    CHECK((end != nullptr) == character);
    if (!character) continue;
    const auto len = static_cast<std::size_t>(end - out);
    CHECK(is_utf8(out, len));
    CHECK(len == 1 || !is_utf8(out, len - 1));
  }
  const std::vector<std::string> bad{
      "\x80", "\xC1\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xFF", "a\xC3"};
  for (const std::string& text : bad) CHECK(!is_utf8(text.data(), text.size()));
}

TEST(levels_many_columns) {
  std::vector<arrow::Column> columns;
  std::vector<std::vector<Value>> values;
  for (unsigned j = 0; j < 6; ++j) {
    values.push_back(random_texts(10000, 5 + 100 * j, j));
    const char* format = j % 2 == 0 ? "U" : "vu";
    columns.push_back(column_of(format, memory_of(format, values.back()), 10000));
  }
  std::vector<Known> levels(6);
  const auto out = arrow::encode(columns, levels, true, std::vector<bool>(6, false));
  for (std::size_t j = 0; j < 6; ++j) CHECK(to_ints(out[j].codes) == oracle(values[j]));
}

}  // namespace
