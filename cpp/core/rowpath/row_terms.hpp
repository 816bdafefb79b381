// What a row by itself adds to the statistics and takes from them: one term for each group of columns. A term owns its
// sums. Its caller writes the row's values into `numbers` or `codes`, then learns or scores.
//
// A second implementation of what distributions do with tables, with the same bits: learning a dict of four columns
// takes 0.4 us here and 2,750 us as a table of one row, scoring it 1.1 and 301 us (CPU time, minima of turns, AVX2).
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "core/encode/columns.hpp"
#include "core/scoring/estimates.hpp"
#include "core/rowpath/level_tree.hpp"
#include "core/scoring/part.hpp"

namespace tb {

constexpr std::int64_t kMissingCode = -1;  // a missing value
constexpr std::int64_t kOtherCode = -2;    // a level never seen

class RowTerm {
 public:
  RowTerm() = default;
  RowTerm(const RowTerm&) = delete;
  RowTerm& operator=(const RowTerm&) = delete;
  virtual ~RowTerm() = default;

  // Can the row at hand be learned here, exactly as a table of one row would be? Changes nothing.
  virtual bool takes(std::size_t c, double w) = 0;
  // To be called only if all terms take the row.
  virtual void learn(std::size_t c, double w) = 0;
  // Can the row at hand be taken out again, so that no sum falls below zero and no level disappears? Changes nothing.
  virtual bool gives(std::size_t c, double w) = 0;
  // To be called only if all terms give the row.
  virtual void forget(std::size_t c, double w) = 0;
  // Can rows fade? If not, neither `scale` nor `count` is called.
  virtual bool fades() const { return true; }
  // Every row learned so far counts `factor` times as much: the sums are multiplied.
  virtual void scale(double factor) = 0;
  // Of what the sums hold, this share counts: rows that fade are added with growing weights instead.
  virtual void count(double share) { share_ = share; }
  double share() const { return share_; }
  // acc[c * kRows] += log p(the row's values | class c), as the parts of a Scorer add it. False: not without a warning
  // or an error, which tables have. May throw BadValue and std::invalid_argument for the same reason.
  virtual bool add(double* acc) = 0;

 private:
  double share_ = 1.0;
};

// have - less, with rounding dust swept away; below zero: there never was so much.
double left_of(double have, double less);

// A term of numbers. NaN is missing.
class NumberTerm : public RowTerm {
 public:
  NumberTerm(std::size_t classes, std::size_t d);
  std::vector<double> numbers;
  std::size_t classes() const { return classes_; }
  std::size_t d() const { return numbers.size(); }

  bool add(double* acc) override;

 protected:
  // From the sums as they are: the numbers that the part is made of.
  virtual void estimate() = 0;
  // The part that tables are scored with.
  virtual std::unique_ptr<Part> part() = 0;
  Columns row() const { return {1, d(), column_.data(), true}; }
  bool are_counts() const;  // or missing
  bool stale_ = true;       // the sums have changed
  // Sums (K, d) as they count now, in `room`.
  const double* counted(const std::vector<double>& sums, std::vector<double>& room) const;

 private:
  std::size_t classes_;
  std::vector<Column> column_;
  std::unique_ptr<Part> part_;
};

class GaussianRow final : public NumberTerm {
 public:
  GaussianRow(std::size_t classes, std::size_t d, const GaussianSums& from, const GaussianOptions& options);
  bool takes(std::size_t c, double w) override;
  void learn(std::size_t c, double w) override;
  bool gives(std::size_t c, double w) override;
  void forget(std::size_t c, double w) override;
  void scale(double factor) override;
  std::vector<double> n, mean, low, m2;  // (K, d)

 private:
  struct Cell {
    double n, mean, low, m2;
  };
  // A cell without a row; n below zero: it was never learned.
  Cell without(std::size_t i, double x, double w) const;
  void estimate() override;
  std::unique_ptr<Part> part() override;
  GaussianOptions options_;
  bool tame_;  // no sum of squares can leave the range of a double
  std::vector<double> n_, m2_, mean_hat_, low_hat_, var_, epsilon_, terms_;
};

// log x is Gaussian; values of 0 or less have a share of their own.
class LogGaussianRow final : public NumberTerm {
 public:
  // from: of the logarithms; zero (K, d): the weight of the values without one; alpha (d).
  LogGaussianRow(std::size_t classes, std::size_t d, const GaussianSums& from, const GaussianOptions& options,
                 const double* zero, const double* alpha);
  bool takes(std::size_t c, double w) override;
  void learn(std::size_t c, double w) override;
  bool gives(std::size_t c, double w) override;
  void forget(std::size_t c, double w) override;
  void scale(double factor) override;
  void count(double share) override;
  bool add(double* acc) override;
  GaussianRow logs;
  std::vector<double> zero;

 private:
  void estimate() override;
  std::unique_ptr<Part> part() override;
  bool read();  // the logarithms of the row at hand; false: a value is infinite
  std::vector<double> alpha_, n_, zero_, log_zero_, log_above_, by_column_, acc_;
  std::vector<double> read_;  // the row whose logarithms are in `logs`
  double volume_ = 0.0;       // the sum of these
  bool finite_ = true;
};

class PoissonRow final : public NumberTerm {
 public:
  // n and sum (K, d); alpha (d).
  PoissonRow(std::size_t classes, std::size_t d, const double* n, const double* sum, const double* alpha);
  bool takes(std::size_t c, double w) override;
  void learn(std::size_t c, double w) override;
  bool gives(std::size_t c, double w) override;
  void forget(std::size_t c, double w) override;
  void scale(double factor) override;
  std::vector<double> n, sum;

 private:
  void estimate() override;
  std::unique_ptr<Part> part() override;
  std::vector<double> n_, sum_, alpha_, rate_, weight_, bias_;
};

class MultinomialRow final : public NumberTerm {
 public:
  MultinomialRow(std::size_t classes, std::size_t d, const double* sum, const double* alpha);
  bool takes(std::size_t c, double w) override;
  void learn(std::size_t c, double w) override;
  bool gives(std::size_t c, double w) override;
  void forget(std::size_t c, double w) override;
  void scale(double factor) override;
  std::vector<double> sum;

 private:
  void estimate() override;
  std::unique_ptr<Part> part() override;
  std::vector<double> alpha_, weight_, bias_;
};

class ThresholdRow final : public NumberTerm {
 public:
  ThresholdRow(std::size_t classes, std::size_t d, const double* no, const double* yes, const double* alpha,
               double threshold);
  bool takes(std::size_t c, double w) override;
  void learn(std::size_t c, double w) override;
  bool gives(std::size_t c, double w) override;
  void forget(std::size_t c, double w) override;
  void scale(double factor) override;
  std::vector<double> no, yes;

 private:
  void estimate() override;
  std::unique_ptr<Part> part() override;
  std::vector<double> no_, yes_, alpha_, log_no_, log_yes_, by_column_;
  double threshold_;
};

// The levels of one column. exist: of each level, was it met or declared? number: how many levels share the
// probability. grows: a level that is seen for the first time is one more of them.
struct LevelColumn {
  LevelTree tree;
  std::vector<char> exist;
  double number;
  bool grows;
};

class LevelsRow final : public RowTerm {
 public:
  // other: a level that does not exist has the probability of one that was never counted.
  LevelsRow(std::size_t classes, std::vector<LevelColumn> columns, double alpha, bool other);
  std::vector<std::int64_t> codes;
  const std::vector<LevelColumn>& columns() const { return columns_; }
  std::size_t classes() const { return classes_; }
  std::size_t levels() const;  // of all columns together
  std::size_t moves() const;
  void write(double* count, std::int64_t* sizes) const;  // (K, levels()), (columns)

  bool takes(std::size_t c, double w) override;
  void learn(std::size_t c, double w) override;
  bool gives(std::size_t c, double w) override;
  void forget(std::size_t c, double w) override;
  void scale(double factor) override;
  bool add(double* acc) override;

 private:
  bool exists(std::size_t j) const {
    const auto code = static_cast<std::size_t>(codes[j]);
    return codes[j] >= 0 && code < columns_[j].exist.size() && columns_[j].exist[code] != 0;
  }
  void refresh();
  static double log_number(const LevelColumn& column);

  std::size_t classes_;
  std::vector<LevelColumn> columns_;
  double alpha_, log_alpha_;
  bool other_;
  bool stale_ = true;
  std::vector<double> down_, log_down_, log_count_;  // (columns, K)
  std::vector<double> sum_;
};

// Numbers that are cut into intervals, and then levels.
class CutsRow final : public NumberTerm {
 public:
  // points: the cuts of each column, rising.
  CutsRow(std::size_t classes, std::vector<std::vector<double>> points, std::vector<LevelColumn> columns, double alpha,
          bool other);
  bool takes(std::size_t c, double w) override;
  void learn(std::size_t c, double w) override;
  bool gives(std::size_t c, double w) override;
  void forget(std::size_t c, double w) override;
  void scale(double factor) override;
  void count(double share) override;
  bool add(double* acc) override;
  LevelsRow levels;

 private:
  void estimate() override {}
  std::unique_ptr<Part> part() override { return nullptr; }
  void cut();
  std::vector<std::vector<double>> points_;
};

}  // namespace tb
