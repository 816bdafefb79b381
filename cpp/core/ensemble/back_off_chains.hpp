// Conditional probability tables with hierarchical back-off smoothing: each order is shrunk towards the one with a
// parent less. A chain is the sequence of orders of one child; ensembles have many.
//
// A chain has a child and parents p1 … pk. With n(…) the weight of rows,
//   P_l(x | c, p1 … pl) = (n(x, c, p1 … pl) + a_l P_{l-1}) / (n(c, p1 … pl) + a_l),   l = 0 … k,
//   P_{-1}(x) = (n(x) + 1 / v) / (n + 1),   v the number of bins of x.
// That is P_{l-1} times a lift (n + s) / (e + s): the rows that came by those to be expected, e = n(c, p1 … pl)
// P_{l-1}, both with s = a_l P_{l-1} rows more. For a rare value s is next to nothing, and one row says what a thousand
// would. So every value has one row more, spread over the K classes: s = a_l P_{l-1} + pseudo_count / K. Such estimates
// sum to about 1. A chain whose child is the class is an oblivious decision tree:
//   P_l(c | p1 … pl) = (n(c, p1 … pl) + a_l P_{l-1}) / (n(p1 … pl) + a_l),   l = 1 … k,   P_0(c) = (n(c) + 1 / K) / (n
//   + 1).
// An unseen configuration keeps the estimate of the one above. Only the counts with all parents are kept: those of
// fewer parents are sums of them.
//
// Children and parents are read through views: a view joins the levels of a column into at most 255 bins.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/ensemble/bins.hpp"
#include "core/networks/back_off.hpp"

namespace tb {

struct Views {
  std::size_t count;
  const std::int32_t* column;
  const std::int64_t*
      start;  // (count + 1) of each map: a bin for each level of the column, and last one for a missing value
  const std::uint8_t* map;
  const std::int32_t* bins;

  std::size_t levels(std::size_t v) const { return static_cast<std::size_t>(start[v + 1] - start[v]) - 1; }
};

struct Chains {
  Views views;
  std::size_t count;
  const std::int32_t* child;   // a view, or −1: the class
  const std::int32_t* parent;  // views
  const std::int64_t* parent_start;
  std::vector<std::size_t> counts;  // (count + 1): where the counts of each chain begin, in cells
  std::vector<std::size_t> orders;  // (count + 1): the same for the estimates of all l, shortest first

  Chains(const Views& views, std::size_t count, const std::int32_t* child, const std::int32_t* parent,
         const std::int64_t* parent_start);  // std::length_error if a chain has 2^31 estimates or more
  std::size_t parents(std::size_t i) const { return static_cast<std::size_t>(parent_start[i + 1] - parent_start[i]); }
  std::size_t bins(std::size_t i) const { return child[i] < 0 ? 1 : static_cast<std::size_t>(views.bins[child[i]]); }
};

// Packed codes (core/counts/joint_tables.hpp): column j at codes + j * n; what is no level of a view's column is
// missing.
template <class T>
struct Rows {
  const T* codes;
  std::size_t n;
  const std::int32_t* y;  // negative: takes no part
  const double* w;        // null: all 1
};

// counts (cells, classes) += the rows. Count: std::uint32_t (no weights) or double.
template <class T, class Count>
void count_chains(const Chains& chains, const Rows<T>& rows, std::size_t classes, Count* counts);

struct SmoothingOptions {
  Grid grid;         // empty: none is chosen, and alpha is added to every count (Laplace)
  std::size_t rows;  // at most so many of the rows choose
  double alpha;
  double pseudo_count;  // rows that each value has besides, spread over the classes
  bool given;           // the concentrations are known
};

// Into which output each chain's term is added, and times what. Negative, for a chain without a child: what each parent
// adds goes to the output of its column, and what is known without parents to the last output.
struct Outputs {
  std::size_t count;
  const std::int32_t* of;  // (chains)
  const double* scale;     // (chains)
};

// Reads counts. concentrations: (parents + 1 of each chain, one after another), by the leave-one-out log-likelihood of
// the rows' own class; as they are, if smooth.given. logs (order cells, classes): log P. terms (outputs, rows,
// classes): log P of the rows, each leave-one-out (a unit of its weight at most), times scale, 0 where the child is
// missing. The rows must be among those counted.
template <class T, class Count>
void learn_chains(const Chains& chains, const Count* counts, std::size_t classes, const Rows<T>& rows,
                  const SmoothingOptions& smooth, const Outputs& outputs, double* concentrations, float* logs,
                  float* terms);

// logs (order cells, classes): log (n + alpha) / (total + alpha v), to the last bit what core/networks/families.cpp
// says.
template <class Count>
void laplace_chains(const Chains& chains, const Count* counts, std::size_t classes, double alpha, double* logs);

// out (outputs, rows, classes) += scale * log P of the chains. Log: float, or double.
template <class T, class Log>
void add_chains(const Chains& chains, const Log* logs, std::size_t classes, const T* codes, std::size_t n,
                const Outputs& outputs, double* out);

}  // namespace tb
