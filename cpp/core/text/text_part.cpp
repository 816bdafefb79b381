#include "core/text/text_part.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "core/encode/columns.hpp"
#include "kernels/scores.hpp"

namespace tb {
namespace {

class TextPart final : public Part {
 public:
  TextPart(std::span<const TextRef> texts, Known known, ForkMutex& mutex, const WordOptions& options,
           const CsrTerms& terms, bool normalized)
      : texts_(texts),
        known_(std::move(known)),
        mutex_(mutex),
        options_(options),
        terms_(terms),
        normalized_(normalized) {
    for (const TextRef& text : texts) bytes_ += load_of(text);
  }

  void add(std::size_t r0, std::size_t rows, double* acc) const override {
    with_words(r0, rows, [&](const RowWords& words) {
      std::vector<double> times;
      if (normalized_) times = normalized_counts(words);
      const Csr csr{rows,
                    1 + known_.size(),
                    normalized_ ? static_cast<const void*>(times.data()) : words.count.data(),
                    words.index.data(),
                    words.start.data(),
                    normalized_ ? Dtype::f64 : Dtype::i32,
                    Dtype::i32};
      TB_CALL(add_csr, csr, 0, rows, terms_, acc);
    });
  }

  std::size_t cells_per_row() const override { return texts_.empty() ? 1 : 1 + bytes_ / texts_.size(); }

  bool can_overflow() const override { return true; }
  void add_wide(std::size_t row, std::size_t classes, long double* acc) const override {
    with_words(row, 1, [&](const RowWords& words) {
      std::vector<double> scaled;
      if (normalized_) scaled = normalized_counts(words);
      for (std::size_t p = 0; p < words.index.size(); ++p) {
        const double* weight = terms_.weight + static_cast<std::size_t>(words.index[p]) * classes;
        const long double times = terms_.binary ? 1 : normalized_ ? scaled[p] : words.count[p];
        for (std::size_t c = 0; c < classes; ++c) acc[c] += times * weight[c];
      }
    });
  }

 private:
  // How often each word is there, times the factor of its text's length. A word that was forgotten has no weight.
  std::vector<double> normalized_counts(const RowWords& words) const {
    std::vector<double> times(words.count.begin(), words.count.end());
    for (std::size_t r = 0; r < words.rows(); ++r) {
      double length = 0;
      const auto begin = static_cast<std::size_t>(words.start[r]), end = static_cast<std::size_t>(words.start[r + 1]);
      for (std::size_t p = begin; p < end; ++p) {
        const double* weight = terms_.weight + static_cast<std::size_t>(words.index[p]) * terms_.classes;
        const bool exists = std::any_of(weight, weight + terms_.classes, [](double w) { return w != 0; });
        if (words.index[p] > 0 && exists) length += times[p];
      }
      const double factor = length_factor(length);
      for (std::size_t p = begin; p < end; ++p) times[p] *= factor;
    }
    return times;
  }

  template <class Use>
  void with_words(std::size_t r0, std::size_t rows, Use&& use) const {
    std::unique_ptr<RowWords> words = take();
    {
      const std::shared_lock<ForkMutex> reading(mutex_);
      words->read(texts_.subspan(r0, rows));
    }
    if (words->bad) throw BadValue{BadValue::utf8, r0 + *words->bad, 0, 0.0};
    use(*words);
    const std::lock_guard lock(guard_);
    idle_.push_back(std::move(words));
  }

  std::unique_ptr<RowWords> take() const {
    const std::lock_guard lock(guard_);
    if (idle_.empty()) return std::make_unique<RowWords>(known_, false, options_);
    std::unique_ptr<RowWords> words = std::move(idle_.back());
    idle_.pop_back();
    return words;
  }

  const std::span<const TextRef> texts_;
  const Known known_;
  ForkMutex& mutex_;
  const WordOptions options_;
  const CsrTerms terms_;
  const bool normalized_;
  std::size_t bytes_ = 0;
  mutable std::mutex guard_;
  mutable std::vector<std::unique_ptr<RowWords>> idle_;  // as many as there are threads at work
};

}  // namespace

double length_factor(double words) {
  const double root = std::sqrt(words);
  return words > 0 ? std::min(1.0, 3.5 / (root * std::sqrt(root))) : 1.0;
}

std::unique_ptr<Part> text_part(std::span<const TextRef> texts, Known known, ForkMutex& mutex,
                                const WordOptions& options, const double* weight, std::size_t classes, WordUse use) {
  const CsrTerms terms{weight, classes, use == WordUse::once, 0.0};
  return std::make_unique<TextPart>(texts, std::move(known), mutex, options, terms, use == WordUse::normalized);
}

}  // namespace tb
