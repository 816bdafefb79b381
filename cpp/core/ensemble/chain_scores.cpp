#include "core/ensemble/chain_readers.hpp"
#include "core/runtime/threads.hpp"

namespace tb {
namespace {

constexpr std::size_t kSingle = 4;   // rows that are looked up one by one
constexpr std::size_t kWindow = 32;  // chains whose estimates are fetched before they are added, for few rows

// Rows at a time: as many as keep their answers in cache beside the estimates of a chain, which come from memory anew
// for each time.
constexpr std::size_t kLeastRows = 1024, kMostRows = 16384, kAnswers = 32768;

// The cells of some rows in the estimates of one chain after another. Where a parent is missing, the order before it
// stands in.
template <class T>
class Cells {
 public:
  Cells(const T* codes, std::size_t n, std::size_t first, std::size_t rows)
      : codes_(codes), n_(n), first_(first), child_(rows), last_(rows), configuration_(rows), old_(rows) {}

  std::size_t rows() const { return child_.size(); }

  // each(l): cell holds where the rows are in order l, for every l that it wants
  template <class Each>
  void climb(const Chains& chains, std::size_t i, std::uint32_t* cell, Each&& each) {
    const ChainViews read(chains, i);
    const std::size_t parents = chains.parents(i), bins = chains.bins(i);
    std::fill(child_.begin(), child_.end(), 0);
    if (chains.child[i] >= 0) read.step(parents, codes_, n_, first_, child_.data(), rows());
    std::fill(last_.begin(), last_.end(), kNoCell);
    std::fill(configuration_.begin(), configuration_.end(), 0);
    std::size_t passed = 0, configurations = 1;
    for (std::size_t l = 0; l <= parents; ++l) {
      if (l > 0) {
        old_ = configuration_;
        if (read.step(l - 1, codes_, n_, first_, configuration_.data(), rows())) {
          for (std::size_t r = 0; r < rows(); ++r) {
            if (configuration_[r] == kNoCell && old_[r] != kNoCell)
              last_[r] = static_cast<std::uint32_t>(passed + old_[r] * bins);
          }
        }
        passed += configurations * bins;
        configurations *= read.bins(l - 1);
      }
      if (!each.wants(l, parents)) continue;
      for (std::size_t r = 0; r < rows(); ++r) {
        const std::uint32_t at =
            configuration_[r] == kNoCell ? last_[r] : static_cast<std::uint32_t>(passed + configuration_[r] * bins);
        cell[r] = child_[r] == kNoCell ? kNoCell : at + child_[r];
      }
      each(l);
    }
  }

 private:
  const T* codes_;
  std::size_t n_, first_;
  std::vector<std::uint32_t> child_, last_, configuration_, old_;
};

// Order with all parents, and nothing is done there.
struct Last {
  static bool wants(std::size_t l, std::size_t k) { return l == k; }
  void operator()(std::size_t) const {}
};

template <class Log>
class Adder {
 public:
  Adder(const Chains& chains, const Log* logs, std::size_t classes, const Outputs& outputs, std::size_t n, double* out)
      : chains_(chains), logs_(logs), K_(classes), outputs_(outputs), n_(n), out_(out) {}

  template <class T>
  void add(const T* codes, std::size_t first, std::size_t rows) const {
    if (rows < kMinTableRows || sizeof(Log) != 4) return add_windows(codes, first, rows);
    std::vector<std::uint32_t> odd(rows);
    for (std::size_t i = 0; i < chains_.count; ++i) {
      if (outputs_.scale[i] == 0.0) continue;  // its output has no weight
      if (outputs_.of[i] < 0 || !add_chain(codes, i, first, rows, odd.data()))
        add_steps_or_order(codes, i, first, rows);
    }
  }

 private:
  // False if it is not made for this chain.
  template <class T>
  bool add_chain(const T* codes, std::size_t i, std::size_t first, std::size_t rows, std::uint32_t* odd) const {
    const std::size_t parents = chains_.parents(i), views = parents + (chains_.child[i] >= 0);
    if (views == 0 || views > kMostReads || chains_.orders[i + 1] - chains_.orders[i] >= kMostCells) return false;
    ViewRead view[kMostReads];
    const auto read = [&](std::size_t at, std::int32_t which, std::size_t times) {
      const Views& all = chains_.views;
      const auto v = static_cast<std::size_t>(which);
      view[at] = {codes + static_cast<std::size_t>(all.column[v]) * n_ + first, all.map + all.start[v], all.levels(v),
                  static_cast<std::uint32_t>(times)};
      return static_cast<std::size_t>(all.bins[v]);
    };
    std::size_t times = chains_.bins(i);
    if (chains_.child[i] >= 0) read(parents, chains_.child[i], 1);
    for (std::size_t l = parents; l > 0; --l) {
      times *= read(l - 1, chains_.parent[chains_.parent_start[i] + static_cast<std::int64_t>(l - 1)], times);
    }
    // the order with all parents is the last, and has `times` cells
    const auto start = static_cast<std::uint32_t>(chains_.orders[i + 1] - chains_.orders[i] - times);
    const auto output = static_cast<std::size_t>(outputs_.of[i]);
    const double scale = outputs_.scale[i];
    double* to = out_ + (output * n_ + first) * K_;
    const auto* from = reinterpret_cast<const float*>(logs(i));
    std::size_t left = 0;
    if constexpr (sizeof(T) == 1)
      left = TB_CALL(add_chain8, view, views, start, from, rows, K_, scale, to, odd);
    else if constexpr (sizeof(T) == 2)
      left = TB_CALL(add_chain16, view, views, start, from, rows, K_, scale, to, odd);
    else
      left = TB_CALL(add_chain32, view, views, start, from, rows, K_, scale, to, odd);
    for (std::size_t k = 0; k < left; ++k) {
      const std::uint32_t cell = cell_of(codes, i, first + odd[k]);
      add_order(i, &cell, first + odd[k], 1, output, scale);
    }
    return true;
  }

  template <class T>
  void add_steps_or_order(const T* codes, std::size_t i, std::size_t first, std::size_t rows) const {
    Cells<T> cells(codes, n_, first, rows);
    std::vector<std::uint32_t> cell(rows);
    if (outputs_.of[i] < 0) return add_steps(cells, i, cell.data(), first);
    cells.climb(chains_, i, cell.data(), Last{});
    add_order(i, cell.data(), first, rows, static_cast<std::size_t>(outputs_.of[i]), outputs_.scale[i]);
  }

  template <class T>
  void add_windows(const T* codes, std::size_t first, std::size_t rows) const {
    Cells<T> cells(codes, n_, first, rows);
    const std::size_t window = rows < kMinTableRows ? kWindow : 1;
    std::vector<std::uint32_t> cell(window * rows);
    for (std::size_t from = 0; from < chains_.count; from += window) {
      const std::size_t to = std::min(from + window, chains_.count);
      for (std::size_t i = from; i < to; ++i) {
        std::uint32_t* own = cell.data() + (i - from) * rows;
        if (outputs_.of[i] < 0 || outputs_.scale[i] == 0.0) continue;  // an output without weight is not looked up
        if (rows <= kSingle)
          for (std::size_t r = 0; r < rows; ++r) own[r] = cell_of(codes, i, first + r);
        else
          cells.climb(chains_, i, own, Last{});
        if (window > 1) fetch(i, own, rows);
      }
      for (std::size_t i = from; i < to; ++i) {
        std::uint32_t* own = cell.data() + (i - from) * rows;
        if (outputs_.scale[i] == 0.0) continue;
        if (outputs_.of[i] >= 0)
          add_order(i, own, first, rows, static_cast<std::size_t>(outputs_.of[i]), outputs_.scale[i]);
        else
          add_steps(cells, i, own, first);
      }
    }
  }

  // Where one row is in the estimates of a chain: what climb finds, without its lists.
  template <class T>
  std::uint32_t cell_of(const T* codes, std::size_t i, std::size_t row) const {
    const Views& views = chains_.views;
    const auto bin = [&](std::int32_t view) -> std::uint32_t {
      const auto v = static_cast<std::size_t>(view);
      const std::size_t code = codes[static_cast<std::size_t>(views.column[v]) * n_ + row];
      return views.map[static_cast<std::size_t>(views.start[v]) + std::min(code, views.levels(v))];
    };
    const std::uint32_t child = chains_.child[i] < 0 ? 0 : bin(chains_.child[i]);
    if (child == kNoBin) return kNoCell;
    const std::size_t bins = chains_.bins(i);
    std::size_t passed = 0, configurations = 1, configuration = 0;
    for (std::int64_t e = chains_.parent_start[i]; e < chains_.parent_start[i + 1]; ++e) {
      const std::uint32_t b = bin(chains_.parent[e]);
      if (b == kNoBin) break;
      const auto own = static_cast<std::size_t>(views.bins[chains_.parent[e]]);
      passed += configurations * bins;
      configurations *= own;
      configuration = configuration * own + b;
    }
    return static_cast<std::uint32_t>(passed + configuration * bins + child);
  }

  const Log* logs(std::size_t i) const { return logs_ + chains_.orders[i] * K_; }

  void fetch(std::size_t i, const std::uint32_t* cell, std::size_t rows) const {
    const Log* from = logs(i);
    for (std::size_t r = 0; r < rows; ++r) {
      if (cell[r] != kNoCell) __builtin_prefetch(from + cell[r] * K_);
    }
  }

  void add_order(std::size_t i, const std::uint32_t* cell, std::size_t first, std::size_t rows, std::size_t output,
                 double scale) const {
    const Log* from = logs(i);
    double* to = out_ + (output * n_ + first) * K_;
    if constexpr (sizeof(Log) == 4) {
      TB_CALL(add_cells, from, cell, rows, K_, scale, to);
    } else {
      for (std::size_t r = 0; r < rows; ++r) {
        for (std::size_t c = 0; c < K_ && cell[r] != kNoCell; ++c) to[r * K_ + c] += scale * from[cell[r] * K_ + c];
      }
    }
  }

  // log P_l − log P_{l−1} to the output of each parent's column, and P_0 to the last output
  template <class T>
  void add_steps(Cells<T>& cells, std::size_t i, std::uint32_t* cell, std::size_t first) const {
    struct Steps {
      const Adder& adder;
      std::size_t i;
      const std::uint32_t* cell;
      std::size_t first, rows;
      ChainViews read;
      static bool wants(std::size_t, std::size_t) { return true; }
      void operator()(std::size_t l) const {
        const double scale = adder.outputs_.scale[i];
        adder.add_order(i, cell, first, rows, l == 0 ? adder.outputs_.count - 1 : read.column(l - 1), scale);
        if (l < adder.chains_.parents(i)) adder.add_order(i, cell, first, rows, read.column(l), -scale);
      }
    };
    cells.climb(chains_, i, cell, Steps{*this, i, cell, first, cells.rows(), ChainViews(chains_, i)});
  }

  const Chains& chains_;
  const Log* logs_;
  std::size_t K_;
  const Outputs& outputs_;
  std::size_t n_;
  double* out_;
};

}  // namespace

template <class T, class Log>
void add_chains(const Chains& chains, const Log* logs, std::size_t classes, const T* codes, std::size_t n,
                const Outputs& outputs, double* out) {
  const Adder<Log> adder(chains, logs, classes, outputs, n, out);
  const std::size_t most = std::clamp(kAnswers / std::max<std::size_t>(classes, 1), kLeastRows, kMostRows);
  const std::size_t span = std::clamp(n / 16, kLeastRows, most);
  parallel_for((n + span - 1) / span, [&](std::size_t block, int) {
    const std::size_t first = block * span;
    adder.add(codes, first, std::min(span, n - first));
  });
}

#define TB_CHAINS(T)                                                                                                  \
  template void add_chains(const Chains&, const float*, std::size_t, const T*, std::size_t, const Outputs&, double*); \
  template void add_chains(const Chains&, const double*, std::size_t, const T*, std::size_t, const Outputs&, double*);
TB_CHAINS(std::uint8_t)
TB_CHAINS(std::uint16_t)
TB_CHAINS(std::uint32_t)
#undef TB_CHAINS

}  // namespace tb
