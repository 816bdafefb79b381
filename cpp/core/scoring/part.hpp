// One term of the log joint. A Scorer walks over blocks of rows and lets each part add to the block
// while it is in cache.
#pragma once
#include <cstddef>
#include <vector>

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

  // The numbers that it was made of have changed where they are: it takes them over without new memory. False: it has
  // to be made again. Not while others add.
  virtual bool renew() { return false; }

  // Columns of this part that held a code without a level, in the rows asked for so far.
  virtual std::vector<std::size_t> unseen() const { return {}; }

  // Terms that are the same for every class: shared[r] += ... They cancel from the posterior, so that only the
  // joint and the log density ask for them.
  virtual void add_shared(std::size_t /*r0*/, std::size_t /*rows*/, double* /*shared*/) const {}
  // add for one row, with the range of long double: for rows whose terms overflow. A part whose terms can
  // overflow says so and has its own; the others are asked through add.
  virtual bool can_overflow() const { return false; }
  virtual void add_wide(std::size_t row, std::size_t classes, long double* acc) const;
};

}  // namespace tb
