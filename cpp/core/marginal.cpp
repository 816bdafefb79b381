// With F'F = inverse of the covariance, and m the coordinates that are missing, o the others:
//   log p(x_o) = constant + |m| log(2 pi) / 2 - log |det R| - min over x_m of |F (x - mean)|^2 / 2,    F_m = Q R,
// for the least of |F (x - mean)|^2 is what of it is outside the span of the columns F_m, and R'R the block m of F'F.
// That costs d m^2 for a pattern and d m more than a complete row for a row. Where most is missing, rows of F^-1 = L
// are fewer:
//   L_o' = Q R,   covariance_oo = R'R,   log p(x_o) = -log |det R| - |o| log(2 pi) / 2 - |R^-T (x_o - mean_o)|^2 / 2.
// Neither squares a matrix. Vectors are scaled by powers of two, so that no unit of a column is too large to be
// squared.
#include "core/marginal.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <iterator>
#include <numeric>
#include <span>
#include <vector>

#include "core/aligned.hpp"
#include "core/threads.hpp"
#include "kernels/gather.hpp"
#include "kernels/marginal.hpp"

namespace tb {
namespace {

constexpr double kHalfLog2Pi = 0.91893853320467274178;
constexpr std::size_t kTaskCells = 1u << 15;  // of rows that one thread reads, and sorts by what they miss
constexpr std::size_t kCheap = 3;             // vectors that are made orthonormal sooner than their like is looked for

// Vectors scaled to sizes about 1: vector j is unit[j], a power of two, times what stands there.
struct Scaled {
  Scaled(std::size_t d, std::size_t stride) : vectors(d * stride), unit(d, 1.0), log_unit(d) {
    std::fill_n(vectors.data(), d * stride, 0.0);
  }
  void scale(std::size_t j, std::size_t stride, std::size_t d) {
    double* v = vectors.data() + j * stride;
    double most = 0.0;
    for (std::size_t i = 0; i < d; ++i) most = std::max(most, std::abs(v[i]));
    if (most == 0.0) return;
    const int power = std::clamp(std::ilogb(most), -1000, 1000);
    const double down = std::ldexp(1.0, -power);
    for (std::size_t i = 0; i < d; ++i) v[i] *= down;
    unit[j] = std::ldexp(1.0, power);
    log_unit[j] = power * std::log(2.0);
  }
  AlignedArray vectors;
  std::vector<double> unit, log_unit;
};

using List = std::span<const std::uint32_t>;

bool same(List a, List b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

class Marginals {
 public:
  Marginals(const Columns& cols, const Quadratic& q)
      : cols_(cols), q_(q), d_(cols.d), stride_((d_ + kMarginalPad - 1) / kMarginalPad * kMarginalPad) {
    const std::size_t matrices = q.shared ? 1 : q.classes;
    for (std::size_t j = 0; j < d_; ++j) {
      if (matrices > 0 && q.factor[j * d_ + j] != 0.0) keep_.push_back(static_cast<std::uint32_t>(j));
    }
    for (std::size_t k = 0; k < matrices; ++k) columns_.push_back(columns_of(k));
    roots_.resize(matrices);
    once_ = std::make_unique<std::once_flag[]>(matrices);
    places_.assign((q.shared ? q.classes : 1) * stride_, 0.0);
    if (!q.shared) return;
    const WhitenedMeans means = whitened_means(q, d_);
    centre_ = means.centre;
    for (std::size_t c = 0; c < q.classes; ++c) {
      std::copy_n(means.place.data() + c * d_, d_, places_.data() + c * stride_);
    }
  }

  void run(const std::int64_t* rows, std::size_t count, double* out) {
    const std::size_t together = std::clamp<std::size_t>(kTaskCells / std::max<std::size_t>(d_, 1), 16, 4096);
    std::vector<std::unique_ptr<Task>> own(static_cast<std::size_t>(threads()));
    parallel_for((count + together - 1) / together, [&](std::size_t task, int thread) {
      auto& mine = own[static_cast<std::size_t>(thread)];
      if (!mine) mine = std::make_unique<Task>(*this);
      const std::size_t from = task * together;
      mine->run(rows + from, std::min(together, count - from), out + from * q_.classes);
    });
  }

 private:
  // Some rows: read, those that miss the same columns brought together, and scored by one thread.
  struct Task {
    explicit Task(const Marginals& of) : m(of) {}
    const Marginals& m;
    const std::int64_t* rows = nullptr;
    std::size_t count = 0;
    double* out = nullptr;
    std::vector<double> x{};
    std::vector<std::uint32_t> missing{};  // of row after row, the columns that it misses of those that vary
    std::vector<std::size_t> first{};      // where those of each row begin
    std::vector<std::uint32_t> order{}, here{};
    AlignedArray q{}, z{};
    std::vector<double> r{}, e{};

    List gone(std::uint32_t i) const { return {missing.data() + first[i], first[i + 1] - first[i]}; }

    void run(const std::int64_t* some, std::size_t many, double* to_here) {
      rows = some, count = many, out = to_here;
      read();
      for (std::size_t from = 0, to; from < count; from = to) {
        const List list = gone(order[from]);
        for (to = from + 1; to < count && same(gone(order[to]), list); ++to) {
        }
        const bool few = 2 * list.size() <= m.keep_.size();
        for (std::size_t k = 0; k < m.columns_.size(); ++k) few ? without(k, from, to) : within(k, from, to);
      }
    }

    void read() {
      const std::size_t d = m.d_;
      const std::uint32_t self = 0;
      x.resize(count * d);
      order.resize(count);
      missing.clear();
      first.clear();
      for (std::size_t i = 0; i < count; ++i) {
        double* own = x.data() + i * d;
        TB_CALL(gather_rows, m.cols_, static_cast<std::size_t>(rows[i]), &self, 1, own);
        first.push_back(missing.size());
        for (const std::uint32_t j : m.keep_) {
          if (std::isnan(own[j])) missing.push_back(j);
        }
      }
      first.push_back(missing.size());
      std::iota(order.begin(), order.end(), 0u);
      const auto dear = std::stable_partition(order.begin(), order.end(), [&](std::uint32_t i) {
        const std::size_t size = gone(i).size();
        return std::min(size, m.keep_.size() - size) <= kCheap;
      });
      std::stable_sort(dear, order.end(), [&](std::uint32_t i, std::uint32_t j) {
        const List a = gone(i), b = gone(j);
        return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
      });
    }

    // The log of |det R| of some vectors.
    double decompose(const Scaled& all, List which) {
      const std::size_t size = which.size();
      q.at_least(std::max<std::size_t>(size * m.stride_, 1));
      r.resize(size * size);
      double* to = q.data();
      for (const std::uint32_t j : which) to = std::copy_n(all.vectors.data() + j * m.stride_, m.stride_, to);
      TB_CALL(orthonormal, q.data(), size, m.stride_, r.data());
      double sum = 0.0;
      for (std::size_t i = 0; i < size; ++i) sum += std::log(r[i * size + i]) + all.log_unit[which[i]];
      return sum;
    }

    static double lasting(double start, double square) {
      return std::isnan(square) ? -std::numeric_limits<double>::infinity() : start - 0.5 * square;
    }

    // By the columns that are missing, for rows order[from, to) and covariance k.
    void without(std::size_t k, std::size_t from, std::size_t to) {
      const Scaled& all = m.columns_[k];
      const List list = gone(order[from]);
      const std::size_t d = m.d_, size = list.size();
      const double more = static_cast<double>(size) * kHalfLog2Pi - decompose(all, list);
      z.at_least(2 * m.stride_);
      e.assign(d, 0.0);
      for (std::size_t i = from; i < to; ++i) {
        const double* own = x.data() + order[i] * d;
        double* answer = out + order[i] * m.q_.classes;
        const bool shared = m.q_.shared;
        const double* mean = shared ? m.centre_.data() : m.q_.mean + k * d;
        for (const std::uint32_t j : m.keep_) {
          const double away = own[j] - mean[j];
          e[j] = (shared ? away : away - m.q_.low[k * d + j]) * all.unit[j];
        }
        for (const std::uint32_t j : list) e[j] = 0.0;
        TB_CALL(combine_columns, all.vectors.data(), m.stride_, e.data(), d, z.data());
        // whatever is put for what is missing, what is left is the same
        for (std::size_t c = shared ? 0 : k; c < (shared ? m.q_.classes : k + 1); ++c) {
          const double* place = m.places_.data() + (shared ? c * m.stride_ : 0);
          answer[c] = lasting(m.q_.constant[c] + more, TB_CALL(square_outside, q.data(), size, m.stride_, z.data(),
                                                               place, z.data() + m.stride_));
        }
      }
    }

    // By the columns that are there.
    void within(std::size_t k, std::size_t from, std::size_t to) {
      const Scaled& all = m.root(k);
      here.clear();
      const List list = gone(order[from]);
      std::set_difference(m.keep_.begin(), m.keep_.end(), list.begin(), list.end(), std::back_inserter(here));
      const std::size_t d = m.d_, size = here.size();
      const double start = -decompose(all, here) - static_cast<double>(size) * kHalfLog2Pi;
      e.resize(std::max(size, d));
      for (std::size_t i = from; i < to; ++i) {
        const double* own = x.data() + order[i] * d;
        for (std::size_t c = m.q_.shared ? 0 : k; c < (m.q_.shared ? m.q_.classes : k + 1); ++c) {
          double square = 0.0;
          for (std::size_t a = 0; a < size; ++a) {
            const std::uint32_t j = here[a];
            double v = (own[j] - m.q_.mean[c * d + j] - m.q_.low[c * d + j]) / all.unit[j];
            for (std::size_t b = 0; b < a; ++b) v -= r[b * size + a] * e[b];
            e[a] = v / r[a * size + a];
            square += e[a] * e[a];
          }
          out[order[i] * m.q_.classes + c] = lasting(start, square);
        }
      }
    }
  };

  const double* factor(std::size_t k) const { return q_.factor + k * d_ * d_; }

  Scaled columns_of(std::size_t k) const {
    Scaled out(d_, stride_);
    for (std::size_t j = 0; j < d_; ++j) {
      for (std::size_t i = j; i < d_; ++i) out.vectors.data()[j * stride_ + i] = factor(k)[i * d_ + j];
      out.scale(j, stride_, d_);
    }
    return out;
  }

  // The rows of L = F^-1, made when the first row asks.
  const Scaled& root(std::size_t k) const {
    std::call_once(once_[k], [&] {
      auto made = std::make_unique<Scaled>(d_, stride_);
      double* l = made->vectors.data();
      for (const std::uint32_t i : keep_) {
        const double* f = factor(k) + i * d_;
        double* own = l + i * stride_;
        for (const std::uint32_t t : keep_) {
          if (t >= i) break;
          for (std::size_t j = 0; j <= t; ++j) own[j] -= f[t] * l[t * stride_ + j];
        }
        for (std::size_t j = 0; j < i; ++j) own[j] /= f[i];
        own[i] = 1.0 / f[i];
      }
      for (const std::uint32_t i : keep_) made->scale(i, stride_, d_);
      roots_[k] = std::move(made);
    });
    return *roots_[k];
  }

  Columns cols_;
  Quadratic q_;
  std::size_t d_, stride_;
  std::vector<std::uint32_t> keep_;
  std::vector<Scaled> columns_;
  mutable std::vector<std::unique_ptr<Scaled>> roots_;
  std::unique_ptr<std::once_flag[]> once_;
  std::vector<double> centre_, places_;  // where each class is, whitened, if they share a covariance; else zeros
};

}  // namespace

void marginal_scores(const Columns& cols, const std::int64_t* rows, std::size_t count, const Quadratic& q,
                     double* out) {
  Marginals(cols, q).run(rows, count, out);
}

}  // namespace tb
