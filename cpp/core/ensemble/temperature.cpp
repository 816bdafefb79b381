#include "core/ensemble/temperature.hpp"

#include <cmath>
#include <limits>

#include "core/encode/labels.hpp"
#include "core/runtime/threads.hpp"

namespace tb {
namespace {

constexpr std::size_t kBlock = 1024;  // rows

}  // namespace

TemperatureLoss::TemperatureLoss(const double* prior, const double* likelihood, const std::int32_t* y, const double* w,
                                 std::size_t rows, std::size_t classes)
    : classes_(classes) {
  std::vector<std::size_t> taken;
  for (std::size_t r = 0; r < rows; ++r) {
    check_class(y[r], classes);
    check_weight(w[r]);
    if (y[r] < 0 || w[r] == 0.0) continue;
    const double* p = prior + r * classes;
    const double* l = likelihood + r * classes;
    bool part = std::isfinite(p[y[r]] + l[y[r]]);
    for (std::size_t c = 0; c < classes; ++c) part = part && !std::isnan(p[c] + l[c]);
    if (part) taken.push_back(r);
  }
  blocks_ = (taken.size() + kBlock - 1) / kBlock;
  const std::size_t last = taken.size() - (blocks_ ? blocks_ - 1 : 0) * kBlock;  // rows of the last block
  const std::size_t room =
      blocks_ ? (blocks_ - 1) * kBlock + (last + kTemperatureLanes - 1) / kTemperatureLanes * kTemperatureLanes : 0;
  prior_ = AlignedArray(room * classes);
  likelihood_ = AlignedArray(room * classes);
  own_.assign(room, 0.0);
  w_.assign(room, 0.0);
  for (std::size_t i = 0; i < room; ++i) {
    const std::size_t block = i / kBlock, wide = std::min(kBlock, room - block * kBlock);
    const std::size_t at = block * kBlock * classes + i % kBlock;
    const bool real = i < taken.size();
    const double* p = real ? prior + taken[i] * classes : nullptr;
    const double* l = real ? likelihood + taken[i] * classes : nullptr;
    const auto own = static_cast<std::size_t>(real ? y[taken[i]] : 0);
    for (std::size_t c = 0; c < classes; ++c) {
      const double more = real ? l[c] - l[own] : 0.0;
      const bool open = !real || std::isfinite(p[c] + more);
      prior_.data()[at + c * wide] = !real ? 0.0 : open ? p[c] : -std::numeric_limits<double>::infinity();
      likelihood_.data()[at + c * wide] = open ? more : 0.0;
      flat_ = flat_ && (!open || more == 0.0);
    }
    if (!real) continue;
    own_[i] = p[own];
    w_[i] = w[taken[i]];
  }
}

TemperatureSums TemperatureLoss::at(double beta) const {
  std::vector<TemperatureSums> part(blocks_, TemperatureSums{});
  parallel_for(blocks_, [&](std::size_t b, int) {
    const std::size_t first = b * kBlock, wide = std::min(kBlock, own_.size() - first);
    const TemperatureRows rows{wide,
                               classes_,
                               prior_.data() + first * classes_,
                               likelihood_.data() + first * classes_,
                               own_.data() + first,
                               w_.data() + first};
    TB_CALL(temperature_sums, rows, beta, part[b]);
  });
  TemperatureSums out{};
  for (const TemperatureSums& each : part)
    out = {out.loss + each.loss, out.mean + each.mean, out.variance + each.variance};
  return out;
}

TemperatureLoss::Best TemperatureLoss::best(const Search& s) const {
  const auto whole = [&](double beta) {
    const double far = std::log(beta / s.centre);
    return at(beta).loss + s.penalty / 2 * far * far;
  };
  const auto or_one = [&](double beta) {
    const double found = whole(beta) < whole(1.0) ? beta : 1.0;
    return Best{found, at(found).loss};
  };
  const auto slope = [&](double beta, double& second) {
    const TemperatureSums sums = at(beta);
    const double first = beta * sums.mean;
    second = first + beta * beta * sums.variance + s.penalty;
    return first + s.penalty * std::log(beta / s.centre);
  };
  if (flat_) return {s.centre, at(s.centre).loss};
  double second = 0, low = std::log(s.min_beta), high = std::log(s.max_beta), here = 0.0;
  if (slope(s.max_beta, second) <= 0) return or_one(s.max_beta);
  if (slope(s.min_beta, second) >= 0) return or_one(s.min_beta);
  for (std::size_t step = 0; step < s.steps; ++step) {
    const double first = slope(std::exp(here), second);
    (first < 0 ? low : high) = here;
    double next = second > 0 ? here - first / second : low;
    if (!(low < next && next < high)) next = 0.5 * (low + high);
    if (first == 0 || std::abs(next - here) <= s.tolerance) break;
    here = next;
  }
  return or_one(std::exp(here));
}

}  // namespace tb
