// The most recent rows of a stream, with their codes in bins that move with the data.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/streams/archive.hpp"

namespace tb::streams {

constexpr int kBins = 32;           // of a numeric column
constexpr int kLevels = 254;        // of a categorical column; all others share one code
constexpr int kCapacity = 1 << 14;  // rows that are kept, at most
constexpr int kFirstCapacity = 1 << 8;
constexpr int kCheckEvery = 1 << 10;  // rows between two looks at the shares of the bins

// How the values of a column become codes, and positions between which distances are taken.
struct Column {
  std::uint8_t categorical = 0;
  std::vector<float> cuts;  // ascending; the code of a number is how many of them it reaches

  int codes() const { return categorical ? kLevels + 2 : kBins + 1; }
  int missing() const { return codes() - 1; }
  int code(float x) const;
  // Numbers: the rank in [0, 1], linear between two cuts. Levels: the code.
  float position(float x, int code) const;
  // A bin for each value that at least 1/16 of the sorted values have, and even bins for the others; cuts lie midway
  // between two values.
  void cut(const std::vector<float>& sorted);

  template <class Archive>
  void visit(Archive& a) {
    a(categorical), a(cuts);
  }
};

// A ring: row r of the stream is at r % capacity. Columns are contiguous. The ring grows with the rows.
class RecentRows {
 public:
  RecentRows() = default;
  explicit RecentRows(const std::vector<std::uint8_t>& categorical);

  int columns() const { return static_cast<int>(columns_.size()); }
  const Column& column(int j) const { return columns_[j]; }
  std::int64_t seen() const { return seen_; }
  int capacity() const { return capacity_; }
  int size() const { return static_cast<int>(std::min<std::int64_t>(seen_, kCapacity)); }
  // Where the row of this age is; 0 is the last one.
  int place(int age) const { return static_cast<int>((seen_ - 1 - age) & (capacity_ - 1)); }

  const float* values(int j) const { return &value_[at(j)]; }
  const float* positions(int j) const { return &position_[at(j)]; }
  const std::uint8_t* codes(int j) const { return &code_[at(j)]; }
  const std::int32_t* labels() const { return label_.data(); }

  void encode(const float* x, int* codes, float* positions) const;
  void add(const float* x, const int* codes, const float* positions, int y);
  // Cuts again the columns whose bins no longer have equal shares; which they are. Rows are few at first: each time
  // their number has doubled all columns are cut.
  std::vector<int> move_bins();

  template <class Archive>
  void visit(Archive& a) {
    a(columns_), a(capacity_), a(seen_), a(value_), a(label_);
  }
  void restore(int classes);  // after reading: checks it, and encodes the rows

 private:
  std::size_t at(int j) const { return static_cast<std::size_t>(j) * static_cast<std::size_t>(capacity_); }
  void make_room();
  bool shares_moved(int j) const;
  void encode_all(int j);

  std::vector<Column> columns_;
  std::int32_t capacity_ = kFirstCapacity;  // a power of 2
  std::int64_t seen_ = 0;
  std::vector<float> value_, position_;
  std::vector<std::uint8_t> code_;
  std::vector<std::int32_t> label_;
};

}  // namespace tb::streams
