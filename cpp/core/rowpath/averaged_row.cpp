#include "core/rowpath/averaged_row.hpp"

#include <algorithm>
#include <numeric>

#include "core/counts/joint.hpp"

namespace tb {

AveragedRow::AveragedRow(CountedSums sums, std::vector<double> class_weight, AveragedOptions options)
    : CountedRow(std::move(sums)),
      class_weight_(std::move(class_weight)),
      options_(std::move(options)),
      rank_(codes.size()),
      concentration_(options_.grid.empty() ? 0 : options_.order * codes.size()),
      set_weight_(choose(codes.size(), options_.order), 1.0),
      log_(classes()),
      packed_(codes.size()),
      counts_{classes(),
              options_.order,
              single().data(),
              joint().data(),
              true,
              class_weight_.data(),
              options_.levels.data(),
              options_.alpha,
              nullptr,
              rank_.data(),
              tables(),
              {},
              {}} {
  std::iota(rank_.begin(), rank_.end(), 0);
  counts_.check();
}

void AveragedRow::chosen(std::vector<std::int32_t> rank, std::vector<double> concentration) {
  std::copy(rank.begin(), rank.end(), rank_.begin());
  std::copy(concentration.begin(), concentration.end(), concentration_.begin());
  if (!concentration_.empty()) counts_.concentration = concentration_.data();
  stale_ = false;
}

void AveragedRow::learn(std::size_t c, double w) {
  CountedRow::learn(c, w);
  class_weight_[c] += w;
}

void AveragedRow::forget(std::size_t c, double w) {
  CountedRow::forget(c, w);
  class_weight_[c] -= w;
}

void AveragedRow::choose_again() {
  counts_.all_weight = std::accumulate(class_weight_.begin(), class_weight_.end(), 0.0);
  if (options_.grid.empty()) return;
  const std::size_t d = codes.size();
  std::vector<double> information(d);
  class_information(d, tables().size, classes(), single().data(), information.data());
  std::vector<std::int32_t> column(d);
  std::iota(column.begin(), column.end(), 0);
  std::stable_sort(column.begin(), column.end(), [&](std::int32_t a, std::int32_t b) {
    return information[static_cast<std::size_t>(a)] > information[static_cast<std::size_t>(b)];
  });
  for (std::size_t i = 0; i < d; ++i) rank_[static_cast<std::size_t>(column[i])] = static_cast<std::int32_t>(i);
  counts_.concentration = nullptr;
  averaged_concentrations(counts_, {options_.grid.data(), options_.grid.size()}, concentration_.data());
  counts_.concentration = concentration_.data();
}

bool AveragedRow::add(double* acc) {
  if (!read()) return false;
  if (stale_) choose_again();
  stale_ = false;
  std::transform(codes.begin(), codes.end(), packed_.begin(), [](std::int64_t code) {
    return code == kMissingCode ? kNoCode<std::uint32_t> : static_cast<std::uint32_t>(code);
  });
  averaged_scores(counts_, {packed_.data(), 4, 1}, set_weight_.data(), options_.min_count, {}, log_.data());
  for (std::size_t c = 0; c < classes(); ++c) acc[c * kRows] += log_[c];
  return true;
}

}  // namespace tb
