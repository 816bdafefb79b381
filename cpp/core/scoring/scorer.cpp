#include "core/scoring/scorer.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include "core/runtime/threads.hpp"
#include "kernels/posterior.hpp"
#include "kernels/scores.hpp"

namespace tb {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr std::size_t kSerialCells = 32768;   // cells: less than this is not worth a second thread
constexpr std::size_t kTaskCells = 1u << 17;  // cells handed to a thread at a time

// The bad value with the smallest row, whichever thread meets its first.
class FirstBad {
 public:
  bool before(std::size_t row) const { return row_.load(std::memory_order_relaxed) < row; }
  void note(const BadPart& bad) {
    const std::lock_guard lock(mutex_);
    if (!bad_ || bad.row < bad_->row) {
      bad_ = bad;
      row_ = bad.row;
    }
  }
  void rethrow() const {
    if (bad_) throw BadPart(*bad_);
  }

 private:
  std::atomic<std::size_t> row_{std::numeric_limits<std::size_t>::max()};
  std::mutex mutex_;
  std::optional<BadPart> bad_;
};

}  // namespace

// Up to kRows rows on their way: a thread's own.
struct Scorer::Block {
  explicit Block(std::size_t classes) : acc(classes * kRows) {}
  std::size_t r0 = 0;
  std::size_t rows = 0;
  std::vector<double> acc;  // acc[c * kRows + r]: the log joint
  alignas(64) double peak[kRows];
  alignas(64) double shared[kRows];  // what is the same for all classes
};

Scorer::Scorer(std::size_t n, std::size_t classes, const double* log_prior, bool per_row)
    : n_(n), classes_(classes), prior_(log_prior), per_row_(per_row) {
  for (std::size_t c = 0; c < classes && !per_row; ++c) {
    if (!(log_prior[c] < kInf)) {
      throw std::invalid_argument("log_prior of class " + std::to_string(c) + " is " + std::to_string(log_prior[c]) +
                                  "; it must be a number or -inf");
    }
  }
}

void Scorer::fill(Block& b) const {
  if (per_row_) {
    std::fill(b.acc.begin(), b.acc.end(), 0.0);
    if (!TB_CALL(add_numbers, prior_of(b.r0), b.rows, classes_, b.acc.data())) throw_first_bad(b.r0, b.rows);
  } else {
    for (std::size_t c = 0; c < classes_; ++c) std::fill_n(b.acc.data() + c * kRows, kRows, prior_[c]);
  }
  for (const auto& part : parts_) part->add(b.r0, b.rows, b.acc.data());
}

// One row again, in long double: there (x - mean)^2 of the largest double is a number, and a class that is less far
// away wins.
void Scorer::mend_row(Block& b, std::size_t r, bool relative) const {
  std::vector<long double> wide(classes_, -kInf);
  const double* prior = prior_of(b.r0 + r);
  const auto overflow = [](const auto& part) { return part->can_overflow(); };
  if (std::any_of(parts_.begin(), parts_.end(), overflow)) {
    std::copy_n(prior, classes_, wide.begin());
    for (const auto& part : parts_) part->add_wide(b.r0 + r, classes_, wide.data());
    for (long double& w : wide) w = std::isnan(w) ? -kInf : w;
  }
  long double top = *std::max_element(wide.begin(), wide.end());
  if (relative && !(top > -kInf)) {  // the data rule out every class: what remains is the prior
    std::copy_n(prior, classes_, wide.begin());
    top = *std::max_element(wide.begin(), wide.end());
    if (!(top > -kInf)) {
      std::fill(wide.begin(), wide.end(), 0.0L);
      top = 0;
    }
  }
  for (std::size_t c = 0; c < classes_; ++c) {
    b.acc[c * kRows + r] = static_cast<double>(relative ? wide[c] - top : wide[c]);
  }
  b.peak[r] = static_cast<double>(relative ? 0 : top);
}

void Scorer::mend(Block& b, std::uint64_t odd, bool relative) const {
  for (; odd != 0; odd &= odd - 1) mend_row(b, static_cast<std::size_t>(__builtin_ctzll(odd)), relative);
}

// There is a bad value in this block. Row by row: the smallest bad row, and in it the first that refuses it.
void Scorer::throw_first_bad(std::size_t r0, std::size_t rows) const {
  std::vector<double> acc(classes_ * kRows, 0.0);
  for (std::size_t r = r0; r < r0 + rows; ++r) {
    for (std::size_t c = 0; c < classes_; ++c) {
      if (!(prior_of(r)[c] < kInf)) throw BadPart{{BadValue::infinite, r, c, prior_of(r)[c]}, -1};
    }
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      try {
        parts_[p]->add(r, 1, acc.data());
      } catch (const BadValue& bad) {
        throw BadPart{bad, static_cast<std::ptrdiff_t>(p)};
      }
    }
  }
  throw std::logic_error("a part refused a block of rows, but none of its rows");
}

std::size_t Scorer::blocks_per_task(std::size_t blocks) const {
  std::size_t cells = classes_;
  for (const auto& part : parts_) cells += part->cells_per_row();
  if (n_ * cells < kSerialCells) return blocks;
  return std::clamp<std::size_t>(kTaskCells / (kRows * cells), 1, (blocks + 7) / 8);
}

template <class Finish>
void Scorer::run(bool relative, Finish&& finish) const {
  const std::size_t blocks = (n_ + kRows - 1) / kRows;
  if (blocks == 0) return;
  const std::size_t per_task = blocks_per_task(blocks);
  const std::size_t tasks = (blocks + per_task - 1) / per_task;
  std::vector<std::unique_ptr<Block>> own(tasks == 1 ? 1 : static_cast<std::size_t>(threads()));
  FirstBad bad;
  parallel_for(tasks, [&](std::size_t task, int thread) {
    auto& mine = own[static_cast<std::size_t>(thread)];
    if (!mine) mine = std::make_unique<Block>(classes_);
    Block& b = *mine;
    const std::size_t end = std::min(n_, (task + 1) * per_task * kRows);
    for (b.r0 = task * per_task * kRows; b.r0 < end && !bad.before(b.r0); b.r0 += kRows) {
      b.rows = std::min(kRows, end - b.r0);
      try {
        fill(b);
      } catch (const BadValue&) {
        try {
          throw_first_bad(b.r0, b.rows);
        } catch (const BadPart& first) {
          bad.note(first);
        }
        return;
      }
      const std::uint64_t odd = TB_CALL(find_peaks, b.acc.data(), b.rows, classes_, b.peak);
      if (odd != 0) mend(b, odd, relative);
      if (!relative) {
        std::fill_n(b.shared, kRows, 0.0);
        for (const auto& part : parts_) part->add_shared(b.r0, b.rows, b.shared);
      }
      finish(b);
    }
  });
  bad.rethrow();
}

namespace {

// A shared term of -inf is larger than any number, as log x! of a count of 1e307: so may be what it is added to, and
// inf - inf is no number. Where counts are that large, no rate makes up for it.
double whole(double own, double shared) {
  return shared == -std::numeric_limits<double>::infinity() ? shared : own + shared;
}

}  // namespace

void Scorer::joint(double* out) const {
  run(false, [&](Block& b) {
    for (std::size_t c = 0; c < classes_; ++c) {
      for (std::size_t r = 0; r < b.rows; ++r) b.acc[c * kRows + r] = whole(b.acc[c * kRows + r], b.shared[r]);
    }
    TB_CALL(write_joint, b.acc.data(), b.rows, classes_, out + b.r0 * classes_);
  });
}

void Scorer::log_proba(double* out) const {
  run(true, [&](Block& b) { TB_CALL(write_log_proba, b.acc.data(), b.rows, classes_, b.peak, out + b.r0 * classes_); });
}

void Scorer::proba(double* out) const {
  run(true, [&](Block& b) { TB_CALL(write_proba, b.acc.data(), b.rows, classes_, b.peak, out + b.r0 * classes_); });
}

void Scorer::best(std::int64_t* out) const {
  run(true, [&](Block& b) { TB_CALL(write_best, b.acc.data(), b.rows, classes_, b.peak, out + b.r0); });
}

void Scorer::log_density(double* out) const {
  run(false, [&](Block& b) {
    TB_CALL(write_log_density, b.acc.data(), b.rows, classes_, b.peak, out + b.r0);
    for (std::size_t r = 0; r < b.rows; ++r) out[b.r0 + r] = whole(out[b.r0 + r], b.shared[r]);
  });
}

}  // namespace tb
