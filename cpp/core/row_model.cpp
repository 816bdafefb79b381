#include "core/row_model.hpp"

#include <algorithm>
#include <stdexcept>

#include "kernels/finish.hpp"

namespace tb {
namespace {

constexpr std::size_t kLanes = 8;  // of the widest vector: kernels read so many rows of a block

}  // namespace

RowModel::RowModel(std::vector<double> weight, RowPrior prior, std::vector<RowTerm*> terms)
    : weight_(std::move(weight)),
      prior_(std::move(prior)),
      terms_(std::move(terms)),
      log_prior_(weight_.size()),
      acc_(weight_.size() * kRows, 0.0),
      answer_(weight_.size()) {}

bool RowModel::takes(std::size_t c, double w) const {
  return std::all_of(terms_.begin(), terms_.end(), [&](RowTerm* term) { return term->takes(c, w); });
}

void RowModel::learn(std::size_t c, double w) {
  for (RowTerm* term : terms_) term->learn(c, w);
  weight_[c] += w;
  stale_ = true;
}

bool RowModel::scored() {
  const std::size_t K = weight_.size();
  if (stale_ && prior_.given.empty()) log_prior(weight_.data(), K, prior_.added, log_prior_.data());
  if (stale_ && !prior_.given.empty()) log_prior_ = prior_.given;
  stale_ = false;
  for (std::size_t c = 0; c < K; ++c) std::fill_n(acc_.data() + c * kRows, kLanes, log_prior_[c]);
  try {
    return std::all_of(terms_.begin(), terms_.end(), [&](RowTerm* term) { return term->add(acc_.data()); });
  } catch (const BadValue&) {
    return false;
  } catch (const std::invalid_argument&) {
    return false;
  }
}

const double* RowModel::proba() {
  if (!scored()) return nullptr;
  alignas(64) double peak[kRows];
  const std::size_t K = weight_.size();
  if (TB_CALL(find_peaks, acc_.data(), 1, K, peak) != 0) return nullptr;
  TB_CALL(write_proba, acc_.data(), 1, K, peak, answer_.data());
  return answer_.data();
}

}  // namespace tb
