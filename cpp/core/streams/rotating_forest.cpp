#include "core/streams/rotating_forest.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/streams/decayed_counts.hpp"

namespace tb::streams {
namespace {

constexpr int kMostDepth = 24;
constexpr int kFewRows = 4;  // that are not split
constexpr int kFirstRows = 8;
constexpr int kLives = 2;  // windows of rows that a tree lives for

// n times (1 - Gini impurity)
float purity(const float* counts, int classes, float n) {
  float squares = 0;
  for (int c = 0; c < classes; ++c) squares += counts[c] * counts[c];
  return n > 0 ? squares / n : 0.0f;
}

}  // namespace

int Tree::leaf(const float* x, const std::uint8_t* categorical) const {
  int at = 0;
  while (nodes[at].column >= 0) {
    const Node& node = nodes[at];
    const float v = x[node.column];
    at = node.next + (categorical[node.column] ? v == node.threshold : !(v < node.threshold));
  }
  return nodes[at].next;
}

std::uint32_t RotatingForests::random() {  // xorshift64*
  random_ ^= random_ >> 12, random_ ^= random_ << 25, random_ ^= random_ >> 27;
  return static_cast<std::uint32_t>((random_ * 2685821657736338717ull) >> 32);
}

void RotatingForests::grow(int classes) {
  for (auto& forest : trees_)
    for (Tree& tree : forest) widen(tree.counts, classes_, classes, 1);
  classes_ = classes;
}

void RotatingForests::votes(const float* x, const std::uint8_t* categorical, float* votes,
                            std::vector<std::int32_t>& leaves) const {
  const int K = classes_;
  leaves.clear();
  std::fill(votes, votes + kForests * K, 0.0f);
  for (int f = 0; f < kForests; ++f, votes += K)
    for (const Tree& tree : trees_[f]) {
      leaves.push_back(tree.leaf(x, categorical));
      const float* counts = &tree.counts[static_cast<std::size_t>(leaves.back()) * K];
      float all = 0;
      for (int c = 0; c < K; ++c) all += counts[c];
      for (int c = 0; c < K; ++c) votes[c] += counts[c] / all;
    }
}

void RotatingForests::add(const std::vector<std::int32_t>& leaves, int y) {
  std::size_t t = 0;
  for (auto& forest : trees_)
    for (Tree& tree : forest) tree.counts[static_cast<std::size_t>(leaves[t++]) * classes_ + y] += 1;
}

void RotatingForests::rotate(const RecentRows& rows) {
  for (int f = 0; f < kForests; ++f) {
    if (rows.seen() < kFirstRows || (f > 0 && rows.seen() < kForestWindows[f - 1])) continue;
    std::vector<Tree>& forest = trees_[f];
    if (forest.size() < kTrees) {
      if (rows.seen() > 64 && rows.seen() % 4 != 0) continue;
      Tree tree;
      plant(rows, kForestWindows[f], tree);
      forest.push_back(std::move(tree));
    } else if (rows.seen() - planted_[f] >= std::max(1, kLives * std::min(kForestWindows[f], rows.size()) / kTrees)) {
      planted_[f] = rows.seen();
      plant(rows, kForestWindows[f], forest[turn_[f]]);
      turn_[f] = (turn_[f] + 1) % kTrees;
    }
  }
}

void RotatingForests::plant(const RecentRows& rows, int window, Tree& tree) {
  sample_.clear();
  const int n = std::min(rows.size(), window);
  for (int age = 0; age < n; ++age) {  // a bootstrap sample: each row Poisson(1) times
    const std::uint32_t u = random();
    const int times = (u >= 1580030169u) + (u >= 3160060337u) + (u >= 3950075422u) + (u >= 4213413783u);
    for (int t = 0; t < times; ++t) sample_.push_back(rows.place(age));
  }
  if (sample_.empty()) sample_.push_back(rows.place(0));
  Tree made;
  made.nodes.emplace_back();
  const std::vector<float> even(classes_, 1.0f / static_cast<float>(classes_));
  split(rows, made, 0, 0, static_cast<int>(sample_.size()), 0, even);
  tree = std::move(made);
}

void RotatingForests::split(const RecentRows& rows, Tree& tree, int node, int from, int to, int depth,
                            const std::vector<float>& above) {
  const int K = classes_, d = rows.columns();
  const float n = static_cast<float>(to - from);
  const std::int32_t* label = rows.labels();
  std::vector<float> total(K), left(K), right(K);
  for (int i = from; i < to; ++i) total[label[sample_[i]]] += 1;
  int best = -1, cut = 0;
  if (*std::max_element(total.begin(), total.end()) < n && to - from >= kFewRows && depth < kMostDepth) {
    float gain = purity(total.data(), K, n) + 1e-6f;
    const int tries = static_cast<int>(std::lround(std::sqrt(static_cast<float>(d)) + 0.5f));
    for (int t = 0, tried = 0; t < d && tried < tries; ++t) {
      const int j = static_cast<int>((std::uint64_t{random()} * static_cast<std::uint64_t>(d)) >> 32);
      const bool categorical = rows.column(j).categorical;
      const std::uint8_t* code = rows.codes(j);
      int low = code[sample_[from]], high = low;
      for (int i = from; i < to; ++i) {
        const int b = code[sample_[i]];
        low = std::min(low, b), high = std::max(high, b);
      }
      if (low == high) continue;
      ++tried;
      histogram_.assign(static_cast<std::size_t>(high - low + 1) * K, 0.0f);
      for (int i = from; i < to; ++i) histogram_[(code[sample_[i]] - low) * K + label[sample_[i]]] += 1;
      std::fill(left.begin(), left.end(), 0.0f);
      float below = 0;
      for (int b = low; b <= high - !categorical; ++b) {
        const float* here = &histogram_[(b - low) * K];
        float some = 0;
        for (int c = 0; c < K; ++c) some += here[c];
        if (some == 0 || (categorical && b >= kLevels)) continue;
        if (categorical) std::fill(left.begin(), left.end(), 0.0f), below = 0;
        below += some;
        for (int c = 0; c < K; ++c) left[c] += here[c], right[c] = total[c] - left[c];
        const float found = purity(left.data(), K, below) + purity(right.data(), K, n - below);
        if (found > gain) gain = found, best = j, cut = categorical ? b : b + 1;
      }
    }
  }
  if (best < 0) {
    tree.nodes[node] = {-1, 0, static_cast<std::int32_t>(tree.counts.size()) / K};
    for (int c = 0; c < K; ++c) tree.counts.push_back(total[c] + above[c]);
    return;
  }
  const bool categorical = rows.column(best).categorical;
  const std::uint8_t* code = rows.codes(best);
  const auto goes_left = [&](int i) { return categorical ? code[i] != cut : code[i] < cut; };
  const int middle =
      static_cast<int>(std::partition(sample_.begin() + from, sample_.begin() + to, goes_left) - sample_.begin());
  const std::vector<float>& cuts = rows.column(best).cuts;
  const float threshold = categorical                            ? static_cast<float>(cut)
                          : cut <= static_cast<int>(cuts.size()) ? cuts[cut - 1]
                                                                 : std::numeric_limits<float>::infinity();
  const int next = static_cast<int>(tree.nodes.size());
  tree.nodes[node] = {best, threshold, next};
  tree.nodes.emplace_back(), tree.nodes.emplace_back();
  for (int c = 0; c < K; ++c) total[c] = (total[c] + above[c]) / (n + 1);
  split(rows, tree, next, from, middle, depth + 1, total);
  split(rows, tree, next + 1, middle, to, depth + 1, total);
}

void RotatingForests::check(int columns, int classes) const {
  expect_state(classes_ == classes && random_ != 0);
  for (int f = 0; f < kForests; ++f) {
    expect_state(trees_[f].size() <= kTrees && turn_[f] < kTrees && planted_[f] >= 0);
    for (const Tree& tree : trees_[f]) {
      const auto size = static_cast<std::int32_t>(tree.nodes.size());
      expect_state(size > 0 && tree.counts.size() % classes == 0);
      const auto leaves = static_cast<std::int32_t>(tree.counts.size() / classes);
      for (std::int32_t i = 0; i < size; ++i) {
        const Tree::Node& node = tree.nodes[i];
        expect_state(node.column >= -1 && node.column < columns && !std::isnan(node.threshold));
        if (node.column < 0)
          expect_state(node.next >= 0 && node.next < leaves);
        else
          expect_state(node.next > i && node.next < size - 1);  // a way down has an end
      }
      for (std::int32_t l = 0; l < leaves; ++l) {
        float all = 0;
        for (int c = 0; c < classes; ++c) {
          const float v = tree.counts[static_cast<std::size_t>(l) * classes + c];
          expect_state(v >= 0 && v < 1e9f);
          all += v;
        }
        expect_state(all > 0);
      }
    }
  }
}

}  // namespace tb::streams
