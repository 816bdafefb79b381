// Naive Bayes counts at several half-lives side by side: old rows count less and less.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "core/streams/recent_rows.hpp"

namespace tb::streams {

constexpr std::array<double, 4> kHalfLives = {1e300, 1e4, 1e3, 1e2};  // in rows; the first is for ever
constexpr int kMemories = static_cast<int>(kHalfLives.size());

// No count is multiplied when a row comes: new rows weigh more instead (gain), and all counts are scaled back in time.
class DecayedCounts {
 public:
  DecayedCounts() = default;
  explicit DecayedCounts(const RecentRows& rows);

  void grow(int classes);
  // Adds a row, after the others have faded by one step.
  void add(const int* codes, int y);
  // Counts these columns again from the rows that are kept.
  void recount(const RecentRows& rows, const std::vector<int>& which);

  // P(class) with memory h; (classes,)
  void prior(int h, float* p) const;
  // log P(class) + sum_j log P(x_j | class) / P(x_j), with all memories; (memories, classes)
  void scores(const int* codes, float* s) const;
  // Mutual information (nats) of a column with the class, half-life 10^4, less what chance gives.
  double information(int j) const;

  template <class Archive>
  void visit(Archive& a) {
    a(classes_), a(gain_), a(start_), a(prior_), a(cell_);
  }
  void check(const RecentRows& rows) const;

 private:
  const double* cell(int j, int code) const { return &cell_[(start_[j] + code) * classes_ * kMemories]; }
  double* cell(int j, int code) { return &cell_[(start_[j] + code) * classes_ * kMemories]; }

  std::int32_t classes_ = 0;
  std::array<double, kMemories> gain_ = {1, 1, 1, 1};
  std::vector<std::uint32_t> start_;  // of each column's codes, and the end
  std::vector<double> prior_;         // [class][memory]
  std::vector<double> cell_;          // [column, code][class][memory]
};

// values [outer][before][inner] -> [outer][after][inner], with zeros for the new ones.
template <class T>
void widen(std::vector<T>& values, std::size_t before, std::size_t after, std::size_t inner) {
  if (before == 0 || before == after) return;
  const std::size_t outer = values.size() / (before * inner);
  std::vector<T> wide(outer * after * inner, T{});
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t i = 0; i < before * inner; ++i) wide[o * after * inner + i] = values[o * before * inner + i];
  values = std::move(wide);
}

}  // namespace tb::streams
