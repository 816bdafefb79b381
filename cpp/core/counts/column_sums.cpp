#include "core/counts/column_sums.hpp"

#include <algorithm>
#include <cmath>

#include "core/encode/bad_values.hpp"
#include "core/runtime/buffer.hpp"
#include "core/runtime/ordered_merge.hpp"
#include "kernels/column_sums.hpp"

namespace tb {
namespace {

struct SumUp {
  bool add(const RowList& b, bool careful, double* acc) const {
    return careful ? TB_CALL(add_sums_careful, b, acc) : TB_CALL(add_sums, b, acc);
  }
  static std::optional<BadValue::Kind> bad(double v) {
    if (std::isinf(v)) return BadValue::infinite;
    return v < 0.0 ? std::optional(BadValue::negative) : std::nullopt;
  }
};

struct CountAbove {
  double threshold;
  bool add(const RowList& b, bool careful, double* acc) const {
    return careful ? TB_CALL(add_ones_careful, b, threshold, acc) : TB_CALL(add_ones, b, threshold, acc);
  }
  static std::optional<BadValue::Kind> bad(double) { return std::nullopt; }
};

template <class What>
class SumsWorker {
 public:
  SumsWorker(const Plan& plan, const What& what, double* n, double* s)
      : plan_(plan),
        d_(plan.t.x.d),
        what_(what),
        rows_(plan),
        size_(TB_CALL(sums_size, d_)),
        acc_(rows_.most_slots() * size_),
        n_(n),
        s_(s) {}

  std::optional<BadValue> add(std::size_t chunk) {
    careful_ = false;
    if (run(chunk)) return std::nullopt;
    careful_ = true;
    if (run(chunk)) return std::nullopt;
    return find_bad(plan_, chunk, What::bad);
  }

  void merge() {
    for (std::size_t s = 0; s < rows_.slots(); ++s) {
      const std::size_t at = rows_.class_of(s) * d_;
      TB_CALL(merge_sums, acc_.data() + s * size_, d_, careful_ ? -1.0 : rows_.weight(s), n_ + at, s_ + at);
    }
  }

 private:
  bool run(std::size_t chunk) {
    RowList block;
    rows_.start(chunk);
    while (rows_.next(block)) {
      std::fill(acc_.data() + rows_.fresh_from() * size_, acc_.data() + rows_.slots() * size_, 0.0);
      if (!what_.add(block, careful_, acc_.data())) return false;
    }
    return true;
  }

  const Plan& plan_;
  const std::size_t d_;
  const What what_;
  ClassRows rows_;
  std::size_t size_;
  Buffer<double> acc_;
  double *n_, *s_;
  bool careful_ = false;
};

template <class What>
void run(const Labelled& t, const What& what, double* n, double* s) {
  std::fill_n(n, t.classes * t.x.d, 0.0);
  std::fill_n(s, t.classes * t.x.d, 0.0);
  const Plan plan(t);
  InOrder<SumsWorker<What>>().run(plan.chunks, [&] { return std::make_unique<SumsWorker<What>>(plan, what, n, s); });
}

}  // namespace

void sums(const Labelled& t, double* n, double* s) {
  run(t, SumUp{}, n, s);
  for (std::size_t i = 0; i < t.classes * t.x.d; ++i) {
    if (!std::isfinite(s[i])) throw overflow(t, i % t.x.d);
  }
}

void binary_counts(const Labelled& t, double threshold, double* n, double* ones) {
  run(t, CountAbove{threshold}, n, ones);
}

}  // namespace tb
