#include "core/discriminant/quadratic_parts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <optional>

#include "core/runtime/aligned_array.hpp"
#include "core/runtime/threads.hpp"
#include "kernels/gather.hpp"
#include "kernels/quadratic.hpp"

namespace tb {
namespace {

// A thread's memory for one block, kept from block to block.
double* scratch(std::size_t size) {
  thread_local AlignedArray mine;
  mine.at_least(size);
  return mine.data();
}

std::vector<double> row_of(const Columns& cols, std::size_t row) {
  std::vector<double> x(cols.d);
  const std::uint32_t self = 0;
  TB_CALL(gather_rows, cols, row, &self, 1, x.data());
  return x;
}

// Notes the rows with missing values; throws at the first infinity. odd: rows with either.
void note_missing(const Columns& cols, std::size_t r0, std::uint64_t odd, RowFlags& missing) {
  if (odd == 0) return;
  std::vector<double> x(cols.d);
  const std::uint32_t self = 0;
  for (; odd != 0; odd &= odd - 1) {
    const std::size_t row = r0 + static_cast<std::size_t>(__builtin_ctzll(odd));
    TB_CALL(gather_rows, cols, row, &self, 1, x.data());
    const auto bad = std::find_if(x.begin(), x.end(), [](double v) { return std::isinf(v); });
    if (bad != x.end()) throw BadValue{BadValue::infinite, row, static_cast<std::size_t>(bad - x.begin()), *bad};
    missing.set(row);
  }
}

class QuadraticPart final : public Part {
 public:
  QuadraticPart(const Columns& cols, const Quadratic& q, RowFlags& missing) : cols_(cols), q_(q), missing_(missing) {
    if (q.shared)
      means_ = whitened_means(q, cols.d);
    else
      means_.centre.assign(cols.d, 0.0);
  }

  void add(std::size_t r0, std::size_t rows, double* acc) const override {
    const std::size_t d = cols_.d;
    double* lanes = scratch(2 * kRows * d);
    double* work = lanes + kRows * d;
    const std::uint64_t odd = TB_CALL(load_lanes, cols_, r0, rows, means_.centre.data(), lanes);
    note_missing(cols_, r0, odd, missing_);
    if (q_.shared) {
      TB_CALL(whiten, lanes, rows, d, q_.factor, work);
      TB_CALL(add_distances, work, rows, odd, d, means_.place.data(), q_.constant, q_.classes, acc);
      return;
    }
    for (std::size_t c = 0; c < q_.classes; ++c) {
      TB_CALL(add_quadratic, lanes, rows, odd, d, q_.mean + c * d, q_.low + c * d, q_.factor + c * d * d,
              q_.constant[c], work, acc + c * kRows);
    }
  }

  std::size_t cells_per_row() const override { return cols_.d + cols_.d * cols_.d / 16 * (q_.shared ? 1 : q_.classes); }

  // A row again, with the range of long double, for terms that overflow.
  bool can_overflow() const override { return true; }
  void add_wide(std::size_t row, std::size_t classes, long double* acc) const override {
    const std::vector<double> x = row_of(cols_, row);
    if (std::any_of(x.begin(), x.end(), [](double v) { return std::isnan(v); })) return;
    const std::size_t d = cols_.d;
    for (std::size_t c = 0; c < classes; ++c) {
      const double* factor = q_.factor + (q_.shared ? 0 : c * d * d);
      long double squares = 0.0L;
      for (std::size_t i = 0; i < d; ++i) {
        long double z = 0.0L;
        for (std::size_t j = 0; j <= i; ++j) {
          z += factor[i * d + j] * (static_cast<long double>(x[j]) - q_.mean[c * d + j] - q_.low[c * d + j]);
        }
        squares += z * z;
      }
      acc[c] += q_.constant[c] - squares / 2;
    }
  }

 private:
  Columns cols_;
  Quadratic q_;
  RowFlags& missing_;
  WhitenedMeans means_;
};

class AffinePart final : public Part {
 public:
  AffinePart(const Columns& cols, const Affine& a, RowFlags& missing) : cols_(cols), a_(a), missing_(missing) {}

  void add(std::size_t r0, std::size_t rows, double* acc) const override {
    double* lanes = scratch(kRows * cols_.d);
    const std::uint64_t odd = TB_CALL(load_lanes, cols_, r0, rows, a_.centre, lanes);
    note_missing(cols_, r0, odd, missing_);
    TB_CALL(add_affine, lanes, rows, odd, cols_.d, a_.weight, a_.bias, a_.classes, acc);
  }

  std::size_t cells_per_row() const override { return cols_.d; }

  bool can_overflow() const override { return true; }
  void add_wide(std::size_t row, std::size_t classes, long double* acc) const override {
    const std::vector<double> x = row_of(cols_, row);
    if (std::any_of(x.begin(), x.end(), [](double v) { return std::isnan(v); })) return;
    for (std::size_t c = 0; c < classes; ++c) {
      acc[c] += a_.bias[c];
      for (std::size_t j = 0; j < cols_.d; ++j) {
        acc[c] += a_.weight[c * cols_.d + j] * (static_cast<long double>(x[j]) - a_.centre[j]);
      }
    }
  }

 private:
  Columns cols_;
  Affine a_;
  RowFlags& missing_;
};

}  // namespace

std::vector<std::int64_t> RowFlags::rows() const {
  std::vector<std::int64_t> out;
  for (std::size_t k = 0; k < words_.size(); ++k) {
    for (std::uint64_t bits = words_[k]; bits != 0; bits &= bits - 1) {
      out.push_back(static_cast<std::int64_t>(k * 64 + static_cast<std::size_t>(__builtin_ctzll(bits))));
    }
  }
  return out;
}

WhitenedMeans whitened_means(const Quadratic& q, std::size_t d) {
  WhitenedMeans out{std::vector<double>(d), std::vector<double>(q.classes * d)};
  if (q.classes == 0) return out;
  for (std::size_t j = 0; j < d; ++j) {
    double sum = 0.0;
    for (std::size_t c = 1; c < q.classes; ++c) sum += q.mean[c * d + j] - q.mean[j];
    out.centre[j] = q.mean[j] + sum / static_cast<double>(q.classes);
  }
  for (std::size_t c = 0; c < q.classes; ++c) {
    for (std::size_t i = 0; i < d; ++i) {
      double& z = out.place[c * d + i];
      for (std::size_t j = 0; j <= i; ++j) {
        z += q.factor[i * d + j] * ((q.mean[c * d + j] - out.centre[j]) + q.low[c * d + j]);
      }
    }
  }
  return out;
}

std::unique_ptr<Part> quadratic_part(const Columns& cols, const Quadratic& q, RowFlags& missing) {
  return std::make_unique<QuadraticPart>(cols, q, missing);
}

std::unique_ptr<Part> affine_part(const Columns& cols, const Affine& a, RowFlags& missing) {
  return std::make_unique<AffinePart>(cols, a, missing);
}

void part_scores(const Part& part, std::size_t n, std::size_t classes, const RowFlags& missing, double* out) {
  constexpr std::size_t kSerialCells = 32768, kTaskCells = 1u << 17;  // cells
  const std::size_t blocks = (n + kRows - 1) / kRows;
  const std::size_t cells = std::max<std::size_t>(1, part.cells_per_row());
  const std::size_t together = n * cells < kSerialCells
                                   ? std::max<std::size_t>(blocks, 1)
                                   : std::clamp<std::size_t>(kTaskCells / (kRows * cells), 1, (blocks + 7) / 8);
  std::mutex mutex;
  std::optional<BadValue> first;
  parallel_for((blocks + together - 1) / together, [&](std::size_t task, int) {
    std::vector<double> acc(classes * kRows);
    try {
      for (std::size_t b = task * together; b < std::min(blocks, (task + 1) * together); ++b) {
        const std::size_t r0 = b * kRows, rows = std::min(kRows, n - r0);
        std::fill(acc.begin(), acc.end(), 0.0);
        part.add(r0, rows, acc.data());
        for (std::size_t r = 0; r < rows; ++r) {
          const bool gone = missing.has(r0 + r);
          for (std::size_t c = 0; c < classes; ++c) {
            out[(r0 + r) * classes + c] = gone ? std::numeric_limits<double>::quiet_NaN() : acc[c * kRows + r];
          }
        }
      }
    } catch (const BadValue& bad) {
      const std::lock_guard lock(mutex);
      if (!first || bad.row < first->row) first = bad;
    }
  });
  if (first) throw BadValue(*first);
}

}  // namespace tb
