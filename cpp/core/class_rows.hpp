// The rows of a table that count, chunk by chunk, block by block, each block ordered by class: what every
// tally of dense real columns walks over.
//   chunk: the unit of work of one thread; its results are merged in order. Its size depends on the table
//          only, so that the bits of the answer do not depend on the number of threads.
//   block: rows that stay in the second-level cache while they are ordered by class and added.
//   slot:  a class that occurs in the chunk, numbered by first appearance: memory and work are in
//          proportion to the classes that occur, not to all.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/columns.hpp"
#include "kernels/rows.hpp"

namespace tb {

// A table with a class for every row (negative: leave the row out) and a weight (null: 1; 0: leave out).
struct Labelled {
  Columns x;
  const std::int32_t* y;
  const double* w;
  std::size_t classes;
};

std::size_t chunk_rows(const Labelled& t);
std::size_t chunks(const Labelled& t);

class ClassRows {
 public:
  explicit ClassRows(const Labelled& t);

  void start(std::size_t chunk);
  // The next block; false at the end of the chunk. Slots fresh_from() .. slots() - 1 are new in it.
  bool next(RowList& block);

  std::size_t slots() const { return class_of_.size(); }
  std::size_t most_slots() const { return most_slots_; }
  std::size_t fresh_from() const { return fresh_from_; }
  std::size_t first_row(std::size_t slot) const { return first_row_[slot]; }  // within the block it was new in
  std::size_t class_of(std::size_t slot) const { return class_of_[slot]; }
  double weight(std::size_t slot) const { return weight_[slot]; }

 private:
  std::uint32_t slot(std::int32_t c, std::size_t i);
  void list(std::size_t begin, std::size_t end);
  void order();
  const char* as_rows(std::size_t begin, std::size_t end);

  Labelled t_;
  bool direct_;  // rows can be read where they are
  std::size_t chunk_rows_, block_rows_, most_slots_;
  std::size_t at_ = 0, end_ = 0, fresh_from_ = 0, m_ = 0;
  std::vector<std::int32_t> slot_of_;  // per class, -1: none in this chunk
  std::vector<std::uint32_t> class_of_, first_row_, count_;
  std::vector<double> weight_;
  std::vector<std::uint32_t> row_, slot_, ordered_row_, ordered_slot_;
  std::vector<double> w_, ordered_w_;
  std::vector<double> packed_;
};

}  // namespace tb
