// The scoring kernels under the sanitizers: arrays sized to the byte, odd shapes, every type and every answer.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/encode/cell.hpp"
#include "core/scoring/parts.hpp"
#include "core/scoring/scorer.hpp"
#include "kernels/posterior.hpp"
#include "test/check.hpp"

namespace {

using tb::BadValue, tb::Column, tb::Columns, tb::Dtype, tb::Scorer;

constexpr double kInf = std::numeric_limits<double>::infinity();
const std::vector<std::size_t> kManyRows{0, 1, 3, 63, 64, 65, 150};
const std::vector<std::size_t> kManyClasses{1, 2, 3, 4, 5, 8, 9, 25, 50};

std::vector<double> random_numbers(std::size_t n, double low, double high) {
  static std::mt19937_64 engine(7);
  std::uniform_real_distribution<double> draw(low, high);
  std::vector<double> x(n);
  for (double& v : x) v = draw(engine);
  return x;
}

// A table with its memory exactly as large as its values.
template <class T>
struct Table {
  std::vector<T> data;
  std::vector<Column> col;
  Columns view;
  Table(const std::vector<double>& x, std::size_t n, std::size_t d, Dtype t, bool row_major) : data(n * d), col(d) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < d; ++j) data[row_major ? i * d + j : j * n + i] = static_cast<T>(x[i * d + j]);
    }
    for (std::size_t j = 0; j < d; ++j) {
      col[j] = {reinterpret_cast<const char*>(data.data() + (row_major ? j : j * n)),
                static_cast<std::ptrdiff_t>((row_major ? d : 1) * sizeof(T)), t};
    }
    view = {n, d, col.data(), row_major};
  }
};

// All answers of a scorer against a log joint in long double.
void check_answers(const Scorer& scorer, const std::vector<long double>& joint) {
  const std::size_t n = scorer.rows(), classes = scorer.classes();
  std::vector<double> out(n * classes), log_proba(n * classes), proba(n * classes), evidence(n);
  std::vector<std::int64_t> best(n);
  scorer.joint(out.data());
  scorer.log_proba(log_proba.data());
  scorer.proba(proba.data());
  scorer.best(best.data());
  scorer.log_density(evidence.data());
  for (std::size_t i = 0; i < n; ++i) {
    long double top = joint[i * classes], sum = 0;
    for (std::size_t c = 0; c < classes; ++c) top = std::max(top, joint[i * classes + c]);
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(joint[i * classes + c] - top);
    const double slack = 1e-13 * static_cast<double>(1 + std::abs(top));
    CHECK(std::abs(evidence[i] - static_cast<double>(top + std::log(sum))) <= slack);
    CHECK(std::abs(static_cast<double>(joint[i * classes + static_cast<std::size_t>(best[i])] - top)) <= slack);
    for (std::size_t c = 0; c < classes; ++c) {
      const long double exact = joint[i * classes + c] - top - std::log(sum);
      CHECK(std::abs(out[i * classes + c] - static_cast<double>(joint[i * classes + c])) <= slack * 10);
      CHECK(std::abs(log_proba[i * classes + c] - static_cast<double>(exact)) <= slack * 10);
      CHECK(std::abs(proba[i * classes + c] - static_cast<double>(std::exp(exact))) <= slack * 10);
    }
  }
}

template <class T>
void check_gaussian(std::size_t n, std::size_t d, std::size_t classes, Dtype t, bool row_major, bool missing) {
  std::vector<double> x = random_numbers(n * d, 0, 9);
  if (missing) {
    for (std::size_t i = 0; i < x.size(); i += 5) x[i] = std::nan("");
  }
  const Table<T> table(x, n, d, t, row_major);
  const std::vector<double> mean = random_numbers(classes * d, 0, 9), var = random_numbers(classes * d, 0.5, 4);
  const std::vector<double> low = random_numbers(classes * d, -0.1, 0.1);
  const std::vector<double> prior = random_numbers(classes, -2, 0);
  std::vector<double> terms(4 * classes * d);
  tb::gaussian_terms(mean.data(), low.data(), var.data(), classes, d, terms.data());
  Scorer scorer(n, classes, prior.data(), false);
  scorer.add(tb::gaussian_part(table.view, terms.data(), classes));
  std::vector<long double> joint(n * classes);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < classes; ++c) {
      joint[i * classes + c] = prior[c];
      for (std::size_t j = 0; j < d; ++j) {
        const long double v = var[c * d + j], z = tb::cell(table.view, i, j) - mean[c * d + j] - low[c * d + j];
        if (!std::isnan(z)) joint[i * classes + c] -= z * z / (2 * v) + std::log(2 * std::acos(-1.0L) * v) / 2;
      }
    }
  }
  check_answers(scorer, joint);
}

TEST(gaussian_scores) {
  for (const std::size_t n : kManyRows) {
    for (const std::size_t d : {1, 4, 7, 17, 56, 57, 65, 120}) {
      for (const bool row_major : {true, false}) {
        check_gaussian<double>(n, d, 11, Dtype::f64, row_major, true);
        check_gaussian<double>(n, d, 3, Dtype::f64, row_major, false);
        check_gaussian<double>(n, d, 2, Dtype::f64, row_major, true);
        check_gaussian<float>(n, d, 5, Dtype::f32, row_major, true);
        check_gaussian<std::int8_t>(n, d, 1, Dtype::i8, row_major, false);
        check_gaussian<std::uint64_t>(n, d, 1, Dtype::u64, row_major, false);
      }
    }
  }
}

template <class T>
void check_discrete(std::size_t n, std::size_t classes, Dtype t, bool row_major) {
  const std::size_t d = 11;
  std::vector<double> x = random_numbers(n * d, 0, 8);
  if (static_cast<T>(-1) < 1) {
    for (std::size_t i = 0; i < x.size(); i += 3) x[i] = i % 2 == 0 ? -1 : -2;
  }
  const Table<T> codes(x, n, d, t, row_major);
  const std::vector<std::int64_t> sizes{1, 8, 3, 5, 5, 0, 2, 7, 8, 6, 4};
  const std::vector<double> table = random_numbers(49 * classes, -5, 0), other = random_numbers(d * classes, -5, 0);
  const std::vector<double> prior = random_numbers(n * classes, -2, 0);
  Scorer scorer(n, classes, prior.data(), true);
  scorer.add(tb::discrete_part(codes.view, sizes.data(), table.data(), other.data(), false, classes));
  std::vector<long double> joint(prior.begin(), prior.end());
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t start = 0;
    for (std::size_t j = 0; j < d; ++j) {
      const auto code = static_cast<std::int64_t>(tb::cell(codes.view, i, j));
      for (std::size_t c = 0; c < classes && code != -1; ++c) {
        joint[i * classes + c] += code >= 0 && code < sizes[j]
                                      ? table[(start + static_cast<std::size_t>(code)) * classes + c]
                                      : other[j * classes + c];
      }
      start += static_cast<std::size_t>(sizes[j]);
    }
  }
  check_answers(scorer, joint);
}

TEST(discrete_scores) {
  for (const std::size_t n : kManyRows) {
    for (const std::size_t classes : kManyClasses) {
      for (const bool row_major : {true, false}) {
        check_discrete<std::int64_t>(n, classes, Dtype::i64, row_major);
        check_discrete<std::uint8_t>(n, classes, Dtype::u8, row_major);
      }
    }
    check_discrete<std::int8_t>(n, 4, Dtype::i8, true);
    check_discrete<std::int16_t>(n, 4, Dtype::i16, true);
    check_discrete<std::int32_t>(n, 4, Dtype::i32, true);
    check_discrete<std::uint16_t>(n, 4, Dtype::u16, true);
    check_discrete<std::uint32_t>(n, 4, Dtype::u32, true);
    check_discrete<std::uint64_t>(n, 4, Dtype::u64, true);
  }
}

template <class V, class I>
void check_csr(std::size_t n, std::size_t classes, Dtype value_type, Dtype index_type) {
  const std::size_t terms = 40;
  std::vector<V> value;
  std::vector<I> index, start{0};
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t t = i % 3; t < terms && i % 7 != 2; t += 2 + i % 5) {
      value.push_back(static_cast<V>(t % 4));
      index.push_back(static_cast<I>(t));
    }
    start.push_back(static_cast<I>(value.size()));
  }
  const tb::Csr csr{n, terms, value.data(), index.data(), start.data(), value_type, index_type};
  const std::vector<double> weight = random_numbers(terms * classes, -5, 0), bias = random_numbers(classes, -1, 0);
  const std::vector<double> prior = random_numbers(classes, -2, 0);
  Scorer scorer(n, classes, prior.data(), false);
  scorer.add(tb::csr_part(csr, weight.data(), bias.data(), classes, std::nullopt, true));
  std::vector<long double> joint(n * classes);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < classes; ++c) {
      joint[i * classes + c] = prior[c] + bias[c];
      for (auto p = static_cast<std::size_t>(start[i]); p < static_cast<std::size_t>(start[i + 1]); ++p) {
        const auto x = static_cast<double>(value[p]);
        joint[i * classes + c] += x * weight[static_cast<std::size_t>(index[p]) * classes + c] - std::lgamma(x + 1);
      }
    }
  }
  check_answers(scorer, joint);
}

TEST(csr_scores) {
  for (const std::size_t n : kManyRows) {
    for (const std::size_t classes : kManyClasses) {
      check_csr<double, std::int32_t>(n, classes, Dtype::f64, Dtype::i32);
      check_csr<std::int64_t, std::int64_t>(n, classes, Dtype::i64, Dtype::i64);
    }
    check_csr<float, std::int32_t>(n, 5, Dtype::f32, Dtype::i32);
    check_csr<std::int32_t, std::int64_t>(n, 5, Dtype::i32, Dtype::i64);
  }
}

TEST(linear_and_binary_scores) {
  for (const std::size_t n : kManyRows) {
    const std::size_t d = 60, classes = 3;
    std::vector<double> x = random_numbers(n * d, 0, 3);
    for (std::size_t i = 0; i < x.size(); i += 4) x[i] = i % 8 == 0 ? 0.0 : std::nan("");
    const Table<double> table(x, n, d, Dtype::f64, true);
    const std::vector<double> weight = random_numbers(classes * d, -3, 0), bias = random_numbers(classes * d, -1, 1);
    const std::vector<double> prior(classes, 0.0);
    Scorer scorer(n, classes, prior.data(), false);
    scorer.add(tb::linear_part(table.view, weight.data(), bias.data(), classes, false));
    scorer.add(tb::binary_part(table.view, 1.0, weight.data(), bias.data(), classes));  // read as (d, classes)
    std::vector<long double> joint(n * classes);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t c = 0; c < classes; ++c) {
        for (std::size_t j = 0; j < d; ++j) {
          const long double v = x[i * d + j];
          if (std::isnan(v)) continue;
          joint[i * classes + c] += v * weight[c * d + j] + bias[c * d + j];
          joint[i * classes + c] += v > 1 ? bias[j * classes + c] : weight[j * classes + c];
        }
      }
    }
    check_answers(scorer, joint);
  }
}

TEST(scores_refuse_the_first_infinity) {
  const std::size_t n = 4000, d = 60;
  std::vector<double> x(n * d, 1.0);
  x[3000 * d] = x[1234 * d + 59] = x[1235 * d] = kInf;
  const Table<double> table(x, n, d, Dtype::f64, true);
  const std::vector<double> mean(2 * d, 0.0), var(2 * d, 1.0), prior(2, 0.0);
  std::vector<double> terms(4 * 2 * d), out(n * 2);
  tb::gaussian_terms(mean.data(), nullptr, var.data(), 2, d, terms.data());
  Scorer scorer(n, 2, prior.data(), false);
  scorer.add(tb::gaussian_part(table.view, terms.data(), 2));
  bool refused = false;
  try {
    scorer.proba(out.data());
  } catch (const BadValue& bad) {
    refused = bad.kind == BadValue::infinite && bad.row == 1234 && bad.col == 59;
  }
  CHECK(refused);
}

TEST(scores_of_overflowing_rows) {
  const std::vector<double> x{1e200, 0.0, 1.7e308}, prior{-1.0, -1.0};
  const Table<double> table(x, 3, 1, Dtype::f64, true);
  const std::vector<double> mean{0.0, 1.0}, var{2.0, 1.0};
  std::vector<double> terms(8), out(6);
  tb::gaussian_terms(mean.data(), nullptr, var.data(), 2, 1, terms.data());
  Scorer scorer(3, 2, prior.data(), false);
  scorer.add(tb::gaussian_part(table.view, terms.data(), 2));
  scorer.proba(out.data());
  CHECK(out[0] == 1.0 && out[1] == 0.0 && out[4] == 1.0 && out[5] == 0.0);
  CHECK_NEAR(out[2] + out[3], 1.0, 1e-15);
}

// The same in rows that are read where they lie: a class that is out of reach says nothing of the others.
TEST(scores_of_overflowing_wide_rows) {
  const std::size_t d = 70, K = 6;
  for (const std::size_t near : {0, 5}) {
    std::vector<double> x(2 * d, 0.5), mean(K * d, 0.0), var(K * d, 1.0), prior(K, -1.0), terms(4 * K * d), out(2 * K);
    x[d + 66] = 1e200;
    mean[near * d + 66] = 1e200;
    const Table<double> table(x, 2, d, Dtype::f64, true);
    tb::gaussian_terms(mean.data(), nullptr, var.data(), K, d, terms.data());
    Scorer scorer(2, K, prior.data(), false);
    scorer.add(tb::gaussian_part(table.view, terms.data(), K));
    scorer.proba(out.data());
    for (std::size_t c = 0; c < K; ++c) {
      CHECK(out[K + c] == (c == near ? 1.0 : 0.0));
      CHECK_NEAR(out[c], c == near ? 0.0 : 0.2, 1e-15);
    }
  }
}

// The exponential of vectors, through the probabilities of two classes that are x apart: 1 and e^x, shared out.
TEST(vector_exp) {
  std::vector<double> x{0.0, -0.0, -1e-300, -1e-17, -0.5, -1.0, -700.0, -707.99, -708.0};
  for (int i = 0; i < 5000; ++i) x.push_back(-708.0 * i / 5000);
  const auto share_of = [](double below) {
    std::vector<double> acc(2 * tb::kRows), peak(tb::kRows), out(2 * tb::kRows);
    for (std::size_t r = 0; r < tb::kRows; ++r) acc[tb::kRows + r] = below;
    TB_CALL(write_proba, acc.data(), tb::kRows, 2, peak.data(), out.data());
    return out[1];
  };
  for (const double below : x) {
    const long double e = std::exp(static_cast<long double>(below));
    CHECK_NEAR(share_of(below), static_cast<double>(e / (1.0L + e)), 7e-16);
  }
  for (const double far : {-708.001, -745.0, -1e308, -kInf}) CHECK(share_of(far) == 0.0);
}

}  // namespace
