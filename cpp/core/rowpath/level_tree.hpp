// Counts of the levels of one column by class, and their sums, both at hand after every change: a heap of nodes in
// which each is the sum of the two below it. The sums are those of tree_sum, to the last bit.
#pragma once
#include <cstddef>
#include <vector>

namespace tb {

class LevelTree {
 public:
  // count (K, size), row after row, `stride` numbers apart.
  LevelTree(std::size_t classes, std::size_t size, const double* count, std::size_t stride);

  std::size_t size() const { return size_; }
  const double* counts(std::size_t level) const { return node_.data() + (room_ + level) * classes_; }  // of each class
  const double* totals() const { return node_.data() + classes_; }
  std::size_t moves() const { return moves_; }  // how often the counts were moved to make room

  // A level beyond size() is made, with those between.
  void add(std::size_t level, std::size_t c, double w);
  void set(std::size_t level, std::size_t c, double count);  // of a level that is there
  void scale(double factor);
  // The counts as they came, (K, size()), each times `share`.
  void write(double* count, std::size_t stride, double share = 1.0) const;

 private:
  void make_room(std::size_t size);
  void sum_up();
  void sum_above(std::size_t level, std::size_t c);

  std::size_t classes_;
  std::size_t size_;
  std::size_t room_;          // a power of two: leaves
  std::vector<double> node_;  // node i, class c: i * K + c; 1 is the root, room_ + v is level v
  std::size_t moves_ = 0;
};

}  // namespace tb
