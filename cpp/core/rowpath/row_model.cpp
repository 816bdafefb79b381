#include "core/rowpath/row_model.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "kernels/posterior.hpp"

namespace tb {
namespace {

constexpr std::size_t kLanes = 8;   // of the widest vector: kernels read so many rows of a block
constexpr double kMostHalves = 16;  // half-lives until sums are multiplied: units stay below 2^17
constexpr double kGone = 1e-250;    // the weight of a class that has faded away; the same number is in model/fitted.py

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
  for (RowTerm* term : terms_) term->learn(c, w * unit_);
  weight_[c] += w * unit_;
  stale_ = true;
}

bool RowModel::still_there(double factor) const {
  return std::all_of(weight_.begin(), weight_.end(), [&](double w) { return w == 0 || w * factor >= kGone; });
}

void RowModel::set_unit(double unit) {
  unit_ = unit;
  for (RowTerm* term : terms_) term->count(1.0 / unit);
  stale_ = true;
}

bool RowModel::can_fade() const {
  return std::all_of(terms_.begin(), terms_.end(), [](const RowTerm* term) { return term->fades(); });
}

bool RowModel::fades(double half_life) const {
  return can_fade() && ((half_life == half_life_ && faded_ < kMostHalves * half_life) || still_there(1.0 / unit_));
}

bool RowModel::fade(double half_life) {
  if (!can_fade()) return false;
  if (half_life != half_life_ || faded_ >= kMostHalves * half_life) {
    if (!still_there(1.0 / unit_)) return false;
    for (RowTerm* term : terms_) term->scale(1.0 / unit_);
    for (double& w : weight_) w *= 1.0 / unit_;
    faded_ = 0.0, half_life_ = half_life;
  }
  faded_ += 1.0;
  set_unit(std::exp2(faded_ / half_life));  // not a product of so many roundings
  return true;
}

bool RowModel::decay(double factor) {
  if (!can_fade() || !still_there(factor / unit_)) return false;
  for (RowTerm* term : terms_) term->scale(factor);
  for (double& w : weight_) w *= factor;
  stale_ = true;
  return true;
}

bool RowModel::gives(std::size_t c, double w) const {
  if (!(left_of(weight_[c], w * unit_) > 0)) return false;  // without its last row a class may disappear
  return std::all_of(terms_.begin(), terms_.end(), [&](RowTerm* term) { return term->gives(c, w * unit_); });
}

void RowModel::forget(std::size_t c, double w) {
  for (RowTerm* term : terms_) term->forget(c, w * unit_);
  weight_[c] = left_of(weight_[c], w * unit_);
  stale_ = true;
}

std::vector<double> RowModel::weight() const {
  std::vector<double> out(weight_);
  for (double& w : out) w *= 1.0 / unit_;
  return out;
}

bool RowModel::scored() {
  const std::size_t K = weight_.size();
  if (stale_ && prior_.given.empty()) {
    for (std::size_t c = 0; c < K; ++c) answer_[c] = weight_[c] * (1.0 / unit_);  // as weight() tells them
    log_prior(answer_.data(), K, prior_.added, log_prior_.data());
  }
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
