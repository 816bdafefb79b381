#include "core/ensemble/back_off_chains.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <type_traits>

#include "core/networks/back_off.hpp"
#include "core/ensemble/chain_configurations.hpp"
#include "core/ensemble/chain_readers.hpp"
#include "core/networks/concentrations.hpp"
#include "core/runtime/threads.hpp"
#include "kernels/averaged.hpp"
#include "kernels/back_off_chains.hpp"

namespace tb {
namespace {

constexpr double kMaxWeight = 1e30;          // weight of all rows, and concentration, in floats
constexpr float kMinConcentration = 1e-30f;  // concentration: an unseen configuration keeps the estimate above
constexpr std::size_t kCellsOfRow = 4;       // cells of a chain for each row and order, up to which its tables pay
constexpr std::size_t kCellsOfOwn = 4;  // cells of an order for each row, up to which those are lifted, not the rows
constexpr std::size_t kContextBytes = std::size_t{1} << 20;  // configurations of the rows at a time, for each thread
constexpr std::size_t kNodesOfCount = 16,
                      kChainsOfCount = 128;  // whose configurations are read together, to be counted
constexpr std::size_t kRowsOfCount = 16384;  // at a time: the counts of a chain are fetched anew for each time

// One order: the counts of a chain with some of its parents.
struct Order {
  std::size_t configurations = 0;
  std::vector<float> n;      // (configurations, bins, classes)
  std::vector<float> total;  // (configurations, classes), or (configurations)
  std::vector<float> share;  // 1 / (total + concentration)
};

// Rows whose estimates are computed for all classes, order by order.
struct GeneralPathRows {
  std::vector<std::uint32_t> row, configuration, child;  // configuration: (orders, rows)
  std::vector<std::int32_t> y;
  std::vector<float> unit, p;  // p: (rows, classes)
};

// What one thread needs for a chain.
//
// A row leaves its own class, and P_{-1}. So its estimates of the other classes are those of a table in which each
// bin's P_{-1} is short of one row: that is filled once for all rows, and only the row's own class is computed order by
// order. Rows that weigh less than one, or that the counts do not have, and chains with far more cells than rows take
// the general path.
class Learner {
 public:
  Learner(const Chains& chains, std::size_t classes, const SmoothingOptions& smooth)
      : chains_(chains), K_(classes), smooth_(smooth), search_(smooth.grid) {}

  // configuration(l): that of each row with the first l parents. some_missing: a row has none with all
  // of them, or weighs less than one.
  template <class T, class Count, class Configuration>
  void learn(std::size_t i, const Count* counts, const Rows<T>& rows, Configuration&& configuration, bool some_missing,
             double scale, double* concentrations, float* logs, float* terms) {
    begin(i, counts + chains_.counts[i] * K_);
    read_rows(i, rows, configuration, some_missing);
    start_rows();
    parent_ = root_, loo_other_ = loo_own_ = root_loo_;
    own_by_cell_ = uses_tables_;
    float* out = logs + chains_.orders[i] * K_;
    for (std::size_t l = 0; l <= parents_; ++l) {
      if (l == 0 && !has_child_ && !is_laplace_) {  // P_0(c) has nothing above it
        concentrations[0] = 0;
        TB_CALL(logs_of, parent_.data(), out, K_);
        out += K_;
        continue;
      }
      if (is_laplace_) {
        concentrations[l] = smooth_.alpha * static_cast<double>(has_child_ ? bins_ : K_);
        start_again(l);
      } else {
        count_own(l, rows, configuration);
        if (!smooth_.given) concentrations[l] = choose(rows);
      }
      const float a = std::max(static_cast<float>(std::min(concentrations[l], kMaxWeight)), kMinConcentration);
      leave_out(l, rows.n, a);
      out = fold(l, a, out);
    }
    if (terms) add_terms(rows, configuration, static_cast<float>(scale), terms);
  }

 private:
  template <class Count>
  void begin(std::size_t i, const Count* counts) {
    parents_ = chains_.parents(i);
    bins_ = chains_.bins(i);
    has_child_ = chains_.child[i] >= 0;
    is_laplace_ = smooth_.grid.size == 0;
    pseudo_count_ =
        has_child_ && !is_laplace_ ? static_cast<float>(smooth_.pseudo_count / static_cast<double>(K_)) : 0.0f;
    orders_.resize(std::max(orders_.size(), parents_ + 1));
    std::size_t configurations = 1;
    for (std::size_t l = 0; l <= parents_; ++l) {
      if (l > 0)
        configurations *= static_cast<std::size_t>(
            chains_.views.bins[chains_.parent[chains_.parent_start[i] + static_cast<std::int64_t>(l) - 1]]);
      orders_[l].configurations = configurations;
    }
    const std::size_t row = bins_ * K_;
    Order& last = orders_[parents_];
    last.n.resize(configurations * row);
    if constexpr (std::is_same_v<Count, double>) {  // weights that a float has no room for: only their shares matter
      double sum = 0;
      for (std::size_t e = 0; e < configurations * row; ++e) sum += counts[e];
      const double less = sum > kMaxWeight ? kMaxWeight / sum : 1.0;
      for (std::size_t e = 0; e < configurations * row; ++e) last.n[e] = static_cast<float>(counts[e] * less);
    } else {
      TB_CALL(float_counts, counts, last.n.data(), configurations * row);
    }
    const std::size_t each = has_child_ ? K_ : 1;
    last.total.resize(configurations * each);
    TB_CALL(fold_counts, last.n.data(), configurations, has_child_ ? bins_ : K_, each, last.total.data());
    for (std::size_t l = parents_; l-- > 0;) {
      const std::size_t inner = orders_[l + 1].configurations / orders_[l].configurations;
      orders_[l].n.resize(orders_[l].configurations * row);
      orders_[l].total.resize(orders_[l].configurations * each);
      TB_CALL(fold_counts, orders_[l + 1].n.data(), orders_[l].configurations, inner, row, orders_[l].n.data());
      TB_CALL(fold_counts, orders_[l + 1].total.data(), orders_[l].configurations, inner, each,
              orders_[l].total.data());
    }
    all_ = 0;
    for (const float t : orders_[0].total) all_ += t;
    root_.assign(row, 0.0f);
    for (std::size_t x = 0; x < bins_; ++x) {
      double sum = 0;
      for (std::size_t c = 0; c < K_; ++c) sum += orders_[0].n[x * K_ + c];
      for (std::size_t c = 0; c < K_; ++c) {
        const double n = has_child_ ? sum : orders_[0].n[c], even = 1.0 / static_cast<double>(has_child_ ? bins_ : K_);
        root_[x * K_ + c] = is_laplace_ ? static_cast<float>(even) : static_cast<float>((n + even) / (all_ + 1));
      }
    }
  }

  // The child of every row, and what it has in the counts: nothing, if a parent is missing. Which rows are careful.
  template <class T, class Configuration>
  void read_rows(std::size_t i, const Rows<T>& rows, Configuration&& configuration, bool some_missing) {
    child_.assign(rows.n, 0);
    if (has_child_) some_missing |= ChainViews(chains_, i).step(parents_, rows.codes, rows.n, 0, child_.data(), rows.n);
    const std::uint32_t* last = configuration(parents_);
    std::size_t cells = 0;
    for (std::size_t l = 0; l <= parents_; ++l) cells += orders_[l].n.size();
    uses_tables_ = pseudo_count_ > 0 && cells <= kCellsOfRow * rows.n * (parents_ + 1) * K_;
    for (std::vector<float>* each : {&row_own_, &n_, &total_, &unit_}) each->resize(rows.n);
    if (!uses_tables_) std::fill(row_own_.begin(), row_own_.end(), 1.0f);
    const bool ones = all_whole_;  // of the chain before
    all_whole_ = uses_tables_ && !some_missing;
    bool some = false;
    if (all_whole_ && !ones) std::fill(unit_.begin(), unit_.end(), 1.0f);
    if (!all_whole_)
      some = TB_CALL(row_units, last, child_.data(), rows.y, rows.w, rows.n, !uses_tables_, unit_.data());
    GeneralPathRows& to = general_;
    to.row.clear(), to.y.clear(), to.unit.clear(), to.child.clear();
    for (std::size_t r = 0; r < rows.n && some; ++r) {
      if (child_[r] == kNoCell || rows.y[r] < 0 || (uses_tables_ && unit_[r] == 1.0f)) continue;
      to.row.push_back(static_cast<std::uint32_t>(r));
      to.y.push_back(rows.y[r]), to.unit.push_back(unit_[r]), to.child.push_back(child_[r]);
    }
    to.configuration.resize((parents_ + 1) * to.row.size());
    for (std::size_t l = 0; l <= parents_ && !to.row.empty(); ++l) {
      const std::uint32_t* from = configuration(l);
      for (std::size_t k = 0; k < to.row.size(); ++k) to.configuration[l * to.row.size() + k] = from[to.row[k]];
    }
  }

  // The estimates that do not look at the class, without the row.
  void start_rows() {
    const bool grid = !is_laplace_, alike = has_child_ && grid;  // the same for all classes
    root_loo_.assign(alike ? bins_ * K_ : 0, 0.0f);              // of each bin, for a row that is one
    for (std::size_t x = 0; x < bins_ && alike; ++x)
      std::fill_n(&root_loo_[x * K_], K_, base_without(root_[x * K_], 1.0, 1.0));
    GeneralPathRows& to = general_;
    to.p.assign(to.row.size() * K_, 1.0f);
    for (std::size_t k = 0; k < to.row.size(); ++k) {
      float* p = &to.p[k * K_];
      const auto y = static_cast<std::size_t>(to.y[k]);
      if (alike && to.unit[k] == 1.0f) {
        std::copy_n(&root_loo_[to.child[k] * K_], K_, p);
      } else {
        const double u = static_cast<double>(to.unit[k]);
        for (std::size_t c = 0; c < K_; ++c) {
          const float q = root_[to.child[k] * K_ + c];
          p[c] = grid ? base_without(q, has_child_ || c == y ? u : 0.0, u) : q;
        }
      }
      row_own_[to.row[k]] = p[y];
    }
  }
  // An estimate less so much of its own, and less u rows in all.
  float base_without(float p, double own, double u) const {
    const double grown = static_cast<double>(p) * (all_ + 1);
    return static_cast<float>(std::max(grown - own, 0.0) + 1e-9) / static_cast<float>(std::max(all_ - u, 0.0) + 1);
  }
  void start_again(std::size_t l) {  // Laplace: towards all bins alike
    parent_ = root_;
    GeneralPathRows& to = general_;
    for (std::size_t k = 0; k < to.row.size(); ++k) {
      if (to.configuration[l * to.row.size() + k] != kNoCell) std::copy_n(&root_[to.child[k] * K_], K_, &to.p[k * K_]);
    }
  }

  // The estimates of the own class of the first rows below order l, from those of their cells.
  template <class T, class Configuration>
  void read_own(std::size_t l, const Rows<T>& rows, Configuration&& configuration, std::size_t some) {
    TB_CALL(own_cells, some, K_, bins_, configuration(l == 0 ? 0 : l - 1), child_.data(), rows.y, loo_own_.data(),
            row_own_.data());
    const GeneralPathRows& to = general_;
    for (std::size_t k = 0; k < to.row.size(); ++k)
      row_own_[to.row[k]] = to.p[k * K_ + static_cast<std::size_t>(to.y[k])];
  }

  // The leave-one-out estimates of the rows at order l: of the own class of all, of every class of the careful ones.
  void leave_out(std::size_t l, std::size_t rows, float a) {
    Order& order = orders_[l];
    if (!(pseudo_count_ > 0)) share(order, a);
    if (uses_tables_ && !own_by_cell_)
      TB_CALL(lift_own, row_own_.data(), n_.data(), total_.data(), rows, a, pseudo_count_);
    GeneralPathRows& to = general_;
    const std::size_t count = to.row.size();
    if (count == 0) return;
    const LeaveOut task{count,
                        K_,
                        bins_,
                        &to.configuration[l * count],
                        to.child.data(),
                        to.y.data(),
                        to.unit.data(),
                        order.n.data(),
                        order.total.data(),
                        order.share.data(),
                        a,
                        pseudo_count_,
                        to.p.data()};
    if (has_child_)
      TB_CALL(leave_out_child, task);
    else
      TB_CALL(leave_out_class, task);
    for (std::size_t k = 0; k < count; ++k) row_own_[to.row[k]] = to.p[k * K_ + static_cast<std::size_t>(to.y[k])];
  }

  // The counts of the row's own class in order l, leave-one-out: of the rows that choose the concentration, or of all.
  template <class T, class Configuration>
  void count_own(std::size_t l, const Rows<T>& rows, Configuration&& configuration) {
    const Order& order = orders_[l];
    if (own_by_cell_ && order.n.size() > kCellsOfOwn * rows.n) {
      read_own(l, rows, configuration, rows.n);
      own_by_cell_ = false;
    }
    const std::size_t tuning_rows = smooth_.given ? 0 : std::min(rows.n, smooth_.rows);
    if (own_by_cell_) read_own(l, rows, configuration, tuning_rows);
    const std::size_t some = uses_tables_ && !own_by_cell_ ? rows.n : tuning_rows;
    TB_CALL(own_counts, OwnCounts{some, K_, bins_, configuration(l), child_.data(), rows.y, unit_.data(),
                                  order.n.data(), order.total.data(), !has_child_, n_.data(), total_.data()});
  }

  // The tables of order l from those above it. Writes the logarithms of its estimates; returns their end.
  float* fold(std::size_t l, float a, float* out) {
    const Order& order = orders_[l];
    const std::size_t inner =
        l == 0 || is_laplace_ ? order.configurations : order.configurations / orders_[l - 1].configurations;
    next_.resize(order.n.size());
    if (pseudo_count_ > 0)
      TB_CALL(fold_lifts, order.n.data(), parent_.data(), order.total.data(), a, pseudo_count_, order.configurations,
              inner, bins_, K_, next_.data());
    else
      TB_CALL(fold_order, order.n.data(), parent_.data(), order.share.data(), a, order.configurations, inner, bins_, K_,
              !has_child_, next_.data());
    TB_CALL(logs_of, next_.data(), out, next_.size());
    if (!is_laplace_) parent_.swap(next_);
    if (uses_tables_) {
      next_.resize(order.n.size());
      TB_CALL(fold_lifts, order.n.data(), loo_other_.data(), order.total.data(), a, pseudo_count_, order.configurations,
              inner, bins_, K_, next_.data());
      loo_other_.swap(next_);
    }
    if (uses_tables_ && own_by_cell_) {
      next_.resize(order.n.size());
      TB_CALL(fold_own, order.n.data(), loo_own_.data(), order.total.data(), a, pseudo_count_, order.configurations,
              inner, bins_, K_, next_.data());
      loo_own_.swap(next_);
    }
    return out + order.n.size();
  }

  // terms (rows, classes) += scale * log P of the rows, leave-one-out.
  template <class T, class Configuration>
  void add_terms(const Rows<T>& rows, Configuration&& configuration, float scale, float* terms) {
    if (uses_tables_) TB_CALL(logs_of, loo_other_.data(), loo_other_.data(), loo_other_.size());
    if (all_whole_ && own_by_cell_ && loo_own_.size() * K_ <= rows.n) {  // else fewer logarithms row by row
      TB_CALL(logs_of, loo_own_.data(), loo_own_.data(), loo_own_.size());
      next_.resize(loo_own_.size() * K_);
      TB_CALL(join_own, loo_other_.data(), loo_own_.data(), loo_own_.size() / K_, K_, next_.data());
      TB_CALL(add_joined, rows.n, K_, bins_, configuration(parents_), child_.data(), rows.y, next_.data(), scale,
              terms);
    } else if (uses_tables_) {
      if (own_by_cell_) read_own(parents_ + 1, rows, configuration, rows.n);
      TB_CALL(add_leave_one_out,
              LeaveOneOutTerms{rows.n, K_, bins_, configuration(parents_), child_.data(), rows.y, unit_.data(),
                               loo_other_.data(), row_own_.data()},
              scale, terms);
    }
    TB_CALL(logs_of, general_.p.data(), general_.p.data(), general_.p.size());
    for (std::size_t k = 0; k < general_.row.size(); ++k) {
      float* to = terms + general_.row[k] * K_;
      for (std::size_t c = 0; c < K_; ++c) to[c] += scale * general_.p[k * K_ + c];
    }
  }

  // The concentration of the grid with the largest leave-one-out log-likelihood.
  template <class T>
  double choose(const Rows<T>& rows) {
    const std::size_t some = std::min(rows.n, smooth_.rows);
    search_.begin();
    search_.add({n_.data(), total_.data(), row_own_.data(), rows.w, static_cast<double>(pseudo_count_)}, some);
    const Grid& grid = smooth_.grid;
    return search_.best(grid.concentrations[grid.size - 1]).concentration;  // nothing to say: the estimate above
  }

  void share(Order& order, float a) const {
    order.share.resize(order.total.size());
    for (std::size_t e = 0; e < order.total.size(); ++e) {
      order.share[e] = 1.0f / (order.total[e] + a);
    }
  }

  const Chains& chains_;
  std::size_t K_;
  const SmoothingOptions& smooth_;
  std::size_t parents_ = 0, bins_ = 0;
  bool has_child_ = true, is_laplace_ = false;  // of the chain; of the smoothing
  float pseudo_count_ = 0;
  double all_ = 0;  // the weight of all rows
  std::vector<Order> orders_;
  bool all_whole_ = false;   // every row is one, and has every bin
  bool uses_tables_ = true;  // P of the other classes is read from tables, not computed row by row
  bool own_by_cell_ = true;  // P of the own class is read from loo_own_, up to this order
  std::vector<float> root_, root_loo_, unit_;
  std::vector<float> parent_, loo_other_, loo_own_,
      next_;                                // of all cells: P, without a row of another class, of the own class
  std::vector<float> row_own_, n_, total_;  // of the row's own class: P, and the counts without the row
  std::vector<std::uint32_t> child_;
  GeneralPathRows general_;
  ConcentrationSearch search_;
};

}  // namespace

Chains::Chains(const Views& v, std::size_t n, const std::int32_t* of, const std::int32_t* p,
               const std::int64_t* p_start)
    : views(v), count(n), child(of), parent(p), parent_start(p_start), counts(n + 1, 0), orders(n + 1, 0) {
  constexpr std::size_t most = std::size_t{1} << 31;
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t cells = bins(i), all = cells;
    for (std::int64_t e = p_start[i]; e < p_start[i + 1]; ++e) {
      cells *= static_cast<std::size_t>(views.bins[parent[e]]);
      all += cells;
      if (all >= most) throw std::length_error("a chain has too many cells");
    }
    counts[i + 1] = counts[i] + cells;
    orders[i + 1] = orders[i] + all;
  }
}

template <class T, class Count>
void count_chains(const Chains& chains, const Rows<T>& rows, std::size_t classes, Count* counts) {
  const std::vector<ParentTrie> groups = parent_tries(chains, kNodesOfCount, kChainsOfCount);
  parallel_for(groups.size(), [&](std::size_t g, int) {
    const ParentTrie& tree = groups[g];
    const std::size_t span = std::min(kRowsOfCount, rows.n);
    std::vector<std::uint32_t> configuration(tree.nodes() * span), cell(span);
    for (std::size_t first = 0; first < rows.n; first += span) {
      const std::size_t some = std::min(span, rows.n - first);
      tree.read(rows, first, some, configuration.data());
      const std::int32_t* y = rows.y + first;
      for (std::size_t i = tree.first(); i < tree.end(); ++i) {
        const std::uint32_t* at = configuration.data() + tree.last(i) * some;
        if (chains.child[i] >= 0) {
          std::copy_n(at, some, cell.data());
          ChainViews(chains, i).step(chains.parents(i), rows.codes, rows.n, first, cell.data(), some);
          at = cell.data();
        }
        Count* to = counts + chains.counts[i] * classes;
        for (std::size_t r = 0; r < some; ++r) {
          if (at[r] == kNoCell) continue;
          to[at[r] * classes + static_cast<std::size_t>(y[r])] +=
              rows.w ? static_cast<Count>(rows.w[first + r]) : Count{1};
        }
      }
    }
  });
}

template <class T, class Count>
void learn_chains(const Chains& chains, const Count* counts, std::size_t classes, const Rows<T>& rows,
                  const SmoothingOptions& smooth, const Outputs& outputs, double* concentrations, float* logs,
                  float* terms) {
  const auto all = static_cast<std::size_t>(threads());
  const std::size_t most = all * kContextBytes / (4 * std::max<std::size_t>(rows.n, 1));
  std::vector<std::unique_ptr<Learner>> learner(all);
  std::vector<std::uint32_t> configuration;
  std::vector<std::vector<std::size_t>> of(outputs.count);
  const bool light = rows.w && std::any_of(rows.w, rows.w + rows.n, [](double w) { return !(w >= 1.0); });
  for (const ParentTrie& tree : parent_tries(chains, most, chains.count)) {
    configuration.resize(tree.nodes() * rows.n);
    const std::vector<bool> none = tree.read(rows, 0, rows.n, configuration.data());
    std::vector<std::size_t> here;  // an output belongs to one thread, its chains come in order
    for (std::size_t i = tree.first(); i < tree.end(); ++i) {
      auto& own = of[static_cast<std::size_t>(outputs.of[i])];
      if (own.empty()) here.push_back(static_cast<std::size_t>(outputs.of[i]));
      own.push_back(i);
    }
    parallel_for(here.size(), [&](std::size_t block, int thread) {
      const std::size_t output = here[block];
      auto& mine = learner[static_cast<std::size_t>(thread)];
      if (!mine) mine = std::make_unique<Learner>(chains, classes, smooth);
      for (const std::size_t i : of[output]) {
        const auto read = [&](std::size_t l) { return configuration.data() + tree.node(i, l) * rows.n; };
        mine->learn(i, counts, rows, read, light || none[tree.last(i)], outputs.scale[i],
                    concentrations + chains.parent_start[i] + static_cast<std::int64_t>(i), logs,
                    terms ? terms + output * rows.n * classes : nullptr);
      }
    });
    for (const std::size_t output : here) of[output].clear();
  }
}

template <class Count>
void laplace_chains(const Chains& chains, const Count* counts, std::size_t classes, double alpha, double* logs) {
  parallel_for(chains.count, [&](std::size_t i, int) {
    const std::size_t k = chains.parents(i), row = chains.bins(i) * classes;
    const double levels = static_cast<double>(chains.child[i] < 0 ? classes : chains.bins(i));
    const Count* from = counts + chains.counts[i] * classes;
    std::vector<double> n(from, from + (chains.counts[i + 1] - chains.counts[i]) * classes);
    double* to = logs + chains.orders[i + 1] * classes;
    for (std::size_t l = k + 1; l-- > 0;) {  // the longest first: they come last
      to -= n.size();
      for (std::size_t u = 0; u < n.size(); u += row) {
        for (std::size_t e = 0; e < row; ++e) {
          double total = 0;
          for (std::size_t x = chains.child[i] < 0 ? 0 : e % classes; x < row; x += chains.child[i] < 0 ? 1 : classes)
            total += n[u + x];
          to[u + e] = std::log(backed_off(n[u + e], total, 1.0 / levels, alpha * levels));
        }
      }
      if (l == 0) break;
      const auto inner = static_cast<std::size_t>(
          chains.views.bins[chains.parent[chains.parent_start[i] + static_cast<std::int64_t>(l) - 1]]);
      std::vector<double> less(n.size() / inner, 0.0);
      for (std::size_t e = 0; e < n.size(); ++e) less[e / (inner * row) * row + e % row] += n[e];
      n = std::move(less);
    }
  });
}
template void laplace_chains(const Chains&, const std::uint32_t*, std::size_t, double, double*);
template void laplace_chains(const Chains&, const double*, std::size_t, double, double*);

#define TB_CHAINS(T)                                                                                             \
  template void count_chains(const Chains&, const Rows<T>&, std::size_t, std::uint32_t*);                        \
  template void count_chains(const Chains&, const Rows<T>&, std::size_t, double*);                               \
  template void learn_chains(const Chains&, const std::uint32_t*, std::size_t, const Rows<T>&,                   \
                             const SmoothingOptions&, const Outputs&, double*, float*, float*);                  \
  template void learn_chains(const Chains&, const double*, std::size_t, const Rows<T>&, const SmoothingOptions&, \
                             const Outputs&, double*, float*, float*);
TB_CHAINS(std::uint8_t)
TB_CHAINS(std::uint16_t)
TB_CHAINS(std::uint32_t)
#undef TB_CHAINS

}  // namespace tb
