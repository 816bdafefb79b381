#include "core/density/kernel_statistics.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "core/math/radix_sort.hpp"
#include "core/runtime/threads.hpp"

namespace tb {
namespace {

constexpr std::size_t kSerialCells = 32768;  // cells below which a team of threads costs more than it saves
constexpr double kDust = 1e-9;

// One column's part of the statistics, class after class.
struct Pile {
  std::vector<std::int64_t> size;
  std::vector<double> value;
  std::vector<double> weight;
};

// The column in ascending order, dealt out to the classes: once to count the distinct values, once to write them.
Pile deal(const Sorted& sorted, const Rows& rows, std::size_t K) {
  const auto class_of = [&](std::size_t i) {
    return static_cast<std::size_t>(rows.w ? rows.y[sorted.tag[i]] : static_cast<std::int32_t>(sorted.tag[i]));
  };
  constexpr std::uint64_t none = ~std::uint64_t{0};  // the key of a NaN
  std::vector<std::uint64_t> last(K, none);
  Pile out;
  out.size.assign(K, 0);
  for (std::size_t i = 0; i < sorted.count; ++i) {
    const std::size_t c = class_of(i);
    out.size[c] += sorted.key[i] != last[c];
    last[c] = sorted.key[i];
  }
  std::vector<std::int64_t> at(K);  // where the next value of a class goes
  std::int64_t total = 0;
  for (std::size_t c = 0; c < K; ++c) {
    at[c] = total;
    total += out.size[c];
  }
  out.value.resize(static_cast<std::size_t>(total));
  out.weight.resize(static_cast<std::size_t>(total));
  std::fill(last.begin(), last.end(), none);
  for (std::size_t i = 0; i < sorted.count; ++i) {
    const std::size_t c = class_of(i);
    if (sorted.key[i] != last[c]) {
      out.value[static_cast<std::size_t>(at[c]++)] = value_of(sorted.key[i]);
      last[c] = sorted.key[i];
    }
    out.weight[static_cast<std::size_t>(at[c] - 1)] += rows.w ? rows.w[sorted.tag[i]] : 1.0;
  }
  return out;
}

KernelStatistics join(std::vector<Pile>& piles, std::size_t K) {
  KernelStatistics out;
  out.start.assign(piles.size() * K + 1, 0);
  for (std::size_t j = 0; j < piles.size(); ++j) {
    for (std::size_t c = 0; c < K; ++c) out.start[j * K + c + 1] = out.start[j * K + c] + piles[j].size[c];
  }
  const auto total = static_cast<std::size_t>(out.start.back());
  out.value.reserve(total);
  out.weight.reserve(total);
  for (Pile& pile : piles) {
    out.value.insert(out.value.end(), pile.value.begin(), pile.value.end());
    out.weight.insert(out.weight.end(), pile.weight.begin(), pile.weight.end());
    pile = Pile{};  // the memory goes back as the answer grows
  }
  return out;
}

[[noreturn]] void not_there() { throw std::invalid_argument("what is to be subtracted is not all there"); }

// Appends one entry of a and b to the answer.
void merge(const Multiset& a, const Multiset& b, int sign, KernelStatistics& out) {
  const auto put = [&](double value, double weight) {
    out.value.push_back(value);
    out.weight.push_back(weight);
  };
  std::size_t i = 0, k = 0;
  while (i < a.size || k < b.size) {
    if (k == b.size || (i < a.size && a.value[i] < b.value[k])) {
      put(a.value[i], a.weight[i]);
      ++i;
    } else if (i == a.size || b.value[k] < a.value[i]) {
      if (sign < 0) not_there();
      put(b.value[k], b.weight[k]);
      ++k;
    } else {
      const double before = a.weight[i], weight = sign > 0 ? before + b.weight[k] : before - b.weight[k];
      if (sign < 0 && !(weight >= -kDust * before)) not_there();
      if (sign > 0 || weight > kDust * before) put(a.value[i], weight);
      ++i;
      ++k;
    }
  }
}

}  // namespace

KernelStatistics kernel_statistics(const Columns& x, const Rows& rows, std::size_t K) {
  check_rows(rows, x.n, K);
  std::vector<Pile> piles(x.d);
  FirstInfinite bad;
  const std::size_t blocks = x.n * x.d < kSerialCells ? std::min<std::size_t>(x.d, 1) : x.d;
  std::vector<std::unique_ptr<Sorted>> work(static_cast<std::size_t>(threads()));
  parallel_for(blocks, [&](std::size_t block, int thread) {
    auto& sorted = work[static_cast<std::size_t>(thread)];
    if (!sorted) sorted = std::make_unique<Sorted>(x.n, rows.w ? Tag::row : Tag::label);
    for (std::size_t j = block; j < x.d; j += blocks) {
      if (sorted->sort(x, j, rows, bad)) piles[j] = deal(*sorted, rows, K);
    }
  });
  bad.raise();
  work.clear();
  return join(piles, K);
}

KernelStatistics kernel_combine(const KernelView& a, const KernelView& b, int sign) {
  KernelStatistics out;
  const auto most = static_cast<std::size_t>(a.start[a.entries] + (sign > 0 ? b.start[b.entries] : 0));
  out.value.reserve(most);
  out.weight.reserve(most);
  out.start.assign(a.entries + 1, 0);
  for (std::size_t e = 0; e < a.entries; ++e) {
    merge(a[e], b[e], sign, out);
    out.start[e + 1] = static_cast<std::int64_t>(out.value.size());
  }
  return out;
}

}  // namespace tb
