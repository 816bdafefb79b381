#include "core/streams/recent_neighbors.hpp"

#include <algorithm>
#include <cmath>

namespace tb::streams {
namespace {

struct Neighbor {
  float distance;
  int label;
};

constexpr int kMost = kNeighbors.back();
constexpr int kBlock = 16;
constexpr float kPseudoVote = 0.3f;

// distance[from, to) of rows that lie next to each other in the ring
void distances(const RecentRows& rows, const float* position, const std::vector<float>& weight, int from, int to,
               float* distance) {
  std::fill(distance + from, distance + to, 0.0f);
  for (int j = 0; j < rows.columns(); ++j) {
    const float w = weight[j], here = position[j];
    const float* there = rows.positions(j);
    if (rows.column(j).categorical) {
      for (int i = from; i < to; ++i) distance[i] += there[i] == here ? 0.0f : w;
    } else {
      for (int i = from; i < to; ++i) {
        const float apart = there[i] - here;
        distance[i] += w * apart * apart;
      }
    }
  }
}

}  // namespace

void neighbor_votes(const RecentRows& rows, const float* positions, const std::vector<float>& weight, int classes,
                    std::vector<float>& distance, float* votes) {
  const int n = std::min(rows.size(), kNeighborWindows.back());
  const int room = rows.capacity(), end = static_cast<int>(rows.seen() & (room - 1)), first = end - n;
  distance.resize(static_cast<std::size_t>(room));
  if (first >= 0) {
    distances(rows, positions, weight, first, end, distance.data());
  } else {
    distances(rows, positions, weight, first + room, room, distance.data());
    distances(rows, positions, weight, 0, end, distance.data());
  }
  const auto nearer = [](const Neighbor& a, const Neighbor& b) { return a.distance < b.distance; };
  Neighbor heap[kMost], sorted[kMost];  // the nearest so far; the farthest of them is in front
  int size = 0, age = 0;
  for (const int window : kNeighborWindows) {
    const int until = std::min(window, n);
    while (age < until) {
      // Blocks of rows that lie next to each other, from the latest on; most hold no neighbour.
      const int last = rows.place(age), block = std::min({kBlock, until - age, last + 1});
      age += block;
      if (size == kMost && block == kBlock) {
        float nearest = distance[last];
        for (int i = last - kBlock + 1; i < last; ++i) nearest = distance[i] < nearest ? distance[i] : nearest;
        if (!(nearest < heap[0].distance)) continue;
      }
      for (int i = last; i > last - block; --i) {
        const Neighbor row{distance[i], rows.labels()[i]};
        if (size < kMost) {
          heap[size++] = row;
          std::push_heap(heap, heap + size, nearer);
        } else if (nearer(row, heap[0])) {
          std::pop_heap(heap, heap + size, nearer);
          heap[size - 1] = row;
          std::push_heap(heap, heap + size, nearer);
        }
      }
    }
    std::copy(heap, heap + size, sorted);
    std::sort_heap(sorted, sorted + size, nearer);
    for (const int k : kNeighbors) {
      std::fill(votes, votes + classes, kPseudoVote / static_cast<float>(classes));
      const int m = std::min(k, size);
      const float scale = m > 0 ? std::sqrt(sorted[m - 1].distance) + 1e-6f : 1.0f;
      for (int i = 0; i < m; ++i) votes[sorted[i].label] += 1.0f / (0.25f + std::sqrt(sorted[i].distance) / scale);
      votes += classes;
    }
  }
}

}  // namespace tb::streams
