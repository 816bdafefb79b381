// One term of the log joint. A Scorer walks over blocks of rows and lets each part add to the block
// while it is in cache.
#pragma once
#include <cstddef>

namespace tb {

constexpr std::size_t kRows = 64;  // rows of a block; acc[c * kRows + r] belongs to class c, row r0 + r

struct Part {
  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part() = default;
  // acc[c * kRows + r] += log p(this part's columns of row r0 + r | class c) for r < rows <= kRows.
  // Called from several threads at once, each with its own acc.
  virtual void add(std::size_t r0, std::size_t rows, double* acc) const = 0;
  // How many (row, column) cells a row costs: small calls stay on one thread.
  virtual std::size_t cells_per_row() const = 0;
};

}  // namespace tb
