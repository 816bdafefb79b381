// The rows of a table that count, listed and cut into spans of at most kPackRows: what the scatter kernels are fed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/runtime/aligned_array.hpp"
#include "core/encode/columns.hpp"
#include "kernels/scatter.hpp"

namespace tb {

// A table with a class for every row (negative: left out) and a weight (null: 1; a row of weight 0 is left out).
struct ClassTable {
  Columns x;
  const std::int32_t* y;
  const double* w;
  std::size_t classes;

  bool counts(std::size_t i) const { return y[i] >= 0 && !(w && w[i] == 0.0); }
};

// Rows [from, from + count) of a list.
struct Span {
  std::size_t from;
  std::size_t count;
};

class RowSpans {
 public:
  // by_class: spans hold rows of one class only, and lie in the order of the classes.
  RowSpans(const ClassTable& t, bool by_class);

  // Lists rows [begin, end). Throws std::invalid_argument for a class or a weight that cannot be.
  void list(std::size_t begin, std::size_t end);

  const std::vector<Span>& spans() const { return spans_; }
  std::size_t rows() const { return row_.size(); }

  // What a kernel needs to pack span s. If the table cannot be read in place, its rows are copied to scratch.
  RowPick pick(const Span& s, AlignedArray& scratch) const;
  // The same without the copy, for prefetching; count is 0 if the table is not read in place.
  RowPick preview(const Span& s) const;
  // Closes ranks after packing: entry k of the span becomes its kept[k]; gives back the weight of the rows that fell
  // out.
  double keep(Span& s, const std::uint32_t* kept, std::size_t rows);
  Span& span(std::size_t i) { return spans_[i]; }

  const std::uint32_t* cls(const Span& s) const { return cls_.data() + s.from; }
  const double* root(const Span& s) const { return t_.w ? root_.data() + s.from : nullptr; }
  double weight(std::size_t k) const { return t_.w ? weight_[k] : 1.0; }

 private:
  void order();
  void cut();

  ClassTable t_;
  bool by_class_;
  bool direct_;  // rows can be read where they are
  std::size_t begin_ = 0;
  std::vector<std::uint32_t> row_, cls_, start_, spare_row_, spare_cls_;
  std::vector<double> weight_, root_, spare_weight_;
  std::vector<Span> spans_;
};

// BadValue infinite for the first infinity in rows [begin, end) that count. There must be one.
[[noreturn]] void throw_infinite(const ClassTable& t, std::size_t begin, std::size_t end);
// BadValue overflow, at the largest number of column j.
[[noreturn]] void throw_overflow(const ClassTable& t, std::size_t j);

// shift (K, d): for each class and column the mean of some of its rows, exactly the value if they agree. Sums of
// products about it lose at most a factor n_c / rows of the last digits, whatever the data.
// complete: only from rows without missing values; otherwise column by column. What has no row stays 0.
std::vector<double> class_shifts(const ClassTable& t, bool complete);

}  // namespace tb
