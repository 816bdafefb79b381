// A classifier for streams that drift: experts with different memories, stacked row by row.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "core/streams/decayed_counts.hpp"
#include "core/streams/drift_detector.hpp"
#include "core/streams/online_logistic.hpp"
#include "core/streams/online_stacking.hpp"
#include "core/streams/recent_neighbors.hpp"
#include "core/streams/recent_rows.hpp"
#include "core/streams/rotating_forest.hpp"

namespace tb::streams {

constexpr int kMostClasses = 1000;
constexpr int kExperts = 2 * kMemories + kNeighborExperts + kForests + kLogistics;

// When the prequential loss of naive Bayes with a half-life of 10^3 rows rose, and how many bits the joint distribution
// of a column and the class have moved.
struct Drift {
  Change change;
  std::vector<double> bits;  // of each column

  template <class Archive>
  void visit(Archive& a) {
    a(change), a(bits);
  }
};

class StreamLearner {
 public:
  StreamLearner() = default;
  explicit StreamLearner(const std::vector<std::uint8_t>& categorical);

  int columns() const { return rows_.columns(); }
  int classes() const { return classes_; }
  std::int64_t seen() const { return rows_.seen(); }
  void grow(int classes);
  // x: (columns,), NaN is missing, levels are 0, 1, ... p: (classes,)
  void predict(const double* x, double* p) const;
  // Predicts the row, learns from how right that was, and adds it; P(its class) before. A new class gets room first.
  double learn(const double* x, int y);

  const std::vector<Drift>& drifts() const { return drifts_; }
  // Weights of the half-lives: a fixed-share mixture of the naive Bayes models.
  const std::array<double, kMemories>& memory() const { return memory_; }
  double weight(int expert) const { return stacking_.weight(expert); }

  std::vector<std::uint8_t> bytes() const;
  static StreamLearner read(const std::uint8_t* bytes, std::size_t size);

  template <class Archive>
  void visit(Archive& a) {
    a(classes_), a(categorical_);
    rows_.visit(a), counts_.visit(a), forests_.visit(a), logistic_.visit(a), stacking_.visit(a), detector_.visit(a);
    a(distance_weight_), a(memory_), a(drifts_);
  }

 private:
  struct Prediction {
    std::vector<float> x, positions, distance, logistic, logs, pools, p;
    std::vector<int> codes;
    std::vector<std::int32_t> leaves;
    OnlineLogistic::Features features;
  };
  void predict(const double* x, Prediction& made) const;
  void weigh_columns();
  Drift describe(const Change& change) const;
  void check() const;

  std::int32_t classes_ = 0;
  std::vector<std::uint8_t> categorical_;
  RecentRows rows_;
  DecayedCounts counts_;
  RotatingForests forests_;
  OnlineLogistic logistic_;
  OnlineStacking stacking_;
  DriftDetector detector_;
  std::vector<float> distance_weight_;
  std::array<double, kMemories> memory_{};
  std::vector<Drift> drifts_;
  mutable Prediction last_;  // learning a row that was just predicted does not predict it again
  mutable bool fresh_ = false;
};

}  // namespace tb::streams
