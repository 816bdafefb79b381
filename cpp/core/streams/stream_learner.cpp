#include "core/streams/stream_learner.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>

namespace tb::streams {
namespace {

constexpr float kLeastVote = 1e-4f;       // probability that an expert gives a class at least
constexpr double kMostLoss = 4;           // of a row, for the detector: one surprise is no drift
constexpr int kWatched = 2;               // the memory whose naive Bayes model the detector watches: 10^3 rows
constexpr double kMemoryShare = 0.01;     // fixed share of the half-lives
constexpr std::size_t kMostDrifts = 256;  // that are remembered
constexpr float kLeastDistanceWeight = 0.05f;
constexpr std::uint32_t kFormat = 3;

void normalised_logs(const float* votes, int classes, float* logs) {
  float all = 0;
  for (int c = 0; c < classes; ++c) all += votes[c];
  for (int c = 0; c < classes; ++c) logs[c] = all > 0 ? std::log(std::max(votes[c] / all, kLeastVote)) : 0.0f;
}

float as_float(double v) {
  constexpr double most = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(v, -most, most));  // NaN stays NaN
}

}  // namespace

StreamLearner::StreamLearner(const std::vector<std::uint8_t>& categorical)
    : categorical_(categorical),
      rows_(categorical),
      counts_(rows_),
      logistic_(rows_),
      stacking_(kExperts),
      distance_weight_(categorical.size(), 1.0f) {
  memory_.fill(1.0 / kMemories);
}

void StreamLearner::grow(int classes) {
  if (classes <= classes_) return;
  auto [counts, forests, logistic, stacking] = std::tuple(counts_, forests_, logistic_, stacking_);
  counts.grow(classes), forests.grow(classes), logistic.grow(classes), stacking.grow(classes);
  counts_ = std::move(counts), forests_ = std::move(forests);  // memory may end before, not from here on
  logistic_ = std::move(logistic), stacking_ = std::move(stacking);
  classes_ = classes;
  fresh_ = false;
}

void StreamLearner::predict(const double* x, Prediction& made) const {
  const int d = columns(), K = classes_;
  made.x.resize(d), made.positions.resize(d), made.codes.resize(d), made.p.resize(K);
  made.logs.resize(static_cast<std::size_t>(kExperts) * K), made.pools.resize(OnlineStacking::kPools * K);
  for (int j = 0; j < d; ++j) made.x[j] = categorical_[j] ? as_float(std::min<double>(x[j], kLevels)) : as_float(x[j]);
  rows_.encode(made.x.data(), made.codes.data(), made.positions.data());

  float* logs = made.logs.data();
  std::vector<float> votes(static_cast<std::size_t>(std::max({kNeighborExperts, kForests, kMemories})) * K);
  for (int h = 0; h < kMemories; ++h, logs += K) {
    counts_.prior(h, votes.data());
    normalised_logs(votes.data(), K, logs);
  }
  counts_.scores(made.codes.data(), votes.data());
  for (int h = 0; h < kMemories; ++h, logs += K) {
    float* s = votes.data() + h * K;
    const float top = *std::max_element(s, s + K);
    for (int c = 0; c < K; ++c) s[c] = std::exp(s[c] - top);
    normalised_logs(s, K, logs);
  }
  neighbor_votes(rows_, made.positions.data(), distance_weight_, K, made.distance, votes.data());
  for (int e = 0; e < kNeighborExperts; ++e, logs += K) normalised_logs(votes.data() + e * K, K, logs);
  forests_.votes(made.x.data(), categorical_.data(), votes.data(), made.leaves);
  for (int f = 0; f < kForests; ++f, logs += K) normalised_logs(votes.data() + f * K, K, logs);
  made.logistic.resize(static_cast<std::size_t>(kLogistics) * K);
  logistic_.predict(rows_, made.codes.data(), made.positions.data(), made.logistic.data(), made.features);
  for (int e = 0; e < kLogistics; ++e, logs += K) normalised_logs(made.logistic.data() + e * K, K, logs);
  stacking_.predict(made.logs.data(), made.pools.data(), made.p.data());
}

void StreamLearner::predict(const double* x, double* p) const {
  fresh_ = false;  // a process may be forked on the way
  predict(x, last_);
  fresh_ = true;
  std::copy(last_.p.begin(), last_.p.end(), p);
}

double StreamLearner::learn(const double* x, int y) {
  grow(y + 1);
  bool same = fresh_;
  for (int j = 0; same && j < columns(); ++j) {
    const float v = categorical_[j] ? as_float(std::min<double>(x[j], kLevels)) : as_float(x[j]);
    same = std::memcmp(&v, &last_.x[j], sizeof v) == 0;
  }
  if (!same) predict(x, last_);
  fresh_ = false;
  const Prediction& made = last_;
  const double before = made.p[y];
  stacking_.learn(made.logs.data(), made.pools.data(), y);
  std::array<double, kMemories> likelihood;
  for (int h = 0; h < kMemories; ++h) likelihood[h] = std::exp(made.logs[(kMemories + h) * classes_ + y]);
  fixed_share(memory_.data(), likelihood.data(), kMemories, kMemoryShare);
  forests_.add(made.leaves, y);
  logistic_.add(made.features, made.logistic.data(), y);
  rows_.add(made.x.data(), made.codes.data(), made.positions.data(), y);
  counts_.add(made.codes.data(), y);
  const std::vector<int> moved = rows_.move_bins();
  counts_.recount(rows_, moved);
  if (!moved.empty() || rows_.seen() % kCheckEvery == 0) weigh_columns();
  forests_.rotate(rows_);
  // The mixture recovers within some rows: what a model with a longer memory loses tells more of the stream.
  if (detector_.add(std::min(-std::log(likelihood[kWatched]), kMostLoss) / kMostLoss)) {
    if (drifts_.size() == kMostDrifts) drifts_.erase(drifts_.begin());
    drifts_.push_back(describe(detector_.change()));
  }
  return before;
}

void StreamLearner::weigh_columns() {
  double top = 1e-9;
  std::vector<double> found(columns());
  for (int j = 0; j < columns(); ++j) top = std::max(top, found[j] = counts_.information(j));
  for (int j = 0; j < columns(); ++j)
    distance_weight_[j] = kLeastDistanceWeight + (1 - kLeastDistanceWeight) * static_cast<float>(found[j] / top);
}

// Jensen-Shannon divergence of P(class, x_j) in the newer rows from that in as many or up to four times as many before.
Drift StreamLearner::describe(const Change& change) const {
  Drift drift{{change.row, change.since, change.before * kMostLoss, change.after * kMostLoss},
              std::vector<double>(columns())};
  const int newer = static_cast<int>(std::min<std::int64_t>(change.since, rows_.size() / 2));
  const int older = std::min(4 * newer, rows_.size() - newer);
  if (newer == 0 || older == 0) return drift;
  std::vector<double> p, q;
  for (int j = 0; j < columns(); ++j) {
    // Few rows may lie after the change: four bins of a number are one here.
    const int wide = rows_.column(j).categorical ? 1 : 4;
    const std::size_t cells = static_cast<std::size_t>(rows_.column(j).missing() / wide + 1) * classes_;
    p.assign(cells, 0), q.assign(cells, 0);
    for (int age = 0; age < newer + older; ++age) {
      const int i = rows_.place(age);
      const std::size_t cell = static_cast<std::size_t>(rows_.codes(j)[i] / wide) * classes_ + rows_.labels()[i];
      (age < newer ? p : q)[cell] += age < newer ? 1.0 / newer : 1.0 / older;
    }
    double nats = 0;
    int used = 0;
    for (std::size_t i = 0; i < cells; ++i) {
      const double m = (p[i] + q[i]) / 2;
      used += m > 0;
      if (p[i] > 0) nats += p[i] / 2 * std::log(p[i] / m);
      if (q[i] > 0) nats += q[i] / 2 * std::log(q[i] / m);
    }
    const double by_chance = (used - 1) / 8.0 * (1.0 / newer + 1.0 / older);
    drift.bits[j] = std::max(0.0, nats - by_chance) / std::log(2.0);
  }
  return drift;
}

std::vector<std::uint8_t> StreamLearner::bytes() const {
  Writer writer;
  std::uint32_t format = kFormat;
  writer(format);
  const_cast<StreamLearner*>(this)->visit(writer);  // a writer changes nothing
  return std::move(writer.bytes);
}

StreamLearner StreamLearner::read(const std::uint8_t* bytes, std::size_t size) {
  Reader reader(bytes, size);
  std::uint32_t format = 0;
  reader(format);
  expect_state(format == kFormat);
  StreamLearner made;
  made.visit(reader);
  expect_state(reader.done());
  made.check();
  made.rows_.restore(made.classes_), made.logistic_.restore(made.rows_, made.classes_);
  return made;
}

void StreamLearner::check() const {
  expect_state(classes_ >= 1 && classes_ <= kMostClasses && !categorical_.empty());
  expect_state(static_cast<int>(categorical_.size()) == columns() && distance_weight_.size() == categorical_.size());
  for (int j = 0; j < columns(); ++j)
    expect_state(categorical_[j] == rows_.column(j).categorical && distance_weight_[j] >= 0 &&
                 distance_weight_[j] <= 1);
  counts_.check(rows_), forests_.check(columns(), classes_), stacking_.check(kExperts, classes_), detector_.check();
  double all = 0;
  for (const double w : memory_) {
    expect_state(w >= 0);
    all += w;
  }
  expect_state(std::abs(all - 1) < 1e-6 && drifts_.size() <= kMostDrifts);
  for (const Drift& drift : drifts_) expect_state(drift.bits.size() == categorical_.size());
}

}  // namespace tb::streams
