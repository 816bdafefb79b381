#include "core/nearest.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/threads.hpp"
#include "kernels/nearest.hpp"

namespace tb {
namespace {

constexpr double kFar = 1e300;          // its square is infinite
constexpr std::size_t kLook = 64;       // distances that are looked at together
constexpr std::size_t kRowsOfOne = 16;  // rows that a thread takes at a time

bool some_below(const double* x, double most) {
  int found = 0;
  for (std::size_t i = 0; i < kLook; ++i) found |= x[i] < most;
  return found != 0;
}

// The least of x (count), ascending; of equal ones the first.
void least(const double* x, std::size_t count, std::size_t most, std::int32_t* index, double* value) {
  std::fill_n(index, most, -1);
  std::fill_n(value, most, std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < count;) {
    const std::size_t end = std::min(count, i + kLook);
    if (end == i + kLook && !some_below(x + i, value[most - 1])) {
      i = end;
      continue;
    }
    for (; i < end; ++i) {
      if (!(x[i] < value[most - 1])) continue;
      std::size_t at = most - 1;
      for (; at > 0 && x[i] < value[at - 1]; --at) value[at] = value[at - 1], index[at] = index[at - 1];
      value[at] = x[i];
      index[at] = static_cast<std::int32_t>(i);
    }
  }
}

}  // namespace

Points::Points(const double* points, std::size_t count, std::size_t d, const double* root)
    : count_(count), d_(d), blocks_((count + kNearestLanes - 1) / kNearestLanes) {
  if (root) {
    root_ = AlignedArray(d * d);
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < d; ++j) root_.data()[j * d + i] = root[i * d + j];
  }
  point_ = AlignedArray(blocks_ * d * kNearestLanes);
  std::fill_n(point_.data(), point_.size(), kFar);
  std::vector<double> turned(d);
  for (std::size_t r = 0; r < count; ++r) {
    turn(points + r * d, turned.data());
    double* to = point_.data() + r / kNearestLanes * d * kNearestLanes + r % kNearestLanes;
    for (std::size_t j = 0; j < d; ++j) to[j * kNearestLanes] = turned[j];
  }
}

void Points::turn(const double* row, double* to) const {
  if (root_.size() == 0) {
    std::copy_n(row, d_, to);
    return;
  }
  std::fill_n(to, d_, 0.0);
  for (std::size_t j = 0; j < d_; ++j) {
    const double* column = root_.data() + j * d_;
    const double x = row[j];
    for (std::size_t i = j; i < d_; ++i) to[i] += column[i] * x;
  }
}

void Points::nearest(const double* rows, std::size_t n, std::size_t most, std::int32_t* index, double* distance) const {
  if (most == 0) return;
  const std::size_t wide = blocks_ * kNearestLanes;
  struct Space {
    AlignedArray asked, away;
  };
  std::vector<Space> spaces(static_cast<std::size_t>(threads()));
  parallel_for((n + kRowsOfOne - 1) / kRowsOfOne, [&](std::size_t block, int thread) {
    Space& space = spaces[static_cast<std::size_t>(thread)];
    space.asked.at_least(kNearestAsked * d_);
    space.away.at_least(kNearestAsked * wide);
    const std::size_t end = std::min(n, (block + 1) * kRowsOfOne);
    for (std::size_t r = block * kRowsOfOne; r < end; r += kNearestAsked) {
      for (std::size_t a = 0; a < kNearestAsked; ++a)  // at the end the last row several times
        turn(rows + std::min(r + a, end - 1) * d_, space.asked.data() + a * d_);
      TB_CALL(nearest_distances, point_.data(), blocks_, d_, space.asked.data(), space.away.data());
      for (std::size_t a = 0; a < std::min(kNearestAsked, end - r); ++a)
        least(space.away.data() + a * wide, count_, most, index + (r + a) * most, distance + (r + a) * most);
    }
  });
}

}  // namespace tb
