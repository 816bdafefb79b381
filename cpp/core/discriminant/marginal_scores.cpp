// Rows of many columns, one at a time.
#include "core/discriminant/marginal_scores.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "core/runtime/aligned_array.hpp"
#include "core/discriminant/marginal_model.hpp"
#include "core/runtime/threads.hpp"
#include "kernels/gather.hpp"
#include "kernels/marginal.hpp"

namespace tb {
namespace {

constexpr std::size_t kTaskCells = 1u << 15;  // of rows that one thread reads, and sorts by what they miss
constexpr std::size_t kCheap = 3;             // vectors that are made orthonormal sooner than their like is looked for

using List = std::span<const std::uint32_t>;

bool same(List a, List b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

// Some rows: read, those that miss the same columns brought together, and scored by one thread.
struct Task {
  explicit Task(const MarginalModel& of) : m(of) {}
  const MarginalModel& m;
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
      const bool few = 2 * list.size() <= m.keep.size();
      for (std::size_t k = 0; k < m.columns.size(); ++k) few ? without(k, from, to) : within(k, from, to);
    }
  }

  void read() {
    const std::size_t d = m.d;
    const std::uint32_t self = 0;
    x.resize(count * d);
    order.resize(count);
    missing.clear();
    first.clear();
    for (std::size_t i = 0; i < count; ++i) {
      double* own = x.data() + i * d;
      TB_CALL(gather_rows, m.cols, static_cast<std::size_t>(rows[i]), &self, 1, own);
      first.push_back(missing.size());
      for (const std::uint32_t j : m.keep) {
        if (std::isnan(own[j])) missing.push_back(j);
      }
    }
    first.push_back(missing.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto dear = std::stable_partition(order.begin(), order.end(), [&](std::uint32_t i) {
      const std::size_t size = gone(i).size();
      return std::min(size, m.keep.size() - size) <= kCheap;
    });
    std::stable_sort(dear, order.end(), [&](std::uint32_t i, std::uint32_t j) {
      const List a = gone(i), b = gone(j);
      return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
    });
  }

  // The log of |det R| of some vectors.
  double decompose(const ScaledVectors& all, List which) {
    const std::size_t size = which.size();
    q.at_least(std::max<std::size_t>(size * m.stride, 1));
    r.resize(size * size);
    double* to = q.data();
    for (const std::uint32_t j : which) to = std::copy_n(all.vectors.data() + j * m.stride, m.stride, to);
    TB_CALL(orthonormal, q.data(), size, m.stride, r.data());
    double sum = 0.0;
    for (std::size_t i = 0; i < size; ++i) sum += std::log(r[i * size + i]) + all.power[which[i]] * std::log(2.0);
    return sum;
  }

  // By the columns that are missing, for rows order[from, to) and covariance k.
  void without(std::size_t k, std::size_t from, std::size_t to) {
    const ScaledVectors& all = m.columns[k];
    const List list = gone(order[from]);
    const std::size_t d = m.d, size = list.size();
    const double more = static_cast<double>(size) * kHalfLog2Pi - decompose(all, list);
    z.at_least(2 * m.stride);
    e.assign(d, 0.0);
    for (std::size_t i = from; i < to; ++i) {
      const double* own = x.data() + order[i] * d;
      double* answer = out + order[i] * m.q.classes;
      const bool shared = m.q.shared;
      const double* mean = shared ? m.centre.data() : m.q.mean + k * d;
      for (const std::uint32_t j : m.keep) {
        const double away = own[j] - mean[j];
        e[j] = (shared ? away : away - m.q.low[k * d + j]) * all.unit[j];
      }
      for (const std::uint32_t j : list) e[j] = 0.0;
      TB_CALL(combine_columns, all.vectors.data(), m.stride, e.data(), d, z.data());
      // whatever is put for what is missing, what is left is the same
      for (std::size_t c = shared ? 0 : k; c < (shared ? m.q.classes : k + 1); ++c) {
        const double* place = m.places.data() + (shared ? c * m.stride : 0);
        answer[c] = lasting(m.q.constant[c] + more,
                            TB_CALL(square_outside, q.data(), size, m.stride, z.data(), place, z.data() + m.stride));
      }
    }
  }

  // By the columns that are there.
  void within(std::size_t k, std::size_t from, std::size_t to) {
    const ScaledVectors& all = m.root(k);
    here.clear();
    const List list = gone(order[from]);
    std::set_difference(m.keep.begin(), m.keep.end(), list.begin(), list.end(), std::back_inserter(here));
    const std::size_t d = m.d, size = here.size();
    const double start = -decompose(all, here) - static_cast<double>(size) * kHalfLog2Pi;
    e.resize(std::max(size, d));
    for (std::size_t i = from; i < to; ++i) {
      const double* own = x.data() + order[i] * d;
      for (std::size_t c = m.q.shared ? 0 : k; c < (m.q.shared ? m.q.classes : k + 1); ++c) {
        double square = 0.0;
        for (std::size_t a = 0; a < size; ++a) {
          const std::uint32_t j = here[a];
          double v = (own[j] - m.q.mean[c * d + j] - m.q.low[c * d + j]) / all.unit[j];
          for (std::size_t b = 0; b < a; ++b) v -= r[b * size + a] * e[b];
          e[a] = v / r[a * size + a];
          square += e[a] * e[a];
        }
        out[order[i] * m.q.classes + c] = lasting(start, square);
      }
    }
  }
};

template <class Worker>
void run(const MarginalModel& model, const std::int64_t* rows, std::size_t count, double* out) {
  const std::size_t together = std::clamp<std::size_t>(kTaskCells / std::max<std::size_t>(model.d, 1), 16, 4096);
  std::vector<std::unique_ptr<Worker>> own(static_cast<std::size_t>(threads()));
  parallel_for((count + together - 1) / together, [&](std::size_t task, int thread) {
    auto& mine = own[static_cast<std::size_t>(thread)];
    if (!mine) mine = std::make_unique<Worker>(model);
    const std::size_t from = task * together;
    mine->run(rows + from, std::min(together, count - from), out + from * model.q.classes);
  });
}

}  // namespace

void marginal_scores(const Columns& cols, const std::int64_t* rows, std::size_t count, const Quadratic& q,
                     double* out) {
  const MarginalModel model(cols, q);
  if (cols.d <= kMarginalMost)
    run<MarginalLanes>(model, rows, count, out);
  else
    run<Task>(model, rows, count, out);
}

}  // namespace tb
