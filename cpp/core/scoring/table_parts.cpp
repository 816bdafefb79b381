// Terms looked up by code or by sparse term, and numbers added as they are.
#include <cmath>
#include <limits>
#include <vector>

#include "core/encode/cell.hpp"
#include "core/math/log_factorial.hpp"
#include "core/scoring/parts.hpp"

namespace tb {

void Part::add_wide(std::size_t row, std::size_t classes, long double* acc) const {
  std::vector<double> block(classes * kRows, 0.0);
  add(row, 1, block.data());
  for (std::size_t c = 0; c < classes; ++c) acc[c] += block[c * kRows];
}

namespace {

class DiscretePart final : public Part {
 public:
  DiscretePart(const Columns& cols, const std::int64_t* sizes, const double* table, const double* other, bool raw,
               std::size_t classes)
      : cols_(cols),
        level_(cols.d),
        size_(cols.d),
        unseen_(cols.d),
        absent_(classes, 0.0),
        missing_(raw ? INT64_MIN : -1),
        met_(std::make_unique<bool[]>(cols.d)),
        classes_(classes) {
    for (std::size_t j = 0; j < cols.d; ++j) {
      level_[j] = table;
      size_[j] = static_cast<std::uint64_t>(sizes[j]);
      unseen_[j] = other ? other + j * classes : absent_.data();
      table += size_[j] * classes;
    }
  }

  void add(std::size_t r0, std::size_t rows, double* acc) const override {
    const DiscreteTerms terms{level_.data(), size_.data(), unseen_.data(), absent_.data(),
                              missing_,      met_.get(),   classes_};
    TB_CALL(add_discrete, cols_, r0, rows, terms, acc);
  }
  std::size_t cells_per_row() const override { return cols_.d; }
  std::vector<std::size_t> unseen() const override {
    std::vector<std::size_t> out;
    for (std::size_t j = 0; j < cols_.d; ++j) {
      if (met_[j]) out.push_back(j);
    }
    return out;
  }

 private:
  Columns cols_;
  std::vector<const double*> level_;
  std::vector<std::uint64_t> size_;
  std::vector<const double*> unseen_;
  std::vector<double> absent_;
  std::int64_t missing_;
  std::unique_ptr<bool[]> met_;
  std::size_t classes_;
};

class CsrPart final : public Part {
 public:
  CsrPart(const Csr& csr, const double* weight, const double* bias, std::size_t classes,
          std::optional<double> threshold, bool factorial)
      : csr_(csr),
        terms_{weight, classes, threshold.has_value(), threshold.value_or(0.0)},
        bias_(bias),
        factorial_(factorial) {}

  void add(std::size_t r0, std::size_t rows, double* acc) const override {
    if (!TB_CALL(csr_fit_for, csr_, r0, rows, terms_.binary)) throw_bad(r0, rows);
    for (std::size_t c = 0; c < terms_.classes; ++c) {
      for (std::size_t r = 0; r < rows; ++r) acc[c * kRows + r] += bias_[c];
    }
    TB_CALL(add_csr, csr_, r0, rows, terms_, acc);
  }
  std::size_t cells_per_row() const override { return csr_.n ? index(csr_.start, csr_.n) / csr_.n + 1 : 1; }

  void add_shared(std::size_t r0, std::size_t rows, double* shared) const override {
    if (!factorial_) return;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t p = index(csr_.start, r0 + r); p < index(csr_.start, r0 + r + 1); ++p) {
        shared[r] -= log_factorial(stored(p));
      }
    }
  }

  bool can_overflow() const override { return !terms_.binary; }
  void add_wide(std::size_t row, std::size_t classes, long double* acc) const override {
    for (std::size_t c = 0; c < classes; ++c) acc[c] += bias_[c];
    for (std::size_t p = index(csr_.start, row); p < index(csr_.start, row + 1); ++p) {
      long double x = stored(p);
      if (terms_.binary) x = x > terms_.threshold;
      if (x == 0) continue;
      const double* w = terms_.weight + index(csr_.index, p) * classes;
      for (std::size_t c = 0; c < classes; ++c) acc[c] += x * w[c];
    }
  }

 private:
  std::size_t index(const void* from, std::size_t i) const {
    return csr_.index_type == Dtype::i32 ? static_cast<std::size_t>(static_cast<const std::int32_t*>(from)[i])
                                         : static_cast<std::size_t>(static_cast<const std::int64_t*>(from)[i]);
  }
  double stored(std::size_t p) const {
    return number_at(static_cast<const char*>(csr_.value) + p * item_size(csr_.value_type), csr_.value_type);
  }
  // The first bad row, and in it the smallest bad term: a row's terms need not be sorted.
  void throw_bad(std::size_t r0, std::size_t rows) const {
    for (std::size_t r = r0; r < r0 + rows; ++r) {
      BadValue bad{BadValue::infinite, r, std::numeric_limits<std::size_t>::max(), 0.0};
      for (std::size_t p = index(csr_.start, r); p < index(csr_.start, r + 1); ++p) {
        const double x = stored(p);
        const std::size_t t = index(csr_.index, p);
        if ((!std::isfinite(x) || (!terms_.binary && x < 0)) && t < bad.col) {
          bad = {std::isfinite(x) ? BadValue::negative : BadValue::infinite, r, t, x};
        }
      }
      if (bad.col != std::numeric_limits<std::size_t>::max()) throw bad;
    }
  }

  Csr csr_;
  CsrTerms terms_;
  const double* bias_;
  bool factorial_;
};

class AddedPart final : public Part {
 public:
  AddedPart(const double* numbers, std::size_t classes, std::vector<std::size_t> unseen)
      : numbers_(numbers), classes_(classes), unseen_(std::move(unseen)) {}

  void add(std::size_t r0, std::size_t rows, double* acc) const override {
    const double* from = numbers_ + r0 * classes_;
    if (TB_CALL(add_numbers, from, rows, classes_, acc)) return;
    for (std::size_t i = 0; i < rows * classes_; ++i) {
      if (!(from[i] < std::numeric_limits<double>::infinity())) {
        throw BadValue{BadValue::infinite, r0 + i / classes_, i % classes_, from[i]};
      }
    }
  }
  std::size_t cells_per_row() const override { return classes_; }
  std::vector<std::size_t> unseen() const override { return unseen_; }

 private:
  const double* numbers_;
  std::size_t classes_;
  std::vector<std::size_t> unseen_;
};

}  // namespace

std::unique_ptr<Part> discrete_part(const Columns& cols, const std::int64_t* sizes, const double* table,
                                    const double* other, bool raw, std::size_t classes) {
  return std::make_unique<DiscretePart>(cols, sizes, table, other, raw, classes);
}

std::unique_ptr<Part> csr_part(const Csr& csr, const double* weight, const double* bias, std::size_t classes,
                               std::optional<double> threshold, bool factorial) {
  return std::make_unique<CsrPart>(csr, weight, bias, classes, threshold, factorial);
}

std::unique_ptr<Part> added_part(const double* numbers, std::size_t classes, std::vector<std::size_t> unseen) {
  return std::make_unique<AddedPart>(numbers, classes, std::move(unseen));
}

}  // namespace tb
