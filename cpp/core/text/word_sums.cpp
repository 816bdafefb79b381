#include "core/text/word_sums.hpp"

#include <algorithm>
#include <cmath>

namespace tb {

void WordSums::add(std::span<const TextRef> texts, const std::int32_t* y, const double* w) {
  rounds_.read(texts, [&](const RowWords& words, std::size_t first) {
    take(words, y + first, w != nullptr ? w + first : nullptr);
  });
}

void WordSums::take(const RowWords& words, const std::int32_t* y, const double* w) {
  for (std::size_t r = 0; r < words.rows(); ++r) {
    const double weight = w != nullptr ? w[r] : 1.0;
    if (y[r] < 0 || weight == 0.0) continue;
    const auto c = static_cast<std::size_t>(y[r]);
    for (auto p = static_cast<std::size_t>(words.start[r]); p < static_cast<std::size_t>(words.start[r + 1]); ++p) {
      const auto column = static_cast<std::size_t>(words.index[p]);
      while (column >= piece_ * pieces_.size()) pieces_.emplace_back(piece_ * classes_, 0.0);
      sums_of(column)[c] += once_ ? weight : weight * static_cast<double>(words.count[p]);
    }
  }
}

void WordSums::write(double* count, double* rows) const {
  const std::size_t size = words();
  std::fill_n(count, classes_ * size, 0.0);
  std::fill_n(rows, classes_, 0.0);
  for (std::size_t column = 0; column <= size && column < piece_ * pieces_.size(); ++column) {
    const double* from = pieces_[column / piece_].data() + column % piece_ * classes_;
    for (std::size_t c = 0; c < classes_; ++c) {
      if (!std::isfinite(from[c])) throw BadValue{BadValue::overflow, 0, 0, from[c]};
      (column == 0 ? rows[c] : count[c * size + column - 1]) = from[c];
    }
  }
}

}  // namespace tb
