// Sum-product elimination for rows with missing values, with numbers instead of logarithms: what a row usually needs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/runtime/aligned_array.hpp"
#include "core/networks/network.hpp"

namespace tb {

// One thread's room, kept from row to row.
class SumOut {
 public:
  explicit SumOut(const Network& network);

  // As eliminate (network.hpp). False: numbers came too near to the end of the range of doubles; out says nothing.
  bool run(const std::int64_t* code, std::size_t row, double* out);

 private:
  // A table over missing columns: the arrays of its columns and of their strides, in doubles, begin at `first`.
  struct Factor {
    const double* p;
    std::size_t first, columns;
    bool gone;
  };

  std::size_t size(std::int32_t j) const { return static_cast<std::size_t>(net_.size[j]); }
  void collect();
  void collect_real(std::size_t f);
  void want(std::int32_t j);
  void push(const double* p, std::size_t first);
  double cells_with(std::int32_t j);
  void gather(std::int32_t j);
  void cost(std::int32_t j);
  std::int32_t cheapest() const;
  bool sum_out(std::int32_t j);
  bool keep_in_range(double* table, std::size_t cells);
  double* room(std::size_t size);
  void give_back();

  const Network& net_;
  const std::int64_t* code_ = nullptr;
  std::size_t row_ = 0;
  double* out_ = nullptr;
  std::vector<Factor> factors_;
  std::vector<std::int32_t> column_;                    // of all factors, one after another
  std::vector<std::size_t> stride_;                     // in doubles, of each of them
  std::vector<bool> wanted_;                            // missing, and something that is there hangs on it
  std::vector<std::int32_t> open_;                      // wanted, not yet summed out
  std::vector<std::vector<std::uint32_t>> factors_of_;  // of each column
  std::vector<double> cost_;                            // of each column, infinity: not open
  std::vector<std::int32_t> over_;                      // the columns beside one in its factors
  std::vector<std::uint32_t> seen_;                     // of each column: the last time that it was put into over_
  std::uint32_t time_ = 0;
  std::vector<AlignedArray> rooms_;
  std::size_t rooms_used_ = 0;
  std::vector<const double*> factor_;
  std::vector<std::size_t> step_, sizes_, at_;
  std::vector<double> least_, most_;
};

}  // namespace tb
