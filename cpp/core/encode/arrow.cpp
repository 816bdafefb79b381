#include "core/encode/arrow.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace tb::arrow {
namespace {

bool number_of(char letter, Dtype& out) {
  switch (letter) {
    case 'c':
      out = Dtype::i8;
      return true;
    case 'C':
      out = Dtype::u8;
      return true;
    case 's':
      out = Dtype::i16;
      return true;
    case 'S':
      out = Dtype::u16;
      return true;
    case 'i':
      out = Dtype::i32;
      return true;
    case 'I':
      out = Dtype::u32;
      return true;
    case 'l':
      out = Dtype::i64;
      return true;
    case 'L':
      out = Dtype::u64;
      return true;
    case 'f':
      out = Dtype::f32;
      return true;
    case 'g':
      out = Dtype::f64;
      return true;
    default:
      return false;
  }
}

// "d:precision,scale" with 128 bits, or "d:precision,scale,bits".
void read_decimal(const std::string& format, Type& type) {
  const std::size_t first = format.find(',');
  if (first == std::string::npos) return;
  const std::size_t second = format.find(',', first + 1);
  type.scale = std::atoi(format.c_str() + first + 1);
  type.bits = second == std::string::npos ? 128 : std::atoi(format.c_str() + second + 1);
  const bool known = type.bits == 32 || type.bits == 64 || type.bits == 128 || type.bits == 256;
  if (known && type.scale > -400 && type.scale < 400) type.layout = Layout::decimal;
}

Type plain_type(const char* format) {
  Type type;
  type.format = format != nullptr ? format : "";
  if (type.format == "n")
    type.layout = Layout::null;
  else if (type.format == "b")
    type.layout = Layout::bits;
  else if (type.format == "u")
    type.layout = Layout::text32;
  else if (type.format == "U")
    type.layout = Layout::text64;
  else if (type.format == "vu")
    type.layout = Layout::view;
  else if (type.format == "e")
    type.layout = Layout::half;
  else if (type.format.size() == 1 && number_of(type.format[0], type.number))
    type.layout = Layout::number;
  else if (type.format.starts_with("d:"))
    read_decimal(type.format, type);
  return type;
}

[[noreturn]] void broken(const char* what) {
  throw std::invalid_argument(std::string("this Arrow column breaks the Arrow format: ") + what);
}

std::int64_t fewest_buffers(Layout layout) {
  switch (layout) {
    case Layout::null:
      return 0;
    case Layout::text32:
    case Layout::text64:
    case Layout::view:
      return 3;
    default:
      return 2;
  }
}

void check_values(const Array& a, Layout layout) {
  if (a.length < 0 || a.offset < 0) broken("a negative length");
  if (a.length == 0 || layout == Layout::null) return;
  const bool complete = a.n_buffers >= fewest_buffers(layout) && a.buffers != nullptr && a.buffers[1] != nullptr;
  if (!complete) broken("a buffer is absent");
}

void check(const Array& a, const Type& type) {
  if (!type.dictionary) return check_values(a, type.layout);
  check_values(a, Layout::number);
  if (a.dictionary == nullptr) broken("the dictionary is absent");
  check_values(*a.dictionary, type.layout);
}

void take(Column& column, Owned<Array> chunk) {
  check(*chunk, column.type);
  if (chunk->length == 0 && !column.type.dictionary) return;  // an empty dictionary column still declares levels
  column.rows += static_cast<std::size_t>(chunk->length);
  column.chunks.push_back(std::move(chunk));
}

Type supported(Type type) {
  if (type.layout == Layout::unsupported) throw Unsupported{describe(type) + " (Arrow format '" + type.format + "')"};
  return type;
}

[[noreturn]] void failed(Stream& stream) {
  const char* why = stream.get_last_error != nullptr ? stream.get_last_error(&stream) : nullptr;
  throw std::invalid_argument(std::string("the Arrow stream failed: ") + (why != nullptr ? why : "no reason given"));
}

}  // namespace

Type type_of(const Schema& schema) {
  if (schema.dictionary == nullptr) return plain_type(schema.format);
  Type type = plain_type(schema.dictionary->format);
  type.dictionary = true;
  const Type index = plain_type(schema.format);
  type.index = index.number;
  const bool whole = index.layout == Layout::number && index.number != Dtype::f32 && index.number != Dtype::f64;
  if (!whole || schema.dictionary->dictionary != nullptr) type.layout = Layout::unsupported;
  return type;
}

std::string describe(const Type& type) {
  if (type.dictionary) {
    Type value = type;
    value.dictionary = false;
    return "dictionary<" + describe(value) + ">";
  }
  const std::string_view f = type.format;
  if (type.is_text()) return "string";
  if (f == "b") return "bool";
  if (f == "n") return "null";
  if (f == "e" || f == "f" || f == "g") return "float";
  if (f == "c" || f == "s" || f == "i" || f == "l") return "int";
  if (f == "C" || f == "S" || f == "I" || f == "L") return "uint";
  if (f.starts_with("d:")) return "decimal";
  if (f.starts_with("td")) return "date";
  if (f.starts_with("t")) return "time";
  if (f.starts_with("+")) return "nested";
  if (f == "z" || f == "Z" || f == "vz" || f.starts_with("w:")) return "binary";
  return "other";
}

Column read(Owned<Stream> stream) {
  Schema raw_schema{};
  if (stream->get_schema(stream.get(), &raw_schema) != 0) failed(*stream.get());
  const Owned<Schema> schema(&raw_schema);
  Column column;
  column.type = supported(type_of(*schema));
  for (;;) {
    Array raw{};
    if (stream->get_next(stream.get(), &raw) != 0) failed(*stream.get());
    if (raw.release == nullptr) return column;  // the end of the stream
    take(column, Owned<Array>(&raw));
  }
}

Column read(Owned<Schema> schema, Owned<Array> array) {
  Column column;
  column.type = supported(type_of(*schema));
  take(column, std::move(array));
  return column;
}

}  // namespace tb::arrow
