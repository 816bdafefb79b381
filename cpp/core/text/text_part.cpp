#include "core/text/text_part.hpp"

#include <mutex>

#include "core/encode/columns.hpp"
#include "kernels/scores.hpp"

namespace tb {
namespace {

class TextPart final : public Part {
 public:
  TextPart(std::span<const TextRef> texts, Known known, ForkMutex& mutex, const WordOptions& options,
           const CsrTerms& terms)
      : texts_(texts), known_(std::move(known)), mutex_(mutex), options_(options), terms_(terms) {
    for (const TextRef& text : texts) bytes_ += load_of(text);
  }

  void add(std::size_t r0, std::size_t rows, double* acc) const override {
    with_words(r0, rows, [&](const RowWords& words) {
      const Csr csr{rows,       1 + known_.size(), words.count.data(), words.index.data(), words.start.data(),
                    Dtype::i32, Dtype::i32};
      TB_CALL(add_csr, csr, 0, rows, terms_, acc);
    });
  }

  std::size_t cells_per_row() const override { return texts_.empty() ? 1 : 1 + bytes_ / texts_.size(); }

  bool can_overflow() const override { return true; }
  void add_wide(std::size_t row, std::size_t classes, long double* acc) const override {
    with_words(row, 1, [&](const RowWords& words) {
      for (std::size_t p = 0; p < words.index.size(); ++p) {
        const double* weight = terms_.weight + static_cast<std::size_t>(words.index[p]) * classes;
        const long double times = terms_.binary ? 1 : words.count[p];
        for (std::size_t c = 0; c < classes; ++c) acc[c] += times * weight[c];
      }
    });
  }

 private:
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
  std::size_t bytes_ = 0;
  mutable std::mutex guard_;
  mutable std::vector<std::unique_ptr<RowWords>> idle_;  // as many as there are threads at work
};

}  // namespace

std::unique_ptr<Part> text_part(std::span<const TextRef> texts, Known known, ForkMutex& mutex,
                                const WordOptions& options, const double* weight, std::size_t classes, bool once) {
  return std::make_unique<TextPart>(texts, std::move(known), mutex, options, CsrTerms{weight, classes, once, 0.0});
}

}  // namespace tb
