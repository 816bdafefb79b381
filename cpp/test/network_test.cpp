// Scores of networks with discrete and real columns under the sanitizers, against a sum over all ways to fill the
// missing values.
#include "core/networks/network.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "test/check.hpp"

namespace {

using namespace tb;

// x0, x1 | x0, x2 | x0 x1, x3;  real columns u | x3 x1, v | nothing, w | x2
struct Sample {
  static constexpr std::size_t n = 150, K = 3;
  std::vector<std::int64_t> size{3, 2, 2, 4};
  std::vector<std::int32_t> child{0, 1, 2, 3}, parent{0, 0, 1}, real_parent{3, 1, 2};
  std::vector<std::int64_t> start{0, 0, 1, 3, 3}, real_start{0, 2, 2, 3};
  std::vector<std::size_t> offset;
  std::vector<double> log, terms, value;
  std::vector<std::uint8_t> code;
  Network net{};

  Sample() : value(3 * n), code(4 * n) {
    std::mt19937 random(5);
    std::uniform_real_distribution<double> uniform(0.1, 1.0);
    const std::int32_t none = 0;
    const std::int64_t zero = 0;
    const Families families{4, child.data(), parent.data(), start.data(), nullptr, nullptr};
    offset = family_offsets(Tables(4, size.data(), 0, &none, &zero), families);
    for (std::size_t i = 0; i < offset.back() * K; ++i) log.push_back(std::log(uniform(random)));
    for (std::size_t cell = 0; cell < 8 + 1 + 2; ++cell) {
      for (std::size_t c = 0; c < K; ++c) terms.push_back(uniform(random) * 4);
      for (std::size_t c = 0; c < K; ++c) terms.push_back(cell == 8 ? 0.0 : uniform(random));  // v says nothing
      for (std::size_t c = 0; c < K; ++c) terms.push_back(cell == 8 ? 0.0 : uniform(random));
    }
    for (double& x : value) x = random() % 4 == 0 ? std::numeric_limits<double>::quiet_NaN() : uniform(random) * 5;
    for (std::size_t i = 0; i < code.size(); ++i) {
      const auto levels = static_cast<unsigned>(size[i / n]);
      code[i] = i % n % 3 == 0 && random() % 2 ? kNoCode<std::uint8_t> : static_cast<std::uint8_t>(random() % levels);
    }
    RealFamilies reals;
    reals.count = 3;
    reals.classes = K;
    reals.parent = real_parent.data();
    reals.parent_start = real_start.data();
    reals.offset = {0, 8, 9, 11};
    reals.terms = terms.data();
    reals.value = value.data();
    reals.rows = n;
    net = Network{4, K, size.data(), families, offset.data(), log.data(), reals, nullptr};
  }

  double density(std::size_t f, std::size_t cell, std::size_t r, std::size_t c) const {
    const double x = value[f * n + r];
    if (x != x) return 1.0;
    const double* t = terms.data() + (net.reals.offset[f] + cell) * 3 * K;
    return std::exp(t[2 * K + c] - std::pow((x - t[c]) * t[K + c], 2));
  }
  double probability(std::size_t f, std::size_t cell, std::size_t c) const {
    return std::exp(log[(offset[f] + cell) * K + c]);
  }

  // A family's cells need not sum to one here, so a missing column is summed over only where something hangs on it.
  double score(std::size_t r, std::size_t c) const {
    const auto absent = [&](std::size_t j) { return code[j * n + r] == kNoCode<std::uint8_t>; };
    const auto seen = [&](std::size_t f) { return value[f * n + r] == value[f * n + r]; };
    const bool need2 = !absent(2) || seen(2), need1 = !absent(1) || need2 || seen(0), need0 = !absent(0) || need1,
               need3 = !absent(3) || seen(0);
    double sum = 0;
    const auto first = [&](std::size_t j) { return absent(j) ? std::size_t{0} : std::size_t{code[j * n + r]}; };
    const auto last = [&](std::size_t j, bool need) {
      return absent(j) && need ? static_cast<std::size_t>(size[j]) : first(j) + 1;
    };
    for (std::size_t a = first(0); a < last(0, need0); ++a) {
      for (std::size_t b = first(1); b < last(1, need1); ++b) {
        for (std::size_t e = first(2); e < last(2, need2); ++e) {
          for (std::size_t g = first(3); g < last(3, need3); ++g) {
            double p = 1;
            if (need0) p *= probability(0, a, c);
            if (need1) p *= probability(1, a * 2 + b, c);
            if (need2) p *= probability(2, (a * 2 + b) * 2 + e, c);
            if (need3) p *= probability(3, g, c);
            sum += p * density(0, g * 2 + b, r, c) * density(1, 0, r, c) * density(2, e, r, c);
          }
        }
      }
    }
    return std::log(sum);
  }
};

TEST(network_scores_sum_over_gaps) {
  const Sample s;
  std::vector<double> out(Sample::n * Sample::K);
  network_scores(s.net, s.code.data(), Sample::n, out.data());
  for (std::size_t r = 0; r < Sample::n; ++r) {
    for (std::size_t c = 0; c < Sample::K; ++c) {
      const double got = out[r * Sample::K + c], want = s.score(r, c);
      CHECK(std::abs(got - want) < 1e-10 * (1 + std::abs(want)));
    }
  }
}

// Numbers instead of logarithms, also where probabilities are tiny or zero: then rows go back to logarithms.
TEST(network_scores_by_numbers_are_those_by_logarithms) {
  for (const double power : {1.0, 40.0, 400.0, 3000.0}) {
    for (const bool zero : {false, true}) {
      Sample s;
      for (double& x : s.log) x *= power;
      for (std::size_t i = 0; zero && i < s.log.size(); i += 5) s.log[i] = -std::numeric_limits<double>::infinity();
      std::vector<double> logs(Sample::n * Sample::K), numbers(logs);
      network_scores(s.net, s.code.data(), Sample::n, logs.data());
      const Shares shares(s.log.data(), s.log.size());
      s.net.shares = &shares;
      network_scores(s.net, s.code.data(), Sample::n, numbers.data());
      for (std::size_t i = 0; i < logs.size(); ++i) {
        CHECK(!std::isnan(numbers[i]));
        if (std::isinf(logs[i]))
          CHECK(numbers[i] == logs[i]);
        else
          CHECK(std::abs(numbers[i] - logs[i]) < 1e-11 * (1 + std::abs(logs[i])));
      }
    }
  }
}

// A long chain with every second column missing: tables are scaled on the way.
TEST(network_scores_of_a_long_chain) {
  constexpr std::size_t d = 401, K = 9, n = 3;
  const std::vector<std::int64_t> size(d, 3);
  std::vector<std::int32_t> child(d), parent(d - 1);
  std::vector<std::int64_t> start{0};
  for (std::size_t j = 0; j < d; ++j) {
    child[j] = static_cast<std::int32_t>(j);
    if (j > 0) parent[j - 1] = static_cast<std::int32_t>(j - 1);
    start.push_back(static_cast<std::int64_t>(j));
  }
  const std::int32_t none = 0;
  const std::int64_t zero = 0;
  const Families families{d, child.data(), parent.data(), start.data(), nullptr, nullptr};
  const auto offset = family_offsets(Tables(d, size.data(), 0, &none, &zero), families);
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(1e-9, 1e-8);
  std::vector<double> log(offset.back() * K);
  for (double& x : log) x = std::log(uniform(random));
  std::vector<std::uint8_t> code(d * n);
  for (std::size_t i = 0; i < code.size(); ++i)
    code[i] = i / n % 4 == 3 ? static_cast<std::uint8_t>(i % 3) : kNoCode<std::uint8_t>;
  const Shares shares(log.data(), log.size());
  Network net{d, K, size.data(), families, offset.data(), log.data(), {}, nullptr};
  std::vector<double> logs(n * K), numbers(n * K);
  network_scores(net, code.data(), n, logs.data());
  net.shares = &shares;
  network_scores(net, code.data(), n, numbers.data());
  for (std::size_t i = 0; i < logs.size(); ++i) CHECK_NEAR(numbers[i], logs[i], 1e-11 * std::abs(logs[i]));
}

TEST(add_reals_leaves_gaps_out) {
  const Sample s;
  std::vector<double> out(10 * Sample::K, 1.0);
  add_reals(s.net.reals, s.size.data(), s.code.data(), Sample::n, 30, 10, out.data());
  for (std::size_t r = 30; r < 40; ++r) {
    const auto at = [&](std::size_t j) { return std::size_t{s.code[j * Sample::n + r]}; };
    const auto absent = [&](std::size_t j) { return at(j) == kNoCode<std::uint8_t>; };
    for (std::size_t c = 0; c < Sample::K; ++c) {
      double want = 1.0;
      if (!absent(3) && !absent(1)) want += std::log(s.density(0, at(3) * 2 + at(1), r, c));
      if (!absent(2)) want += std::log(s.density(2, at(2), r, c));
      CHECK_NEAR(out[(r - 30) * Sample::K + c], want, 1e-12);
    }
  }
}

}  // namespace
