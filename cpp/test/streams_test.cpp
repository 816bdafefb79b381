// The parts of the stream learner beside slow versions, and its state as bytes, whole and broken.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "core/streams/stream_learner.hpp"
#include "test/check.hpp"

using namespace tb::streams;

namespace {

// Two columns of numbers and one of levels, with missing values; the class follows the first and the last.
struct Rows {
  std::vector<double> x;
  std::vector<int> y;
  explicit Rows(int n, unsigned seed = 1) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    for (int i = 0; i < n; ++i) {
      const double a = normal(random), b = normal(random), level = static_cast<double>(random() % 5);
      x.insert(x.end(), {random() % 9 == 0 ? std::nan("") : a, b, level});
      y.push_back((a > 0) == (level < 2) ? 1 : static_cast<int>(random() % 10 == 0) * 2);
    }
  }
};

StreamLearner learned(const Rows& rows, int n) {
  StreamLearner learner({0, 0, 1});
  for (int i = 0; i < n; ++i) learner.learn(&rows.x[3 * i], rows.y[i]);
  return learner;
}

}  // namespace

TEST(decayed_counts_are_those_of_the_rows_that_are_kept) {
  const Rows rows(700);
  RecentRows kept({0, 0, 1});
  DecayedCounts counts(kept);
  counts.grow(3);
  std::vector<int> codes(3);
  std::vector<float> x(3), positions(3), one(kMemories * 3), other(kMemories * 3);
  for (int i = 0; i < 700; ++i) {
    for (int j = 0; j < 3; ++j) x[j] = static_cast<float>(rows.x[3 * i + j]);
    kept.encode(x.data(), codes.data(), positions.data());
    kept.add(x.data(), codes.data(), positions.data(), rows.y[i]);
    counts.add(codes.data(), rows.y[i]);
    counts.recount(kept, kept.move_bins());
  }
  DecayedCounts again = counts;
  again.recount(kept, {0, 1, 2});
  counts.scores(codes.data(), one.data());
  again.scores(codes.data(), other.data());
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(std::abs(one[i] - other[i]) < 1e-4f);
  CHECK(counts.information(0) > 5 * counts.information(1));
}

TEST(frequent_values_have_a_bin_each_and_the_others_even_ones) {
  std::mt19937 random(4);
  std::vector<float> sorted(8500, 0.0f);  // 85 % are zero, 5 % have values of their own, 10 % are 99
  for (int i = 0; i < 500; ++i) sorted.push_back(1 + static_cast<float>(i) / 10);
  sorted.insert(sorted.end(), 1000, 99.0f);
  Column column;
  column.cut(sorted);
  CHECK(column.cuts.size() + 1 <= kBins && column.cuts.size() >= 25);
  CHECK(column.cuts[0] == 0.5f);
  std::vector<int> rows(kBins);
  for (const float x : sorted) ++rows[column.code(x)];
  CHECK(rows[0] == 8500);
  for (std::size_t b = 1; b <= column.cuts.size(); ++b) CHECK(rows[b] <= 2 * 500 / 28 || rows[b] == 1000);

  for (int frequent = 0; frequent <= 17; ++frequent) {  // however many there are, and wherever
    sorted.clear();
    for (int f = 0; f < frequent; ++f) sorted.insert(sorted.end(), 100, static_cast<float>(random() % 1000) / 10);
    for (int i = 0; i < 300; ++i) sorted.push_back(static_cast<float>(random() % 100000) / 1000);
    std::sort(sorted.begin(), sorted.end());
    column.cut(sorted);
    CHECK(!column.cuts.empty() && column.cuts.size() < kBins);
    CHECK(std::adjacent_find(column.cuts.begin(), column.cuts.end(), std::greater_equal<>()) == column.cuts.end());
    CHECK(sorted.front() < column.cuts.front() && sorted.back() >= column.cuts.back());
  }
  column.cut({2, 2, 2});
  CHECK(column.cuts.empty());
}

TEST(neighbours_are_those_of_a_sort) {
  std::mt19937 random(2);
  RecentRows kept({0, 1});
  const int n = kCapacity + 300;  // the ring has come round
  for (int i = 0; i < n; ++i) {
    const float x[] = {static_cast<float>(random() % 1000), static_cast<float>(random() % 3)};
    int codes[2];
    float positions[2];
    kept.encode(x, codes, positions);
    positions[0] = x[0] / 1000;
    kept.add(x, codes, positions, static_cast<int>(random() % 4));
  }
  const float asked[] = {0.5f, 1.0f};
  const std::vector<float> weight = {1.0f, 0.3f};
  std::vector<float> distance, votes(kNeighborExperts * 4);
  neighbor_votes(kept, asked, weight, 4, distance, votes.data());
  const float* found = votes.data();
  for (const int window : kNeighborWindows) {
    std::vector<float> all;
    for (int age = 0; age < window; ++age) {
      const float apart = kept.positions(0)[kept.place(age)] - asked[0];
      all.push_back(apart * apart + (kept.positions(1)[kept.place(age)] == asked[1] ? 0 : 0.3f));
    }
    std::sort(all.begin(), all.end());
    for (const int k : kNeighbors) {
      float expected = 0.3f, total = 0;
      const float scale = std::sqrt(all[k - 1]) + 1e-6f;
      for (int i = 0; i < k; ++i) expected += 1 / (0.25f + std::sqrt(all[i]) / scale);
      for (int c = 0; c < 4; ++c) total += found[c];
      CHECK(std::abs(total - expected) < 1e-3f * expected);
      found += 4;
    }
  }
}

TEST(logistic_regression_is_that_of_a_dense_one) {
  constexpr int K = 3, n = 600;
  std::mt19937 random(6);
  RecentRows rows({1, 1});
  OnlineLogistic model(rows);
  // Intercept, 5 levels of each column and their 25 pairs, which the last model alone has. There are no numbers.
  constexpr int features[] = {11, 11, 36};
  std::vector<double> weight(kLogistics * 36 * K), squares(kLogistics * 36 * K);
  OnlineLogistic::Features row;
  int right[kLogistics] = {};
  for (int i = 0; i < n; ++i) {
    const int codes[] = {static_cast<int>(random() % 5), static_cast<int>(random() % 5)};
    const float positions[] = {static_cast<float>(codes[0]), static_cast<float>(codes[1])};
    const int y = (codes[0] + codes[1]) % K;  // neither column alone says anything
    if (i == 0 || i == 20) model.grow(i == 0 ? 2 : K);
    const int classes = i < 20 ? 2 : K, label = std::min(y, classes - 1);
    std::vector<float> p(kLogistics * classes);
    model.predict(rows, codes, positions, p.data(), row);
    for (int e = 0; e < kLogistics; ++e) {
      const std::vector<int> all = {0, 1 + codes[0], 6 + codes[1], 11 + 5 * codes[0] + codes[1]};
      std::vector<int> active;
      for (const int f : all)
        if (f < features[e]) active.push_back(f);
      double expected[K] = {}, total = 0;
      for (int c = 0; c < classes; ++c) {
        for (const int f : active) expected[c] += weight[(e * 36 + f) * K + c];
        total += expected[c] = std::exp(expected[c]);
      }
      for (int c = 0; c < classes; ++c) {
        CHECK(std::abs(p[e * classes + c] - expected[c] / total) < 1e-4);
        const double gradient = expected[c] / total - (c == label);
        for (const int f : active) {
          double& q = squares[(e * 36 + f) * K + c];
          q = (e == 0 ? 0.9999 : 0.999) * q + gradient * gradient;
          weight[(e * 36 + f) * K + c] -= 0.1 * gradient / std::sqrt(1 + q);
        }
      }
      const float* own = &p[e * classes];
      if (i >= n / 2) right[e] += std::max_element(own, own + classes) - own == label;
    }
    model.add(row, p.data(), label);
  }
  CHECK(right[0] < 0.5 * n / 2 && right[1] < 0.5 * n / 2 && right[2] > 0.9 * n / 2);
}

TEST(normal_scores_of_numbers_have_slopes) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  RecentRows rows({0});
  OnlineLogistic model(rows);
  model.grow(2);
  // Of class 1 less that of class 0: intercept, slope, and what a missing value adds.
  double weight[3] = {}, squares[3] = {};
  OnlineLogistic::Features row;
  float p[kLogistics * 2];
  for (int i = 0; i < 4000; ++i) {
    const int y = static_cast<int>(random() % 2);
    const float x = random() % 10 == 0 ? std::nanf("") : normal(random) + static_cast<float>(y);
    int code;
    float position;
    rows.encode(&x, &code, &position);
    model.predict(rows, &code, &position, p, row);
    const double r = std::clamp(static_cast<double>(position), 0.01, 0.99), score = std::log(r / (1 - r)) / 1.702;
    const double values[] = {1, std::isnan(x) ? 0 : score, std::isnan(x) ? 1.0 : 0};
    double logit = 0;
    for (int f = 0; f < 3; ++f) logit += 2 * weight[f] * values[f];  // each class has half of it
    const double expected = 1 / (1 + std::exp(-logit));
    CHECK(std::abs(p[1] - expected) < 1e-3);
    for (int f = 0; f < 3; ++f) {
      if (values[f] == 0) continue;
      const double gradient = values[f] * (expected - y);
      squares[f] = 0.9999 * squares[f] + gradient * gradient;
      weight[f] -= 0.1 * gradient / std::sqrt(1 + squares[f]);
    }
    model.add(row, p, y);
    rows.add(&x, &code, &position, y);
    rows.move_bins();
  }
  CHECK(std::abs(2 * weight[1] - 1.1) < 0.2);  // about one standard deviation between the classes
}

TEST(many_classes_leave_room_for_fewer_pairs) {
  RecentRows rows(std::vector<std::uint8_t>(30, 0));
  OnlineLogistic model(rows);
  const std::vector<int> codes(30, 0);
  const std::vector<float> positions(30, 0.5f);
  OnlineLogistic::Features row;
  std::size_t before = 1000;
  for (const int classes : {2, 100, 1000}) {
    model.grow(classes);
    std::vector<float> p(kLogistics * classes);
    model.predict(rows, codes.data(), positions.data(), p.data(), row);
    CHECK(row.cells.size() < before && row.cells.size() > kLogistics * 31);
    before = row.cells.size();
    model.add(row, p.data(), classes - 1);
    model.predict(rows, codes.data(), positions.data(), p.data(), row);
    const float *bins = &p[classes], *pairs = &p[2 * classes];
    CHECK(bins[classes - 1] > 1.5f / static_cast<float>(classes) && pairs[classes - 1] > bins[classes - 1]);
  }
}

TEST(a_detector_finds_a_step_and_no_more) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform;
  DriftDetector detector;
  for (int i = 0; i < 20000; ++i) CHECK(!detector.add(uniform(random) * 0.5));
  int found = 0;
  for (int i = 0; i < 3000; ++i)
    if (detector.add(0.3 + uniform(random) * 0.5)) {
      ++found;
      CHECK(i < 300 && detector.change().after > detector.change().before);
    }
  CHECK(found == 1);
}

TEST(fixed_share_follows_the_best) {
  std::vector<double> weight = {0.5, 0.5};
  const double first[] = {0.9, 0.1}, second[] = {0.1, 0.9};
  for (int i = 0; i < 1000; ++i) fixed_share(weight.data(), first, 2, 0.01);
  CHECK(weight[0] > 0.98 && std::abs(weight[0] + weight[1] - 1) < 1e-12);
  for (int i = 0; i < 5; ++i) fixed_share(weight.data(), second, 2, 0.01);
  CHECK(weight[1] > 0.9);
}

TEST(a_stream_is_learned_and_its_state_comes_back) {
  const Rows rows(1500);
  StreamLearner learner = learned(rows, 1200);
  double p[3];
  int right = 0;
  for (int i = 1200; i < 1500; ++i) {
    learner.predict(&rows.x[3 * i], p);
    CHECK(std::abs(p[0] + p[1] + p[2] - 1) < 1e-5);
    right += std::max_element(p, p + 3) - p == rows.y[i];
  }
  CHECK(right > 230);
  const std::vector<std::uint8_t> bytes = learner.bytes();
  StreamLearner again = StreamLearner::read(bytes.data(), bytes.size());
  CHECK(again.bytes() == bytes);
  for (int i = 1200; i < 1500; ++i) {
    const double one = learner.learn(&rows.x[3 * i], rows.y[i]), other = again.learn(&rows.x[3 * i], rows.y[i]);
    CHECK(one == other);
  }
  CHECK(again.bytes() == learner.bytes());
}

TEST(broken_states_are_refused_or_harmless) {
  const Rows rows(80);
  const std::vector<std::uint8_t> bytes = learned(rows, 80).bytes();
  std::mt19937 random(4);
  for (int t = 0; t < 300; ++t) {
    std::vector<std::uint8_t> hurt = bytes;
    if (t % 3 == 0)
      hurt.resize(random() % hurt.size());
    else
      for (int k = 0; k < 3; ++k)
        hurt[t % 3 == 1 ? random() % 200 : hurt.size() - 1 - random() % 60000] = static_cast<std::uint8_t>(random());
    try {
      StreamLearner found = StreamLearner::read(hurt.data(), hurt.size());
      if (found.columns() != 3) continue;
      std::vector<double> p(found.classes());
      found.predict(rows.x.data(), p.data());
      found.learn(rows.x.data(), 0);
      CHECK(std::isfinite(p[0]));
    } catch (const std::invalid_argument&) {
    }
  }
}
