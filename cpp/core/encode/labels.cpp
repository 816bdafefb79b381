#include "core/encode/labels.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "core/runtime/ordered_merge.hpp"
#include "kernels/classes.hpp"

namespace tb {

void throw_class(std::int32_t c, std::size_t classes) {
  throw std::invalid_argument("class code " + std::to_string(c) + " with " + std::to_string(classes) + " classes");
}

void throw_weight() { throw std::invalid_argument("weights must be finite and not negative"); }

ClassList rows_by_class(const std::int32_t* y, const double* w, std::size_t n, std::size_t classes) {
  if (n > std::numeric_limits<std::uint32_t>::max()) throw std::invalid_argument("more than 2^32 - 1 rows in one call");
  ClassList out;
  out.start.assign(classes + 1, 0);
  for (std::size_t i = 0; i < n; ++i) {
    check_class(y[i], classes);
    if (w) check_weight(w[i]);
    if (y[i] >= 0 && !(w && w[i] == 0.0)) ++out.start[static_cast<std::size_t>(y[i]) + 1];
  }
  for (std::size_t c = 0; c < classes; ++c) out.start[c + 1] += out.start[c];
  out.row.resize(out.start[classes]);
  std::vector<std::size_t> next(out.start.begin(), out.start.end() - 1);
  for (std::size_t i = 0; i < n; ++i) {
    if (y[i] >= 0 && !(w && w[i] == 0.0))
      out.row[next[static_cast<std::size_t>(y[i])]++] = static_cast<std::uint32_t>(i);
  }
  return out;
}

namespace {

constexpr std::size_t kBlock = 1 << 16;

struct Weights {
  const std::int32_t* y;
  const double* w;
  std::size_t n, classes;
  double* total;
};

// One block of rows; the table of a class's sum is kept four times, so that rows of one class in a row do
// not wait for each other.
class WeightsWorker {
 public:
  explicit WeightsWorker(const Weights& t) : t_(t), sum_(4 * t.classes) {}
  std::optional<BadValue> add(std::size_t b) {
    std::fill(sum_.begin(), sum_.end(), 0.0);
    const std::size_t begin = b * kBlock, end = std::min(t_.n, begin + kBlock), classes = t_.classes;
    const std::int32_t* const y = t_.y;
    const double* const w = t_.w;
    double* const sum = sum_.data();
    if (!w && classes <= kFewClasses) {
      std::uint32_t count[kFewClasses] = {};
      TB_CALL(count_classes, y + begin, end - begin, classes, count);
      std::copy_n(count, classes, sum);
      if (std::accumulate(count, count + classes, std::size_t{0}) == end - begin) return std::nullopt;
      std::fill_n(sum, classes, 0.0);  // some rows have no class, or one too large
    }
    for (std::size_t i = begin; i < end; ++i) {
      if (w) check_weight(w[i]);
      if (y[i] < 0) continue;
      check_class(y[i], classes);
      sum[(i & 3) * classes + static_cast<std::size_t>(y[i])] += w ? w[i] : 1.0;
    }
    return std::nullopt;
  }
  void merge() {
    const std::size_t k = t_.classes;
    for (std::size_t c = 0; c < k; ++c) t_.total[c] += (sum_[c] + sum_[k + c]) + (sum_[2 * k + c] + sum_[3 * k + c]);
  }

 private:
  const Weights t_;
  std::vector<double> sum_;
};

}  // namespace

void class_weights(const std::int32_t* y, const double* w, std::size_t n, std::size_t classes, double* out) {
  std::fill_n(out, classes, 0.0);
  const Weights t{y, w, n, classes, out};
  InOrder<WeightsWorker>().run((n + kBlock - 1) / kBlock, [&] { return std::make_unique<WeightsWorker>(t); });
}

}  // namespace tb
