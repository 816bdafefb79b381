#include "core/moments.hpp"

#include <algorithm>
#include <cmath>

#include "core/bad.hpp"
#include "core/buffer.hpp"
#include "core/in_order.hpp"
#include "kernels/moments.hpp"

namespace tb {
namespace {

class MomentsWorker {
 public:
  MomentsWorker(const Labelled& t, double* n, double* mean, double* m2)
      : t_(t), rows_(t), size_(TB_CALL(moments_size, t.x.d)), acc_(rows_.most_slots() * size_), n_(n), mean_(mean), m2_(m2) {}

  std::optional<BadValue> add(std::size_t chunk) {
    if (run(chunk, false) || run(chunk, true)) return std::nullopt;
    const std::size_t rows = chunk_rows(t_);
    return find_bad(t_, chunk * rows, (chunk + 1) * rows, [](double v) {
      return std::isinf(v) ? std::optional(BadValue::infinite) : std::nullopt;
    });
  }

  void merge() {
    for (std::size_t s = 0; s < rows_.slots(); ++s) {
      const std::size_t at = rows_.class_of(s) * t_.x.d;
      TB_CALL(merge_moments, acc_.data() + s * size_, t_.x.d, {n_ + at, mean_ + at, m2_ + at});
    }
  }

 private:
  bool run(std::size_t chunk, bool careful) {
    RowList block;
    rows_.start(chunk);
    while (rows_.next(block)) {
      for (std::size_t s = rows_.fresh_from(); s < rows_.slots(); ++s) {
        TB_CALL(open_moments, block, rows_.first_row(s), careful, acc_.data() + s * size_);
      }
      if (careful) TB_CALL(add_moments_careful, block, acc_.data());
      else TB_CALL(add_moments, block, acc_.data());
    }
    bool finite = true;
    for (std::size_t s = 0; s < rows_.slots(); ++s) {
      finite &= TB_CALL(close_moments, acc_.data() + s * size_, t_.x.d, careful ? -1.0 : rows_.weight(s));
    }
    return finite;
  }

  const Labelled t_;
  ClassRows rows_;
  std::size_t size_;
  Buffer<double> acc_;
  double *n_, *mean_, *m2_;
};

}  // namespace

void moments(const Labelled& t, double* n, double* mean, double* m2) {
  const std::size_t cells = t.classes * t.x.d;
  for (double* out : {n, mean, m2}) std::fill_n(out, cells, 0.0);
  InOrder<MomentsWorker>().run(chunks(t), [&] { return std::make_unique<MomentsWorker>(t, n, mean, m2); });
  for (std::size_t i = 0; i < cells; ++i) {
    if (!std::isfinite(m2[i]) || !std::isfinite(mean[i])) throw overflow(t, i % t.x.d);
  }
}

}  // namespace tb
