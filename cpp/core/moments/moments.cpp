#include "core/moments/moments.hpp"

#include <algorithm>
#include <cmath>

#include "core/encode/bad_values.hpp"
#include "core/runtime/buffer.hpp"
#include "core/math/double_double.hpp"
#include "core/runtime/ordered_merge.hpp"
#include "kernels/moments.hpp"

namespace tb {
namespace {

class MomentsWorker {
 public:
  MomentsWorker(const Plan& plan, const ClassMoments& total)
      : plan_(plan),
        d_(plan.t.x.d),
        rows_(plan),
        size_(TB_CALL(moments_size, d_)),
        acc_(rows_.most_slots() * size_),
        total_(total) {}

  std::optional<BadValue> add(std::size_t chunk) {
    if (run(chunk, false) || run(chunk, true)) return std::nullopt;
    return find_bad(plan_, chunk,
                    [](double v) { return std::isinf(v) ? std::optional(BadValue::infinite) : std::nullopt; });
  }

  void merge() {
    for (std::size_t s = 0; s < rows_.slots(); ++s) {
      const std::size_t at = rows_.class_of(s) * d_;
      const ClassMoments to{total_.n + at, total_.shift + at, total_.offset + at, total_.m2 + at};
      TB_CALL(merge_moments, slot(s), d_, to);
    }
  }

 private:
  double* slot(std::size_t s) { return acc_.data() + s * size_; }

  // False if a sum is not finite, or would not be.
  bool run(std::size_t chunk, bool careful) {
    RowList block;
    rows_.start(chunk);
    while (rows_.next(block)) {
      for (std::size_t s = rows_.fresh_from(); s < rows_.slots(); ++s) {
        if (!TB_CALL(open_moments, block, rows_.first_row(s), careful, slot(s))) return false;
      }
      if (careful)
        TB_CALL(add_moments_careful, block, acc_.data());
      else
        TB_CALL(add_moments, block, acc_.data());
    }
    bool finite = true, cancelled = false;
    for (std::size_t s = 0; s < rows_.slots(); ++s) {
      const Closed end = TB_CALL(close_moments, slot(s), d_, careful ? -1.0 : rows_.weight(s));
      finite &= end != Closed::not_finite;
      cancelled |= end == Closed::cancelled;
    }
    if (finite && cancelled) repair(chunk);
    return finite;
  }

  // The first value of a class in the chunk, its shift, was an outlier in some columns: there, once more about
  // the mean just found.
  void repair(std::size_t chunk) {
    std::vector<std::vector<Lost>> lost(rows_.slots());
    for (std::size_t s = 0; s < rows_.slots(); ++s) {
      for (std::size_t j = 0; j < d_; ++j) {
        const ClassMoments m = TB_CALL(moments_of_column, slot(s), d_, j);
        if (*m.m2 < 0.0) lost[s].push_back({m, j, *m.shift + *m.offset, 0.0, 0.0});
      }
    }
    RowList block;
    rows_.start(chunk);
    while (rows_.next(block)) {
      for (std::size_t k = 0; k < block.m; ++k) {
        for (Lost& l : lost[block.slot[k]]) l.add(value_at(block, k, l.column), block.w ? block.w[k] : 1.0);
      }
    }
    for (const std::vector<Lost>& of_slot : lost) {
      for (const Lost& l : of_slot) l.close();
    }
  }

  struct Lost {
    ClassMoments m;
    std::size_t column;
    double shift, sum, square;
    void add(double x, double w) {
      if (x != x) return;
      sum += w * (x - shift);
      square += w * (x - shift) * (x - shift);
    }
    void close() const {
      *m.shift = shift;
      *m.offset = sum / *m.n;
      *m.m2 = std::max(0.0, square - sum * *m.offset);
    }
  };

  const Plan& plan_;
  const std::size_t d_;
  ClassRows rows_;
  std::size_t size_;
  Buffer<double> acc_;
  ClassMoments total_;  // of class 0; the others follow
};

}  // namespace

void moments(const Labelled& t, double* n, double* mean, double* low, double* m2) {
  const std::size_t cells = t.classes * t.x.d;
  for (double* out : {n, mean, low, m2}) std::fill_n(out, cells, 0.0);
  const ClassMoments total{n, mean, low, m2};
  const Plan plan(t);
  InOrder<MomentsWorker>().run(plan.chunks, [&] { return std::make_unique<MomentsWorker>(plan, total); });
  for (std::size_t i = 0; i < cells; ++i) {
    const Pair sum = exact_sum(mean[i], low[i]);  // shift and offset until here
    mean[i] = sum.high, low[i] = sum.low;
    if (!std::isfinite(m2[i]) || !std::isfinite(mean[i])) throw overflow(t, i % t.x.d);
  }
}

}  // namespace tb
