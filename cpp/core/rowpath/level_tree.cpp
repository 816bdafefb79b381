#include "core/rowpath/level_tree.hpp"

#include <algorithm>
#include <bit>

namespace tb {

LevelTree::LevelTree(std::size_t classes, std::size_t size, const double* count, std::size_t stride)
    : classes_(classes), size_(size), room_(std::bit_ceil(size)), node_(2 * room_ * classes, 0.0) {
  for (std::size_t v = 0; v < size; ++v) {
    for (std::size_t c = 0; c < classes; ++c) node_[(room_ + v) * classes + c] = count[c * stride + v];
  }
  sum_up();
}

void LevelTree::add(std::size_t level, std::size_t c, double w) {
  if (level >= size_) make_room(level + 1);
  node_[(room_ + level) * classes_ + c] += w;
  sum_above(level, c);
}

void LevelTree::set(std::size_t level, std::size_t c, double count) {
  node_[(room_ + level) * classes_ + c] = count;
  sum_above(level, c);
}

void LevelTree::scale(double factor) {
  for (std::size_t i = room_ * classes_; i < node_.size(); ++i) node_[i] *= factor;
  sum_up();
}

void LevelTree::write(double* count, std::size_t stride, double share) const {
  for (std::size_t v = 0; v < size_; ++v) {
    for (std::size_t c = 0; c < classes_; ++c) count[c * stride + v] = counts(v)[c] * share;
  }
}

void LevelTree::sum_above(std::size_t level, std::size_t c) {
  double* of_class = node_.data() + c;
  for (std::size_t i = room_ + level; i > 1; i /= 2) {
    of_class[i / 2 * classes_] = of_class[i * classes_] + of_class[(i ^ 1) * classes_];
  }
}

void LevelTree::make_room(std::size_t size) {
  const std::size_t room = std::bit_ceil(size);
  if (room > room_) {
    std::vector<double> node(2 * room * classes_, 0.0);
    std::copy_n(counts(0), size_ * classes_, node.begin() + static_cast<std::ptrdiff_t>(room * classes_));
    node_.swap(node);
    room_ = room;
    ++moves_;
    sum_up();
  }
  size_ = size;
}

void LevelTree::sum_up() {
  for (std::size_t i = room_ * classes_; i-- > classes_;) {
    const std::size_t node = i / classes_, c = i % classes_;
    node_[i] = node_[2 * node * classes_ + c] + node_[(2 * node + 1) * classes_ + c];
  }
}

}  // namespace tb
