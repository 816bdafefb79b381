// Rows of few columns: as many at a time as there are lanes, each with its own pattern of missing values. Rows are
// sorted by how much they miss, so that all lanes have as many vectors; what a row gets does not depend on its company.
#include <algorithm>
#include <bit>
#include <cmath>

#include "core/discriminant/marginal_model.hpp"
#include "kernels/gather.hpp"
#include "kernels/marginal.hpp"

namespace tb {
namespace {

constexpr std::size_t kLanes = kMarginalLanes;
constexpr std::uint64_t kNone = ~std::uint64_t{0};

// A product of many numbers, whatever its size.
struct Product {
  double x = 1.0;
  long power = 0;
  void times(double factor) {
    keep(factor);
    x *= factor;
    keep(x);
  }
  void keep(double& v) {  // in range; most are
    if (v > 0x1p-500 && v < 0x1p500) return;
    int own = 0;
    v = std::frexp(v, &own);
    power += own;
  }
  double log() const { return std::log(x) + static_cast<double>(power) * std::log(2.0); }
};

}  // namespace

MarginalLanes::MarginalLanes(const MarginalModel& model)
    : m_(model),
      lane_(kLanes),
      done_(kLanes),
      e_((model.d + 1) * kLanes),
      z_((model.d + 1) * kLanes),
      work_((model.d + 1) * kLanes),
      log_det_(kLanes) {}

void MarginalLanes::run(const std::int64_t* rows, std::size_t count, double* out) {
  out_ = out;
  read(rows, count);
  for (std::size_t k = 0; k < m_.columns.size(); ++k) {
    std::fill(done_.begin(), done_.end(), kNone);
    for (std::size_t from = 0, to; from < count; from = to) {
      const std::size_t gone = rows_[from].count;
      for (to = from + 1; to < count && to < from + kLanes && rows_[to].count == gone; ++to) {
      }
      take(rows_.data() + from, to - from);
      2 * gone <= m_.keep.size() ? without(k) : within(k);
    }
  }
}

void MarginalLanes::read(const std::int64_t* rows, std::size_t count) {
  const std::uint32_t self = 0;
  x_.resize(count * m_.d);
  rows_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    double* own = x_.data() + i * m_.d;
    TB_CALL(gather_rows, m_.cols, static_cast<std::size_t>(rows[i]), &self, 1, own);
    std::uint64_t missing = 0;
    for (const std::uint32_t j : m_.keep) missing |= static_cast<std::uint64_t>(std::isnan(own[j])) << j;
    rows_[i] = {missing, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(std::popcount(missing))};
  }
  std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
    if (a.count != b.count) return a.count < b.count;
    return a.missing != b.missing ? a.missing < b.missing : a.row < b.row;
  });
}

void MarginalLanes::take(const Row* some, std::size_t used) {
  used_ = used;
  for (std::size_t lane = 0; lane < kLanes; ++lane) lane_[lane] = some + std::min(lane, used - 1);
}

// Has it been done for these patterns?
bool MarginalLanes::decomposed() {
  bool same = true;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    same = same && done_[lane] == lane_[lane]->missing;
    done_[lane] = lane_[lane]->missing;
  }
  return same;
}

// By the columns that are missing, the last one first, or by those that are there: so that each vector is short.
void MarginalLanes::decompose(const ScaledVectors& all, bool backwards) {
  if (decomposed()) return;
  const std::size_t d = m_.d, gone = lane_[0]->count;
  size_ = backwards ? gone : m_.keep.size() - gone;
  list_.resize(size_ * kLanes);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    std::size_t t = 0;
    for (const std::uint32_t j : m_.keep) {
      const bool missing = lane_[lane]->missing >> j & 1;
      if (missing != backwards) continue;
      list_[(backwards ? size_ - 1 - t : t) * kLanes + lane] = j;
      ++t;
    }
  }
  begin_.assign(size_, 0);
  end_.assign(size_, static_cast<std::uint32_t>(d));
  q_.at_least((size_ * d + 1) * kLanes);
  r_.at_least((size_ * size_ + 1) * kLanes);
  for (std::size_t t = 0; t < size_; ++t) {
    const std::uint32_t* own = list_.data() + t * kLanes;
    if (backwards)
      begin_[t] = *std::min_element(own, own + kLanes) / kMarginalStep * kMarginalStep;
    else
      end_[t] =
          std::min<std::uint32_t>(end_[t], (*std::max_element(own, own + kLanes) / kMarginalStep + 1) * kMarginalStep);
    double* to = q_.data() + t * d * kLanes;
    const double* from[kLanes];
    for (std::size_t lane = 0; lane < kLanes; ++lane) from[lane] = all.vectors.data() + own[lane] * m_.stride;
    for (std::size_t i = begin_[t]; i < end_[t]; ++i) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) to[i * kLanes + lane] = from[lane][i];
    }
  }
  TB_CALL(orthonormal_lanes, q_.data(), size_, d, begin_.data(), end_.data(), r_.data());
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    Product det;
    for (std::size_t t = 0; t < size_; ++t) {
      det.times(r_.data()[(t * size_ + t) * kLanes + lane]);
      det.power += all.power[list_[t * kLanes + lane]];
    }
    log_det_[lane] = det.log();
  }
}

void MarginalLanes::without(std::size_t k) {
  const ScaledVectors& all = m_.columns[k];
  decompose(all, true);
  const std::size_t d = m_.d;
  const bool shared = m_.q.shared;
  const double* mean = shared ? m_.centre.data() : m_.q.mean + k * d;
  std::fill_n(e_.data(), d * kLanes, 0.0);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const double* own = values(lane);
    for (const std::uint32_t j : m_.keep) {
      const double away = own[j] - mean[j];
      // whatever is put for what is missing, what is left is the same
      if (!(lane_[lane]->missing >> j & 1))
        e_.data()[j * kLanes + lane] = (shared ? away : away - m_.q.low[k * d + j]) * all.unit[j];
    }
  }
  TB_CALL(combine_lanes, all.vectors.data(), m_.stride, e_.data(), d, z_.data());
  alignas(64) double square[kLanes];
  for (std::size_t c = shared ? 0 : k; c < (shared ? m_.q.classes : k + 1); ++c) {
    const double* place = m_.places.data() + (shared ? c * m_.stride : 0);
    TB_CALL(outside_lanes, q_.data(), size_, d, begin_.data(), z_.data(), place, work_.data(), square);
    const double start = m_.q.constant[c] + static_cast<double>(size_) * kHalfLog2Pi;
    for (std::size_t lane = 0; lane < used_; ++lane) answer(lane, c) = lasting(start - log_det_[lane], square[lane]);
  }
}

void MarginalLanes::within(std::size_t k) {
  const ScaledVectors& all = m_.root(k);
  decompose(all, false);
  const std::size_t d = m_.d;
  alignas(64) double square[kLanes];
  for (std::size_t c = m_.q.shared ? 0 : k; c < (m_.q.shared ? m_.q.classes : k + 1); ++c) {
    for (std::size_t t = 0; t < size_; ++t) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const std::uint32_t j = list_[t * kLanes + lane];
        e_.data()[t * kLanes + lane] = (values(lane)[j] - m_.q.mean[c * d + j] - m_.q.low[c * d + j]) / all.unit[j];
      }
    }
    TB_CALL(solve_lanes, r_.data(), size_, e_.data(), square);
    const double start = -static_cast<double>(size_) * kHalfLog2Pi;
    for (std::size_t lane = 0; lane < used_; ++lane) answer(lane, c) = lasting(start - log_det_[lane], square[lane]);
  }
}

}  // namespace tb
