// Fayyad and Irani (1993): cut where the class entropy falls most, as long as the fall pays for describing the cut.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "core/encode/cut_points.hpp"
#include "core/math/radix_sort.hpp"
#include "core/runtime/threads.hpp"

namespace tb {
namespace {

// n log2 n in fixed point. Whole numbers add without rounding: the sums do not depend on the order in which values
// pass a cut, and two cuts that are equally good tie exactly, so the first of them wins on any machine.
class NLogN {
 public:
  // For parts of a total weight, over that many classes. whole: weights are whole numbers, worth a table.
  NLogN(double total, std::size_t classes, bool whole)
      : digits_(60 - std::ilogb(total * std::log2(std::max(total, 2.0)) + static_cast<double>(classes))),
        scale_(std::ldexp(1.0, digits_)) {
    constexpr double kMaxTableCells = 1 << 20;
    if (whole) table_.resize(static_cast<std::size_t>(std::min(total, kMaxTableCells)) + 1);
    constexpr std::size_t kBlock = 1 << 15;
    parallel_for((table_.size() + kBlock - 1) / kBlock, [this](std::size_t b, int) {
      const std::size_t end = std::min(table_.size(), (b + 1) * kBlock);
      for (std::size_t n = b * kBlock; n < end; ++n) table_[n] = compute(static_cast<double>(n));
    });
  }
  std::int64_t operator()(double n) const {
    if (n < static_cast<double>(table_.size())) {
      const auto i = static_cast<std::int64_t>(n);
      if (static_cast<double>(i) == n) return table_[static_cast<std::size_t>(i)];
    }
    return compute(n);
  }
  double bits(std::int64_t fixed) const { return std::ldexp(static_cast<double>(fixed), -digits_); }

 private:
  std::int64_t compute(double n) const { return n > 0 ? std::llrint(n * std::log2(n) * scale_) : 0; }
  int digits_;
  double scale_;
  std::vector<std::int64_t> table_;
};

// A column as runs of neighbouring values, each run a list of (class, weight). An optimal cut never lies between
// two values that both belong to one and the same class, so such neighbours are in one run.
struct Runs {
  std::vector<std::uint32_t> start;  // of run r in entry; one more at the end
  std::vector<double> cut;           // before run r; of no use for r = 0
  struct Entry {
    double weight;
    std::uint32_t label;
  };
  std::vector<Entry> entry;
  std::size_t count() const { return cut.size(); }
  void clear(std::size_t most) {  // memory that stays untouched costs nothing; growing step by step would
    start.clear(), cut.clear(), entry.clear();
    start.reserve(most + 1), cut.reserve(most), entry.reserve(most);
  }
};

class Grouping {
 public:
  explicit Grouping(std::size_t classes) : weight_(classes, 0.0) {}

  // The tags of sorted are classes if there are no weights, else rows.
  void group(const Sorted& sorted, const Rows& rows, Runs& out) {
    out.clear(sorted.count);
    bool pure = false;  // the last run holds one class only
    double before = 0;
    for (std::size_t i = 0, end; i < sorted.count; i = end) {
      end = collect(sorted, i, rows);
      const double value = value_of(sorted.key[i]);
      if (pure && label_.size() == 1 && out.entry.back().label == label_[0]) {
        out.entry.back().weight += weight_[label_[0]];
      } else {
        pure = label_.size() == 1;
        out.start.push_back(static_cast<std::uint32_t>(out.entry.size()));
        out.cut.push_back(between(before, value));
        for (const std::uint32_t c : label_) out.entry.push_back({weight_[c], c});
      }
      before = value;
      for (const std::uint32_t c : label_) weight_[c] = 0;
    }
    out.start.push_back(static_cast<std::uint32_t>(out.entry.size()));
  }

 private:
  // Adds up the classes of all values equal to the one at i; returns the index after them.
  std::size_t collect(const Sorted& sorted, std::size_t i, const Rows& rows) {
    const std::uint64_t key = sorted.key[i];
    label_.clear();
    for (; i < sorted.count && sorted.key[i] == key; ++i) {
      const std::uint32_t t = sorted.tag[i];
      const auto c = rows.w ? static_cast<std::uint32_t>(rows.y[t]) : t;
      if (weight_[c] == 0) label_.push_back(c);
      weight_[c] += rows.w ? rows.w[t] : 1.0;
    }
    return i;
  }
  std::vector<double> weight_;        // by class, zero between values
  std::vector<std::uint32_t> label_;  // the classes whose weight is not zero
};

class Splitter {
 public:
  Splitter(const NLogN& nlogn, std::size_t classes) : f_(nlogn), statistics_(classes) {}

  std::vector<double> split(const Runs& runs) {
    std::vector<double> cuts;
    std::vector<Part> todo;
    if (runs.count() > 0) todo.push_back(part(runs, 0, runs.count()));
    while (!todo.empty()) {
      const Part whole = todo.back();
      todo.pop_back();
      if (whole.classes < 2 || whole.end - whole.begin < 2) continue;
      const std::size_t at = best(runs, whole);
      const Part left = part(runs, whole.begin, at), right = part(runs, at, whole.end);
      if (!pays(whole, left, right)) continue;
      cuts.push_back(runs.cut[at]);
      todo.push_back(left);
      todo.push_back(right);
    }
    std::sort(cuts.begin(), cuts.end());
    return cuts;
  }

 private:
  struct Part {  // runs begin .. end
    std::size_t begin, end;
    double weight = 0;
    std::size_t classes = 0;
    std::int64_t bits = 0;  // weight times class entropy, fixed point
  };
  struct Statistics {  // of one class, while a cut moves through a part
    double all = 0, left = 0;
    std::int64_t bits = 0;  // f(left) + f(all - left)
  };

  // Counts the classes of a part; leaves the counts in statistics_ until the next call.
  Part part(const Runs& runs, std::size_t begin, std::size_t end) {
    for (const std::uint32_t c : present_) statistics_[c] = {};
    present_.clear();
    Part p{begin, end};
    for (std::uint32_t e = runs.start[begin]; e < runs.start[end]; ++e) {
      const auto [weight, c] = runs.entry[e];
      if (statistics_[c].all == 0) present_.push_back(c);
      statistics_[c].all += weight;
      p.weight += weight;
    }
    p.classes = present_.size();
    p.bits = f_(p.weight);
    for (const std::uint32_t c : present_) p.bits -= statistics_[c].bits = f_(statistics_[c].all);
    return p;
  }

  // The run before which a cut leaves the least entropy; the first of equals. Only the classes of the run that
  // passes the cut change their share of the sum.
  std::size_t best(const Runs& runs, const Part& whole) {
    part(runs, whole.begin, whole.end);
    std::int64_t sum = f_(whole.weight) - whole.bits, most = 0;
    std::size_t at = whole.begin;
    double left = 0;
    for (std::size_t r = whole.begin; r + 1 < whole.end; ++r) {
      for (std::uint32_t e = runs.start[r]; e < runs.start[r + 1]; ++e) {
        const auto [weight, c] = runs.entry[e];
        Statistics& t = statistics_[c];
        t.left += weight;
        left += weight;
        const std::int64_t bits = f_(t.left) + f_(t.all - t.left);
        sum += bits - t.bits;
        t.bits = bits;
      }
      const std::int64_t order = sum - f_(left) - f_(whole.weight - left);
      if (at == whole.begin || order > most) {
        most = order;
        at = r + 1;
      }
    }
    return at;
  }

  // All terms times the weight N of the whole. A weight below two leaves log2(N - 1) out: there is nothing to choose.
  bool pays(const Part& whole, const Part& left, const Part& right) const {
    const auto k_entropy = [&](const Part& p) { return static_cast<double>(p.classes) * f_.bits(p.bits) / p.weight; };
    const auto k = static_cast<double>(whole.classes);
    const double log_3k_2 = k * std::log2(3.0) + std::log1p(-2 * std::pow(3.0, -k)) * std::numbers::log2e;
    const double delta = log_3k_2 - (k_entropy(whole) - k_entropy(left) - k_entropy(right));
    return f_.bits(whole.bits - left.bits - right.bits) > std::log2(std::max(whole.weight - 1, 1.0)) + delta;
  }

  const NLogN& f_;
  std::vector<Statistics> statistics_;
  std::vector<std::uint32_t> present_;
};

NLogN table_for(const Rows& rows, std::size_t n, std::size_t classes) {
  double total = 0;
  bool whole = true;
  for (std::size_t i = 0; i < n; ++i) {
    if (rows.y[i] < 0) continue;
    const double w = rows.w ? rows.w[i] : 1.0;
    total += w;
    whole = whole && w == std::floor(w);
  }
  return {total, classes, whole};
}

struct Workspace {
  Workspace(std::size_t n, const Rows& rows, const NLogN& nlogn, std::size_t classes)
      : sorted(n, rows.w ? Tag::row : Tag::label), grouping(classes), splitter(nlogn, classes) {}
  Sorted sorted;
  Grouping grouping;
  Runs runs;
  Splitter splitter;
};

}  // namespace

Cuts cuts_mdl(const Columns& x, const Rows& rows, std::size_t classes) {
  check_rows(rows, x.n, classes);
  const NLogN nlogn = table_for(rows, x.n, classes);
  std::vector<std::unique_ptr<Workspace>> space(static_cast<std::size_t>(threads()));
  std::vector<std::vector<double>> columns(x.d);
  FirstInfinite bad;
  each_column(x, [&](std::size_t j, int thread) {
    auto& mine = space[static_cast<std::size_t>(thread)];
    if (!mine) mine = std::make_unique<Workspace>(x.n, rows, nlogn, classes);
    if (!mine->sorted.sort(x, j, rows, bad)) return;
    mine->grouping.group(mine->sorted, rows, mine->runs);
    columns[j] = mine->splitter.split(mine->runs);
  });
  bad.raise();
  return join(columns);
}

}  // namespace tb
