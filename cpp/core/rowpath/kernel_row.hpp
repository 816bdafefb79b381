// Kernel densities, one row at a time: a row adds a value to one entry of each column or takes it away, and of the
// entries that changed only the cell is computed that the row to be scored lies in.
#pragma once
#include <vector>

#include "core/density/kernel_bandwidth.hpp"
#include "core/density/kernel_density.hpp"
#include "core/rowpath/row_terms.hpp"

namespace tb {

// Every entry has two distinct values or more; a row that would leave fewer is not given.
class KernelRow final : public NumberTerm {
 public:
  KernelRow(std::size_t classes, std::size_t d, const KernelView& from, Rule rule);
  bool takes(std::size_t c, double w) override;
  void learn(std::size_t c, double w) override;
  bool gives(std::size_t c, double w) override;
  void forget(std::size_t c, double w) override;
  bool fades() const override { return false; }
  void scale(double) override {}
  bool add(double* acc) override;
  KernelStatistics statistics() const;

 private:
  struct Entry {
    std::vector<double> value, weight;
    double numbers[kEntry];  // bandwidth first; 0: the general path has one
    bool stale = true;       // the numbers are of other values
    bool covered = false;    // the cells are of these values
    KernelCells cells;
    std::size_t changes = 0;  // since all cells were computed
    std::size_t asked = 0;    // since the values changed
    Multiset values() const { return {value.data(), weight.data(), value.size()}; }
    // Where a value is, or would be.
    std::size_t place(double x) const;
    void change();
  };
  // Whether one cell can be computed without the others.
  static bool can_find(const Entry& entry);
  bool add_entry(Entry& entry, double x, double* acc) const;
  void estimate() override {}
  std::unique_ptr<Part> part() override { return nullptr; }
  Rule rule_;
  std::vector<Entry> entries_;  // column * K + class
};

}  // namespace tb
