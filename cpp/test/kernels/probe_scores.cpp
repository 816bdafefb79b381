// Probes of the kernels of scores. Of a block acc[c * kRows + r] the rows beyond the last mean nothing.
#include <array>

#include "test/kernels/probe.hpp"
#include "test/kernels/probe_sparse.hpp"
#include "kernels/posterior.hpp"
#include "kernels/gaussian_rows.hpp"
#include "kernels/network.hpp"
#include "kernels/scores.hpp"
#include "kernels/sum_product.hpp"

namespace tb {
namespace {

constexpr std::size_t kSome = 61;  // rows: not a whole number of vectors

void block(Probe& p, const char* kernel, const List<double>& acc, std::size_t rows, double tolerance = kSums) {
  List<double> used;
  for (std::size_t at = 0; at < acc.size(); at += kRows) used.insert(used.end(), &acc[at], &acc[at] + rows);
  p.got(kernel, used, tolerance);
}

// Rows beyond kSome are zeros, as load_tile leaves them.
List<double> tile_of(Numbers& some, std::size_t width, bool holes) {
  auto tile = some.between(0.0, 2.0, width * kRows);
  for (std::size_t j = 0; j < width; ++j) {
    for (std::size_t r = kSome; r < kRows; ++r) tile[j * kRows + r] = 0.0;
    if (holes) tile[j * kRows + 7 * j % kSome] = j % 2 == 0 ? kNan : 0.0;
  }
  return tile;
}

void dense(Probe& p, std::size_t classes) {
  constexpr std::size_t d = 11, j0 = 2, width = d - j0;
  Numbers some(40);
  const auto one = some.between(-1.0, 1.0, d * classes), two = some.between(0.1, 1.0, d * classes),
             three = some.between(-1.0, 1.0, d * classes), centre = some.between(0.0, 1.0, d),
             constant = some.between(-1.0, 1.0, classes);
  const Table<double> later(some.between(0.0, 1.0, kRows * d), kRows, d, true);
  const Patch next{&later.view, 0, kRows, 0, d};
  for (const bool holes : {false, true}) {
    const auto tile = tile_of(some, width, holes);
    const auto start = some.between(-1.0, 1.0, classes * kRows);
    auto acc = start;
    const GaussianTerms gaussian{one.data(), two.data(), three.data(), centre.data(), one.data(), classes, d};
    TB_CALL_AT(p.isa, add_gaussian, tile.data(), kSome, j0, width, holes, gaussian, constant.data(), next, acc.data());
    block(p, "add_gaussian", acc, kSome);
    for (const bool finite : {true, false}) {
      auto weight = one;
      if (!finite) weight[j0 + 1] = -kInfinity;
      acc = start;
      const LinearTerms linear{weight.data(), three.data(), classes, d, finite};
      TB_CALL_AT(p.isa, add_linear, tile.data(), kSome, j0, width, holes, linear, constant.data(), next, acc.data());
      block(p, "add_linear", acc, kSome);
    }
    acc = start;
    const BinaryTerms binary{one.data(), three.data(), 1.0, classes};
    TB_CALL_AT(p.isa, add_binary, tile.data(), kSome, j0, width, holes, binary, next, acc.data());
    block(p, "add_binary", acc, kSome);
  }
}

// How the terms are ordered, and from how many columns on, is each set's own affair.
template <class T>
void wide_rows(Probe& p, Numbers& some, std::size_t classes) {
  constexpr std::size_t d = 43, j0 = 8, width = d - j0;
  const auto mean = some.between(-1.0, 1.0, d * classes), scale = some.between(0.1, 1.0, d * classes),
             log_norm = some.between(-1.0, 1.0, d * classes), centre = some.between(0.0, 1.0, d);
  const GaussianTerms terms{mean.data(), scale.data(), log_norm.data(), centre.data(), mean.data(), classes, d};
  List<double> laid(TB_CALL_AT(p.isa, gaussian_laid, classes, width));
  TB_CALL_AT(p.isa, lay_gaussian, terms, j0, width, laid.data());
  p.got("gaussian_by_rows", TB_CALL_AT(p.isa, gaussian_by_rows, classes, d));
  for (const T odd : {T{1}, static_cast<T>(kNan), static_cast<T>(kInfinity)}) {
    auto x = some.between<T>(0.0, 2.0, kSome * d);
    for (std::size_t i = 100; i < x.size(); i += 311) x[i] = odd;
    x[x.size() - 1] = odd;
    const Stretch from{bytes_of(x) + j0 * sizeof(T), d * sizeof(T), kDtype<T>, kSome, width, true};
    auto acc = some.between(-1.0, 1.0, classes * kRows);
    const bool finite = TB_CALL_AT(p.isa, add_gaussian_rows, from, laid.data(), classes, acc.data());
    p.got("add_gaussian_rows", finite);
    if (finite) block(p, "add_gaussian_rows", acc, kSome);
  }
}

template <class T>
void discrete(Probe& p, Numbers& some, std::size_t classes) {
  constexpr std::size_t n = kSome + 9, d = 5, levels = 4;
  auto code = some.below<T>(levels + 1, n * d);
  for (std::size_t i = 2; i < code.size(); i += 23) code[i] = static_cast<T>(-1);
  for (std::size_t i = 0; i < n; ++i) code[i] = 1;  // a column without surprises
  const Table<T> table(code, n, d, false);
  const auto level = some.between(-3.0, 0.0, d * levels * classes), unseen = some.between(-5.0, -4.0, d * classes);
  const List<double> absent(classes);
  const List<std::uint64_t> size(d, levels);
  List<const double*> levels_at(d), unseen_at(d);
  for (std::size_t j = 0; j < d; ++j) levels_at[j] = &level[j * levels * classes], unseen_at[j] = &unseen[j * classes];
  std::array<bool, d> met{};
  const DiscreteTerms terms{levels_at.data(), size.data(), unseen_at.data(), absent.data(), -1, met.data(), classes};
  auto acc = some.between(-1.0, 1.0, classes * kRows);
  TB_CALL_AT(p.isa, add_discrete, table.view, 3, kSome, terms, acc.data());
  block(p, "add_discrete", acc, kSome);
  p.got("add_discrete", met.data(), d);
}

template <class T, class I>
void sparse(Probe& p, Numbers& some, std::size_t classes) {
  SparseTable<T, I> table(some);
  const std::size_t rows = table.view.n - 3;
  const auto weight = some.between(-3.0, 0.0, table.view.d * classes);
  for (const bool binary : {false, true}) {
    const CsrTerms terms{weight.data(), classes, binary, 1.0};
    auto acc = some.between(-1.0, 1.0, classes * kRows);
    TB_CALL_AT(p.isa, add_csr, table.view, 2, rows, terms, acc.data());
    block(p, "add_csr", acc, rows);
    for (const double odd : {1.0, -1.0, 3.0}) {
      table.value[60] = static_cast<T>(odd);
      p.got("csr_fit_for", TB_CALL_AT(p.isa, csr_fit_for, table.view, 2, rows, binary));
    }
  }
}

void families(Probe& p, std::size_t classes) {
  constexpr std::size_t count = 4, cells = 10;
  Numbers some(42);
  const auto cell = some.below<std::uint32_t>(cells, count * kRows);
  const auto log = some.between(-3.0, 0.0, count * cells * classes);
  List<const double*> at(count);
  for (std::size_t f = 0; f < count; ++f) at[f] = &log[f * cells * classes];
  List<double> out(kSome * classes);
  TB_CALL_AT(p.isa, sum_families, (FamilyCells{count, cell.data(), at.data(), classes}), kSome, out.data());
  p.got("sum_families", out, kSums);
}

void finish(Probe& p, std::size_t classes) {
  Numbers some(43);
  auto acc = some.between(-30.0, 0.0, classes * kRows);
  List<double> peak(kRows), out(kSome * classes), evidence(kSome);
  List<std::int64_t> best(kSome);
  acc[5] = acc[kRows + 5];  // equals: the first is the best
  const std::uint64_t none = TB_CALL_AT(p.isa, find_peaks, acc.data(), kSome, classes, peak.data());
  p.got("find_peaks", none);
  p.got("find_peaks", peak.data(), kSome);
  TB_CALL_AT(p.isa, write_joint, acc.data(), kSome, classes, out.data());
  p.got("write_joint", out);
  TB_CALL_AT(p.isa, write_best, acc.data(), kSome, classes, peak.data(), best.data());
  p.got("write_best", best);
  TB_CALL_AT(p.isa, write_log_density, acc.data(), kSome, classes, peak.data(), evidence.data());
  p.got("write_log_density", evidence, kSums);
  auto work = acc;
  TB_CALL_AT(p.isa, write_proba, work.data(), kSome, classes, peak.data(), out.data());
  p.got("write_proba", out, kSums);
  work = acc;
  TB_CALL_AT(p.isa, write_log_proba, work.data(), kSome, classes, peak.data(), out.data());
  p.got("write_log_proba", out, kSums);
  acc[9] = kNan, acc[17] = kInfinity, acc[18] = -kInfinity;
  for (std::size_t c = 0; c < classes; ++c) acc[c * kRows + 33] = -kInfinity;
  p.got("find_peaks", TB_CALL_AT(p.isa, find_peaks, acc.data(), kSome, classes, peak.data()));
}

void numbers(Probe& p, std::size_t classes) {
  Numbers some(44);
  auto from = some.between(-3.0, 0.0, kSome * classes);
  auto acc = some.between(-1.0, 1.0, classes * kRows);
  p.got("add_numbers", TB_CALL_AT(p.isa, add_numbers, from.data(), kSome, classes, acc.data()));
  block(p, "add_numbers", acc, kSome);
  from[19] = kNan;
  p.got("add_numbers", TB_CALL_AT(p.isa, add_numbers, from.data(), kSome, classes, acc.data()));
}

template <class T>
void codes(Probe& p) {
  Numbers some(43);
  auto packed = some.below<T>(200, kRows);
  for (const std::size_t rows : {kSome, kRows}) {
    for (const bool absent : {false, true}) {
      if (absent) packed[17] = static_cast<T>(~T{0});
      List<std::uint32_t> wide(kRows);
      p.got("widen_codes",
            static_cast<std::size_t>(TB_CALL_AT(p.isa, widen_codes, packed.data(), sizeof(T), rows, wide.data())));
      p.got("widen_codes", List<double>(wide.begin(), wide.end()), 0.0);
      TB_CALL_AT(p.isa, add_codes, wide.data(), 3, wide.data());
      p.got("add_codes", List<double>(wide.begin(), wide.end()), 0.0);
    }
  }
}

// Tables of three, two and one axes of 3, 2 and 4 levels, summed over the one of 4; one factor more takes the way for
// many.
void sum_products(Probe& p, std::size_t classes) {
  Numbers some(77);
  const auto a = some.between(0.1, 1.0, 24 * classes + kSumProductPad),
             b = some.between(0.1, 1.0, 12 * classes + kSumProductPad),
             c = some.between(0.1, 1.0, 4 * classes + kSumProductPad);
  const std::array<const double*, 5> factor{a.data(), b.data(), c.data(), b.data(), c.data()};
  const std::array<std::size_t, 15> step{8 * classes, 4 * classes, classes, 4 * classes, 0, classes, 0,      0,
                                         classes,     4 * classes, 0,       classes,     0, 0,       classes};
  const std::array<std::size_t, 2> size{3, 2};
  for (std::size_t factors = 1; factors <= 5; ++factors) {
    List<double> out(6 * classes), least(classes), most(classes);
    std::array<std::size_t, 7> at{};
    TB_CALL_AT(p.isa, sum_product,
               (SumProduct{factors, factor.data(), step.data(), 2, size.data(), 4, classes, out.data()}), at.data(),
               least.data(), most.data());
    p.got("sum_product", out, kSums);
    p.got("sum_product", least, kSums);
    p.got("sum_product", most, kSums);
  }
}

}  // namespace

void probe_scores(Probe& p) {
  Numbers some(41);
  for (const std::size_t classes : {3, 13}) {
    dense(p, classes);
    finish(p, classes);
    numbers(p, classes);
    wide_rows<double>(p, some, classes);
    wide_rows<float>(p, some, classes);
  }
  for (const std::size_t classes : {3, 13, 16}) {  // 16: vectors without a rest
    families(p, classes);
    sum_products(p, classes);
    discrete<std::int8_t>(p, some, classes);
    sparse<double, std::int32_t>(p, some, classes);
  }
  for_types<std::uint8_t, std::uint16_t, std::uint32_t>([&](auto type) { codes<decltype(type)>(p); });
  for_types<std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(
      [&](auto type) { discrete<decltype(type)>(p, some, 3); });
  for_types<double, float, std::int64_t, std::int32_t>([&](auto type) {
    sparse<decltype(type), std::int32_t>(p, some, 3);
    sparse<decltype(type), std::int64_t>(p, some, 3);
  });
}

}  // namespace tb
