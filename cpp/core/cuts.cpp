#include "core/cuts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "core/sorted.hpp"
#include "core/threads.hpp"
#include "kernels/cuts.hpp"

namespace tb {
namespace {

constexpr double kMost = std::numeric_limits<double>::max();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr std::size_t kAnyClass = std::numeric_limits<std::size_t>::max();

// A value that lies on a cut up to rounding must go right whatever unit the column is in, so a cut is moved down by
// a few units in the last place of the largest value (but never by as much as a bin).
std::vector<double> equal_steps(double low, double high, std::size_t bins) {
  const double largest = std::max(std::fabs(low), std::fabs(high));
  const double unit = largest > 1e280 ? 0x1p-64 : 1.0;  // the sums below must not overflow
  const double a = low * unit, b = high * unit, k = static_cast<double>(bins);
  const double margin = std::min(8 * kEpsilon * largest * unit, (b - a) / k / 4);
  std::vector<double> cuts;
  for (std::size_t i = 1; i < bins; ++i) {
    const double cut = ((a * static_cast<double>(bins - i) + b * static_cast<double>(i)) / k - margin) / unit;
    if (cut > (cuts.empty() ? low : cuts.back()) && cut <= high) cuts.push_back(cut);
  }
  return cuts;
}

// Walks over the borders between neighbouring distinct values and takes, for each i < bins, the border whose weight
// to its left is nearest to i/bins of the whole (the lower one if two are). Weights are compared times bins: whole
// numbers then stay exact.
class EqualWeight {
 public:
  EqualWeight(double total, std::size_t bins) : total_(total), bins_(static_cast<double>(bins)) {}

  void border(double cut, double left) {
    for (; next_ < bins_ && next_ * total_ <= left * bins_; ++next_) {
      const double want = next_ * total_;
      take(seen_ && want - left_ * bins_ <= left * bins_ - want ? cut_ : cut);
    }
    seen_ = true;
    cut_ = cut;
    left_ = left;
  }
  std::vector<double> finish() {
    if (seen_ && next_ < bins_) take(cut_);
    return std::move(cuts_);
  }

 private:
  void take(double cut) {
    if (cuts_.empty() || cuts_.back() < cut) cuts_.push_back(cut);
  }
  double total_, bins_;
  double next_ = 1;  // the i that still looks for its border
  bool seen_ = false;
  double cut_ = 0, left_ = 0;  // the border before
  std::vector<double> cuts_;
};

std::vector<double> equal_weight(const Sorted& sorted, const double* w, std::size_t bins) {
  double total = w ? 0 : static_cast<double>(sorted.count);
  for (std::size_t i = 0; w && i < sorted.count; ++i) total += w[sorted.tag[i]];
  EqualWeight walk(total, bins);
  double left = 0;
  for (std::size_t i = 1; i < sorted.count; ++i) {
    left += w ? w[sorted.tag[i - 1]] : 1.0;
    if (sorted.key[i] != sorted.key[i - 1]) {
      walk.border(between(value_of(sorted.key[i - 1]), value_of(sorted.key[i])), left);
    }
  }
  return walk.finish();
}

}  // namespace

Cuts join(const std::vector<std::vector<double>>& columns) {
  Cuts all;
  for (const auto& cuts : columns) {
    all.size.push_back(static_cast<std::int64_t>(cuts.size()));
    all.cut.insert(all.cut.end(), cuts.begin(), cuts.end());
  }
  return all;
}

Cuts cuts_width(const Columns& x, const Rows& rows, std::size_t bins) {
  check_rows(rows, x.n, kAnyClass);
  const auto team = static_cast<std::size_t>(threads());
  std::vector<double> low(team * x.d, kMost), high(team * x.d, -kMost);  // of each thread, then of all
  each_tile(x, rows, [&](const Tile& t) {
    const std::size_t at = static_cast<std::size_t>(t.thread) * x.d + t.column;
    TB_CALL(widen, t.value, t.count, &low[at], &high[at]);
  });
  std::vector<std::vector<double>> columns(x.d);
  for (std::size_t j = 0; j < x.d; ++j) {
    for (std::size_t at = j; at < team * x.d; at += x.d) {
      low[j] = std::min(low[j], low[at]);
      high[j] = std::max(high[j], high[at]);
    }
    if (low[j] < high[j]) columns[j] = equal_steps(low[j], high[j], bins);
  }
  return join(columns);
}

Cuts cuts_frequency(const Columns& x, const Rows& rows, std::size_t bins) {
  check_rows(rows, x.n, kAnyClass);
  std::vector<std::unique_ptr<Sorted>> sorted(static_cast<std::size_t>(threads()));
  std::vector<std::vector<double>> columns(x.d);
  FirstInfinite bad;
  each_column(x, [&](std::size_t j, int thread) {
    auto& mine = sorted[static_cast<std::size_t>(thread)];
    if (!mine) mine = std::make_unique<Sorted>(x.n, rows.w ? Tag::row : Tag::none);
    if (mine->sort(x, j, rows, bad)) columns[j] = equal_weight(*mine, rows.w, bins);
  });
  bad.raise();
  return join(columns);
}

void digitize(const Columns& x, const Rows& rows, const std::int64_t* size, const double* cut, void* const* out) {
  std::vector<const double*> start(x.d);
  for (std::size_t j = 0; j < x.d; ++j) {
    start[j] = cut;
    cut += size[j];
  }
  each_tile(x, rows, [&](const Tile& t) {
    const auto m = static_cast<std::size_t>(size[t.column]);
    const auto count = [&](auto* code) { TB_CALL(count_cuts, t.value, t.count, start[t.column], m, code + t.first); };
    switch (code_size(m)) {
      case 1: return count(static_cast<std::int8_t*>(out[t.column]));
      case 2: return count(static_cast<std::int16_t*>(out[t.column]));
      default: return count(static_cast<std::int32_t*>(out[t.column]));
    }
  });
}

}  // namespace tb
