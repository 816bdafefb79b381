#include "core/chains.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "core/back_off.hpp"
#include "core/chain_readers.hpp"
#include "core/threads.hpp"
#include "kernels/averaged.hpp"
#include "kernels/chains.hpp"
#include "kernels/contexts.hpp"

namespace tb {
namespace {

constexpr double kMost = 1e30;    // weight of all rows, and strength, in floats
constexpr float kLeast = 1e-30f;  // strength: a context that was never met keeps the estimate above

// One rung: the counts of a chain with some of its parents.
struct Rung {
  std::size_t contexts = 0;
  std::vector<float> n;      // (contexts, bins, classes)
  std::vector<float> total;  // (contexts, classes), or (contexts)
  std::vector<float> share;  // 1 / (total + strength)
};

// Rows that choose a strength: weight * log((above + a prior) / (below + a)).
struct Judges {
  std::vector<double> weight, above, below, prior;
  std::size_t count = 0;

  void room(std::size_t most) {
    for (std::vector<double>* each : {&weight, &above, &below, &prior}) each->resize(most);
    count = 0;
  }
  void add(double w, double a, double b, double p) {
    weight[count] = w, above[count] = a, below[count] = b, prior[count] = p;
    ++count;
  }
  void fill(std::size_t lanes) {  // with rows that say nothing
    while (count % lanes) add(0.0, 1.0, 1.0, 1.0);
  }
};

// What one thread needs for a chain.
class Learner {
 public:
  Learner(const Chains& chains, std::size_t classes, const Smooth& smooth)
      : chains_(chains), K_(classes), smooth_(smooth) {}

  template <class T, class Count>
  void learn(std::size_t i, const Count* counts, const Rows<T>& rows, double scale, double* strengths, float* logs,
             float* terms) {
    begin(i, counts + chains_.counts[i] * K_);
    read_rows(i, rows);
    start_rows(rows);
    std::vector<float> above = base_, here;
    float* out = logs + chains_.rungs[i] * K_;
    for (std::size_t l = 0; l <= parents_; ++l) {
      Rung& rung = rungs_[l];
      const std::uint32_t* context = context_.data() + l * rows.n;
      const bool laplace = smooth_.grid_size == 0;
      if (l == 0 && !of_child_ && !laplace) {
        strengths[0] = 0;
        TB_CALL(logs_of, above.data(), out, K_);
        out += K_;
        continue;
      }
      if (laplace)
        strengths[l] = smooth_.alpha * static_cast<double>(of_child_ ? bins_ : K_);
      else if (!smooth_.given)
        strengths[l] = choose(rung, context, rows);
      const float a = std::max(static_cast<float>(std::min(strengths[l], kMost)), kLeast);
      if (laplace) start_again(context, rows, above);
      share(rung, a);
      const LeaveOut out_of{rows.n, K_,           bins_,         context,           child_.data(),
                            rows.y, unit_.data(), rung.n.data(), rung.total.data(), rung.share.data(),
                            a,      worth_,       p_.data()};
      if (of_child_)
        TB_CALL(leave_out_child, out_of);
      else
        TB_CALL(leave_out_class, out_of);
      const std::size_t inner = l == 0 || laplace ? rung.contexts : rung.contexts / rungs_[l - 1].contexts;
      here.resize(rung.n.size());
      if (worth_ > 0)
        TB_CALL(fold_lifts, rung.n.data(), above.data(), rung.total.data(), a, worth_, rung.contexts, inner, bins_, K_,
                here.data());
      else
        TB_CALL(fold_rung, rung.n.data(), above.data(), rung.share.data(), a, rung.contexts, inner, bins_, K_,
                !of_child_, here.data());
      TB_CALL(logs_of, here.data(), out, here.size());
      out += here.size();
      if (!laplace) above.swap(here);
    }
    if (terms) TB_CALL(add_logs, p_.data(), static_cast<float>(scale), terms, p_.size());
  }

 private:
  template <class Count>
  void begin(std::size_t i, const Count* counts) {
    parents_ = chains_.parents(i);
    bins_ = chains_.bins(i);
    of_child_ = chains_.child[i] >= 0;
    worth_ = of_child_ && smooth_.grid_size ? static_cast<float>(smooth_.worth / static_cast<double>(K_)) : 0.0f;
    rungs_.resize(std::max(rungs_.size(), parents_ + 1));
    std::size_t contexts = 1;
    for (std::size_t l = 0; l <= parents_; ++l) {
      if (l > 0)
        contexts *= static_cast<std::size_t>(
            chains_.views.bins[chains_.parent[chains_.parent_start[i] + static_cast<std::int64_t>(l) - 1]]);
      rungs_[l].contexts = contexts;
    }
    const std::size_t row = bins_ * K_;
    rungs_[parents_].n.assign(counts, counts + contexts * row);
    if constexpr (std::is_same_v<Count, double>) {  // weights that a float has no room for: only their shares matter
      double sum = 0;
      for (std::size_t e = 0; e < contexts * row; ++e) sum += counts[e];
      if (sum > kMost)
        for (std::size_t e = 0; e < contexts * row; ++e)
          rungs_[parents_].n[e] = static_cast<float>(counts[e] * (kMost / sum));
    }
    for (std::size_t l = parents_; l-- > 0;) {
      const std::vector<float>& from = rungs_[l + 1].n;
      const std::size_t inner = rungs_[l + 1].contexts / rungs_[l].contexts;
      rungs_[l].n.assign(rungs_[l].contexts * row, 0.0f);
      const float* next = from.data();
      for (std::size_t u = 0; u < rungs_[l].contexts; ++u) {
        float* to = rungs_[l].n.data() + u * row;
        for (std::size_t k = 0; k < inner; ++k, next += row) {
          for (std::size_t e = 0; e < row; ++e) to[e] += next[e];
        }
      }
    }
    add_up(rungs_[parents_]);
    const std::size_t each = of_child_ ? K_ : 1;
    for (std::size_t l = parents_; l-- > 0;) {
      const float* next = rungs_[l + 1].total.data();
      const std::size_t inner = rungs_[l + 1].contexts / rungs_[l].contexts;
      rungs_[l].total.assign(rungs_[l].contexts * each, 0.0f);
      for (std::size_t u = 0; u < rungs_[l].contexts; ++u) {
        float* to = rungs_[l].total.data() + u * each;
        for (std::size_t k = 0; k < inner; ++k, next += each) {
          for (std::size_t c = 0; c < each; ++c) to[c] += next[c];
        }
      }
    }
    all_ = 0;
    for (const float t : rungs_[0].total) all_ += t;
    base_.assign(row, 0.0f);
    for (std::size_t x = 0; x < bins_; ++x) {
      double sum = 0;
      for (std::size_t c = 0; c < K_; ++c) sum += rungs_[0].n[x * K_ + c];
      for (std::size_t c = 0; c < K_; ++c) {
        const double n = of_child_ ? sum : rungs_[0].n[c], even = 1.0 / static_cast<double>(of_child_ ? bins_ : K_);
        base_[x * K_ + c] = smooth_.grid_size ? static_cast<float>((n + even) / (all_ + 1)) : static_cast<float>(even);
      }
    }
  }

  // The totals of a rung.
  void add_up(Rung& rung) const {
    rung.total.assign(rung.contexts * (of_child_ ? K_ : 1), 0.0f);
    const float* next = rung.n.data();
    for (std::size_t u = 0; u < rung.contexts; ++u) {
      float* to = rung.total.data() + (of_child_ ? u * K_ : u);
      for (std::size_t x = 0; x < bins_; ++x, next += K_) {
        for (std::size_t c = 0; c < K_; ++c) to[of_child_ ? c : 0] += next[c];
      }
    }
  }

  // The contexts of every row on every rung, its child, and what it has in the counts: nothing, if a parent is missing.
  template <class T>
  void read_rows(std::size_t i, const Rows<T>& rows) {
    const ChainViews read(chains_, i);
    child_.assign(rows.n, 0);
    if (of_child_) read.step(parents_, rows.codes, rows.n, 0, child_.data(), rows.n);
    context_.assign((parents_ + 1) * rows.n, 0);
    for (std::size_t r = 0; r < rows.n; ++r)
      if (rows.y[r] < 0) context_[r] = kNoCell;
    for (std::size_t l = 1; l <= parents_; ++l) {
      std::uint32_t* here = context_.data() + l * rows.n;
      std::copy(here - rows.n, here, here);
      read.step(l - 1, rows.codes, rows.n, 0, here, rows.n);
    }
    const std::uint32_t* last = context_.data() + parents_ * rows.n;
    unit_.resize(rows.n);
    for (std::size_t r = 0; r < rows.n; ++r) {
      unit_[r] = last[r] == kNoCell ? 0.0f : rows.w ? static_cast<float>(std::min(rows.w[r], 1.0)) : 1.0f;
    }
  }

  // The estimates that do not look at the class, without the row.
  template <class T>
  void start_rows(const Rows<T>& rows) {
    p_.assign(rows.n * K_, 1.0f);
    const bool grid = smooth_.grid_size > 0, alike = of_child_ && grid;  // the same for all classes
    whole_.clear();                                                      // of each bin, for a row that is one
    for (std::size_t x = 0; x < bins_ && alike; ++x) whole_.push_back(base_without(base_[x * K_], 1.0, 1.0));
    for (std::size_t r = 0; r < rows.n; ++r) {
      if (child_[r] == kNoCell || rows.y[r] < 0) continue;
      float* p = p_.data() + r * K_;
      if (alike && unit_[r] == 1.0f) {
        std::fill_n(p, K_, whole_[child_[r]]);
        continue;
      }
      const auto y = static_cast<std::size_t>(rows.y[r]);
      const double u = static_cast<double>(unit_[r]);
      for (std::size_t c = 0; c < K_; ++c) {
        const float q = base_[child_[r] * K_ + c];
        p[c] = grid ? base_without(q, of_child_ || c == y ? u : 0.0, u) : q;
      }
    }
  }
  // An estimate less so much of its own, and less u rows in all.
  float base_without(float p, double own, double u) const {
    const double grown = static_cast<double>(p) * (all_ + 1);
    return static_cast<float>(std::max(grown - own, 0.0) + 1e-9) / static_cast<float>(std::max(all_ - u, 0.0) + 1);
  }
  template <class T>
  void start_again(const std::uint32_t* context, const Rows<T>& rows,
                   std::vector<float>& above) {  // Laplace: towards all bins alike
    above = base_;
    for (std::size_t r = 0; r < rows.n; ++r) {
      if (child_[r] == kNoCell || context[r] == kNoCell) continue;
      for (std::size_t c = 0; c < K_; ++c) p_[r * K_ + c] = base_[child_[r] * K_ + c];
    }
  }

  // The strength of the grid with the largest leave-one-out log-likelihood.
  template <class T>
  double choose(const Rung& rung, const std::uint32_t* context, const Rows<T>& rows) {
    const std::size_t some = std::min(rows.n, smooth_.rows);
    for (Judges* judges : {&one_, &other_}) judges->room(some + kContextLanes);
    for (std::size_t r = 0; r < some; ++r) {
      if (context[r] == kNoCell || child_[r] == kNoCell) continue;
      const auto y = static_cast<std::size_t>(rows.y[r]);
      const std::size_t u = context[r];
      const double total = static_cast<double>(rung.total[of_child_ ? u * K_ + y : u]) - static_cast<double>(unit_[r]);
      if (!(total > 1e-6)) continue;
      const double n = static_cast<double>(rung.n[(u * bins_ + child_[r]) * K_ + y] - unit_[r]);
      const double p = std::max(static_cast<double>(p_[r * K_ + y]), 1e-37), worth = static_cast<double>(worth_);
      Judges& to = !rows.w || rows.w[r] == 1.0 ? one_ : other_;
      to.add(rows.w ? rows.w[r] : 1.0, std::max(0.0, n) + worth, worth > 0 ? total + worth / p : total, p);
    }
    const bool none = one_.count + other_.count == 0;
    sum_.assign(smooth_.grid_size, 0.0);
    one_.fill(kContextLanes), other_.fill(8);
    TB_CALL(add_log_shares, one_.above.data(), one_.below.data(), one_.prior.data(), one_.count, smooth_.grid,
            smooth_.grid_size, sum_.data());
    TB_CALL(add_log_likelihoods, other_.weight.data(), other_.above.data(), other_.below.data(), other_.prior.data(),
            other_.count, smooth_.grid, smooth_.grid_size, sum_.data());
    std::size_t best = smooth_.grid_size - 1;  // nothing to say: the estimate above
    for (std::size_t g = 0; g < smooth_.grid_size && !none; ++g)
      if (g == 0 || sum_[g] > sum_[best]) best = g;
    return smooth_.grid[best];
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
  bool of_child_ = true;
  float worth_ = 0;
  double all_ = 0;  // the weight of all rows
  std::vector<Rung> rungs_;
  std::vector<float> base_, whole_, unit_, p_;
  std::vector<std::uint32_t> context_, child_;  // context_: (rungs, rows)
  Judges one_, other_;  // rows of weight 1, whose logarithms can be taken together, and the others
  std::vector<double> sum_;
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
  parallel_for(chains.count, [&](std::size_t i, int) {
    const ChainViews read(chains, i);
    Count* to = counts + chains.counts[i] * classes;
    std::vector<std::uint32_t> cell(kSpan);
    for (std::size_t first = 0; first < rows.n; first += kSpan) {
      const std::size_t some = std::min(kSpan, rows.n - first);
      std::fill_n(cell.begin(), some, 0u);
      for (std::size_t l = 0; l < read.count(); ++l) read.step(l, rows.codes, rows.n, first, cell.data(), some);
      const std::int32_t* y = rows.y + first;
      for (std::size_t r = 0; r < some; ++r) {
        if (cell[r] == kNoCell || y[r] < 0) continue;
        to[cell[r] * classes + static_cast<std::size_t>(y[r])] +=
            rows.w ? static_cast<Count>(rows.w[first + r]) : Count{1};
      }
    }
  });
}

template <class T, class Count>
void learn_chains(const Chains& chains, const Count* counts, std::size_t classes, const Rows<T>& rows,
                  const Smooth& smooth, const Planes& planes, double* strengths, float* logs, float* terms) {
  std::vector<std::vector<std::size_t>> of(planes.count);  // a plane belongs to one thread, its chains come in order
  for (std::size_t i = 0; i < chains.count; ++i) of[static_cast<std::size_t>(planes.of[i])].push_back(i);
  parallel_for(planes.count, [&](std::size_t plane, int) {
    Learner learner(chains, classes, smooth);
    for (const std::size_t i : of[plane]) {
      learner.learn(i, counts, rows, planes.scale[i], strengths + chains.parent_start[i] + static_cast<std::int64_t>(i),
                    logs, terms ? terms + plane * rows.n * classes : nullptr);
    }
  });
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
