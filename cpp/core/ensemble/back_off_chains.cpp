#include "core/ensemble/back_off_chains.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <type_traits>

#include "core/networks/back_off.hpp"
#include "core/ensemble/chain_contexts.hpp"
#include "core/ensemble/chain_readers.hpp"
#include "core/networks/concentrations.hpp"
#include "core/runtime/threads.hpp"
#include "kernels/averaged.hpp"
#include "kernels/back_off_chains.hpp"

namespace tb {
namespace {

constexpr double kMost = 1e30;          // weight of all rows, and concentration, in floats
constexpr float kLeast = 1e-30f;        // concentration: an unseen context keeps the estimate above
constexpr std::size_t kCellsOfRow = 4;  // cells of a chain for each row and rung, up to which its tables pay
constexpr std::size_t kCellsOfOwn = 4;  // cells of a rung for each row, up to which those are lifted, not the rows
constexpr std::size_t kContextBytes = std::size_t{1} << 20;      // contexts of the rows at a time, for each thread
constexpr std::size_t kNodesOfCount = 16, kChainsOfCount = 128;  // whose contexts are read together, to be counted
constexpr std::size_t kRowsOfCount = 16384;  // at a time: the counts of a chain are fetched anew for each time

// One rung: the counts of a chain with some of its parents.
struct Rung {
  std::size_t contexts = 0;
  std::vector<float> n;      // (contexts, bins, classes)
  std::vector<float> total;  // (contexts, classes), or (contexts)
  std::vector<float> share;  // 1 / (total + concentration)
};

// Rows whose estimates of all classes are climbed to rung by rung, and what is known of them.
struct Careful {
  std::vector<std::uint32_t> row, context, child;  // context: (rungs, rows)
  std::vector<std::int32_t> y;
  std::vector<float> unit, p;  // p: (rows, classes)
};

// What one thread needs for a chain.
//
// A row leaves its own class, and P_{-1}. So its estimates of the other classes are those of a table in which each
// bin's P_{-1} is short of one row: that is filled once for all rows, and only the row's own class is climbed to. Rows
// that weigh less than one, or that the counts do not have, and chains with far more cells than rows take the general
// path.
class Learner {
 public:
  Learner(const Chains& chains, std::size_t classes, const Smooth& smooth)
      : chains_(chains), K_(classes), smooth_(smooth), search_(smooth.grid) {}

  // context(l): that of each row with the first l parents.
  template <class T, class Count, class Context>
  void learn(std::size_t i, const Count* counts, const Rows<T>& rows, Context&& context, double scale,
             double* concentrations, float* logs, float* terms) {
    begin(i, counts + chains_.counts[i] * K_);
    read_rows(i, rows, context);
    start_rows();
    above_ = base_, other_ = mine_ = whole_;
    own_by_cell_ = uses_tables_;
    float* out = logs + chains_.rungs[i] * K_;
    for (std::size_t l = 0; l <= parents_; ++l) {
      if (l == 0 && !has_child_ && !is_laplace_) {  // P_0(c) has nothing above it
        concentrations[0] = 0;
        TB_CALL(logs_of, above_.data(), out, K_);
        out += K_;
        continue;
      }
      if (is_laplace_) {
        concentrations[l] = smooth_.alpha * static_cast<double>(has_child_ ? bins_ : K_);
        start_again(l);
      } else {
        count_own(l, rows, context);
        if (!smooth_.given) concentrations[l] = choose(rows);
      }
      const float a = std::max(static_cast<float>(std::min(concentrations[l], kMost)), kLeast);
      leave_out(l, rows.n, a);
      out = fold(l, a, out);
    }
    if (terms) add_terms(rows, context, static_cast<float>(scale), terms);
  }

 private:
  template <class Count>
  void begin(std::size_t i, const Count* counts) {
    parents_ = chains_.parents(i);
    bins_ = chains_.bins(i);
    has_child_ = chains_.child[i] >= 0;
    is_laplace_ = smooth_.grid.size == 0;
    worth_ = has_child_ && !is_laplace_ ? static_cast<float>(smooth_.worth / static_cast<double>(K_)) : 0.0f;
    rungs_.resize(std::max(rungs_.size(), parents_ + 1));
    std::size_t contexts = 1;
    for (std::size_t l = 0; l <= parents_; ++l) {
      if (l > 0)
        contexts *= static_cast<std::size_t>(
            chains_.views.bins[chains_.parent[chains_.parent_start[i] + static_cast<std::int64_t>(l) - 1]]);
      rungs_[l].contexts = contexts;
    }
    const std::size_t row = bins_ * K_;
    Rung& last = rungs_[parents_];
    last.n.resize(contexts * row);
    if constexpr (std::is_same_v<Count, double>) {  // weights that a float has no room for: only their shares matter
      double sum = 0;
      for (std::size_t e = 0; e < contexts * row; ++e) sum += counts[e];
      const double less = sum > kMost ? kMost / sum : 1.0;
      for (std::size_t e = 0; e < contexts * row; ++e) last.n[e] = static_cast<float>(counts[e] * less);
    } else {
      TB_CALL(float_counts, counts, last.n.data(), contexts * row);
    }
    const std::size_t each = has_child_ ? K_ : 1;
    last.total.resize(contexts * each);
    TB_CALL(fold_counts, last.n.data(), contexts, has_child_ ? bins_ : K_, each, last.total.data());
    for (std::size_t l = parents_; l-- > 0;) {
      const std::size_t inner = rungs_[l + 1].contexts / rungs_[l].contexts;
      rungs_[l].n.resize(rungs_[l].contexts * row);
      rungs_[l].total.resize(rungs_[l].contexts * each);
      TB_CALL(fold_counts, rungs_[l + 1].n.data(), rungs_[l].contexts, inner, row, rungs_[l].n.data());
      TB_CALL(fold_counts, rungs_[l + 1].total.data(), rungs_[l].contexts, inner, each, rungs_[l].total.data());
    }
    all_ = 0;
    for (const float t : rungs_[0].total) all_ += t;
    base_.assign(row, 0.0f);
    for (std::size_t x = 0; x < bins_; ++x) {
      double sum = 0;
      for (std::size_t c = 0; c < K_; ++c) sum += rungs_[0].n[x * K_ + c];
      for (std::size_t c = 0; c < K_; ++c) {
        const double n = has_child_ ? sum : rungs_[0].n[c], even = 1.0 / static_cast<double>(has_child_ ? bins_ : K_);
        base_[x * K_ + c] = is_laplace_ ? static_cast<float>(even) : static_cast<float>((n + even) / (all_ + 1));
      }
    }
  }

  // The child of every row, and what it has in the counts: nothing, if a parent is missing. Which rows are careful.
  template <class T, class Context>
  void read_rows(std::size_t i, const Rows<T>& rows, Context&& context) {
    child_.assign(rows.n, 0);
    if (has_child_) ChainViews(chains_, i).step(parents_, rows.codes, rows.n, 0, child_.data(), rows.n);
    const std::uint32_t* last = context(parents_);
    std::size_t cells = 0;
    for (std::size_t l = 0; l <= parents_; ++l) cells += rungs_[l].n.size();
    uses_tables_ = worth_ > 0 && cells <= kCellsOfRow * rows.n * (parents_ + 1) * K_;
    for (std::vector<float>* each : {&own_, &n_, &total_, &unit_}) each->resize(rows.n);
    if (!uses_tables_) std::fill(own_.begin(), own_.end(), 1.0f);
    const bool some = TB_CALL(row_units, last, child_.data(), rows.y, rows.w, rows.n, !uses_tables_, unit_.data());
    Careful& to = careful_;
    to.row.clear(), to.y.clear(), to.unit.clear(), to.child.clear();
    for (std::size_t r = 0; r < rows.n && some; ++r) {
      if (child_[r] == kNoCell || rows.y[r] < 0 || (uses_tables_ && unit_[r] == 1.0f)) continue;
      to.row.push_back(static_cast<std::uint32_t>(r));
      to.y.push_back(rows.y[r]), to.unit.push_back(unit_[r]), to.child.push_back(child_[r]);
    }
    to.context.resize((parents_ + 1) * to.row.size());
    for (std::size_t l = 0; l <= parents_ && !to.row.empty(); ++l) {
      const std::uint32_t* from = context(l);
      for (std::size_t k = 0; k < to.row.size(); ++k) to.context[l * to.row.size() + k] = from[to.row[k]];
    }
  }

  // The estimates that do not look at the class, without the row.
  void start_rows() {
    const bool grid = !is_laplace_, alike = has_child_ && grid;  // the same for all classes
    whole_.assign(alike ? bins_ * K_ : 0, 0.0f);                 // of each bin, for a row that is one
    for (std::size_t x = 0; x < bins_ && alike; ++x)
      std::fill_n(&whole_[x * K_], K_, base_without(base_[x * K_], 1.0, 1.0));
    Careful& to = careful_;
    to.p.assign(to.row.size() * K_, 1.0f);
    for (std::size_t k = 0; k < to.row.size(); ++k) {
      float* p = &to.p[k * K_];
      const auto y = static_cast<std::size_t>(to.y[k]);
      if (alike && to.unit[k] == 1.0f) {
        std::copy_n(&whole_[to.child[k] * K_], K_, p);
      } else {
        const double u = static_cast<double>(to.unit[k]);
        for (std::size_t c = 0; c < K_; ++c) {
          const float q = base_[to.child[k] * K_ + c];
          p[c] = grid ? base_without(q, has_child_ || c == y ? u : 0.0, u) : q;
        }
      }
      own_[to.row[k]] = p[y];
    }
  }
  // An estimate less so much of its own, and less u rows in all.
  float base_without(float p, double own, double u) const {
    const double grown = static_cast<double>(p) * (all_ + 1);
    return static_cast<float>(std::max(grown - own, 0.0) + 1e-9) / static_cast<float>(std::max(all_ - u, 0.0) + 1);
  }
  void start_again(std::size_t l) {  // Laplace: towards all bins alike
    above_ = base_;
    Careful& to = careful_;
    for (std::size_t k = 0; k < to.row.size(); ++k) {
      if (to.context[l * to.row.size() + k] != kNoCell) std::copy_n(&base_[to.child[k] * K_], K_, &to.p[k * K_]);
    }
  }

  // The estimates of the own class of the first rows below rung l, from those of their cells.
  template <class T, class Context>
  void read_own(std::size_t l, const Rows<T>& rows, Context&& context, std::size_t some) {
    TB_CALL(own_cells, some, K_, bins_, context(l == 0 ? 0 : l - 1), child_.data(), rows.y, mine_.data(), own_.data());
    const Careful& to = careful_;
    for (std::size_t k = 0; k < to.row.size(); ++k) own_[to.row[k]] = to.p[k * K_ + static_cast<std::size_t>(to.y[k])];
  }

  // The leave-one-out estimates of the rows at rung l: of the own class of all, of every class of the careful ones.
  void leave_out(std::size_t l, std::size_t rows, float a) {
    Rung& rung = rungs_[l];
    if (!(worth_ > 0)) share(rung, a);
    if (uses_tables_ && !own_by_cell_) TB_CALL(lift_own, own_.data(), n_.data(), total_.data(), rows, a, worth_);
    Careful& to = careful_;
    const std::size_t count = to.row.size();
    if (count == 0) return;
    const LeaveOut task{count,
                        K_,
                        bins_,
                        &to.context[l * count],
                        to.child.data(),
                        to.y.data(),
                        to.unit.data(),
                        rung.n.data(),
                        rung.total.data(),
                        rung.share.data(),
                        a,
                        worth_,
                        to.p.data()};
    if (has_child_)
      TB_CALL(leave_out_child, task);
    else
      TB_CALL(leave_out_class, task);
    for (std::size_t k = 0; k < count; ++k) own_[to.row[k]] = to.p[k * K_ + static_cast<std::size_t>(to.y[k])];
  }

  // The counts of the row's own class in rung l, leave-one-out: of the rows that choose the concentration, or of all.
  template <class T, class Context>
  void count_own(std::size_t l, const Rows<T>& rows, Context&& context) {
    const Rung& rung = rungs_[l];
    if (own_by_cell_ && rung.n.size() > kCellsOfOwn * rows.n) {
      read_own(l, rows, context, rows.n);
      own_by_cell_ = false;
    }
    const std::size_t judges = smooth_.given ? 0 : std::min(rows.n, smooth_.rows);
    if (own_by_cell_) read_own(l, rows, context, judges);
    const std::size_t some = uses_tables_ && !own_by_cell_ ? rows.n : judges;
    TB_CALL(own_counts, OwnCounts{some, K_, bins_, context(l), child_.data(), rows.y, unit_.data(), rung.n.data(),
                                  rung.total.data(), !has_child_, n_.data(), total_.data()});
  }

  // The tables of rung l from those above it. Writes the logarithms of its estimates; returns their end.
  float* fold(std::size_t l, float a, float* out) {
    const Rung& rung = rungs_[l];
    const std::size_t inner = l == 0 || is_laplace_ ? rung.contexts : rung.contexts / rungs_[l - 1].contexts;
    next_.resize(rung.n.size());
    if (worth_ > 0)
      TB_CALL(fold_lifts, rung.n.data(), above_.data(), rung.total.data(), a, worth_, rung.contexts, inner, bins_, K_,
              next_.data());
    else
      TB_CALL(fold_rung, rung.n.data(), above_.data(), rung.share.data(), a, rung.contexts, inner, bins_, K_,
              !has_child_, next_.data());
    TB_CALL(logs_of, next_.data(), out, next_.size());
    if (!is_laplace_) above_.swap(next_);
    if (uses_tables_) {
      next_.resize(rung.n.size());
      TB_CALL(fold_lifts, rung.n.data(), other_.data(), rung.total.data(), a, worth_, rung.contexts, inner, bins_, K_,
              next_.data());
      other_.swap(next_);
    }
    if (uses_tables_ && own_by_cell_) {
      next_.resize(rung.n.size());
      TB_CALL(fold_own, rung.n.data(), mine_.data(), rung.total.data(), a, worth_, rung.contexts, inner, bins_, K_,
              next_.data());
      mine_.swap(next_);
    }
    return out + rung.n.size();
  }

  // terms (rows, classes) += scale * log P of the rows, leave-one-out.
  template <class T, class Context>
  void add_terms(const Rows<T>& rows, Context&& context, float scale, float* terms) {
    if (uses_tables_) {
      if (own_by_cell_) read_own(parents_ + 1, rows, context, rows.n);
      TB_CALL(logs_of, other_.data(), other_.data(), other_.size());
      TB_CALL(add_leave_one_out,
              LeaveOneOutTerms{rows.n, K_, bins_, context(parents_), child_.data(), rows.y, unit_.data(), other_.data(),
                               own_.data()},
              scale, terms);
    }
    TB_CALL(logs_of, careful_.p.data(), careful_.p.data(), careful_.p.size());
    for (std::size_t k = 0; k < careful_.row.size(); ++k) {
      float* to = terms + careful_.row[k] * K_;
      for (std::size_t c = 0; c < K_; ++c) to[c] += scale * careful_.p[k * K_ + c];
    }
  }

  // The concentration of the grid with the largest leave-one-out log-likelihood.
  template <class T>
  double choose(const Rows<T>& rows) {
    const std::size_t some = std::min(rows.n, smooth_.rows);
    search_.begin();
    search_.add({n_.data(), total_.data(), own_.data(), rows.w, static_cast<double>(worth_)}, some);
    const Grid& grid = smooth_.grid;
    return search_.best(grid.concentrations[grid.size - 1]).concentration;  // nothing to say: the estimate above
  }

  void share(Rung& rung, float a) const {
    rung.share.resize(rung.total.size());
    for (std::size_t e = 0; e < rung.total.size(); ++e) {
      rung.share[e] = 1.0f / (rung.total[e] + a);
    }
  }

  const Chains& chains_;
  std::size_t K_;
  const Smooth& smooth_;
  std::size_t parents_ = 0, bins_ = 0;
  bool has_child_ = true, is_laplace_ = false;  // of the chain; of the smoothing
  float worth_ = 0;
  double all_ = 0;  // the weight of all rows
  std::vector<Rung> rungs_;
  bool uses_tables_ = true;  // P of the other classes is read from tables, not computed row by row
  bool own_by_cell_ = true;  // P of the own class is read from mine_, up to this rung
  std::vector<float> base_, whole_, unit_;
  std::vector<float> above_, other_, mine_, next_;  // of all cells: P, without a row of another class, of the own class
  std::vector<float> own_, n_, total_;              // of the row's own class: P, and the counts without the row
  std::vector<std::uint32_t> child_;
  Careful careful_;
  ConcentrationSearch search_;
};

}  // namespace

Chains::Chains(const Views& v, std::size_t n, const std::int32_t* of, const std::int32_t* p,
               const std::int64_t* p_start)
    : views(v), count(n), child(of), parent(p), parent_start(p_start), counts(n + 1, 0), rungs(n + 1, 0) {
  constexpr std::size_t most = std::size_t{1} << 31;
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t cells = bins(i), all = cells;
    for (std::int64_t e = p_start[i]; e < p_start[i + 1]; ++e) {
      cells *= static_cast<std::size_t>(views.bins[parent[e]]);
      all += cells;
      if (all >= most) throw std::length_error("a chain has too many cells");
    }
    counts[i + 1] = counts[i] + cells;
    rungs[i + 1] = rungs[i] + all;
  }
}

template <class T, class Count>
void count_chains(const Chains& chains, const Rows<T>& rows, std::size_t classes, Count* counts) {
  const std::vector<ContextTree> groups = context_groups(chains, kNodesOfCount, kChainsOfCount);
  parallel_for(groups.size(), [&](std::size_t g, int) {
    const ContextTree& tree = groups[g];
    const std::size_t span = std::min(kRowsOfCount, rows.n);
    std::vector<std::uint32_t> context(tree.nodes() * span), cell(span);
    for (std::size_t first = 0; first < rows.n; first += span) {
      const std::size_t some = std::min(span, rows.n - first);
      tree.read(rows, first, some, context.data());
      const std::int32_t* y = rows.y + first;
      for (std::size_t i = tree.first(); i < tree.end(); ++i) {
        const std::uint32_t* at = context.data() + tree.last(i) * some;
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
                  const Smooth& smooth, const Planes& planes, double* concentrations, float* logs, float* terms) {
  const auto all = static_cast<std::size_t>(threads());
  const std::size_t most = all * kContextBytes / (4 * std::max<std::size_t>(rows.n, 1));
  std::vector<std::unique_ptr<Learner>> learner(all);
  std::vector<std::uint32_t> context;
  std::vector<std::vector<std::size_t>> of(planes.count);
  for (const ContextTree& tree : context_groups(chains, most, chains.count)) {
    context.resize(tree.nodes() * rows.n);
    tree.read(rows, 0, rows.n, context.data());
    std::vector<std::size_t> here;  // a plane belongs to one thread, its chains come in order
    for (std::size_t i = tree.first(); i < tree.end(); ++i) {
      auto& own = of[static_cast<std::size_t>(planes.of[i])];
      if (own.empty()) here.push_back(static_cast<std::size_t>(planes.of[i]));
      own.push_back(i);
    }
    parallel_for(here.size(), [&](std::size_t block, int thread) {
      const std::size_t plane = here[block];
      auto& mine = learner[static_cast<std::size_t>(thread)];
      if (!mine) mine = std::make_unique<Learner>(chains, classes, smooth);
      for (const std::size_t i : of[plane]) {
        const auto read = [&](std::size_t l) { return context.data() + tree.node(i, l) * rows.n; };
        mine->learn(i, counts, rows, read, planes.scale[i],
                    concentrations + chains.parent_start[i] + static_cast<std::int64_t>(i), logs,
                    terms ? terms + plane * rows.n * classes : nullptr);
      }
    });
    for (const std::size_t plane : here) of[plane].clear();
  }
}

template <class Count>
void laplace_chains(const Chains& chains, const Count* counts, std::size_t classes, double alpha, double* logs) {
  parallel_for(chains.count, [&](std::size_t i, int) {
    const std::size_t k = chains.parents(i), row = chains.bins(i) * classes;
    const double levels = static_cast<double>(chains.child[i] < 0 ? classes : chains.bins(i));
    const Count* from = counts + chains.counts[i] * classes;
    std::vector<double> n(from, from + (chains.counts[i + 1] - chains.counts[i]) * classes);
    double* to = logs + chains.rungs[i + 1] * classes;
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

#define TB_CHAINS(T)                                                                                                  \
  template void count_chains(const Chains&, const Rows<T>&, std::size_t, std::uint32_t*);                             \
  template void count_chains(const Chains&, const Rows<T>&, std::size_t, double*);                                    \
  template void learn_chains(const Chains&, const std::uint32_t*, std::size_t, const Rows<T>&, const Smooth&,         \
                             const Planes&, double*, float*, float*);                                                 \
  template void learn_chains(const Chains&, const double*, std::size_t, const Rows<T>&, const Smooth&, const Planes&, \
                             double*, float*, float*);
TB_CHAINS(std::uint8_t)
TB_CHAINS(std::uint16_t)
TB_CHAINS(std::uint32_t)
#undef TB_CHAINS

}  // namespace tb
