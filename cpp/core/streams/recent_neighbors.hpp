// Distance-weighted k-nearest neighbours among the most recent rows, in nested windows.
#pragma once
#include <array>
#include <vector>

#include "core/streams/recent_rows.hpp"

namespace tb::streams {

constexpr std::array<int, 4> kNeighborWindows = {64, 256, 1024, 4096};
constexpr std::array<int, 3> kNeighbors = {3, 8, 20};
constexpr int kNeighborExperts = static_cast<int>(kNeighborWindows.size() * kNeighbors.size());

// weight: of each column in the squared distance. votes: (windows x numbers of neighbours, classes), not normalised.
void neighbor_votes(const RecentRows& rows, const float* positions, const std::vector<float>& weight, int classes,
                    std::vector<float>& distance, float* votes);

}  // namespace tb::streams
