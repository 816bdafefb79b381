#include "core/arrow_numbers.hpp"

#include <cstdint>
#include <cstring>

#include "core/arrow_values.hpp"

namespace tb::arrow {
namespace {

bool has_null(const Array& chunk) {
  if (chunk.null_count >= 0) return chunk.null_count > 0;
  const Validity valid(chunk);
  if (!valid.any()) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(chunk.length); ++i) {
    if (!valid(i)) return true;
  }
  return false;
}

template <class T>
void fill(const Column& column, T missing, NumberArray& out) {
  out.copy.reset(new char[column.rows * sizeof(T)]);
  out.data = out.copy.get();
  T* to = reinterpret_cast<T*>(out.copy.get());
  for (const auto& chunk : column.chunks) {
    const auto rows = static_cast<std::size_t>(chunk->length);
    if (column.type.layout == Layout::null) {
      for (std::size_t i = 0; i < rows; ++i) to[i] = missing;
    } else {
      const Validity valid(*chunk);
      with_number_reader(*chunk, column.type, [&](const auto& reader) {
        for (std::size_t i = 0; i < rows; ++i) to[i] = valid(i) ? static_cast<T>(reader.value(i)) : missing;
      });
    }
    to += rows;
  }
}

void join(const Column& column, NumberArray& out) {
  const std::size_t size = item_size(out.dtype);
  out.copy.reset(new char[column.rows * size]);
  out.data = out.copy.get();
  char* to = out.copy.get();
  for (const auto& chunk : column.chunks) {
    const std::size_t bytes = static_cast<std::size_t>(chunk->length) * size;
    std::memcpy(to, first_value(*chunk, size), bytes);
    to += bytes;
  }
}

}  // namespace

NumberArray numbers(Column column) {
  const Layout layout = column.type.layout;
  if (column.type.dictionary || column.type.is_text()) throw Unsupported{describe(column.type)};
  NumberArray out;
  out.rows = column.rows;
  for (const auto& chunk : column.chunks) out.has_null = out.has_null || layout == Layout::null || has_null(*chunk);
  if (layout == Layout::bits) {
    out.dtype = Dtype::i8;
    fill<std::int8_t>(column, -1, out);
  } else if (layout != Layout::number || out.has_null) {
    fill<double>(column, std::numeric_limits<double>::quiet_NaN(), out);
  } else {
    out.dtype = column.type.number;
    const std::size_t size = item_size(out.dtype);
    const char* own = column.chunks.size() == 1 ? first_value(*column.chunks[0], size) : nullptr;
    if (own != nullptr && reinterpret_cast<std::uintptr_t>(own) % size == 0) {
      out.data = own;
      out.kept = std::make_unique<Owned<Array>>(std::move(column.chunks[0]));
    } else {
      join(column, out);
    }
  }
  return out;
}

}  // namespace tb::arrow
