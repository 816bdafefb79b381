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
  MomentsWorker(const Labelled& t, const ClassMoments& total)
      : t_(t), rows_(t), size_(TB_CALL(moments_size, t.x.d)), acc_(rows_.most_slots() * size_), total_(total) {}

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
      const ClassMoments to{total_.n + at, total_.shift + at, total_.offset + at, total_.m2 + at};
      TB_CALL(merge_moments, acc_.data() + s * size_, t_.x.d, to);
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
      const Closed end = TB_CALL(close_moments, acc_.data() + s * size_, t_.x.d, careful ? -1.0 : rows_.weight(s));
      if (end == Closed::not_finite) finite = false;
      if (end == Closed::cancelled) repair(chunk, s);
    }
    return finite;
  }

  // The first value of a class in the chunk, its shift, was an outlier in some columns: there, once more about
  // the mean just found.
  void repair(std::size_t chunk, std::size_t s) {
    for (std::size_t j = 0; j < t_.x.d; ++j) {
      const ClassMoments m = TB_CALL(moments_of_column, acc_.data() + s * size_, t_.x.d, j);
      if (*m.m2 >= 0.0) continue;
      const double shift = *m.shift + *m.offset;
      double sum = 0.0, square = 0.0;
      each_value(chunk, rows_.class_of(s), j, [&](double x, double w) {
        const double z = x - shift;
        sum += w * z;
        square += w * z * z;
      });
      *m.shift = shift;
      *m.offset = sum / *m.n;
      *m.m2 = std::max(0.0, square - sum * *m.offset);
    }
  }

  template <class F>
  void each_value(std::size_t chunk, std::size_t c, std::size_t j, F&& f) const {
    const std::size_t rows = chunk_rows(t_), end = std::min(t_.x.n, (chunk + 1) * rows);
    for (std::size_t i = chunk * rows; i < end; ++i) {
      if (t_.y[i] != static_cast<std::int32_t>(c)) continue;
      const double w = t_.w ? t_.w[i] : 1.0, x = value_at(t_.x.col[j], i);
      if (w != 0.0 && x == x) f(x, w);
    }
  }

  const Labelled t_;
  ClassRows rows_;
  std::size_t size_;
  Buffer<double> acc_;
  ClassMoments total_;  // of class 0; the others follow
};

}  // namespace

void moments(const Labelled& t, double* n, double* mean, double* m2) {
  const std::size_t cells = t.classes * t.x.d;
  for (double* out : {n, mean, m2}) std::fill_n(out, cells, 0.0);
  std::vector<double> shift(cells, 0.0);
  const ClassMoments total{n, shift.data(), mean, m2};
  InOrder<MomentsWorker>().run(chunks(t), [&] { return std::make_unique<MomentsWorker>(t, total); });
  for (std::size_t i = 0; i < cells; ++i) {
    mean[i] += shift[i];
    if (!std::isfinite(m2[i]) || !std::isfinite(mean[i])) throw overflow(t, i % t.x.d);
  }
}

}  // namespace tb
