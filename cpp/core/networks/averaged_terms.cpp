#include "core/networks/averaged_terms.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/networks/averaged_cell.hpp"
#include "core/networks/averaged_rows.hpp"

namespace tb {
namespace {

constexpr double kUnit = kScaleBits * 0.693147180559945309417232121458;
constexpr std::size_t kBlock = 1024;  // rows at a time

class TermBlock {
 public:
  TermBlock(const AveragedCounts& m, const AveragedRows& rows, AveragedCell& cell, std::size_t c0, double* out)
      : m_(m), rows_(rows), cell_(cell), c0_(c0), out_(out), log_((m.all_levels() + 1) * cell.lanes()) {}

  // The logarithms of a table of probabilities.
  void take(const double* table) {
    for (std::size_t i = 0; i < log_.size(); ++i) log_[i] = std::log(table[i]);
  }
  // out of row r (of the block) += the logarithms that it has
  void write(std::size_t r) const {
    for (std::size_t k = 0; k < m_.d(); ++k) {
      const std::size_t v = rows_.level(r, k);
      if (v == AveragedRows::kNoLevel) continue;
      for (std::size_t c = 0; c < cell_.classes(); ++c) at(r, k)[c] = log_[(m_.first[k] + v) * cell_.lanes() + c];
    }
  }
  // The parents of the cell in hand: log Q(s | c), shared.
  void write_parents(std::size_t r, const std::int32_t* parents) const {
    for (std::size_t c = 0; c < cell_.classes(); ++c) {
      const Scaled& q = cell_.start()[c];
      double rest = std::log(q.x) + kUnit * q.e + cell_.log_scale(c0_ + c);
      for (std::size_t i = 0; i < m_.order; ++i) {
        const auto j = static_cast<std::size_t>(parents[i]);
        const double own = std::log(cell_.root()[(m_.first[j] + rows_.level(r, j)) * cell_.lanes() + c]);
        at(r, j)[c] = own;
        rest = std::isinf(own) ? 0.0 : rest - own;  // what is impossible alone is charged to who says so
      }
      for (std::size_t i = 0; i < m_.order; ++i)
        at(r, static_cast<std::size_t>(parents[i]))[c] += rest / static_cast<double>(m_.order);
    }
  }

 private:
  double* at(std::size_t r, std::size_t k) const { return out_ + (r * m_.d() + k) * m_.classes + c0_; }

  const AveragedCounts& m_;
  const AveragedRows& rows_;
  AveragedCell& cell_;
  std::size_t c0_;
  double* out_;
  std::vector<double> log_;
};

}  // namespace

void averaged_terms(const AveragedCounts& m, const PackedCodes& codes, const std::int32_t* parents, double* out) {
  std::fill_n(out, codes.n * m.d() * m.classes, 0.0);
  const std::size_t lanes = lanes_for(m.classes);
  AveragedRows rows(m, codes, lanes, std::min(kBlock, codes.n));
  std::size_t cells = 1;
  for (std::size_t i = 0; parents && i < m.order; ++i) cells *= m.size(static_cast<std::size_t>(parents[i]));
  for (std::size_t begin = 0; begin < codes.n; begin += kBlock) {
    rows.read(begin, std::min(kBlock, codes.n - begin));
    for (std::size_t c0 = 0; c0 < m.classes; c0 += lanes) {
      AveragedCell cell(m, c0);
      TermBlock block(m, rows, cell, c0, out + begin * m.d() * m.classes);
      if (!parents) {
        block.take(cell.root());
        for (std::size_t r = 0; r < rows.rows(); ++r) block.write(r);
        continue;
      }
      cell.parents(parents);
      rows.keys(parents, m.order);
      for (const AveragedRows::Group& g : rows.groups(cells)) {
        cell.fill(g.key);
        block.take(cell.table());
        for (std::size_t i = g.from; i < g.from + g.count; ++i) {
          block.write(rows.row()[i]);
          block.write_parents(rows.row()[i], parents);
        }
      }
    }
  }
}

}  // namespace tb
