// Models that score few rows of a matrix by themselves: what a question costs besides its rows is paid once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/encode/columns.hpp"
#include "core/counts/joint.hpp"
#include "core/scoring/part.hpp"
#include "core/discriminant/quadratic_parts.hpp"

namespace tb {

// Reads all columns of a matrix, in their order.
class FewRows {
 public:
  using Answer = std::function<void(std::unique_ptr<Part>)>;
  FewRows() = default;
  FewRows(const FewRows&) = delete;
  FewRows& operator=(const FewRows&) = delete;
  virtual ~FewRows() = default;
  // Hands over the part that scores these rows, good for the time of the call. False: there is something in them that
  // it does not read, and no answer is to be kept. Throws BadValue for an infinity.
  virtual bool score(const Columns& x, const Answer& answer) const = 0;
};

// The parameters are kept alive by the caller.
std::unique_ptr<FewRows> gaussian_rows(const double* terms, std::size_t classes);
std::unique_ptr<FewRows> affine_rows(const Affine& affine);
std::unique_ptr<FewRows> quadratic_rows(const Quadratic& quadratic);

// A matrix as packed codes. Columns are all cut into intervals, or they hold whole numbers that are codes themselves.
struct MatrixCodes {
  std::vector<std::int64_t> levels;  // of each column
  bool cut;
  std::vector<std::int64_t> cuts;  // how many each column has, where they are cut
  std::vector<double> at;          // all of them, those of a column ascending
  std::vector<bool> here = {};     // which levels of all columns there are, the others being missing; empty: all

  std::size_t bytes() const;  // of a code
  // False where a value has no level: what that means is said elsewhere. Throws BadValue for an infinity.
  bool read(const Columns& x, void* out) const;

 private:
  template <class T>
  void drop(std::size_t n, T* codes) const;
};

// Whatever scores packed codes: out (n, classes). It may throw what the caller of `score` catches.
using ScoreCodes = std::function<void(const Packed&, double* out)>;
std::unique_ptr<FewRows> coded_rows(MatrixCodes codes, std::size_t classes, ScoreCodes scores);

}  // namespace tb
