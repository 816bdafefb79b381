// Sum-product elimination for rows with missing values, in logarithms: for numbers beyond the range of SumOut.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/networks/network.hpp"

namespace tb {
namespace {

// A function of some missing columns: (cells, classes), the last column fastest.
struct Factor {
  std::vector<std::int32_t> over;
  std::vector<double> log;
};

class Elimination {
 public:
  Elimination(const Network& network, const std::int64_t* code, std::size_t row)
      : net_(network), code_(code), row_(row) {}

  void run(double* out) {
    std::fill_n(out, net_.classes, 0.0);
    collect(out);
    while (!factors_.empty()) sum_out(cheapest(), out);
  }

 private:
  std::size_t size(std::int32_t j) const { return static_cast<std::size_t>(net_.size[j]); }
  bool missing(std::int32_t j) const { return code_[j] < 0; }

  // A missing column that nothing hangs on sums to one: its family is left out.
  void collect(double* out) {
    const Families& all = net_.families;
    std::vector<bool> wanted(net_.d, false);
    for (std::size_t f = 0; f < net_.reals.count; ++f) {
      if (!net_.reals.missing(f, row_)) take_real(f, wanted, out);
    }
    for (std::size_t f = all.count; f-- > 0;) {  // children before parents
      if (missing(all.child[f]) && !wanted[static_cast<std::size_t>(all.child[f])]) continue;
      Factor factor;
      for (std::int64_t i = all.parent_start[f]; i < all.parent_start[f + 1]; ++i) take(all.parent[i], factor, wanted);
      take(all.child[f], factor, wanted);
      fill(f, factor);
      if (factor.over.empty())
        add(factor.log.data(), out);
      else
        factors_.push_back(std::move(factor));
    }
  }
  // The density of a real value, for every combination of its missing parents.
  void take_real(std::size_t f, std::vector<bool>& wanted, double* out) {
    const RealFamilies& reals = net_.reals;
    Factor factor;
    std::vector<std::size_t> at{0};
    for (std::int64_t i = reals.parent_start[f]; i < reals.parent_start[f + 1]; ++i) {
      const std::int32_t j = reals.parent[i];
      take(j, factor, wanted);
      check(factor.over);
      spread(j, at, [&](std::size_t a, std::size_t v) { return a * size(j) + v; });
    }
    factor.log.assign(at.size() * net_.classes, 0.0);
    for (std::size_t i = 0; i < at.size(); ++i) reals.add(f, at[i], row_, factor.log.data() + i * net_.classes);
    if (factor.over.empty())
      add(factor.log.data(), out);
    else
      factors_.push_back(std::move(factor));
  }
  void take(std::int32_t j, Factor& factor, std::vector<bool>& wanted) const {
    if (!missing(j)) return;
    factor.over.push_back(j);
    wanted[static_cast<std::size_t>(j)] = true;
  }
  void add(const double* log, double* out) const {
    for (std::size_t c = 0; c < net_.classes; ++c) out[c] += log[c];
  }

  double cells(const std::vector<std::int32_t>& over) const {
    double n = static_cast<double>(net_.classes);
    for (const std::int32_t j : over) n *= static_cast<double>(size(j));
    return n;
  }
  void check(const std::vector<std::int32_t>& over) const {
    if (cells(over) > kMostCells) throw TooManyMissing{row_, cells(over)};
  }

  // Every place goes on to those of column j's value, or of all its levels where it is missing.
  template <class F>
  void spread(std::int32_t j, std::vector<std::size_t>& at, F&& next) const {
    std::vector<std::size_t> more;
    for (const std::size_t a : at) {
      if (!missing(j))
        more.push_back(next(a, static_cast<std::size_t>(code_[j])));
      else
        for (std::size_t v = 0; v < size(j); ++v) more.push_back(next(a, v));
    }
    at = std::move(more);
  }

  // The part of family f's table that agrees with the values that are there.
  void fill(std::size_t f, Factor& factor) const {
    const Families& all = net_.families;
    check(factor.over);
    std::vector<std::size_t> at{net_.offset[f]};
    std::size_t stride = net_.offset[f + 1] - net_.offset[f];
    const auto next = [&](std::int32_t j) {
      stride /= size(j);
      spread(j, at, [&](std::size_t a, std::size_t v) { return a + v * stride; });
    };
    for (std::int64_t i = all.parent_start[f]; i < all.parent_start[f + 1]; ++i) next(all.parent[i]);
    next(all.child[f]);
    for (const std::size_t a : at) {
      factor.log.insert(factor.log.end(), net_.log + a * net_.classes, net_.log + (a + 1) * net_.classes);
    }
  }

  std::vector<std::int32_t> together(std::int32_t j) const {
    std::vector<std::int32_t> over;
    for (const Factor& f : factors_) {
      if (std::find(f.over.begin(), f.over.end(), j) == f.over.end()) continue;
      for (const std::int32_t i : f.over) {
        if (std::find(over.begin(), over.end(), i) == over.end()) over.push_back(i);
      }
    }
    return over;
  }

  // The column whose removal makes the smallest table; the first of equals.
  std::int32_t cheapest() const {
    std::int32_t best = -1;
    double least = std::numeric_limits<double>::infinity();
    for (const Factor& f : factors_) {
      for (const std::int32_t j : f.over) {
        const double n = cells(together(j));
        if (n < least || (n == least && j < best)) {
          least = n;
          best = j;
        }
      }
    }
    return best;
  }

  void sum_out(std::int32_t j, double* out) {
    std::vector<std::int32_t> over = together(j);
    check(over);
    over.erase(std::find(over.begin(), over.end(), j));
    over.push_back(j);  // the one that goes runs fastest
    Factor product{over, std::vector<double>(static_cast<std::size_t>(cells(over)), 0.0)};
    std::vector<Factor> rest;
    for (Factor& f : factors_) {
      if (std::find(f.over.begin(), f.over.end(), j) == f.over.end())
        rest.push_back(std::move(f));
      else
        multiply(f, product);
    }
    factors_ = std::move(rest);
    Factor sum{{over.begin(), over.end() - 1}, {}};
    const std::size_t K = net_.classes, run = size(j);
    sum.log.resize(product.log.size() / run);
    for (std::size_t i = 0; i < sum.log.size(); ++i) {
      const double* p = product.log.data() + i / K * run * K + i % K;
      double top = -std::numeric_limits<double>::infinity(), total = 0;
      for (std::size_t v = 0; v < run; ++v) top = std::max(top, p[v * K]);
      if (std::isfinite(top))
        for (std::size_t v = 0; v < run; ++v) total += std::exp(p[v * K] - top);
      sum.log[i] = std::isfinite(top) ? top + std::log(total) : top;
    }
    if (sum.over.empty())
      add(sum.log.data(), out);
    else
      factors_.push_back(std::move(sum));
  }

  void multiply(const Factor& f, Factor& product) const {
    std::vector<std::size_t> stride(product.over.size(), 0);
    for (std::size_t i = 0; i < product.over.size(); ++i) {
      const auto here = std::find(f.over.begin(), f.over.end(), product.over[i]);
      if (here == f.over.end()) continue;
      stride[i] = net_.classes;
      for (auto j = here + 1; j != f.over.end(); ++j) stride[i] *= size(*j);
    }
    std::vector<std::size_t> value(product.over.size(), 0);
    std::size_t at = 0;
    for (std::size_t i = 0; i < product.log.size(); i += net_.classes) {
      for (std::size_t c = 0; c < net_.classes; ++c) product.log[i + c] += f.log[at + c];
      for (std::size_t k = value.size(); k-- > 0;) {  // the next combination of values
        at += stride[k];
        if (++value[k] < size(product.over[k])) break;
        at -= stride[k] * value[k];
        value[k] = 0;
      }
    }
  }

  const Network& net_;
  const std::int64_t* code_;
  std::size_t row_;
  std::vector<Factor> factors_;
};

}  // namespace

void eliminate(const Network& network, const std::int64_t* code, std::size_t row, double* out) {
  Elimination(network, code, row).run(out);
}

}  // namespace tb
