#include "core/networks/network.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/networks/variable_elimination.hpp"
#include "core/runtime/threads.hpp"
#include "kernels/network.hpp"
#include "kernels/sum_product.hpp"

namespace tb {
namespace {

constexpr std::size_t kSpan = 4096;  // rows that one thread takes at a time

// One thread's room for a block of kRows rows.
template <class T>
class Block {
 public:
  explicit Block(const Network& network)
      : net_(network),
        code_(network.d * kRows),
        cell_(network.families.count * kRows),
        log_(network.families.count),
        row_code_(network.d) {
    for (std::size_t f = 0; f < network.families.count; ++f)
      log_[f] = network.log + network.offset[f] * network.classes;
  }

  void score(const T* codes, std::size_t n, std::size_t r0, std::size_t rows, double* out) {
    const std::uint64_t holes = read(codes, n, r0, rows);
    const Families& all = net_.families;
    for (std::size_t f = 0; f < all.count; ++f) {
      std::uint32_t* cell = cell_.data() + f * kRows;
      std::copy_n(code_.data() + static_cast<std::size_t>(all.child[f]) * kRows, kRows, cell);
      std::size_t stride = static_cast<std::size_t>(net_.size[all.child[f]]);
      for (std::int64_t i = all.parent_start[f + 1]; i-- > all.parent_start[f];) {
        const auto j = static_cast<std::size_t>(all.parent[i]);
        TB_CALL(add_codes, code_.data() + j * kRows, static_cast<std::uint32_t>(stride), cell);
        stride *= static_cast<std::size_t>(net_.size[j]);
      }
    }
    TB_CALL(sum_families, FamilyCells{all.count, cell_.data(), log_.data(), net_.classes}, rows, out);
    add_reals(net_.reals, net_.size, codes, n, r0, rows, out);
    for (std::size_t r = 0; holes >> r; ++r) {
      if (!(holes >> r & 1)) continue;
      read_row(codes, n, r0 + r);
      sum_out(r0 + r, out + r * net_.classes);
      if (r == kRows - 1) break;
    }
    for (std::size_t r = 0; net_.reals.count != 0 && r < rows; ++r) {
      if (!is_far(out + r * net_.classes, net_.classes)) continue;
      read_row(codes, n, r0 + r);
      mend_far_row(net_.reals, net_.size, row_code_.data(), r0 + r, out + r * net_.classes);
    }
  }

 private:
  void read_row(const T* codes, std::size_t n, std::size_t row) {
    for (std::size_t j = 0; j < net_.d; ++j) {
      const T v = codes[j * n + row];
      row_code_[j] = v == kNoCode<T> ? -1 : static_cast<std::int64_t>(v);
    }
  }

  void sum_out(std::size_t row, double* out) {
    if (net_.shares && !sum_out_) sum_out_ = std::make_unique<SumOut>(net_);
    if (!sum_out_ || !sum_out_->run(row_code_.data(), row, out)) eliminate(net_, row_code_.data(), row, out);
  }

  // The codes of the block as uint32, 0 for what is missing; which rows miss something.
  std::uint64_t read(const T* codes, std::size_t n, std::size_t r0, std::size_t rows) {
    std::uint64_t holes = 0;
    for (std::size_t j = 0; j < net_.d; ++j) {
      const T* from = codes + j * n + r0;
      if (!TB_CALL(widen_codes, from, sizeof(T), rows, code_.data() + j * kRows)) continue;
      for (std::size_t r = 0; r < rows; ++r) holes |= static_cast<std::uint64_t>(from[r] == kNoCode<T>) << r;
    }
    return holes;
  }

  const Network& net_;
  std::vector<std::uint32_t> code_;
  std::vector<std::uint32_t> cell_;
  std::vector<const double*> log_;
  std::vector<std::int64_t> row_code_;
  std::unique_ptr<SumOut> sum_out_;  // made when the first row misses something
};

}  // namespace

const double* Shares::get() const {
  std::call_once(once_, [&] {
    made_.assign(count_ + kSumProductPad, 0.0);
    std::transform(log_, log_ + count_, made_.begin(), [](double x) { return std::exp(x); });
  });
  return made_.data();
}

template <class T>
void network_scores(const Network& network, const T* codes, std::size_t n, double* out) {
  const std::size_t spans = (n + kSpan - 1) / kSpan;
  const bool few = n * (network.d + network.reals.count) < 1 << 14;
  parallel_for(few ? (spans > 0) : spans, [&](std::size_t s, int) {
    Block<T> block(network);
    const std::size_t end = few ? n : std::min(n, (s + 1) * kSpan);
    for (std::size_t r = s * kSpan; r < end; r += kRows) {
      block.score(codes, n, r, std::min(kRows, end - r), out + r * network.classes);
    }
  });
}

template void network_scores(const Network&, const std::uint8_t*, std::size_t, double*);
template void network_scores(const Network&, const std::uint16_t*, std::size_t, double*);
template void network_scores(const Network&, const std::uint32_t*, std::size_t, double*);

}  // namespace tb
