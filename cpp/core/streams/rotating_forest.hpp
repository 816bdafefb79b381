// Random forests (Breiman 2001) over windows of recent rows: the oldest tree is grown again in turn, and the leaves of
// all trees count every row between.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "core/streams/recent_rows.hpp"

namespace tb::streams {

constexpr std::array<int, 4> kForestWindows = {256, 1024, 4096, kCapacity};
constexpr int kForests = static_cast<int>(kForestWindows.size());
constexpr int kTrees = 12;  // of a forest

struct Tree {
  struct Node {
    std::int32_t column = -1;  // -1: a leaf
    float threshold = 0;       // numbers: right if not below it; levels: right if equal
    std::int32_t next = 0;     // the left child, the right one after it; of a leaf: where its counts are
  };
  std::vector<Node> nodes;
  std::vector<float> counts;  // [leaf][class]

  int leaf(const float* x, const std::uint8_t* categorical) const;

  template <class Archive>
  void visit(Archive& a) {
    a(nodes), a(counts);
  }
};

class RotatingForests {
 public:
  void grow(int classes);
  // Mean class probabilities of each forest; (forests, classes), zeros where there is no tree yet. leaves: of each
  // tree, for add.
  void votes(const float* x, const std::uint8_t* categorical, float* votes, std::vector<std::int32_t>& leaves) const;
  void add(const std::vector<std::int32_t>& leaves, int y);
  // Grows trees that are due.
  void rotate(const RecentRows& rows);

  template <class Archive>
  void visit(Archive& a) {
    a(classes_), a(random_), a(planted_), a(turn_);
    for (auto& forest : trees_) a(forest);
  }
  void check(int columns, int classes) const;

 private:
  std::uint32_t random();
  void plant(const RecentRows& rows, int window, Tree& tree);
  void split(const RecentRows& rows, Tree& tree, int node, int from, int to, int depth,
             const std::vector<float>& above);

  std::int32_t classes_ = 0;
  std::uint64_t random_ = 0x9E3779B97F4A7C15ull;
  std::array<std::int64_t, kForests> planted_{};
  std::array<std::uint32_t, kForests> turn_{};
  std::array<std::vector<Tree>, kForests> trees_;
  std::vector<std::int32_t> sample_;  // rows of the tree that is grown
  std::vector<float> histogram_;
};

}  // namespace tb::streams
