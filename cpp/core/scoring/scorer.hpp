// From a prior and parts to answers, block by block: the log joint of all rows exists only if it is asked for.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "core/encode/columns.hpp"
#include "core/scoring/part.hpp"

namespace tb {

// A bad value, and which part of the scorer met it; -1: it is in the log prior, and col is a class.
struct BadPart : BadValue {
  std::ptrdiff_t part;
};

class Scorer {
 public:
  // log_prior: one row of classes, or (per_row) one for each of the n rows. Kept alive by the caller.
  // Throws std::invalid_argument if a single row holds NaN or +inf.
  Scorer(std::size_t n, std::size_t classes, const double* log_prior, bool per_row);

  void add(std::unique_ptr<Part> part) { parts_.push_back(std::move(part)); }

  const std::vector<std::unique_ptr<Part>>& parts() const { return parts_; }
  std::size_t rows() const { return n_; }
  std::size_t classes() const { return classes_; }

  // A row whose log joint is -inf for every class: the posterior is its prior, the log density -inf.
  void joint(double* out) const;      // (n, K)
  void log_proba(double* out) const;  // (n, K)
  void proba(double* out) const;      // (n, K)
  void best(std::int64_t* out) const;
  void log_density(double* out) const;

 private:
  struct Block;
  // relative: only differences between classes matter.
  template <class Finish>
  void run(bool relative, Finish&& finish) const;
  void fill(Block& b) const;
  void mend(Block& b, std::uint64_t odd, bool relative) const;
  void mend_row(Block& b, std::size_t r, bool relative) const;
  [[noreturn]] void throw_first_bad(std::size_t r0, std::size_t rows) const;
  std::size_t blocks_per_task(std::size_t blocks) const;
  const double* prior_of(std::size_t row) const { return per_row_ ? prior_ + row * classes_ : prior_; }

  std::size_t n_;
  std::size_t classes_;
  const double* prior_;
  bool per_row_;
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace tb
