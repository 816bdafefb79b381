// A column of any type read as doubles, a run of rows at a time; NaN where there is nothing to use.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>

#include "core/encode/columns.hpp"

namespace tb {

// Who takes part: a row with a negative class code or with weight zero is as if absent. Either may be null.
struct Rows {
  const std::int32_t* y = nullptr;
  const double* w = nullptr;
};

// Throws std::invalid_argument for a class code >= classes or a weight that is negative or not finite, or weights
// whose sum could overflow.
void check_rows(const Rows& rows, std::size_t n, std::size_t classes);

// The values of rows first .. first + count, NaN if missing or the row is absent: in the column itself where it
// already looks so, else in buffer.
const double* read_values(const Column& column, const Rows& rows, std::size_t first, std::size_t count, double* buffer);

// Remembers the infinite value with the smallest row, then column, whatever the order of the threads.
class FirstInfinite {
 public:
  // Looks through values of rows first.. of a column; true if none of them is infinite.
  bool check(const double* value, std::size_t first, std::size_t count, std::size_t column);
  void raise() const;  // throws it as BadValue, if there was one

 private:
  std::mutex mutex_;
  std::optional<BadValue> found_;
};

// Some rows of one column, as doubles.
constexpr std::size_t kMostRows = 1024;
struct Tile {
  std::size_t column, first, count;  // count <= kMostRows
  const double* value;
  int thread;
};

// Reads the whole table once, in tiles small enough that the rows of a matrix stay in cache from one column to the
// next, on threads if it is worth it; body must bear being called from several at once. Throws the first infinity.
void each_tile(const Columns& x, const Rows& rows, const std::function<void(const Tile&)>& body);

// body(column, thread) for every column, on threads if it is worth it.
void each_column(const Columns& x, const std::function<void(std::size_t, int)>& body);

}  // namespace tb
