#include "core/scoring/few_row_models.hpp"

#include <algorithm>

#include "core/encode/cut_points.hpp"
#include "core/scoring/parts.hpp"

namespace tb {
namespace {

class GaussianRows final : public FewRows {
 public:
  GaussianRows(const double* terms, std::size_t classes) : terms_(terms), classes_(classes) {}
  bool score(const Columns& x, const Answer& answer) const override {
    answer(gaussian_part(x, terms_, classes_));
    return true;
  }

 private:
  const double* terms_;
  std::size_t classes_;
};

// A part that notes the rows with missing values, of which it says nothing.
template <class Terms, std::unique_ptr<Part> (*part)(const Columns&, const Terms&, RowFlags&)>
class WholeRows final : public FewRows {
 public:
  explicit WholeRows(const Terms& terms) : terms_(terms) {}
  bool score(const Columns& x, const Answer& answer) const override {
    RowFlags missing(x.n);
    answer(part(x, terms_, missing));
    return missing.rows().empty();
  }

 private:
  Terms terms_;
};

class CodedRows final : public FewRows {
 public:
  CodedRows(MatrixCodes codes, std::size_t classes, ScoreCodes scores)
      : codes_(std::move(codes)), classes_(classes), scores_(std::move(scores)) {}
  bool score(const Columns& x, const Answer& answer) const override {
    const std::size_t bytes = codes_.bytes();
    const std::unique_ptr<char[]> packed(new char[x.n * x.d * bytes]);
    if (!codes_.read(x, packed.get())) return false;
    const std::unique_ptr<double[]> found(new double[x.n * classes_]);
    scores_({packed.get(), bytes, x.n}, found.get());
    answer(added_part(found.get(), classes_));
    return true;
  }

 private:
  MatrixCodes codes_;
  std::size_t classes_;
  ScoreCodes scores_;
};

bool whole_numbers(const Columns& x) {
  return std::all_of(x.col, x.col + x.d,
                     [](const Column& c) { return c.dtype != Dtype::f64 && c.dtype != Dtype::f32; });
}

Dtype code_type(std::size_t size) { return size == 1 ? Dtype::i8 : size == 2 ? Dtype::i16 : Dtype::i32; }

}  // namespace

std::unique_ptr<FewRows> gaussian_rows(const double* terms, std::size_t classes) {
  return std::make_unique<GaussianRows>(terms, classes);
}

std::unique_ptr<FewRows> affine_rows(const Affine& affine) {
  return std::make_unique<WholeRows<Affine, affine_part>>(affine);
}

std::unique_ptr<FewRows> quadratic_rows(const Quadratic& quadratic) {
  return std::make_unique<WholeRows<Quadratic, quadratic_part>>(quadratic);
}

std::unique_ptr<FewRows> coded_rows(MatrixCodes codes, std::size_t classes, ScoreCodes scores) {
  return std::make_unique<CodedRows>(std::move(codes), classes, std::move(scores));
}

std::size_t MatrixCodes::bytes() const {
  return code_bytes(levels.empty() ? 0 : static_cast<std::uint64_t>(*std::max_element(levels.begin(), levels.end())));
}

// Levels that there are no more become missing ones.
template <class T>
void MatrixCodes::drop(std::size_t n, T* codes) const {
  std::size_t first = 0;
  for (std::size_t j = 0; j < levels.size(); ++j) {
    for (std::size_t i = j * n; i < (j + 1) * n; ++i)
      if (codes[i] != kNoCode<T> && !here[first + codes[i]]) codes[i] = kNoCode<T>;
    first += static_cast<std::size_t>(levels[j]);
  }
}

bool MatrixCodes::read(const Columns& x, void* out) const {
  const std::unique_ptr<bool[]> unseen(new bool[x.d]);
  const auto pack = [&](const Columns& codes) {
    pack_codes(codes, levels.data(), !cut, 0, x.n, bytes(), out, unseen.get());
    if (std::any_of(unseen.get(), unseen.get() + x.d, [](bool u) { return u; })) return false;
    if (here.empty()) return true;
    if (bytes() == 1)
      drop(x.n, static_cast<std::uint8_t*>(out));
    else if (bytes() == 2)
      drop(x.n, static_cast<std::uint16_t*>(out));
    else
      drop(x.n, static_cast<std::uint32_t*>(out));
    return true;
  };
  if (!cut) return whole_numbers(x) && pack(x);
  std::size_t largest = 0;
  for (const std::int64_t m : cuts) largest = std::max(largest, code_size(static_cast<std::size_t>(m)));
  const std::unique_ptr<char[]> held(new char[x.n * x.d * largest]);
  std::vector<Column> column(x.d);
  std::vector<void*> to(x.d);
  for (std::size_t j = 0; j < x.d; ++j) {
    const std::size_t size = code_size(static_cast<std::size_t>(cuts[j]));
    to[j] = held.get() + j * x.n * largest;
    column[j] = {static_cast<const char*>(to[j]), static_cast<std::ptrdiff_t>(size), code_type(size)};
  }
  digitize(x, {}, cuts.data(), at.data(), to.data());
  return pack({x.n, x.d, column.data(), false});
}

}  // namespace tb
