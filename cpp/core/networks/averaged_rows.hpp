// A block of rows for the products of kernels/averaged.hpp: their codes row by row, and rows grouped by a key.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/networks/averaged_networks.hpp"

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

  // The levels that these rows have, of each column; null if most rows have a level of every column to themselves no
  // longer, and a table of all levels is as cheap. Good until the next call.
  const Met* met(const std::uint32_t* row, std::size_t count);
  // safe_run of a table that has these levels.
  std::size_t run(const double* table, const Met* met) const;
  // sum of these rows += the products of the table's entries. The table has room for bundles, which are filled if that
  // is worth it: the bits are the same.
  void add(double* table, const double* start, std::size_t run, const std::uint32_t* row, std::size_t count,
           double* sum);
  // The same with a table that has no room, and may hold any numbers in [0, 1].
  void add_singly(const double* table, const double* start, std::size_t run, const std::uint32_t* row,
                  std::size_t count, double* sum);

  // The cell of each row in the table of these columns (ascending); kNoKey if one is missing.
  static constexpr std::uint32_t kNoKey = 0xffffffffu;
  std::vector<std::uint32_t>& keys(const std::int32_t* column, std::size_t m);
  // Groups the rows by their keys in [0, limit), keys ascending; rows of kNoKey are in no group.
  const std::vector<Group>& groups(std::size_t limit);
  const std::uint32_t* row() const { return row_.data(); }

 private:
  // Places in a table, of 2 or 4 bytes: (rows, factors).
  struct Places {
    std::vector<std::uint16_t> narrow;
    std::vector<std::uint32_t> wide;
  };
  bool worth_bundles(std::size_t rows) const { return rows * m_.d() >= m_.entries - m_.all_levels() - 1; }
  template <class Place>
  void place_bundles(std::vector<Place>& out) const;
  template <class Place>
  void place_columns(std::vector<Place>& out) const;
  Products products(const Places& places, std::size_t factors, const double* table, const double* start,
                    std::size_t run) const;

  const AveragedCounts& m_;
  PackedCodes codes_;
  std::size_t lanes_, most_, widest_ = 0;
  bool wide_;
  std::size_t begin_ = 0, rows_ = 0;
  Places bundled_, single_;
  bool have_bundled_ = false, have_single_ = false;  // made when the first rows ask
  std::vector<bool> alone_;                          // columns that are in no bundle with others
  std::vector<std::uint32_t> key_, row_, count_, level_;
  std::vector<Met> met_;
  std::vector<Group> groups_;
};

}  // namespace tb
