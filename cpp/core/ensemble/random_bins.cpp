#include "core/ensemble/random_bins.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/runtime/threads.hpp"

namespace tb {
namespace {

constexpr std::size_t kDepth = 5;  // of cuts by class entropy: at most 32 bins

// Steele, Lea and Flood (2014).
class SplitMix {
 public:
  SplitMix(std::uint64_t seed, std::uint64_t member, std::uint64_t column) : state_(seed) {
    state_ = next() ^ member;  // each number goes through the mixer: neighbours have nothing in common
    state_ = next() ^ column;
    state_ = next();
  }
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }  // in (0, 1)

  // Binomial(n, 1/2): the bits of random words; for a large n the normal number that 4096 of them make.
  double half_of(double n) {
    constexpr double kBits = 4096;
    if (n <= kBits) return static_cast<double>(bits(static_cast<std::size_t>(n)));
    const double z = (static_cast<double>(bits(static_cast<std::size_t>(kBits))) - kBits / 2) / std::sqrt(kBits / 4);
    return std::clamp(std::floor(n / 2 + z * std::sqrt(n) / 2 + 0.5), 0.0, n);
  }

 private:
  // Of n random bits, how many are 1.
  std::size_t bits(std::size_t n) {
    std::size_t ones = 0;
    for (; n >= 64; n -= 64) ones += static_cast<std::size_t>(std::popcount(next()));
    if (n > 0) ones += static_cast<std::size_t>(std::popcount(next() >> (64 - n)));
    return ones;
  }
  std::uint64_t state_;
};

// n log2 n; small whole numbers from a table. most: larger ones hardly come, and a table for them takes its time.
class NLogN {
 public:
  explicit NLogN(double most) : table_(most < kTableSize ? static_cast<std::size_t>(most) + 1 : kTableSize, 0.0) {
    for (std::size_t n = 1; n < table_.size(); ++n)
      table_[n] = static_cast<double>(n) * std::log2(static_cast<double>(n));
  }
  double operator()(std::uint32_t n) const {
    return n < table_.size() ? table_[n] : static_cast<double>(n) * std::log2(static_cast<double>(n));
  }
  double operator()(double n) const {
    return n > 0 ? n * std::log2(n) : 0.0;
  }  // a difference may be a rounding below 0

 private:
  static constexpr std::size_t kTableSize = 1 << 14;
  std::vector<double> table_;
};

// The levels of one column that are not empty, each a list of (class, weight). N: whole numbers or doubles.
template <class N>
class Mdl {
 public:
  // weight(c, v) of class c in level v
  template <class Weight>
  Mdl(const NLogN& f, std::size_t classes, std::size_t levels, Weight&& weight) : f_(f), statistics_(classes) {
    entry_.reserve(classes * levels);
    for (std::size_t v = 0; v < levels; ++v) {
      const std::size_t before = entry_.size();
      for (std::size_t c = 0; c < classes; ++c) {
        const N w = weight(c, v);
        if (w > 0) entry_.push_back({static_cast<std::uint32_t>(c), w});
      }
      if (entry_.size() == before) continue;
      level_.push_back(v);
      start_.push_back(before);
    }
    start_.push_back(entry_.size());
  }

  // The levels before which there is a cut, in order.
  std::vector<std::size_t> cuts(std::size_t depth) {
    std::vector<std::size_t> out;
    std::vector<Part> todo{{0, level_.size(), 0}};
    while (!todo.empty()) {
      const Part part = todo.back();
      todo.pop_back();
      if (part.depth >= depth || part.end - part.begin < 2) continue;
      const std::size_t at = best(part);
      if (at == part.begin) continue;
      out.push_back(level_[at]);
      todo.push_back({part.begin, at, part.depth + 1});
      todo.push_back({at, part.end, part.depth + 1});
    }
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  struct Part {
    std::size_t begin, end, depth;
  };
  struct Entry {
    std::uint32_t label;
    N weight;
  };
  struct Statistics {  // of one class, while a cut moves through a part
    N left, right;
    double bits;  // f(left) + f(right)
  };
  struct Sums {  // of one part
    N weight = 0;
    double bits = 0;  // weight times class entropy
    double classes = 0;
    double k_entropy() const { return weight > 0 ? classes * bits / static_cast<double>(weight) : 0.0; }
  };

  // Counts the classes of a part; leaves them in statistics_, all to the right of the cut.
  Sums sums(std::size_t begin, std::size_t end) {
    std::fill(statistics_.begin(), statistics_.end(), Statistics{});
    Sums s;
    for (std::size_t e = start_[begin]; e < start_[end]; ++e) statistics_[entry_[e].label].right += entry_[e].weight;
    for (Statistics& t : statistics_) {
      t.bits = f_(t.right);
      s.weight += t.right;
      s.bits -= t.bits;
      s.classes += t.right > 0;
    }
    s.bits += f_(s.weight);
    return s;
  }

  // Where the part is cut: before this level; its own begin if that does not pay. As in core/encode/mdl_cuts.cpp, but
  // sums in doubles: between cuts that are equal to within rounding the first wins.
  std::size_t best(const Part& part) {
    const Sums whole = sums(part.begin, part.end);
    if (whole.weight < 4 || whole.classes < 2) return part.begin;
    double inside = f_(whole.weight) - whole.bits;  // the sum of all statistics' bits
    double least = std::numeric_limits<double>::infinity();
    const double total = static_cast<double>(whole.weight);
    N left = 0, right = whole.weight;
    std::size_t at = part.begin;
    for (std::size_t v = part.begin; v + 1 < part.end; ++v) {
      for (std::size_t e = start_[v]; e < start_[v + 1]; ++e) {
        const auto [c, w] = entry_[e];
        Statistics& t = statistics_[c];
        t.left += w, t.right -= w;
        left += w, right -= w;
        const double bits = f_(t.left) + f_(t.right);
        inside += bits - t.bits;
        t.bits = bits;
      }
      const double bits = f_(left) + f_(right) - inside;
      if (bits < least - 1e-9 * total) {
        least = bits;
        at = v + 1;
      }
    }
    const Sums before = sums(part.begin, at), after = sums(at, part.end);
    const double k = whole.classes;
    const double log_3k_2 = k * std::log2(3.0) + std::log1p(-2 * std::pow(3.0, -k)) * std::numbers::log2e;
    const double delta = log_3k_2 - (whole.k_entropy() - before.k_entropy() - after.k_entropy());
    return whole.bits - before.bits - after.bits > std::log2(total - 1) + delta ? at : part.begin;
  }

  const NLogN& f_;
  std::vector<Statistics> statistics_;
  std::vector<Entry> entry_;
  std::vector<std::size_t> start_, level_;
};

// Levels before the first cut are bin 0, and so on.
std::size_t number(const std::vector<std::size_t>& cuts, std::size_t levels, std::uint8_t* map) {
  const std::size_t used = std::min(cuts.size(), kMostBins - 1);
  std::size_t bin = 0;
  for (std::size_t v = 0; v < levels; ++v) {
    while (bin < used && cuts[bin] <= v) ++bin;
    map[v] = static_cast<std::uint8_t>(bin);
  }
  return used + 1;
}

struct Level {
  std::size_t v;
  double weight;
};

// Bins of equal weight; phase: which part of the first bin lies before the first level.
std::vector<std::size_t> equal_weight(const std::vector<Level>& level, double total, std::size_t q, double phase) {
  const double most = level.size() <= q ? 0.0 : total / static_cast<double>(q);
  const auto heavy = [&](const Level& l) { return l.weight >= most; };
  double light = 0;
  std::size_t others = q;
  for (const Level& l : level) {
    const bool alone = heavy(l);
    light += alone ? 0.0 : l.weight;
    others -= alone && others > 0;
  }
  const double width = light > 0 ? light / static_cast<double>(std::max<std::size_t>(others, 1)) : 1.0;
  double filled = width * phase;
  std::vector<std::size_t> cuts;
  cuts.reserve(2 * q);
  bool here = !level.empty() && heavy(level[0]);
  for (std::size_t i = 0; i + 1 < level.size(); ++i) {
    const bool next = heavy(level[i + 1]);
    if (!here) filled += level[i].weight;
    const bool full = filled >= width * (1 - 1e-12);  // to within the rounding of the sum
    if (full || here || next) cuts.push_back(level[i + 1].v);
    if (full) filled = filled < width ? 0.0 : std::fmod(filled, width);
    here = next;
  }
  return cuts;
}

std::size_t frequent(std::vector<Level> level, std::size_t most, std::size_t levels, std::uint8_t* map) {
  const bool share = level.size() > most;
  if (share) {
    std::stable_sort(level.begin(), level.end(), [](const Level& a, const Level& b) { return a.weight > b.weight; });
    level.resize(most - 1);
    std::sort(level.begin(), level.end(), [](const Level& a, const Level& b) { return a.v < b.v; });
  }
  const std::size_t bins = std::max<std::size_t>(level.size() + share, 1);
  std::fill(map, map + levels, static_cast<std::uint8_t>(bins - 1));
  for (std::size_t i = 0; i < level.size(); ++i) map[level[i].v] = static_cast<std::uint8_t>(i);
  return bins;
}

// What a member has of a column: how many bins are aimed at, where the first begins, and whether classes cut it.
struct Turn {
  std::size_t bins;
  double phase;
  bool by_class;
};

// Turn k of a column: classes cut every so many turns; the other turns have numbers of bins and phases that fill their
// square evenly however many there are, from a place of the column's own.
Turn turn_of(const BinDraw& d, std::size_t j, std::size_t k) {
  constexpr double kOne = 0.6180339887498949, kTwo = 0.41421356237309503;  // (√5 − 1) / 2, √2 − 1
  SplitMix own(d.seed, d.members, j);
  const double u = own.uniform(), v = own.uniform(), up = own.uniform();
  const auto cut = [&](std::size_t turns) {
    return static_cast<std::size_t>(static_cast<double>(turns) * d.mdl_share + up);
  };
  const auto plain = static_cast<double>(k - std::min(cut(k), k));
  const double place = u + plain * kOne, phase = v + plain * kTwo;
  const std::size_t choices = d.high - d.low + 1;
  const auto step = static_cast<std::size_t>((place - std::floor(place)) * static_cast<double>(choices));
  return {d.low + std::min(step, choices - 1), phase - std::floor(phase), cut(k + 1) > cut(k)};
}

// count: of this column, classes `stride` apart
std::size_t draw_column(const BinDraw& d, const NLogN& f, std::size_t member, std::size_t j, const double* count,
                        std::size_t stride, const std::vector<Level>& level, double total, std::uint8_t* map) {
  const auto levels = static_cast<std::size_t>(d.size[j]);
  SplitMix random(d.seed, member, j);
  const Turn turn = turn_of(d, j, static_cast<std::size_t>(d.turn[member * d.columns + j]));
  if (!d.ordered[j]) return frequent(level, std::clamp<std::size_t>(2 * turn.bins, 8, 24), levels, map);
  if (turn.by_class) {
    const auto half = [&](std::size_t c, std::size_t v) {
      const double n = std::ceil(count[c * stride + v]);
      return n > 0 ? random.half_of(n) : 0.0;
    };
    const double most = total + static_cast<double>(d.classes * levels);  // for rounding up
    const std::vector<std::size_t> cuts =
        most < 0x1p32 ? Mdl<std::uint32_t>(
                            f, d.classes, levels,
                            [&](std::size_t c, std::size_t v) { return static_cast<std::uint32_t>(half(c, v)); })
                            .cuts(kDepth)
                      : Mdl<double>(f, d.classes, levels, half).cuts(kDepth);
    if (!cuts.empty()) return number(cuts, levels, map);
  }
  return number(equal_weight(level, total, turn.bins, turn.phase), levels, map);
}

}  // namespace

void draw_bins(const BinDraw& d, std::uint8_t* map, std::int32_t* bins) {
  std::vector<std::size_t> first(d.columns + 1, 0);
  for (std::size_t j = 0; j < d.columns; ++j) first[j + 1] = first[j] + static_cast<std::size_t>(d.size[j]);
  const std::size_t all = first.back();
  std::vector<std::vector<Level>> level(d.columns);  // those that are not empty
  std::vector<double> total(d.columns, 0.0);
  for (std::size_t j = 0; j < d.columns; ++j) {
    for (std::size_t v = first[j]; v < first[j + 1]; ++v) {
      double weight = 0;
      for (std::size_t c = 0; c < d.classes; ++c) weight += d.count[c * all + v];
      if (weight > 0) level[j].push_back({v - first[j], weight});
      total[j] += weight > 0 ? weight : 0.0;
    }
  }
  const bool by_class = d.mdl_share > 0 && std::find(d.ordered, d.ordered + d.columns, true) != d.ordered + d.columns;
  const NLogN f(by_class ? *std::max_element(total.begin(), total.end()) : 0.0);
  parallel_for(d.members * d.columns, [&](std::size_t i, int) {
    const std::size_t member = i / d.columns, j = i % d.columns;
    bins[i] = static_cast<std::int32_t>(
        draw_column(d, f, member, j, d.count + first[j], all, level[j], total[j], map + member * all + first[j]));
  });
}

std::size_t mdl_bins(const double* count, std::size_t stride, std::size_t classes, std::size_t levels,
                     std::size_t depth, std::uint8_t* map) {
  const NLogN f(0.0);  // weights are no whole numbers
  Mdl<double> whole(f, classes, levels, [&](std::size_t c, std::size_t v) { return count[c * stride + v]; });
  return number(whole.cuts(depth), levels, map);
}

}  // namespace tb
