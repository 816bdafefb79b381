// Arrow columns through the Arrow C data interface: three structs that every Arrow library agrees on, so
// none of those libraries is needed here. https://arrow.apache.org/docs/format/CDataInterface.html
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/encode/columns.hpp"

namespace tb::arrow {

struct Schema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  Schema** children;
  Schema* dictionary;
  void (*release)(Schema*);
  void* private_data;
};

struct Array {
  std::int64_t length;
  std::int64_t null_count;  // -1: not counted
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  Array** children;
  Array* dictionary;
  void (*release)(Array*);
  void* private_data;
};

struct Stream {
  int (*get_schema)(Stream*, Schema*);
  int (*get_next)(Stream*, Array*);
  const char* (*get_last_error)(Stream*);
  void (*release)(Stream*);
  void* private_data;
};

// One of these structs and the duty to release it, exactly once.
template <class T>
class Owned {
 public:
  Owned() : raw_{} {}
  explicit Owned(T* from) : raw_(*from) { from->release = nullptr; }  // the interface's way to move
  Owned(Owned&& other) noexcept : Owned(&other.raw_) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~Owned() {
    if (raw_.release != nullptr) raw_.release(&raw_);
  }
  T* get() { return &raw_; }
  const T* get() const { return &raw_; }
  const T* operator->() const { return &raw_; }
  const T& operator*() const { return raw_; }

 private:
  T raw_;
};

// How the values lie in memory.
enum class Layout : std::uint8_t { text32, text64, view, bits, number, half, decimal, null, unsupported };

struct Type {
  Layout layout = Layout::unsupported;  // of a dictionary column: of its values
  Dtype number = Dtype::f64;            // of Layout::number
  int scale = 0;                        // of Layout::decimal: value = integer / 10^scale
  int bits = 0;                         // of Layout::decimal
  bool dictionary = false;
  Dtype index = Dtype::i32;  // of a dictionary column
  std::string format;        // as Arrow writes it

  bool is_text() const { return layout == Layout::text32 || layout == Layout::text64 || layout == Layout::view; }
};

Type type_of(const Schema& schema);

// 'string', 'bool', 'int', 'uint', 'float', 'decimal', 'null', 'date', 'time', 'nested', 'binary', 'other',
// or 'dictionary<...>' of one of these.
std::string describe(const Type& type);

// A column that no model here can take; what() says which format.
struct Unsupported {
  std::string what;
};

struct Column {
  Type type;
  std::vector<Owned<Array>> chunks;  // checked: their buffers are there
  std::size_t rows = 0;
};

// Take the column out of a stream, or the schema and array of one chunk. They release what they took even
// when they throw: std::invalid_argument for data that breaks Arrow's rules, Unsupported.
Column read(Owned<Stream> stream);
Column read(Owned<Schema> schema, Owned<Array> array);

}  // namespace tb::arrow
