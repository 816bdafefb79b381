#include "core/streams/drift_detector.hpp"

#include <cmath>

namespace tb::streams {
namespace {

constexpr double kDelta = 1e-4;  // probability of a false alarm, for one look
constexpr int kBucketsOfASize = 5;
constexpr int kLookEvery = 16;
constexpr std::int64_t kFewest = 32;  // numbers of a part
constexpr std::size_t kMostBuckets = 60 * (kBucketsOfASize + 1);

}  // namespace

bool DriftDetector::add(double value) {
  buckets_.push_back({1, value, value * value});
  ++seen_;
  compress();
  return seen_ % kLookEvery == 0 && shrink();
}

void DriftDetector::compress() {
  // From the newest on: where there are too many of a size, its two oldest become one.
  std::size_t end = buckets_.size();
  while (end > 0) {
    std::size_t begin = end;
    while (begin > 0 && buckets_[begin - 1].n == buckets_[end - 1].n) --begin;
    if (end - begin <= kBucketsOfASize) return;
    Bucket& oldest = buckets_[begin];
    const Bucket next = buckets_[begin + 1];
    oldest = {oldest.n + next.n, oldest.sum + next.sum, oldest.squares + next.squares};
    buckets_.erase(buckets_.begin() + static_cast<std::ptrdiff_t>(begin) + 1);
    end = begin + 1;
  }
}

bool DriftDetector::shrink() {
  bool rose = false, again = true;
  while (again) {
    again = false;
    double n = 0, sum = 0, squares = 0;
    for (const Bucket& b : buckets_) n += static_cast<double>(b.n), sum += b.sum, squares += b.squares;
    if (n < 2 * kFewest) return rose;
    const double variance = std::max(0.0, squares / n - (sum / n) * (sum / n));
    const double log_term = std::log(2 * std::log(n) / kDelta);
    double older = 0, older_sum = 0;
    for (std::size_t i = 0; i + 1 < buckets_.size(); ++i) {
      older += static_cast<double>(buckets_[i].n), older_sum += buckets_[i].sum;
      const double newer = n - older;
      if (older < kFewest) continue;
      if (newer < kFewest) break;
      const double before = older_sum / older, after = (sum - older_sum) / newer;
      const double harmonic = 1 / (1 / older + 1 / newer);
      const double bound = std::sqrt(2 / harmonic * variance * log_term) + 2 / (3 * harmonic) * log_term;
      if (std::abs(before - after) <= bound) continue;
      if (after > before && !rose) rose = true, change_ = {seen_, static_cast<std::int64_t>(newer), before, after};
      buckets_.erase(buckets_.begin(), buckets_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      again = true;
      break;
    }
  }
  return rose;
}

void DriftDetector::check() const {
  expect_state(seen_ >= 0 && buckets_.size() <= kMostBuckets);
  for (const Bucket& b : buckets_)
    expect_state(b.n >= 1 && b.n < std::int64_t{1} << 53 && b.sum >= 0 && b.squares >= 0 && b.sum < 1e18 &&
                 b.squares < 1e18);
}

}  // namespace tb::streams
