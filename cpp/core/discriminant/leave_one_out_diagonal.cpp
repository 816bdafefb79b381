#include "core/discriminant/leave_one_out_diagonal.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <vector>

#include "core/runtime/threads.hpp"
#include "kernels/leave_one_out_diagonal.hpp"

namespace tb {
namespace {

constexpr std::size_t kTaskRows = 16;  // rows

class Worker {
 public:
  explicit Worker(const LeaveOneOutDiagonal& job)
      : job_(job),
        points_((job.alphas * job.gammas + kGridStep - 1) / kGridStep * kGridStep),
        a_(points_),
        b_(points_),
        own_share_(points_),
        shared_share_(points_),
        c_(points_, 1.0),
        score_(job.classes * points_),
        own_(job.d),
        shared_(job.d),
        away_(job.d),
        loss_(points_) {
    for (std::size_t p = 0; p < job.alphas * job.gammas; ++p) {
      const double alpha = job.alpha[p / job.gammas], gamma = job.gamma[p % job.gammas];
      a_[p] = (1 - gamma) * alpha, b_[p] = (1 - gamma) * (1 - alpha);
      own_share_[p] = gamma * alpha, shared_share_[p] = gamma * (1 - alpha);
    }
  }

  const std::vector<double>& losses() const { return loss_; }

  void run(std::size_t from, std::size_t to) {
    std::fill(loss_.begin(), loss_.end(), 0.0);
    for (std::size_t row = from; row < to; ++row) {
      for (std::size_t k = 0; k < job_.classes; ++k) score(row, k);
      add_losses(row);
    }
  }

 private:
  void score(std::size_t row, std::size_t k) {
    const std::size_t d = pack(row, k);
    const double *level = job_.level + row * (job_.classes + 1), all = level[job_.classes];
    for (std::size_t p = 0; p < job_.alphas * job_.gammas; ++p)
      c_[p] = own_share_[p] * level[k] + shared_share_[p] * all;
    double* out = score_.data() + k * points_;
    TB_CALL(axes_terms, own_.data(), shared_.data(), away_.data(), d, a_.data(), b_.data(), c_.data(), points_, out);
    const double prior = job_.prior[row * job_.classes + k];
    for (std::size_t p = 0; p < points_; ++p) out[p] = prior - 0.5 * out[p];
  }

  // The columns that are scored, side by side; gives back how many.
  std::size_t pack(std::size_t row, std::size_t k) {
    const std::size_t d = job_.d;
    const double *own = job_.own + (row * job_.classes + k) * d, *away = job_.away + (row * job_.classes + k) * d;
    std::size_t count = 0;
    for (std::size_t j = 0; j < d; ++j) {
      if (job_.there[row * d + j] == 0) continue;
      own_[count] = own[j], shared_[count] = job_.shared[row * d + j], away_[count] = away[j];
      ++count;
    }
    return count;
  }

  void add_losses(std::size_t row) {
    const auto mine = static_cast<std::size_t>(job_.y[row]);
    for (std::size_t p = 0; p < job_.alphas * job_.gammas; ++p) {
      double best = score_[p], sum = 0.0;
      for (std::size_t k = 1; k < job_.classes; ++k) best = std::max(best, score_[k * points_ + p]);
      for (std::size_t k = 0; k < job_.classes; ++k) sum += std::exp(score_[k * points_ + p] - best);
      loss_[p] += job_.weight[row] * (std::log(sum) + (best - score_[mine * points_ + p]));
    }
  }

  const LeaveOneOutDiagonal& job_;
  std::size_t points_;  // of the grid, and some to fill it up
  std::vector<double> a_, b_, own_share_, shared_share_, c_, score_, own_, shared_, away_, loss_;
};

}  // namespace

void leave_one_out_diagonal(const LeaveOneOutDiagonal& job, double* loss) {
  const auto is_class = [&](std::int32_t y) { return y >= 0 && static_cast<std::size_t>(y) < job.classes; };
  if (!std::all_of(job.y, job.y + job.rows, is_class)) throw std::invalid_argument("a class is not there");
  const std::size_t cells = job.alphas * job.gammas;
  std::fill_n(loss, cells, 0.0);
  std::vector<std::unique_ptr<Worker>> workers(static_cast<std::size_t>(threads()));
  parallel_ordered((job.rows + kTaskRows - 1) / kTaskRows,
                   [&](std::size_t task, int t) {
                     auto& mine = workers[static_cast<std::size_t>(t)];
                     if (!mine) mine = std::make_unique<Worker>(job);
                     mine->run(task * kTaskRows, std::min(job.rows, (task + 1) * kTaskRows));
                   },
                   [&](std::size_t, int t) {
                     const std::vector<double>& part = workers[static_cast<std::size_t>(t)]->losses();
                     for (std::size_t i = 0; i < cells; ++i) loss[i] += part[i];
                   });
}

}  // namespace tb
