// Counts of the levels of columns and of combinations of them, one row at a time: a row changes a cell of each table.
// What is estimated from the counts is up to who inherits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/counts/joint_tables.hpp"
#include "core/rowpath/row_terms.hpp"

namespace tb {

// Which sets of columns are counted; see Tables.
struct CountedShape {
  std::vector<std::int64_t> size;
  std::vector<std::int32_t> column;
  std::vector<std::int64_t> start;
};

// A column of counts. points: the cuts of a number, rising; exist: of each level, was it met or declared? cut: it is a
// number, whose intervals exist without rows.
struct CountedColumn {
  bool cut;
  std::vector<double> points;
  std::vector<char> exist;
};

// single (classes, levels), joint (classes, cells)
struct CountedSums {
  std::size_t classes;
  CountedShape shape;
  std::vector<CountedColumn> columns;
  std::vector<double> single;
  std::vector<std::uint32_t> joint;
};

// Rows of weight 1 only: counts are whole numbers.
class CountedRow : public RowTerm {
 public:
  explicit CountedRow(CountedSums sums);
  std::vector<double> numbers;      // of columns that are cut
  std::vector<std::int64_t> codes;  // of the others
  const std::vector<double>& single() const { return single_; }
  const std::vector<std::uint32_t>& joint() const { return joint_; }
  std::size_t classes() const { return classes_; }

  bool takes(std::size_t c, double w) override;
  void learn(std::size_t c, double w) override;
  bool gives(std::size_t c, double w) override;
  void forget(std::size_t c, double w) override;
  bool fades() const override { return false; }
  void scale(double) override {}

 protected:
  // The codes of the row at hand; false: a level is not there.
  bool read();
  const Tables& tables() const { return tables_; }
  std::size_t all_levels() const { return first_.back(); }
  bool stale_ = true;  // the counts have changed

 private:
  // Calls f with the place of each cell of the row in joint_, as long as it answers true.
  template <class F>
  bool each_cell(std::size_t c, F&& f);
  double& level(std::size_t c, std::size_t j);
  void change(std::size_t c, int sign);

  std::size_t classes_;
  CountedShape shape_;
  std::vector<CountedColumn> columns_;
  Tables tables_;
  std::vector<std::size_t> first_;  // of the levels of each column
  std::vector<double> single_;
  std::vector<std::uint32_t> joint_;
};

}  // namespace tb
