#include "core/encode/cut_points.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "core/math/radix_sort.hpp"
#include "core/runtime/threads.hpp"
#include "kernels/cut_points.hpp"

namespace tb {
namespace {

constexpr double kMaxDouble = std::numeric_limits<double>::max();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr std::size_t kAnyClass = std::numeric_limits<std::size_t>::max();

struct Steps {
  std::vector<double> cut;
  double margin = 0;  // how far rounding may have moved a value that lies on a cut
};

Steps equal_steps(double low, double high, std::size_t bins) {
  const double largest = std::max(std::fabs(low), std::fabs(high));
  const double unit = largest > 1e280 ? 0x1p-64 : 1.0;  // the sums below must not overflow
  const double a = low * unit, b = high * unit, k = static_cast<double>(bins);
  Steps steps;
  const double margin = 8 * kEpsilon * largest * unit;
  if (margin <= (b - a) / k / 4) steps.margin = margin / unit;  // else a bin is a few floats wide, and all are exact
  for (std::size_t i = 1; i < bins; ++i) {
    const double step = (a * static_cast<double>(bins - i) + b * static_cast<double>(i)) / k / unit;
    const double cut = std::max(step, std::nextafter(low, high));  // a bin for low even if two floats are the range
    if (steps.cut.empty() || cut > steps.cut.back()) steps.cut.push_back(cut);
  }
  return steps;
}

// The same data in another unit must get the same codes, so a value that lies on a cut up to rounding goes right:
// the cut moves down to the least such value.
void lower_to_values(const Columns& x, const Rows& rows, std::vector<Steps>& columns) {
  std::vector<std::vector<double>> below(x.d);
  std::vector<std::vector<std::vector<double>>> least(static_cast<std::size_t>(threads()));  // by thread, column, cut
  for (std::size_t j = 0; j < x.d; ++j) {
    for (const double cut : columns[j].cut) below[j].push_back(cut - columns[j].margin);
    for (auto& of_thread : least) of_thread.push_back(columns[j].cut);
  }
  each_tile(x, rows, [&](const Tile& t) {
    const auto& cut = columns[t.column].cut;
    std::array<std::int32_t, kMostRows> code, lower;
    TB_CALL(count_cuts, t.value, t.count, cut.data(), cut.size(), code.data());
    TB_CALL(count_cuts, t.value, t.count, below[t.column].data(), cut.size(), lower.data());
    if (std::equal(code.begin(), code.begin() + static_cast<std::ptrdiff_t>(t.count), lower.begin())) return;
    for (std::size_t i = 0; i < t.count; ++i) {
      if (code[i] == lower[i]) continue;
      double& mine = least[static_cast<std::size_t>(t.thread)][t.column][static_cast<std::size_t>(code[i])];
      mine = std::min(mine, t.value[i]);
    }
  });
  for (const auto& of_thread : least) {
    for (std::size_t j = 0; j < x.d; ++j) {
      auto& cut = columns[j].cut;
      for (std::size_t i = 0; i < cut.size(); ++i) cut[i] = std::min(cut[i], of_thread[j][i]);
    }
  }
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
  std::vector<double> low(team * x.d, kMaxDouble), high(team * x.d, -kMaxDouble);  // of each thread, then of all
  each_tile(x, rows, [&](const Tile& t) {
    const std::size_t at = static_cast<std::size_t>(t.thread) * x.d + t.column;
    TB_CALL(widen, t.value, t.count, &low[at], &high[at]);
  });
  std::vector<Steps> steps(x.d);
  for (std::size_t j = 0; j < x.d; ++j) {
    for (std::size_t at = j; at < team * x.d; at += x.d) {
      low[j] = std::min(low[j], low[at]);
      high[j] = std::max(high[j], high[at]);
    }
    if (low[j] < high[j]) steps[j] = equal_steps(low[j], high[j], bins);
  }
  lower_to_values(x, rows, steps);
  std::vector<std::vector<double>> columns(x.d);
  for (std::size_t j = 0; j < x.d; ++j) columns[j] = std::move(steps[j].cut);
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
      case 1:
        return count(static_cast<std::int8_t*>(out[t.column]));
      case 2:
        return count(static_cast<std::int16_t*>(out[t.column]));
      default:
        return count(static_cast<std::int32_t*>(out[t.column]));
    }
  });
}

}  // namespace tb
