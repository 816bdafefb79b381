#include "core/discriminant/leave_one_out.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/runtime/aligned_array.hpp"
#include "core/runtime/threads.hpp"
#include "kernels/gather.hpp"
#include "kernels/leave_one_out.hpp"
#include "kernels/quadratic.hpp"

namespace tb {
namespace {

// With o orders a series leaves out delta^(o + 1) and more; single precision costs 6e-8 of the first. Beyond the last
// of these a block is divided out row by row.
constexpr double kReach[kMostOrders + 1] = {1e-14, 1e-6, 1e-4, 2e-4};
// e' G^-1 e only matters times b, and is about d: if b d is so small, single precision costs 2e-10 of a score at most.
constexpr double kCoarse = 3e-3;
constexpr std::size_t kTasks = 1024;   // at most
constexpr double kLogDetReach = 0.01;  // and kLogDetTerms terms: 1e-18

// Up to kRows rows of one class.
struct Block {
  std::size_t cls, begin, count;
};

// A thread's memory, and what it does with a block.
class Worker {
 public:
  explicit Worker(const LeaveOneOut& job)
      : job_(job),
        d_(job.x.d),
        rows_(kRows * d_),
        columns_(d_),
        ss_terms_((kMostOrders + 1) * job.gammas),
        log_det_terms_((kMostOrders + 2) * job.gammas),
        apart_(job.alphas * job.classes * d_) {
    const std::size_t still = static_cast<std::size_t>(std::count(job.gamma, job.gamma + job.gammas, 0.0));
    const std::size_t block = kRows * d_, table = job.gammas * d_, answers = job.gammas * kRows;
    doubles_ = AlignedArray(4 * block + table + job.gammas + 3 * d_ + (4 + 2 * job.classes) * answers);
    singles_ = AlignedArray(block + (kMostOrders + 1) * table);
    double* at = doubles_.data();
    const auto take = [&at](std::size_t size) { return std::exchange(at, at + size); };
    auto* single = reinterpret_cast<float*>(singles_.data());
    const auto take_single = [&single](std::size_t size) { return std::exchange(single, single + size); };
    lanes_ = take(block), turned_ = {take(block), take(block), take(block), take_single(block), take_single(block)};
    zz_ = take(answers), ee_ = take(answers), ss_ = take(answers), log_det_ = take(answers);
    score_ = take(job.classes * answers), root_ = take(job.classes * answers);
    inverse_ = {d_,
                job.gammas,
                job.gammas - still,
                0,
                take(table),
                take_single(table),
                take_single(kMostOrders * table),
                take(job.gammas)};
    variance_ = take(d_), shift_ = take(d_), square_ = take(d_);
    for (std::size_t j = 0; j < d_; ++j) {
      columns_[j] = {reinterpret_cast<const char*>(rows_.data() + j), static_cast<std::ptrdiff_t>(d_ * sizeof(double)),
                     Dtype::f64};
    }
    std::fill_n(one_, kRows, 1.0);
  }

  // loss (alphas, gammas) += those of the block.
  void run(const Block& b, double* loss) {
    read(b);
    look_from(b.cls);
    for (std::size_t a = 0; a < job_.alphas; ++a) {
      turned_by_ = -1;
      for (std::size_t l = 0; l < job_.classes; ++l) score(a, l, b.cls);
      TB_CALL(add_losses, score_, root_, job_.classes, b.cls, job_.gammas, weight_, loss + a * job_.gammas);
    }
  }

 private:
  // The last row, repeated with weight 0, fills the block.
  void read(const Block& b) {
    std::uint32_t row[kRows];
    const LeftRows& from = job_.rows;
    for (std::size_t r = 0; r < kRows; ++r) {
      const std::size_t i = b.begin + std::min(r, b.count - 1);
      row[r] = from.row[i];
      size_[r] = from.size[i], step_[r] = from.step[i], grow_[r] = from.grow[i], prior_[r] = from.prior[i];
      weight_[r] = r < b.count ? from.weight[i] : 0.0;
    }
    most_step_ = *std::max_element(step_, step_ + kRows);
    TB_CALL(gather_rows, job_.x, 0, row, kRows, rows_.data());
    const double* low = job_.low + b.cls * d_;
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t j = 0; j < d_; ++j) rows_[r * d_ + j] -= job_.mean[b.cls * d_ + j];
    }
    const Columns gathered{kRows, d_, columns_.data(), true};
    TB_CALL(load_lanes, gathered, 0, kRows, low, lanes_);
  }

  // How far class c is from each other class, in the frames of the other: the same for all blocks of c.
  void look_from(std::size_t c) {
    if (from_ == c) return;
    from_ = c;
    std::vector<double> away(d_);
    for (std::size_t a = 0; a < job_.alphas; ++a) {
      for (std::size_t l = 0; l < job_.classes; ++l) {
        for (std::size_t j = 0; j < d_; ++j) {
          away[j] = (job_.mean[c * d_ + j] - job_.mean[l * d_ + j]) + (job_.low[c * d_ + j] - job_.low[l * d_ + j]);
        }
        const auto f = static_cast<std::size_t>(job_.frame[a * 2 * job_.classes + l]);
        TB_CALL(turn_one, away.data(), d_, job_.frames.vector + f * d_ * d_,
                apart_.data() + (a * job_.classes + l) * d_);
      }
    }
  }

  // The scores of class l for rows of class c.
  void score(std::size_t a, std::size_t l, std::size_t c) {
    const bool mine = l == c;
    const std::int32_t* frame = job_.frame + a * 2 * job_.classes;
    const std::int32_t f = frame[(mine ? job_.classes : 0) + l];
    const bool both =
        !mine && job_.frames.share[f] != 0.0;  // not a row of this class, but its covariance has a share in it
    const bool shared = job_.classes > 1 && frame[0] == frame[1];  // one frame for all classes: rows are turned once
    const double* apart = apart_.data() + (a * job_.classes + l) * d_;
    if (f != turned_by_) measure(f);
    for (std::size_t j = 0; j < d_; ++j) shift_[j] = scale_ * apart[j];
    const double* shift = mine ? nullptr : shift_;
    if (f != turned_by_) {
      turn(f, shift, shared || direct_, shared || both);
      if (!direct_) start(f, shared || both);
    } else if (!direct_) {
      TB_CALL(shift_rows, d_, shift, turned_);
    }
    turned_by_ = shared ? f : -1;
    if (direct_)
      divide(shift);
    else
      expand(both);
    double other[kRows];
    std::fill_n(other, kRows, job_.prior[l]);
    const std::size_t at = l * job_.gammas * kRows;
    TB_CALL(leave_one_out_scores, job_.gammas, job_.gamma, b_, mine ? grow_ : one_, mine ? prior_ : other, zz_,
            both ? ee_ : nullptr, ss_, log_det_, score_ + at, root_ + at);
  }

  // keep: e itself will be asked for again; own: the squares of e will.
  void turn(std::int32_t f, const double* shift, bool keep, bool own) {
    const bool moves = inverse_.orders > 0;
    Turned out = turned_;
    if (!keep) out.e = nullptr;
    if (!own || coarse_ || direct_) out.ee = nullptr;
    if (!own || direct_ || !(coarse_ || moves)) out.ee32 = nullptr;
    if (direct_) out.zz = nullptr;
    if (direct_ || !moves) out.zz32 = nullptr;
    TB_CALL(turn_rows, lanes_, d_, job_.frames.vector + static_cast<std::size_t>(f) * d_ * d_, scale_, shift, out);
  }

  // The levels of the rows, and how far they are from their middle.
  void measure(std::int32_t f) {
    const Frames& from = job_.frames;
    const Levels m = TB_CALL(row_levels, from.trace[f], from.share[f], 1.0 / static_cast<double>(d_ + job_.outside),
                             step_, size_, b_, delta_);
    level_ = m.middle;
    scale_ = 1.0 / std::sqrt(level_);
    const double* value = from.value + static_cast<std::size_t>(f) * d_;
    const double unit = 1.0 / level_;
    for (std::size_t j = 0; j < d_; ++j) variance_[j] = std::max(0.0, value[j]) * unit;
    const double reach = std::max(m.high * unit - 1.0, 1.0 - m.low * unit);
    std::size_t orders = 0;
    while (orders <= kMostOrders && reach > kReach[orders]) ++orders;
    start_ = level_ / from.level[f] - 1.0;
    const bool moves = inverse_.moving > 0;
    direct_ = moves && (job_.outside > 0 || orders > kMostOrders || !(std::abs(start_) <= kLogDetReach));
    inverse_.orders = moves && !direct_ ? orders : 0;
    coarse_ = most_step_ * from.share[f] * static_cast<double>(d_) <= kCoarse && reach <= kReach[1];
  }

  // What does not depend on the class's mean.
  void start(std::int32_t f, bool own) {
    TB_CALL(fill_series, variance_, job_.gamma, inverse_);
    expand_log_det(f);
    if (!own) return;
    if (coarse_)
      TB_CALL(add_coarse, turned_.ee32, inverse_, delta_, ee_);
    else
      TB_CALL(add_series, turned_.ee, turned_.ee32, inverse_, delta_, ee_);
  }

  void expand(bool both) {
    TB_CALL(add_series, turned_.zz, turned_.zz32, inverse_, delta_, zz_);
    if (!both) return;
    TB_CALL(shift_series, shift_, inverse_, square_, ss_terms_.data());
    TB_CALL(evaluate, ss_terms_.data(), inverse_.orders + 1, job_.gammas, delta_, ss_);
  }

  // The polynomial about the frame's level becomes one about the block's.
  void expand_log_det(std::int32_t f) {
    const double* from = job_.frames.log_det + static_cast<std::size_t>(f) * kLogDetTerms * job_.gammas;
    const std::size_t terms = inverse_.orders + 2;
    const double step = inverse_.moving > 0 ? start_ : 0.0;
    for (std::size_t g = 0; g < job_.gammas; ++g) {
      double c[kLogDetTerms], unit = 1.0;
      for (std::size_t p = 0; p < kLogDetTerms; ++p) c[p] = from[p * job_.gammas + g];
      for (std::size_t o = 0; o < terms; ++o, unit *= 1.0 + step) {  // Horner's shift, term by term
        for (std::size_t p = kLogDetTerms - 1; p-- > o;) c[p] += c[p + 1] * step;
        log_det_terms_[o * job_.gammas + g] = c[o] * unit;
      }
    }
    TB_CALL(evaluate, log_det_terms_.data(), terms, job_.gammas, delta_, log_det_);
  }

  void divide(const double* shift) {
    TB_CALL(divide_rows, turned_.e, d_, variance_, job_.gammas, job_.gamma, shift, delta_, ee_, zz_, ss_, log_det_);
    const auto outside = static_cast<double>(job_.outside), all = static_cast<double>(d_ + job_.outside);
    for (std::size_t g = 0; g < job_.gammas; ++g) {
      for (std::size_t r = 0; r < kRows; ++r) {
        double& log_det = log_det_[g * kRows + r];
        log_det += all * std::log(level_);
        if (job_.outside > 0) log_det += outside * std::log(job_.gamma[g] * (1.0 + delta_[r]));
      }
    }
  }

  const LeaveOneOut& job_;
  std::size_t d_;
  std::vector<double> rows_;
  std::vector<Column> columns_;
  std::vector<double> ss_terms_, log_det_terms_, apart_;
  std::size_t from_ = SIZE_MAX;
  AlignedArray doubles_, singles_;
  double *lanes_, *zz_, *ee_, *ss_, *log_det_, *score_, *root_, *variance_, *shift_, *square_;
  Turned turned_;
  Series inverse_;
  double size_[kRows], step_[kRows], grow_[kRows], prior_[kRows], weight_[kRows], b_[kRows], delta_[kRows], one_[kRows];
  double level_ = 1.0, scale_ = 1.0, start_ = 0.0, most_step_ = 0.0;
  bool direct_ = false, coarse_ = false;
  std::int32_t turned_by_ = -1;
};

void check(const LeaveOneOut& job) {
  const LeftRows& rows = job.rows;
  const auto in_table = [&](std::uint32_t row) { return row < job.x.n; };
  const auto is_frame = [&](std::int32_t f) { return f >= 0 && static_cast<std::size_t>(f) < job.frames.count; };
  if (job.x.d == 0) throw std::invalid_argument("a table without columns");
  if (!std::all_of(rows.row, rows.row + rows.count, in_table) || rows.start[0] != 0 ||
      !std::is_sorted(rows.start, rows.start + job.classes + 1) ||
      rows.start[job.classes] != static_cast<std::int64_t>(rows.count) ||
      !std::all_of(job.frame, job.frame + job.alphas * 2 * job.classes, is_frame)) {
    throw std::invalid_argument("a row, class or frame is not there");
  }
}

}  // namespace

void class_distances(const Columns& x, const std::int32_t* y, const double* mean, const double* low,
                     std::size_t classes, double* out) {
  parallel_for((x.n + kRows - 1) / kRows, [&](std::size_t block, int) {
    thread_local std::vector<double> values;
    values.resize(kRows * x.d);
    const std::size_t r0 = block * kRows, rows = std::min(kRows, x.n - r0);
    std::uint32_t row[kRows];
    for (std::size_t r = 0; r < rows; ++r) row[r] = static_cast<std::uint32_t>(r);
    TB_CALL(gather_rows, x, r0, row, rows, values.data());
    for (std::size_t r = 0; r < rows; ++r) {
      out[r0 + r] = std::numeric_limits<double>::quiet_NaN();
      if (y[r0 + r] < 0 || static_cast<std::size_t>(y[r0 + r]) >= classes) continue;
      const std::size_t at = static_cast<std::size_t>(y[r0 + r]) * x.d;
      const double* v = values.data() + r * x.d;
      double sum[4] = {};  // four chains: an addition need not wait for the one before
      for (std::size_t j = 0; j < x.d; ++j) {
        const double e = v[j] - mean[at + j] - low[at + j];
        sum[j % 4] += e * e;
      }
      out[r0 + r] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
  });
}

void leave_one_out_losses(const LeaveOneOut& job, double* loss) {
  check(job);
  std::vector<Block> blocks;
  for (std::size_t c = 0; c < job.classes; ++c) {
    const auto end = static_cast<std::size_t>(job.rows.start[c + 1]);
    for (auto i = static_cast<std::size_t>(job.rows.start[c]); i < end; i += kRows)
      blocks.push_back({c, i, std::min(kRows, end - i)});
  }
  std::vector<std::unique_ptr<Worker>> workers(static_cast<std::size_t>(threads()));
  const std::size_t cells = job.alphas * job.gammas, each = blocks.size() / kTasks + 1;
  const std::size_t tasks = (blocks.size() + each - 1) / each;
  std::vector<double> sums(tasks * cells);  // of each task by itself: they are added in their order, whoever was first
  parallel_for(tasks, [&](std::size_t k, int t) {
    auto& mine = workers[static_cast<std::size_t>(t)];
    if (!mine) mine = std::make_unique<Worker>(job);
    for (std::size_t b = k * each; b < std::min(blocks.size(), (k + 1) * each); ++b)
      mine->run(blocks[b], sums.data() + k * cells);
  });
  std::fill_n(loss, cells, 0.0);
  for (std::size_t i = 0; i < sums.size(); ++i) loss[i % cells] += sums[i];
}

}  // namespace tb
