#include "core/ensemble/neighbors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/runtime/threads.hpp"
#include "kernels/neighbors.hpp"

namespace tb {
namespace {

constexpr std::size_t kRowsOfOne = 16;                     // rows that a thread takes at a time
constexpr std::size_t kSample = 256;                       // points from which it is guessed how near the nearest are
constexpr std::size_t kMaxExhaustivePoints = 4 * kSample;  // points that are all looked at in doubles
constexpr double kFar = 1e15;                              // lengths whose squares are floats by far

// Which of x (count) are at most `most`; found has room for one more than all.
std::size_t at_most(const float* x, std::size_t count, float most, std::uint32_t* found) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < count; ++i) {
    found[n] = static_cast<std::uint32_t>(i);  // unless it stays, the next one takes its place
    n += x[i] <= most;
  }
  return n;
}

// Those of found (count) whose x is at most `most`, in its place.
std::size_t among(const float* x, std::uint32_t* found, std::size_t count, float most) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t each = found[i];
    found[n] = each;
    n += x[each] <= most;
  }
  return n;
}

double length(const double* x, std::size_t d) {
  double sum = 0;
  for (std::size_t j = 0; j < d; ++j) sum += x[j] * x[j];
  return std::sqrt(sum);
}

}  // namespace

struct Points::Space {
  AlignedArray turned;
  Aligned<float> asked, approximate;
  std::vector<float> sample;
  Aligned<std::uint32_t> candidates;
  std::vector<std::pair<double, std::int32_t>> near;
};

Points::Points(const double* points, std::size_t count, std::size_t d, const double* root)
    : count_(count), d_(d), blocks_((count + kNeighborLanes - 1) / kNeighborLanes), point_(count * d) {
  if (root) {
    root_ = AlignedArray(d * d);
    for (std::size_t i = 0; i < d; ++i)
      for (std::size_t j = 0; j < d; ++j) root_.data()[j * d + i] = root[i * d + j];
  }
  for (std::size_t r = 0; r < count; ++r) {
    whiten(points + r * d, point_.data() + r * d);
    max_norm_ = std::max(max_norm_, length(point_.data() + r * d, d));
  }
  if (count <= kMaxExhaustivePoints || max_norm_ > kFar) return;
  rough_ = Aligned<float>(blocks_ * d * kNeighborLanes);
  half_ = Aligned<float>(blocks_ * kNeighborLanes);
  std::fill_n(rough_.data(), rough_.size(), 0.0f);
  std::fill_n(half_.data(), half_.size(), std::numeric_limits<float>::infinity());
  for (std::size_t r = 0; r < count; ++r) {
    const double* from = point_.data() + r * d;
    const double long_ = length(from, d);
    half_.data()[r] = static_cast<float>(long_ * long_ / 2);
    float* to = rough_.data() + r / kNeighborLanes * d * kNeighborLanes + r % kNeighborLanes;
    for (std::size_t j = 0; j < d; ++j) to[j * kNeighborLanes] = static_cast<float>(from[j]);
  }
}

void Points::whiten(const double* row, double* to) const {
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

// approximate: what the kernel says of all points, each within `error`; null: nothing is known of them.
void Points::find(const double* row, const float* approximate, double error, std::size_t most, Space& space,
                  std::int32_t* index, double* distance) const {
  std::uint32_t* candidates = space.candidates.data();
  std::size_t count = count_;
  if (approximate && most < count_) {
    std::vector<float>& some = space.sample;  // first some of all, then those that may be near
    some.resize(kSample);
    for (std::size_t i = 0; i < kSample; ++i) some[i] = approximate[i * count_ / kSample];
    const std::size_t rank = std::min(kSample - 1, 2 * most * kSample / count_ + 8);
    std::nth_element(some.begin(), some.begin() + static_cast<std::ptrdiff_t>(rank), some.end());
    const float guess = some[rank];
    count = at_most(approximate, count_, guess, candidates);
    if (count < most) count = at_most(approximate, count_, std::numeric_limits<float>::infinity(), candidates);
    some.resize(count);
    for (std::size_t i = 0; i < count; ++i) some[i] = approximate[candidates[i]];
    const auto last = some.begin() + static_cast<std::ptrdiff_t>(most - 1);
    std::nth_element(some.begin(), last, some.end());
    const float limit = std::nextafter(static_cast<float>(*last + 2 * error), INFINITY);
    count =
        limit <= guess ? among(approximate, candidates, count, limit) : at_most(approximate, count_, limit, candidates);
  } else {
    for (std::size_t i = 0; i < count_; ++i) candidates[i] = static_cast<std::uint32_t>(i);
  }
  space.near.clear();
  for (std::size_t m = 0; m < count; ++m) {
    const double* x = point_.data() + candidates[m] * d_;
    double sum = 0;
    for (std::size_t j = 0; j < d_; ++j) sum += (x[j] - row[j]) * (x[j] - row[j]);
    space.near.emplace_back(sum, static_cast<std::int32_t>(candidates[m]));
  }
  const std::size_t here = std::min(most, space.near.size());
  std::partial_sort(space.near.begin(), space.near.begin() + static_cast<std::ptrdiff_t>(here), space.near.end());
  std::fill_n(index, most, -1);
  std::fill_n(distance, most, std::numeric_limits<double>::infinity());
  for (std::size_t k = 0; k < here; ++k) distance[k] = space.near[k].first, index[k] = space.near[k].second;
}

void Points::nearest(const double* rows, std::size_t n, std::size_t most, std::int32_t* index, double* distance) const {
  if (most == 0) return;
  const std::size_t wide = blocks_ * kNeighborLanes;
  std::vector<Space> spaces(static_cast<std::size_t>(threads()));
  parallel_for((n + kRowsOfOne - 1) / kRowsOfOne, [&](std::size_t block, int thread) {
    Space& space = spaces[static_cast<std::size_t>(thread)];
    space.turned.at_least(kNeighborQueries * d_);
    space.asked.at_least(kNeighborQueries * d_);
    space.candidates.at_least(count_ + 1);
    const bool rough = rough_.size() > 0;
    if (rough) space.approximate.at_least(kNeighborQueries * wide);
    const std::size_t end = std::min(n, (block + 1) * kRowsOfOne);
    for (std::size_t r = block * kRowsOfOne; r < end; r += kNeighborQueries) {
      for (std::size_t a = 0; a < kNeighborQueries; ++a)  // at the end the last row several times
        whiten(rows + std::min(r + a, end - 1) * d_, space.turned.data() + a * d_);
      if (rough) {
        for (std::size_t i = 0; i < kNeighborQueries * d_; ++i)
          space.asked.data()[i] = static_cast<float>(std::clamp(space.turned.data()[i], -kFar, kFar));
        TB_CALL(neighbor_products, rough_.data(), half_.data(), blocks_, d_, space.asked.data(),
                space.approximate.data());
      }
      for (std::size_t a = 0; a < std::min(kNeighborQueries, end - r); ++a) {
        const double* row = space.turned.data() + a * d_;
        const double long_ = length(row, d_);
        // of d products and sums, each rounded, and of their factors
        const double error = 0x1p-23 * static_cast<double>(d_ + 8) * max_norm_ * (max_norm_ + long_);
        find(row, rough && long_ <= kFar ? space.approximate.data() + a * wide : nullptr, error, most, space,
             index + (r + a) * most, distance + (r + a) * most);
      }
    }
  });
}

}  // namespace tb
