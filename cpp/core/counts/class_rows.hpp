// The rows of a table that count, chunk by chunk, block by block, each block ordered by class: what every
// statistics of dense columns of numbers walks over.
//   chunk: the unit of work of one thread; results are merged in the order of the chunks. Its size depends on
//          the table only, so that the bits of the answer do not depend on the number of threads.
//   block: rows that stay in the second-level cache while they are ordered by class and added.
//   slot:  a class that occurs in the chunk, numbered by first appearance: memory and work are in
//          proportion to the classes that occur, not to all.
// With many classes a chunk of successive rows would hold a row or two of each, and merging would cost more
// than adding. Then all rows are ordered by class first, and a chunk is a piece of that order.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/encode/columns.hpp"
#include "core/encode/labels.hpp"
#include "kernels/rows.hpp"

namespace tb {

// A table with a class for every row (negative: leave the row out) and a weight (null: 1; 0: leave out).
struct Labelled {
  Columns x;
  const std::int32_t* y;
  const double* w;
  std::size_t classes;
  bool logs = false;  // the logarithms of the numbers are read, and what is not positive is missing
};

// How the table is cut; shared by all threads.
struct Plan {
  explicit Plan(const Labelled& t);

  Labelled t;
  bool direct;    // rows can be read where they are
  bool by_class;  // chunks are pieces of `order`, else of the table
  std::size_t chunk_rows, chunks;
  ClassList order;
};

class ClassRows {
 public:
  explicit ClassRows(const Plan& plan);

  void start(std::size_t chunk);
  // The next block; false at the end of the chunk. Slots fresh_from() .. slots() - 1 are new in it.
  bool next(RowList& block);

  std::size_t slots() const { return class_of_.size(); }
  std::size_t most_slots() const { return most_slots_; }
  std::size_t fresh_from() const { return fresh_from_; }
  std::size_t first_row(std::size_t slot) const { return first_row_[slot]; }  // of the block it was new in
  std::size_t class_of(std::size_t slot) const { return class_of_[slot]; }
  double weight(std::size_t slot) const { return weight_[slot]; }

 private:
  std::uint32_t open(std::int32_t c, std::size_t row);
  void list(std::size_t begin, std::size_t end);
  bool list_few(std::size_t begin, std::size_t end);
  void sort();
  void take(std::size_t begin, std::size_t end);
  const char* as_rows(std::size_t begin, std::size_t end);

  const Plan& plan_;
  const Labelled& t_;
  std::size_t block_rows_, most_slots_;
  std::size_t at_ = 0, end_ = 0, fresh_from_ = 0, m_ = 0;
  std::vector<std::int32_t> slot_of_;  // per class, -1: none in this chunk
  std::vector<std::uint32_t> class_of_, first_row_, count_, next_;
  std::vector<double> weight_;
  std::vector<std::uint32_t> row_, slot_, sorted_row_, sorted_slot_;
  std::vector<double> w_, sorted_w_;
  std::vector<double> packed_;
};

}  // namespace tb
