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

// Covers the line with cells, from left to right.
class Cells {
 public:
  explicit Cells(const Bumps& bumps) : bumps_(bumps), share_(bumps.at.size + 8) {
    const double* v = bumps.at.value;
    const std::size_t last = bumps.at.size - 1;
    left_ = std::max(v[0] - outward(v[0], v[kFew]), -DBL_MAX);
    right_ = std::min(v[last] + outward(v[last - kFew], v[last]), DBL_MAX);
  }

  KernelCells all() {
    put(-kInfinity, nullptr);
    cover(left_, right_);
    put(right_, nullptr);
    return std::move(out_);
  }

  // The cell of x alone; false: the sum is taken directly there.
  bool at(double x, double* numbers) {
    double left = left_, right = right_;
    if (!(left <= x && x < right)) return false;
    while (true) {
      const Kind kind = kind_of(left, right, false, numbers);
      if (kind != Kind::halves) return kind == Kind::polynomial;
      const double middle = middle_of(left, right);
      (x < middle ? right : left) = middle;
    }
  }

 private:
  enum class Kind { direct, polynomial, halves };

  static double middle_of(double left, double right) { return 0.5 * left + 0.5 * right; }

  // How far out more than kFew of the outermost values, which lie between a and b, still matter.
  double outward(double a, double b) const {
    const double width = (0.5 * b - 0.5 * a) * bumps_.two_over_h;
    return std::min(bumps_.reach / width + 1, kFarthest) / bumps_.two_over_h * 2;
  }

  void put(double left, const double* numbers) {
    std::vector<double>& cell = out_.cell;
    if (numbers == nullptr && !cell.empty() && std::isnan(cell[cell.size() - kCell])) return;  // joins its neighbour
    out_.edge.push_back(left);
    for (int i = 0; i < kCell; ++i) cell.push_back(numbers ? numbers[i] : kNaN);
  }

  void cover(double left, double right) {
    double numbers[kCell];
    const bool full = out_.edge.size() > bumps_.at.size;  // memory stays in proportion to the statistics
    switch (kind_of(left, right, full, numbers)) {
      case Kind::direct:
        return put(left, nullptr);
      case Kind::polynomial:
        return put(left, numbers);
      case Kind::halves:
        cover(left, middle_of(left, right));
        cover(middle_of(left, right), right);
    }
  }

  Kind kind_of(double left, double right, bool full, double* numbers) {
    const double middle = middle_of(left, right), half_width = (0.5 * right - 0.5 * left) * bumps_.two_over_h * 0.5;
    const std::size_t from = bumps_.first(left, bumps_.nearest(left)), to = bumps_.end(right, bumps_.nearest(right));
    const bool few = to <= from + kFew;
    const bool far = bumps_.distance(middle, bumps_.nearest(middle)) - half_width > kFarthest;
    if (few || far || full || !(left < middle && middle < right)) return Kind::direct;
    return expand(middle, half_width * (1 + 1e-12), from, to, numbers) ? Kind::polynomial : Kind::halves;
  }

  // Whether the polynomial of the cell is good enough, and its numbers.
  bool expand(double centre, double half_width, std::size_t from, std::size_t to, double* numbers) {
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
    numbers[0] = centre;
    numbers[1] = bumps_.log_scale + (std::log(m.sum) - 0.5 * u * u);
    numbers[2] = m.mean - (0.5 * centre - half_near) * bumps_.two_over_h;
    for (int k = 2; k <= kDegree; ++k) numbers[k + 1] = m.q[k];
    return true;
  }

  const Bumps& bumps_;
  std::vector<double> share_;
  double left_, right_;
  KernelCells out_;
};

}  // namespace

void kernel_entry(const Multiset& values, double h, double* entry) {
  double total = 0, least = DBL_MAX;
  for (std::size_t i = 0; i < values.size; ++i) {
    total += values.weight[i];
    least = std::min(least, values.weight[i]);
  }
  entry[0] = h;
  entry[1] = -(std::log(total) + std::log(h) + 0.5 * std::log(2 * std::numbers::pi));
  entry[2] = 25 + std::log(total) - std::log(least);
}

KernelCells kernel_cells(const Multiset& values, const double* entry) {
  if (values.size <= kFew) return {};
  const Bumps bumps(values, entry);
  return Cells(bumps).all();
}

bool kernel_cell(const Multiset& values, const double* entry, double x, double* cell) {
  if (values.size <= kFew) return false;
  const Bumps bumps(values, entry);
  return Cells(bumps).at(x, cell);
}

KernelTables kernel_tables(const KernelView& statistics, const double* h, std::size_t K, bool cells) {
  const std::size_t d = K > 0 ? statistics.entries / K : 0;
  KernelTables out;
  out.entry.assign(statistics.entries * kEntry, 0.0);
  std::vector<KernelCells> made(statistics.entries);
  const bool small = static_cast<std::size_t>(statistics.start[statistics.entries]) < kSmall;
  const std::size_t blocks = small ? std::min<std::size_t>(statistics.entries, 1) : statistics.entries;
  parallel_for(blocks, [&](std::size_t block, int) {
    for (std::size_t e = block; e < statistics.entries; e += blocks) {
      if (statistics[e].size == 0) continue;
      kernel_entry(statistics[e], h[(e % K) * d + e / K], &out.entry[e * kEntry]);
      if (cells) made[e] = kernel_cells(statistics[e], &out.entry[e * kEntry]);
    }
  });
  out.cell_start.assign(statistics.entries + 1, 0);
  for (std::size_t e = 0; e < statistics.entries; ++e) {
    out.cell_start[e + 1] = out.cell_start[e] + static_cast<std::int64_t>(made[e].edge.size());
    out.edge.insert(out.edge.end(), made[e].edge.begin(), made[e].edge.end());
    out.cell.insert(out.cell.end(), made[e].cell.begin(), made[e].cell.end());
  }
  return out;
}

}  // namespace tb
