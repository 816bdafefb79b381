// A network of counted families, one row at a time: a row changes a cell of each table, the concentrations are chosen
// again before the next score, and a score reads the cells of its row alone.
#pragma once
#include <cstdint>
#include <vector>

#include "core/networks/families.hpp"
#include "core/rowpath/row_terms.hpp"

namespace tb {

// What a network is made of; see Tables and Families.
struct NetworkShape {
  std::vector<std::int64_t> size;
  std::vector<std::int32_t> column;
  std::vector<std::int64_t> start;
  std::vector<std::int32_t> child, parent;
  std::vector<std::int64_t> parent_start, table;
  std::vector<std::int32_t> group;  // empty: each class has its own counts
};

// The columns of a network. points: cuts of a number, rising; exist: of each level, was it met or declared? cut: it is
// a number, whose intervals exist without rows.
struct NetworkColumn {
  bool cut;
  std::vector<double> points;
  std::vector<char> exist;
};

// Rows of weight 1 only: counts are whole numbers.
class NetworkRow final : public RowTerm {
 public:
  // single (classes, levels), joint (classes, cells); levels, alpha: see Smoothing; grid: empty for Laplace smoothing.
  NetworkRow(std::size_t classes, NetworkShape shape, std::vector<NetworkColumn> columns, std::vector<double> single,
             std::vector<std::uint32_t> joint, std::vector<double> levels, double alpha, std::vector<double> grid);
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
  bool add(double* acc) override;

 private:
  // The codes of the row at hand; false: a level is not there.
  bool read();
  // Calls f with the place of each cell of the row in joint_, as long as it answers true.
  template <class F>
  bool each_cell(std::size_t c, F&& f);
  double& level(std::size_t c, std::size_t j);
  void change(std::size_t c, int sign);

  std::size_t classes_;
  NetworkShape shape_;
  std::vector<NetworkColumn> columns_;
  Tables tables_;
  std::vector<std::size_t> first_;  // of the levels of each column
  std::vector<double> single_;
  std::vector<std::uint32_t> joint_;
  std::vector<double> levels_;
  double alpha_;
  std::vector<double> grid_, concentration_, log_;
  bool stale_ = true;
};

}  // namespace tb
