// One row at a time, against sums made in the plain way: any number of classes, levels and missing values.
#include "core/rowpath/row_model.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "core/scoring/parts.hpp"
#include "core/scoring/scorer.hpp"
#include "kernels/logs.hpp"
#include "test/check.hpp"

using namespace tb;

TEST(logs_do_not_depend_on_their_place) {
  std::vector<double> x{0.0, 1.0, 0.5, 1e-310, 1e300, 3.0, 7.25, std::numeric_limits<double>::infinity(), 2.0};
  std::vector<double> all(x.size());
  TB_CALL(logs, x.data(), x.size(), all.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    double alone;
    TB_CALL(logs, &x[i], 1, &alone);
    CHECK(alone == all[i]);
    CHECK(std::isinf(alone) ? alone == std::log(x[i]) : std::abs(alone - std::log(x[i])) <= 1e-15 * std::abs(alone));
  }
}

TEST(a_tree_of_levels_follows_every_change) {
  std::mt19937 random(3);
  for (const std::size_t K : {1, 3}) {
    for (const std::size_t size : {0, 1, 2, 5, 8}) {
      std::vector<std::vector<double>> count(K, std::vector<double>(size));
      std::vector<double> flat;
      for (auto& row : count) {
        for (double& n : row) n = static_cast<double>(random() % 100) * 0.1;
        flat.insert(flat.end(), row.begin(), row.end());
      }
      LevelTree tree(K, size, flat.data(), size);
      for (int step = 0; step < 200; ++step) {
        const std::size_t level = random() % (tree.size() + 2), c = random() % K;
        const double w = static_cast<double>(1 + random() % 30) * 0.1;
        for (auto& row : count) row.resize(std::max(row.size(), level + 1));
        count[c][level] += w;
        tree.add(level, c, w);
        CHECK(tree.size() == count[0].size());
        for (std::size_t k = 0; k < K; ++k) {
          CHECK(tree.totals()[k] == tree_sum(count[k].data(), count[k].size()));
          CHECK(tree.counts(level)[k] == count[k][level]);
        }
      }
      tree.scale(0.25);
      for (std::size_t k = 0; k < K; ++k) {
        for (double& n : count[k]) n *= 0.25;
        count[k][0] = 7.5;
        tree.set(0, k, 7.5);
        CHECK(tree.totals()[k] == tree_sum(count[k].data(), count[k].size()));
      }
      CHECK(tree.moves() <= 9);  // 2^8 levels
      std::vector<double> out(K * tree.size());
      tree.write(out.data(), tree.size());
      for (std::size_t k = 0; k < K; ++k) {
        for (std::size_t v = 0; v < tree.size(); ++v) CHECK(out[k * tree.size() + v] == count[k][v]);
      }
    }
  }
}

TEST(a_row_is_scored_as_a_table_of_one_row) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (const std::size_t K : {1, 2, 9}) {
    for (const std::size_t d : {1, 3, 30}) {
      std::vector<double> zero(K * d, 0.0), weight(K, 0.0);
      GaussianRow gaussian(K, d, {zero.data(), zero.data(), zero.data(), zero.data()}, {});
      std::vector<LevelColumn> columns;
      columns.push_back({LevelTree(K, 0, nullptr, 0), {}, 0.0, true});
      LevelsRow levels(K, std::move(columns), 0.5, false);
      RowModel model(weight, {{}, 1.0}, {&gaussian, &levels});
      for (std::size_t i = 0; i < 60; ++i) {
        for (double& x : gaussian.numbers) x = random() % 5 ? normal(random) : NAN;
        levels.codes[0] = static_cast<std::int64_t>(random() % 4) - 1;
        CHECK(model.takes(i % K, 1.0));
        model.learn(i % K, 1.0);
        const double* found = model.proba();
        CHECK(found != nullptr);
        double sum = 0;
        for (std::size_t c = 0; c < K; ++c) sum += found[c];
        CHECK_NEAR(sum, 1.0, 1e-12);
      }
      // the same row once more, through the parts of a table
      levels.codes[0] = kMissingCode;
      const double* found = model.proba();
      std::vector<double> mean(K * d), low(K * d), var(K * d), epsilon(d), terms(4 * K * d), prior(K), answer(K);
      gaussian_estimate(K, d, {gaussian.n.data(), gaussian.mean.data(), gaussian.low.data(), gaussian.m2.data()}, {},
                        {mean.data(), low.data(), var.data(), epsilon.data()});
      gaussian_terms(mean.data(), low.data(), var.data(), K, d, terms.data());
      log_prior(model.weight().data(), K, 1.0, prior.data());
      std::vector<Column> column(d);
      for (std::size_t j = 0; j < d; ++j) {
        column[j] = {reinterpret_cast<const char*>(&gaussian.numbers[j]), 8, Dtype::f64};
      }
      Scorer scorer(1, K, prior.data(), false);
      scorer.add(gaussian_part({1, d, column.data(), false}, terms.data(), K));
      scorer.proba(answer.data());
      for (std::size_t c = 0; c < K; ++c) CHECK(found[c] == answer[c]);
    }
  }
}

TEST(what_a_row_cannot_say_is_left_to_tables) {
  const std::vector<double> zero(2, 0.0);
  GaussianRow gaussian(2, 1, {zero.data(), zero.data(), zero.data(), zero.data()}, {});
  gaussian.numbers[0] = 1e200;
  CHECK(!gaussian.takes(0, 1.0));
  PoissonRow poisson(2, 1, zero.data(), zero.data(), std::vector<double>{1.0}.data());
  poisson.numbers[0] = -1.0;
  CHECK(!poisson.takes(0, 1.0));
  RowModel counts({1.0, 1.0}, {}, {&poisson});
  CHECK(counts.proba() == nullptr);
  std::vector<LevelColumn> columns;
  columns.push_back({LevelTree(2, 0, nullptr, 0), {0}, 2.0, false});
  LevelsRow levels(2, std::move(columns), 1.0, false);
  RowModel model({1.0, 1.0}, {}, {&levels});
  levels.codes[0] = 0;  // there is a place for it, but it is unseen, and the number of levels is fixed
  CHECK(!levels.takes(0, 1.0) && model.proba() != nullptr);
  levels.codes[0] = kOtherCode;
  CHECK(model.proba() == nullptr);
}

namespace {

// A model of numbers, counts, truths, words and intervals, with what it consists of.
struct Mixed {
  static constexpr std::size_t K = 3, d = 2;
  std::vector<double> zero = std::vector<double>(K * d, 0.0), one = std::vector<double>(d, 1.0);
  GaussianRow gaussian{K, d, {zero.data(), zero.data(), zero.data(), zero.data()}, {}};
  LogGaussianRow sizes{K, d, {zero.data(), zero.data(), zero.data(), zero.data()}, {}, zero.data(), one.data()};
  PoissonRow poisson{K, d, zero.data(), zero.data(), one.data()};
  MultinomialRow multinomial{K, d, zero.data(), one.data()};
  ThresholdRow threshold{K, d, zero.data(), zero.data(), one.data(), 1.5};
  LevelsRow levels{K, columns(0, true), 0.5, false};
  CutsRow cuts{K, {{1.0, 3.0}}, columns(3, false), 0.5, false};
  RowModel model{
      std::vector<double>(K, 0.0), {{}, 1.0}, {&gaussian, &sizes, &poisson, &multinomial, &threshold, &levels, &cuts}};

  static std::vector<LevelColumn> columns(std::size_t size, bool grows) {
    const std::vector<double> none(K * size, 0.0);
    std::vector<LevelColumn> out;
    out.push_back(
        {LevelTree(K, size, none.data(), size), std::vector<char>(size, 1), static_cast<double>(size), grows});
    return out;
  }

  void put(std::mt19937& random) {
    std::normal_distribution<double> normal;
    for (double& x : gaussian.numbers) x = random() % 6 ? normal(random) : NAN;
    for (double& x : sizes.numbers) x = random() % 6 ? normal(random) + 1.0 : NAN;  // some below 0
    for (std::vector<double>* numbers : {&poisson.numbers, &multinomial.numbers, &threshold.numbers, &cuts.numbers}) {
      for (double& x : *numbers) x = random() % 6 ? static_cast<double>(random() % 5) : NAN;
    }
    levels.codes[0] = static_cast<std::int64_t>(random() % 4) - 1;
  }

  std::vector<double> asked() {
    std::mt19937 random(1);
    put(random);
    const double* found = model.proba();
    CHECK(found != nullptr);
    std::vector<double> out(model.weight());
    out.insert(out.end(), found, found + K);
    return out;
  }
};

void check_near(const std::vector<double>& a, const std::vector<double>& b, double most) {
  for (std::size_t i = 0; i < a.size(); ++i) CHECK_NEAR(a[i], b[i], most * std::max(1.0, std::abs(b[i])));
}

}  // namespace

TEST(rows_that_fade_are_sums_multiplied_at_each) {
  for (const double half_life : {1.0, 2.5, 40.0}) {
    Mixed fades, oracle;
    std::mt19937 one(7), two(7);
    for (std::size_t i = 0; i < 500; ++i) {
      fades.put(one), oracle.put(two);
      CHECK(fades.model.takes(i % 3, 1.0) && fades.model.fade(half_life));
      fades.model.learn(i % 3, 1.0);
      CHECK(oracle.model.takes(i % 3, 1.0) && oracle.model.decay(std::exp2(-1.0 / half_life)));
      oracle.model.learn(i % 3, 1.0);
      if (i % 50 == 49) check_near(fades.asked(), oracle.asked(), 1e-12);
    }
  }
}

TEST(a_row_that_was_learned_can_go) {
  for (const bool faded : {false, true}) {
    Mixed model;
    std::mt19937 random(9);
    for (std::size_t i = 0; i < 60; ++i) {
      model.put(random);
      CHECK(model.model.takes(i % 3, 1.0) && (!faded || model.model.fade(30.0)));
      model.model.learn(i % 3, 1.0);
    }
    const std::vector<double> before = model.asked();
    for (std::size_t i = 0; i < 20; ++i) {
      model.put(random);
      CHECK(model.model.takes(i % 3, 0.5));
      model.model.learn(i % 3, 0.5);
      CHECK(model.model.gives(i % 3, 0.5));
      model.model.forget(i % 3, 0.5);
      CHECK(!model.model.gives(i % 3, 1e6));
    }
    check_near(model.asked(), before, 1e-9);
  }
}

TEST(a_class_that_fades_away_is_left_to_tables) {
  Mixed model;
  std::mt19937 random(11);
  for (std::size_t c = 0; c < 3; ++c) {
    model.put(random);
    CHECK(model.model.takes(c, 1.0));
    model.model.learn(c, 1.0);
  }
  CHECK(!model.model.decay(1e-251) && model.model.weight()[0] == 1.0);
  bool there = true;
  for (std::size_t i = 0; there && i < 5000; ++i) {
    model.put(random);
    there = model.model.takes(0, 1.0) && model.model.fade(2.0);
    if (there) model.model.learn(0, 1.0);
    CHECK(model.model.weight()[1] >= 1e-260);
  }
  CHECK(!there);
}
