#include "core/encode/json_table.hpp"

#include <charconv>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "core/encode/utf8.hpp"

namespace tb {
namespace {

constexpr std::int64_t kMaxExactInteger = std::int64_t{1} << 53;  // up to here every whole number is a double
constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// --- a column that grows ------------------------------------------------------------------------------------------

void mark(JsonColumn& c, bool there) {
  if (c.rows % 8 == 0) c.valid.push_back(0);
  if (there) {
    c.valid.back() = static_cast<std::uint8_t>(c.valid.back() | (1U << (c.rows % 8)));
  } else {
    ++c.nulls;
  }
  ++c.rows;
}

// Makes it a column of this kind, if all that is there is null.
bool become(JsonColumn& c, JsonColumn::Kind kind) {
  if (c.kind == kind) return true;
  if (c.kind != JsonColumn::nothing) return false;
  c.kind = kind;
  switch (kind) {
    case JsonColumn::truths:
      c.truth.resize(c.rows);
      break;
    case JsonColumn::integers:
      c.integer.resize(c.rows);
      break;
    case JsonColumn::reals:
      c.real.resize(c.rows);
      break;
    case JsonColumn::texts:
      c.offset.resize(c.rows + 1);
      break;
    case JsonColumn::nothing:
      break;
  }
  return true;
}

void add_null(JsonColumn& c) {
  switch (c.kind) {
    case JsonColumn::truths:
      c.truth.push_back(0);
      break;
    case JsonColumn::integers:
      c.integer.push_back(0);
      break;
    case JsonColumn::reals:
      c.real.push_back(0.0);
      break;
    case JsonColumn::texts:
      c.offset.push_back(static_cast<std::int32_t>(c.text.size()));
      break;
    case JsonColumn::nothing:
      break;
  }
  mark(c, false);
}

bool add_truth(JsonColumn& c, bool value) {
  if (!become(c, JsonColumn::truths)) return false;
  c.truth.push_back(value);
  mark(c, true);
  return true;
}

bool add_real(JsonColumn& c, double value) {
  if (c.kind == JsonColumn::integers) {
    c.real.reserve(c.integer.capacity());
    for (const std::int64_t v : c.integer) {
      if (v > kMaxExactInteger || v < -kMaxExactInteger) return false;
      c.real.push_back(static_cast<double>(v));
    }
    c.integer = {};
    c.kind = JsonColumn::reals;
  }
  if (!become(c, JsonColumn::reals)) return false;
  c.real.push_back(value);
  mark(c, true);
  return true;
}

bool add_integer(JsonColumn& c, std::int64_t value) {
  if (c.kind == JsonColumn::reals) {
    return value <= kMaxExactInteger && value >= -kMaxExactInteger && add_real(c, static_cast<double>(value));
  }
  if (!become(c, JsonColumn::integers)) return false;
  c.integer.push_back(value);
  mark(c, true);
  return true;
}

// --- the text -----------------------------------------------------------------------------------------------------

class Parser {
 public:
  Parser(std::string_view body, std::size_t most, const std::unordered_map<std::string, std::size_t>& place)
      : p_(body.data()), end_(p_ + body.size()), left_(body.size()), most_(most), place_(place) {
    table_.columns.resize(place.size());
  }

  bool document() {
    std::string_view raw;
    if (!take('{') || !key(raw) || !take(':')) return false;
    if (raw == "rows" ? !rows() : raw != "columns" || !columns()) return false;
    if (!take('}')) return false;
    space();
    return p_ == end_ && table_.rows > 0 && fill();
  }

  JsonTable table() { return std::move(table_); }

 private:
  // A key as it is written, and the column that it names: most rows have the same keys in the same order.
  struct Named {
    std::string_view raw;
    std::size_t column;
  };

  void space() {
    while (p_ < end_ && (*p_ == ' ' || *p_ == '\n' || *p_ == '\r' || *p_ == '\t')) ++p_;
  }

  bool take(char c) {
    space();
    if (p_ == end_ || *p_ != c) return false;
    ++p_;
    return true;
  }

  bool rows() {
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      if (table_.rows == most_ || !row()) return false;
      ++table_.rows;
    } while (take(','));
    return take(']');
  }

  bool row() {
    if (!take('{')) return false;
    if (take('}')) return true;
    std::size_t at = 0;
    do {
      std::size_t name = 0;
      if (!named(at++, name) || !take(':')) return false;
      JsonColumn& c = table_.columns[name];
      if (c.rows > table_.rows || !pad(c, table_.rows) || !value(c)) return false;  // the first: it is there twice
    } while (take(','));
    return take('}');
  }

  bool columns() {
    if (!take('{') || take('}')) return false;
    bool first = true;
    do {
      std::size_t name = 0;
      if (!named(0, name) || !take(':') || !take('[')) return false;
      JsonColumn& c = table_.columns[name];
      if (c.rows > 0 || take(']')) return false;
      do {
        if (c.rows == most_ || !value(c)) return false;
      } while (take(','));
      if (!take(']')) return false;
      if (!first && c.rows != table_.rows) return false;
      table_.rows = c.rows;
      first = false;
    } while (take(','));
    return take('}');
  }

  // Nulls for the rows in which a column was not there. More of them than there are bytes would be a small text that
  // asks for much memory.
  bool pad(JsonColumn& c, std::size_t to) {
    if (to - c.rows > left_) return false;
    left_ -= to - c.rows;
    while (c.rows < to) add_null(c);
    return true;
  }

  bool fill() {
    for (JsonColumn& c : table_.columns) {
      if (c.rows > 0 && !pad(c, table_.rows)) return false;
    }
    return true;
  }

  bool named(std::size_t at, std::size_t& column) {
    space();
    if (at < order_.size()) {
      const std::string_view raw = order_[at].raw;
      if (static_cast<std::size_t>(end_ - p_) > raw.size() + 1 && *p_ == '"' && p_[raw.size() + 1] == '"' &&
          std::memcmp(p_ + 1, raw.data(), raw.size()) == 0) {
        p_ += raw.size() + 2;
        column = order_[at].column;
        return true;
      }
    }
    std::string_view raw;
    if (!key(raw)) return false;
    const auto found = place_.find(std::string(name_.data(), name_.size()));
    if (found == place_.end()) return false;
    column = found->second;
    if (at == order_.size()) order_.push_back({});
    order_[at] = {raw, column};
    return true;
  }

  // The key as it is written; name_ is what it says.
  bool key(std::string_view& raw) {
    space();
    name_.clear();
    const char* begin = p_ + 1;
    if (!text(name_)) return false;
    raw = {begin, static_cast<std::size_t>(p_ - 1 - begin)};
    return true;
  }

  bool word(const char* rest, std::size_t n) {
    if (static_cast<std::size_t>(end_ - p_) < n || std::memcmp(p_, rest, n) != 0) return false;
    p_ += n;
    return true;
  }

  bool value(JsonColumn& c) {
    space();
    if (p_ == end_) return false;
    switch (*p_) {
      case '"':
        if (!become(c, JsonColumn::texts)) return false;
        if (!text(c.text)) return false;
        c.offset.push_back(static_cast<std::int32_t>(c.text.size()));
        mark(c, true);
        return true;
      case 'n':
        if (!word("null", 4)) return false;
        add_null(c);
        return true;
      case 't':
        return word("true", 4) && add_truth(c, true);
      case 'f':
        return word("false", 5) && add_truth(c, false);
      default:
        return number(c);
    }
  }

  // Appends what a text in quotes says.
  bool text(std::vector<char>& to) {
    if (p_ == end_ || *p_ != '"') return false;
    ++p_;
    for (;;) {
      const char* begin = p_;
      while (p_ < end_ && *p_ != '"' && *p_ != '\\' && static_cast<unsigned char>(*p_) - 0x20U < 0x60U) ++p_;
      to.insert(to.end(), begin, p_);
      if (p_ == end_) return false;
      const auto c = static_cast<unsigned char>(*p_);
      if (c == '"') {
        ++p_;
        return true;
      }
      if (c == '\\') {
        if (!escaped(to)) return false;
      } else if (c == 0x7F) {
        to.push_back(*p_++);
      } else {
        if (c < 0x20) return false;
        const std::size_t step =
            utf8_length(reinterpret_cast<const unsigned char*>(p_), static_cast<std::size_t>(end_ - p_));
        if (step == 0) return false;
        to.insert(to.end(), p_, p_ + step);
        p_ += step;
      }
    }
  }

  bool escaped(std::vector<char>& to) {
    if (end_ - p_ < 2) return false;
    const char c = p_[1];
    p_ += 2;
    switch (c) {
      case '"':
      case '\\':
      case '/':
        to.push_back(c);
        return true;
      case 'b':
        to.push_back('\b');
        return true;
      case 'f':
        to.push_back('\f');
        return true;
      case 'n':
        to.push_back('\n');
        return true;
      case 'r':
        to.push_back('\r');
        return true;
      case 't':
        to.push_back('\t');
        return true;
      case 'u':
        return character(to);
      default:
        return false;
    }
  }

  // After \u: four digits, or two times four for a character above U+FFFF. Half of such a pair is no text.
  bool character(std::vector<char>& to) {
    std::uint32_t c = 0;
    if (!hex(c)) return false;
    if (c >= 0xD800 && c < 0xDC00) {
      std::uint32_t low = 0;
      if (!word("\\u", 2) || !hex(low) || low < 0xDC00 || low >= 0xE000) return false;
      c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    }
    char bytes[4];
    char* done = put_utf8(c, bytes);
    if (done == nullptr) return false;
    to.insert(to.end(), &bytes[0], done);
    return true;
  }

  bool hex(std::uint32_t& c) {
    if (end_ - p_ < 4) return false;
    c = 0;
    for (int i = 0; i < 4; ++i) {
      const char h = *p_++;
      const int digit = is_digit(h)            ? h - '0'
                        : h >= 'a' && h <= 'f' ? h - 'a' + 10
                        : h >= 'A' && h <= 'F' ? h - 'A' + 10
                                               : -1;
      if (digit < 0) return false;
      c = c << 4 | static_cast<std::uint32_t>(digit);
    }
    return true;
  }

  // Takes digits into a number and counts them; as long as there are at most 18 the number is exact.
  int digits(std::uint64_t& whole) {
    int n = 0;
    for (; p_ < end_ && is_digit(*p_); ++p_, ++n) {
      if (n < 19) whole = whole * 10 + static_cast<std::uint64_t>(*p_ - '0');
    }
    return n;
  }

  bool number(JsonColumn& c) {
    const char* begin = p_;
    const bool negative = *p_ == '-';
    p_ += negative;
    std::uint64_t whole = 0;
    const bool zero = p_ < end_ && *p_ == '0';
    const int before = digits(whole);
    if (before == 0 || (zero && before > 1) || before > 18) return false;
    const bool fraction = p_ < end_ && *p_ == '.';
    int after = 0;
    if (fraction) {
      ++p_;
      std::uint64_t part = 0;
      after = digits(part);
      if (after == 0) return false;
      if (before + after <= 18) {
        for (int i = 0; i < after; ++i) whole *= 10;
        whole += part;
      }
    }
    const bool power = p_ < end_ && (*p_ == 'e' || *p_ == 'E');
    if (power) {
      ++p_;
      if (p_ < end_ && (*p_ == '+' || *p_ == '-')) ++p_;
      std::uint64_t unused = 0;
      if (digits(unused) == 0) return false;
    }
    const auto exact = static_cast<std::int64_t>(whole);
    if (!fraction && !power) return add_integer(c, negative ? -exact : exact);
    if (!power && before + after <= 18 &&
        exact <= kMaxExactInteger) {  // both are doubles, so their quotient is rounded once
      const double found = static_cast<double>(exact) / kPowers[after];
      return add_real(c, negative ? -found : found);
    }
#if defined(__cpp_lib_to_chars) && __cpp_lib_to_chars >= 201611L
    double found = 0.0;
    const auto read = std::from_chars(begin, p_, found);
    return read.ec == std::errc() && read.ptr == p_ && add_real(c, found);
#else
    return begin == nullptr;
#endif
  }

  const char* p_;
  const char* end_;
  std::size_t left_;  // nulls that may still be put where a column is not there
  std::size_t most_;
  const std::unordered_map<std::string, std::size_t>& place_;
  std::vector<Named> order_;
  std::vector<char> name_;
  JsonTable table_;
};

}  // namespace

JsonReader::JsonReader(const std::vector<std::string>& names) {
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (!place_.emplace(names[k], k).second) throw std::invalid_argument("a name is there twice");
  }
}

std::optional<JsonTable> JsonReader::read(std::string_view body, std::size_t most) const {
  if (body.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) return {};
  Parser parser(body, most, place_);
  if (!parser.document()) return {};
  return parser.table();
}

}  // namespace tb
