// What components of an ensemble look up by level: target encodings, and the Gaussian discriminant on normal scores.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tb {

// table (levels + 1, K): the log-odds of each level of a column, last of a missing value.
struct Encoding {
  std::size_t column;
  std::size_t levels;
  const double* table;
  double weight;
};

// Dimension i reads column[i]; its level v (last: missing) stands for value[start[i] + v]. The score of class c is
// weight * (constant_c - tails(|root_c (z - mean_c)|^2)), as gaussian_copula.py has it. mean (K, p), root (K, p, p).
struct ScoreDensity {
  std::size_t dimensions = 0;
  const std::int32_t* column = nullptr;
  const std::int64_t* start = nullptr;
  const double* value = nullptr;
  const double* mean = nullptr;
  const double* root = nullptr;
  const double* constant = nullptr;
  double freedom = 0;  // of Student's t; infinity: normal
  double weight = 0;
};

struct LevelScores {
  std::size_t classes;
  const double* bias;  // (K)
  std::vector<Encoding> encodings;
  ScoreDensity density;  // of no dimensions: none
};

// Adds to out (n, K) what rows with packed codes (columns, n) get. Returns whether a code is the largest of its type:
// a missing value.
template <class T>
bool add_level_scores(const LevelScores& of, const T* codes, std::size_t columns, std::size_t n, double* out);

extern template bool add_level_scores(const LevelScores&, const std::uint8_t*, std::size_t, std::size_t, double*);
extern template bool add_level_scores(const LevelScores&, const std::uint16_t*, std::size_t, std::size_t, double*);
extern template bool add_level_scores(const LevelScores&, const std::uint32_t*, std::size_t, std::size_t, double*);

}  // namespace tb
