#include "core/encode/labels.hpp"

#include <limits>
#include <random>
#include <set>
#include <stdexcept>

#include "core/counts/sparse_sums.hpp"
#include "core/runtime/ordered_merge.hpp"
#include "test/check.hpp"

using namespace tb;

namespace {

void compare_levels(const std::vector<std::int64_t>& y) {
  std::vector<std::int32_t> codes(y.size());
  const Column c{reinterpret_cast<const char*>(y.data()), sizeof(std::int64_t), Dtype::i64};
  const std::vector<std::int64_t> levels = integer_levels(c, y.size(), codes.data());
  const std::set<std::int64_t> want(y.begin(), y.end());
  CHECK(levels == std::vector<std::int64_t>(want.begin(), want.end()));
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(levels[static_cast<std::size_t>(codes[i])] == y[i]);
}

template <class F>
bool refuses(F&& f) {
  try {
    f();
  } catch (const std::invalid_argument&) {
    return true;
  }
  return false;
}

struct Sparse {
  std::vector<double> value;
  std::vector<std::int32_t> index, start{0};
  std::vector<std::int32_t> y;
  std::size_t d;
  Sparse(std::size_t n, std::size_t d_, std::size_t k) : d(d_) {
    std::mt19937 gen(3);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = gen() % 4; j < d; j += 1 + gen() % 5) {
        value.push_back(static_cast<double>(gen() % 9));
        index.push_back(static_cast<std::int32_t>(j));
      }
      start.push_back(static_cast<std::int32_t>(value.size()));
      y.push_back(static_cast<std::int32_t>(gen() % (k + 1)) - 1);
    }
  }
  Csr view() const { return {start.size() - 1, d, value.data(), index.data(), start.data(), Dtype::f64, Dtype::i32}; }
};

void compare_sparse(std::size_t n, std::size_t d, std::size_t k) {
  const Sparse s(n, d, k);
  for (const double* threshold : {static_cast<const double*>(nullptr), &s.value[0]}) {
    std::vector<double> got(k * d), want(k * d);
    csr_sums(s.view(), s.y.data(), nullptr, k, threshold, got.data());
    for (std::size_t i = 0; i < n; ++i) {
      for (auto p = static_cast<std::size_t>(s.start[i]); s.y[i] >= 0 && p < static_cast<std::size_t>(s.start[i + 1]);
           ++p) {
        want[static_cast<std::size_t>(s.y[i]) * d + static_cast<std::size_t>(s.index[p])] +=
            threshold ? (s.value[p] > *threshold ? 1.0 : 0.0) : s.value[p];
      }
    }
    CHECK(got == want);
  }
}

// Checks that blocks are merged one by one in order.
struct InLine {
  std::vector<std::size_t>* seen;
  std::size_t block = 0;
  std::optional<BadValue> add(std::size_t b) {
    block = b;
    return b == 700 ? std::optional(BadValue{BadValue::code, b, 0, 0.0}) : std::nullopt;
  }
  void merge() { seen->push_back(block); }
};

}  // namespace

TEST(integer_levels) {
  std::mt19937_64 gen(2);
  for (const std::size_t n : {0, 1, 10, 70'000}) {
    std::vector<std::int64_t> few(n), wide(n), any(n);
    for (std::size_t i = 0; i < n; ++i) {
      few[i] = static_cast<std::int64_t>(gen() % 7) - 3;
      wide[i] = few[i] * 1'000'000'007;
      any[i] = static_cast<std::int64_t>(gen());
    }
    compare_levels(few);
    compare_levels(wide);
    compare_levels(any);
  }
}

TEST(class_codes_and_weights_are_checked) {
  const std::int32_t y[] = {0, 1, 2};
  const double w[] = {1.0, -1.0, 1.0};
  double out[3];
  CHECK(refuses([&] { class_weights(y, nullptr, 3, 2, out); }));
  CHECK(refuses([&] { class_weights(y, w, 3, 3, out); }));
  CHECK(refuses([&] { rows_by_class(y, nullptr, 3, 2); }));
  class_weights(y, nullptr, 3, 3, out);
  CHECK(out[0] == 1.0 && out[2] == 1.0);
}

TEST(class_weights_of_few_classes_and_of_many) {
  std::mt19937 gen(5);
  for (const std::size_t k : {1, 2, 16, 17, 300}) {
    for (const std::size_t n : {0, 1, 33, 70'000}) {
      for (const std::size_t none : {0, 1}) {
        std::vector<std::int32_t> y(n);
        std::vector<double> got(k), want(k);
        for (std::int32_t& c : y) {
          c = static_cast<std::int32_t>(gen() % (k + none)) - static_cast<std::int32_t>(none);
          if (c >= 0) want[static_cast<std::size_t>(c)] += 1.0;
        }
        class_weights(y.data(), nullptr, n, k, got.data());
        CHECK(got == want);
      }
    }
  }
}

TEST(sparse_sums) {
  compare_sparse(50, 7, 3);
  compare_sparse(20'000, 30, 1);
  compare_sparse(3'000, 40, 900);
}

TEST(sparse_matrices_are_checked) {
  Sparse s(20, 6, 2);
  check_csr(s.view(), s.value.size());
  s.index[5] = 6;
  CHECK(refuses([&] { check_csr(s.view(), s.value.size()); }));
  s.index[5] = -1;
  CHECK(refuses([&] { check_csr(s.view(), s.value.size()); }));
  s.index[5] = 0;
  CHECK(refuses([&] { check_csr(s.view(), s.value.size() + 1); }));
  s.start[3] = s.start[4] + 1;
  CHECK(refuses([&] { check_csr(s.view(), s.value.size()); }));
}

// Row by row, as the words say it. Rows may be empty, and where one ends and the next begins indices may fall.
TEST(sparse_indices_rise) {
  std::mt19937 gen(4);
  for (int round = 0; round < 400; ++round) {
    Sparse s(0, 50, 1);
    bool rising = true;
    for (std::size_t i = 0; i < 1 + gen() % 90; ++i) {
      std::int32_t at = -1;
      for (std::size_t p = gen() % 20; p > 0 && at < 45; --p) {
        const std::int32_t next =
            gen() % 2000 == 0 ? static_cast<std::int32_t>(gen() % 50) : at + 1 + static_cast<std::int32_t>(gen() % 4);
        rising = rising && next > at;
        s.index.push_back(at = next);
      }
      s.start.push_back(static_cast<std::int32_t>(s.index.size()));
    }
    s.value.resize(s.index.size());
    CHECK(check_csr(s.view(), s.index.size()) == rising);
  }
}

TEST(sparse_values_are_counts) {
  Sparse s(300, 9, 1);
  std::fill(s.y.begin(), s.y.end(), 0);
  std::vector<double> out(9);
  const auto takes = [&](const double* threshold) {
    try {
      csr_sums(s.view(), s.y.data(), nullptr, 1, threshold, out.data());
    } catch (const BadValue& bad) {
      CHECK(bad.row == 111);
      return false;
    }
    return true;
  };
  const double zero = 0.0, inf = std::numeric_limits<double>::infinity();
  double& x = s.value[static_cast<std::size_t>(s.start[111])];
  for (const double fine : {-0.0, 0.0, 5e-324, 1e300}) {
    x = fine;
    CHECK(takes(nullptr) && takes(&zero));
  }
  for (const double low : {-5e-324, -1.0, -1e308}) {
    x = low;
    CHECK(!takes(nullptr) && takes(&zero));
  }
  for (const double none : {inf, -inf, std::numeric_limits<double>::quiet_NaN()}) {
    x = none;
    CHECK(!takes(nullptr) && !takes(&zero));
  }
}

TEST(merging_in_order) {
  std::vector<std::size_t> seen;
  std::optional<BadValue> bad;
  try {
    InOrder<InLine>().run(1000, [&] { return std::make_unique<InLine>(InLine{&seen}); });
  } catch (const BadValue& b) {
    bad = b;
  }
  CHECK(bad && bad->row == 700 && seen.size() == 700);
  for (std::size_t b = 0; b < seen.size(); ++b) CHECK(seen[b] == b);
}
