// Building the cells of core/density/kernel_density.hpp.
#include <cfloat>
#include <limits>
#include <numbers>

#include "core/density/kernel_bumps.hpp"
#include "core/density/kernel_density.hpp"
#include "core/runtime/threads.hpp"

namespace tb {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTolerance = 1e-9;
constexpr double kFarthest = 0x1p50;  // bandwidths from the nearest value; cells cover no more
constexpr std::size_t kSmall = 4096;  // values below which one thread does it all

void describe(const Multiset& values, double h, double* entry) {
  double total = 0, least = DBL_MAX;
  for (std::size_t i = 0; i < values.size; ++i) {
    total += values.weight[i];
    least = std::min(least, values.weight[i]);
  }
  entry[0] = h;
  entry[1] = -(std::log(total) + std::log(h) + 0.5 * std::log(2 * std::numbers::pi));
  entry[2] = 25 + std::log(total) - std::log(least);
}

// Covers the line with cells, from left to right.
class Cells {
 public:
  Cells(const Bumps& bumps) : bumps_(bumps), share_(bumps.at.size + 8) {
    const double* v = bumps.at.value;
    const std::size_t last = bumps.at.size - 1;
    const double left = std::max(v[0] - outward(v[0], v[kFew]), -DBL_MAX);
    const double right = std::min(v[last] + outward(v[last - kFew], v[last]), DBL_MAX);
    put(-kInfinity, nullptr);
    cover(left, right);
    put(right, nullptr);
  }
  std::vector<double> edge, cell;

 private:
  // How far out more than kFew of the outermost values, which lie between a and b, still matter.
  double outward(double a, double b) const {
    const double width = (0.5 * b - 0.5 * a) * bumps_.two_over_h;
    return std::min(bumps_.reach / width + 1, kFarthest) / bumps_.two_over_h * 2;
  }

  void put(double left, const double* numbers) {
    if (numbers == nullptr && !cell.empty() && std::isnan(cell[cell.size() - kCell])) return;  // joins its neighbour
    edge.push_back(left);
    for (int i = 0; i < kCell; ++i) cell.push_back(numbers ? numbers[i] : kNaN);
  }

  void cover(double left, double right) {
    const double middle = 0.5 * left + 0.5 * right, half_width = (0.5 * right - 0.5 * left) * bumps_.two_over_h * 0.5;
    const std::size_t from = bumps_.first(left, bumps_.nearest(left)), to = bumps_.end(right, bumps_.nearest(right));
    const bool few = to <= from + kFew;
    const bool far = bumps_.distance(middle, bumps_.nearest(middle)) - half_width > kFarthest;
    const bool full = edge.size() > bumps_.at.size;  // memory stays in proportion to the statistics
    if (few || far || full || !(left < middle && middle < right)) return put(left, nullptr);
    if (expand(left, middle, half_width * (1 + 1e-12), from, to)) return;
    cover(left, middle);
    cover(middle, right);
  }

  // Puts the cell if its polynomial is good enough.
  bool expand(double left, double centre, double half_width, std::size_t from, std::size_t to) {
    const std::size_t near = bumps_.nearest(centre);
    const double u = bumps_.distance(centre, near);
    // Amid the data a wide cell would nearly always fail: do not take the sums. Outside, log f(c) and a t must not be
    // so much larger than log f(x) that their difference loses its digits.
    if (half_width > std::max(1.0, 0.5 * u) || u > 1e150) return false;
    Moments m;
    const double half_near = 0.5 * bumps_.at.value[near];
    TB_CALL(gauss_moments, bumps_.at.value + from, bumps_.at.weight + from, to - from, 0.5 * centre, half_near,
            bumps_.two_over_h, half_width, share_.data(), &m);
    if (!(m.error <= kTolerance)) return false;
    double numbers[kCell] = {centre, bumps_.log_scale + (std::log(m.sum) - 0.5 * u * u),
                             m.mean - (0.5 * centre - half_near) * bumps_.two_over_h};
    for (int k = 2; k <= kDegree; ++k) numbers[k + 1] = m.q[k];
    put(left, numbers);
    return true;
  }

  const Bumps& bumps_;
  std::vector<double> share_;
};

}  // namespace

KernelTables kernel_tables(const KernelView& statistics, const double* h, std::size_t K, bool cells) {
  const std::size_t d = K > 0 ? statistics.entries / K : 0;
  KernelTables out;
  out.entry.assign(statistics.entries * kEntry, 0.0);
  std::vector<std::vector<double>> edge(statistics.entries), cell(statistics.entries);
  const bool small = static_cast<std::size_t>(statistics.start[statistics.entries]) < kSmall;
  const std::size_t blocks = small ? std::min<std::size_t>(statistics.entries, 1) : statistics.entries;
  parallel_for(blocks, [&](std::size_t block, int) {
    for (std::size_t e = block; e < statistics.entries; e += blocks) {
      if (statistics[e].size == 0) continue;
      describe(statistics[e], h[(e % K) * d + e / K], &out.entry[e * kEntry]);
      if (!cells || statistics[e].size <= kFew) continue;
      const Bumps bumps(statistics[e], &out.entry[e * kEntry]);
      Cells built(bumps);
      edge[e] = std::move(built.edge);
      cell[e] = std::move(built.cell);
    }
  });
  out.cell_start.assign(statistics.entries + 1, 0);
  for (std::size_t e = 0; e < statistics.entries; ++e) {
    out.cell_start[e + 1] = out.cell_start[e] + static_cast<std::int64_t>(edge[e].size());
    out.edge.insert(out.edge.end(), edge[e].begin(), edge[e].end());
    out.cell.insert(out.cell.end(), cell[e].begin(), cell[e].end());
  }
  return out;
}

}  // namespace tb
