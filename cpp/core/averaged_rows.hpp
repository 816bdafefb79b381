// A block of rows for the products of kernels/averaged.hpp: their codes row by row, and rows grouped by a key.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/averaged.hpp"

namespace tb {

class AveragedRows {
 public:
  struct Group {
    std::uint32_t key;
    std::size_t from;  // in row()
    std::size_t count;
  };

  // At most `most` rows at a time.
  AveragedRows(const AveragedCounts& m, const PackedCodes& codes, std::size_t lanes, std::size_t most);

  // Takes rows [begin, begin + rows).
  void read(std::size_t begin, std::size_t rows);
  std::size_t rows() const { return rows_; }
  static constexpr std::size_t kNoLevel = ~std::size_t{0};
  std::size_t level(std::size_t r, std::size_t k) const;  // of a row in column k
  Products products(const double* table, const double* start, std::size_t run) const;

  // The cell of each row in the table of these columns (ascending); kNoKey if one is missing.
  static constexpr std::uint32_t kNoKey = 0xffffffffu;
  std::vector<std::uint32_t>& keys(const std::int32_t* column, std::size_t m);
  // Groups the rows by their keys in [0, limit), keys ascending; rows of kNoKey are in no group.
  const std::vector<Group>& groups(std::size_t limit);
  const std::uint32_t* row() const { return row_.data(); }

 private:
  const AveragedCounts& m_;
  PackedCodes codes_;
  std::size_t lanes_;
  bool wide_;
  std::size_t begin_ = 0, rows_ = 0;
  std::vector<std::uint16_t> narrow_place_;
  std::vector<std::uint32_t> wide_place_, key_, row_, count_;
  std::vector<Group> groups_;
};

}  // namespace tb
