// Logistic regression, learned row by row by AdaGrad (Duchi et al. 2011): linear in the normal scores of numbers, on
// indicators of bins, and on those of bins and pairs of bins.
#pragma once
#include <cstdint>
#include <vector>

#include "core/streams/recent_rows.hpp"

namespace tb::streams {

constexpr int kLogistics = 3;                  // normal scores, bins, bins and pairs
constexpr int kPairedColumns = 24;             // the first ones, at most
constexpr int kPairCodes = 17;                 // of a column in a pair
constexpr std::size_t kPairWeights = 1 << 20;  // at most: of many classes fewer columns are paired

// Weights belong to bins by rank: where a column is cut again they stay, and follow.
class OnlineLogistic {
 public:
  OnlineLogistic() = default;
  explicit OnlineLogistic(const RecentRows& rows);

  void grow(int classes);
  // What a row gives each cell: indicators give 1.
  struct Features {
    std::vector<std::uint32_t> cells;  // of one model after the other
    std::vector<float> scores;         // values of the first model's cells
  };
  // p: (kLogistics, classes). row: for add.
  void predict(const RecentRows& rows, const int* codes, const float* positions, float* p, Features& row) const;
  void add(const Features& row, const float* p, int y);

  template <class Archive>
  void visit(Archive& a) {
    a(classes_), a(weight_), a(squares_);
  }
  void restore(const RecentRows& rows, int classes);  // after reading: checks it

 private:
  int columns() const { return static_cast<int>(start_.size()) - 1; }
  int paired() const;                                        // columns
  std::uint32_t alone() const { return start_.back() + 1; }  // cells without pairs, the intercept last
  std::size_t cells() const;
  // Calls f(model, its cell, the value of the row there).
  template <class F>
  void each_cell(const Features& row, F&& f) const;

  std::int32_t classes_ = 0;
  std::vector<std::uint32_t> start_;     // of each column's codes, and the end
  std::vector<float> weight_, squares_;  // [cell][class]: of each model without pairs, then pairs
};

}  // namespace tb::streams
