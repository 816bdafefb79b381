// Probes of the kernels that count, cut and look up: nothing is rounded here.
#include <array>

#include "test/kernels/probe.hpp"
#include "kernels/bits.hpp"
#include "kernels/cells.hpp"
#include "kernels/back_off_chains.hpp"
#include "kernels/counts.hpp"
#include "kernels/cut_points.hpp"
#include "kernels/known_codes.hpp"
#include "kernels/narrow.hpp"
#include "kernels/network.hpp"
#include "kernels/pair_counts.hpp"
#include "kernels/integer_range.hpp"
#include "kernels/row_hashes.hpp"
#include "kernels/stream.hpp"

namespace tb {
namespace {

void bitmaps(Probe& p) {
  constexpr std::size_t words = 17 * kBlockWords, few = 3, levels = 5;
  Numbers some(1);
  const auto a = some.words(words), b = some.words(3 * words);
  List<std::uint64_t> both(words), bits(levels * few);
  TB_CALL_AT(p.isa, and_bits, a.data(), b.data(), words, both.data());
  p.got("and_bits", both);
  List<std::uint32_t> n(3);
  TB_CALL_AT(p.isa, count_both, a.data(), b.data(), words, 3, words, n.data());
  p.got("count_both", n);
  const auto x = some.below<std::uint8_t>(levels + 1, few * 64);
  TB_CALL_AT(p.isa, level_bits, x.data(), few, levels, few, bits.data());
  p.got("level_bits", bits);
  const auto row = some.below<std::uint32_t>(50, 75);
  for_types<std::uint8_t, std::uint16_t, std::uint32_t>([&](auto type) {
    const auto code = some.below<decltype(type)>(200, 50);
    List<std::uint8_t> out(row.size());
    TB_CALL_AT(p.isa, gather_bytes, code.data(), sizeof type, row.data(), row.size(), 150, out.data());
    p.got("gather_bytes", out);
  });
  const auto text = some.below<char>(256, 1029);
  p.got("sum_words", TB_CALL_AT(p.isa, sum_words, text.data(), text.size()));
}

template <class T>
void counts(Probe& p, Numbers& some) {
  constexpr std::size_t n = 75, width = 15, shift = 4, copy = 3 << shift;
  const auto cls = some.below<std::uint32_t>(3, n);
  const auto w = some.between(0.0, 2.0, n);
  auto x = some.below<T>(14, n);
  if (static_cast<T>(-1) < T{}) x[5] = x[70] = static_cast<T>(-1);
  for (const std::size_t step : {1, 2}) {
    const auto stride = static_cast<std::ptrdiff_t>(step * sizeof(T));
    const Codes c{bytes_of(x), stride, kDtype<T>, n / step, cls.data(), nullptr};
    const Codes weighted{c.x, stride, c.dtype, c.n, c.cls, w.data()};
    List<std::uint32_t> table(4 * copy);
    List<double> sums(4 * copy);
    p.got("most_place", TB_CALL_AT(p.isa, most_place, c));
    TB_CALL_AT(p.isa, count_codes, c, (Places<std::uint32_t>{table.data(), shift, copy}));
    p.got("count_codes", table);
    TB_CALL_AT(p.isa, weigh_codes, weighted, (Places<double>{sums.data(), shift, copy}));
    p.got("weigh_codes", sums, kSums);
    const Range range = TB_CALL_AT(p.isa, range_of, bytes_of(x), c.n, stride, kDtype<T>);
    p.got("range_of", range.low);
    p.got("range_of", range.high);
  }
  List<std::uint64_t> most(width);
  TB_CALL_AT(p.isa, most_places, bytes_of(x), width * sizeof(T), kDtype<T>, n / width, width, most.data());
  p.got("most_places", most);
}

template <class T>
void counts_of_pairs(Probe& p, Numbers& some) {
  constexpr std::size_t n = 150, pairs = 17, apart = pair_stride(sizeof(T)), step = pairs * apart,
                        cells = 3 * pairs << 5;
  const auto cls = some.below<std::uint32_t>(3, n);
  auto x = some.below<T>(4, n * 2 * pairs);
  List<std::uint8_t> bits(2 * pairs);
  for (std::size_t j = 0; j < 2 * pairs; ++j) bits[j] = j % 2 == 0 ? 3 : 2;
  List<std::uint32_t> base(3 * step), table(cells);
  for (std::size_t k = 0; k < 3 * pairs; ++k) base[k * apart] = static_cast<std::uint32_t>(k << 5);
  const PairRows rows{bytes_of(x), 2 * pairs * sizeof(T), kDtype<T>, n, pairs, cls.data()};
  const PairPlaces to{bits.data(), base.data(), step, table.data()};
  p.got("count_pairs", TB_CALL_AT(p.isa, count_pairs, rows, to));
  x[(n - 10) * 2 * pairs + 5] = 4;  // has no place
  p.got("count_pairs", TB_CALL_AT(p.isa, count_pairs, rows, to));
  p.got("count_pairs", table);
}

template <class T, class Out>
void narrowed(Probe& p, Numbers& some, std::size_t d, bool by_rows) {
  constexpr std::size_t n = 70;
  auto x = some.below<T>(11, n * d);
  for (std::size_t i = 3; i < x.size(); i += 41) x[i] = static_cast<T>(-1);
  for (std::size_t i = 0; i < n; ++i) x[by_rows ? i * d : i] = 1;  // a column without surprises
  const Table<T> table(std::move(x), n, d, by_rows);
  const List<std::int64_t> size(d, 9);
  List<Out> out(n * d);
  std::array<bool, 32> unseen{};
  const Narrow task{&table.view, size.data(), false, 0, n, sizeof(Out), out.data(), unseen.data()};
  TB_CALL_AT(p.isa, narrow_codes, task, 0, n);
  p.got("narrow_codes", out);
  p.got("narrow_codes", unseen.data(), d);
}

template <class T>
void narrowed(Probe& p, Numbers& some) {
  narrowed<T, std::uint8_t>(p, some, 18, true);  // turned in squares
  narrowed<T, std::uint8_t>(p, some, 3, false);
  narrowed<T, std::uint16_t>(p, some, 3, false);
  narrowed<T, std::uint32_t>(p, some, 3, true);
}

template <class T>
void cells(Probe& p, Numbers& some) {
  constexpr std::size_t n = 75, d = 3;
  const auto code = some.below<T>(6, n * d);
  auto y = some.below<std::int32_t>(3, n);
  y[4] = -1;
  const List<std::int32_t> column{2, 0};
  const List<std::int64_t> size{5, 6, 4};
  List<std::uint32_t> out(n - 2);
  const CodeColumns from{code.data(), sizeof(T), n, column.data(), column.size(), size.data()};
  for (const std::uint32_t none : {60u, ~0u}) {
    TB_CALL_AT(p.isa, cell_numbers, from, 2, n - 2, y.data(), none, out.data());
    p.got("cell_numbers", out);
  }
}

void steps(Probe& p) {
  constexpr std::size_t n = 75, levels = 9;
  Numbers some(4);
  auto lut = some.below<std::uint8_t>(7, 256);
  lut[3] = lut[levels] = 255;
  const auto small = some.below<std::uint8_t>(levels + 2, n);
  const auto middle = some.below<std::uint16_t>(levels + 2, n);
  const auto large = some.below<std::uint32_t>(levels + 2, n);
  auto cell = some.below<std::uint32_t>(1000, n);
  cell[9] = kNoCell;
  p.got("step_cells8", TB_CALL_AT(p.isa, step_cells8, small.data(), lut.data(), 7, cell.data(), n));
  p.got("step_cells8", cell);
  p.got("step_cells16", TB_CALL_AT(p.isa, step_cells16, middle.data(), lut.data(), levels, 7, cell.data(), n));
  p.got("step_cells16", cell);
  p.got("step_cells32", TB_CALL_AT(p.isa, step_cells32, large.data(), lut.data(), levels, 7, cell.data(), n));
  p.got("step_cells32", cell);
  auto sums = some.below<std::uint32_t>(1000, kRows);
  TB_CALL_AT(p.isa, add_codes, large.data(), 11, sums.data());
  p.got("add_codes", sums);
}

void cuts(Probe& p) {
  constexpr std::size_t n = 300;
  Numbers some(5);
  auto value = some.between(-1.0, 1.0, n);
  double low = kInfinity, high = -kInfinity;
  TB_CALL_AT(p.isa, widen, value.data(), n, &low, &high);
  p.got("widen", low);
  p.got("widen", high);
  value[40] = 0.5, value[41] = -kInfinity, value[42] = kInfinity;
  for (const std::size_t begin : {20, 41, 42, 43}) {
    for (const std::size_t end : {43, 290, 300})
      p.got("any_infinite", TB_CALL_AT(p.isa, any_infinite, value.data() + begin, end - begin));
  }
  value[17] = value[298] = kNan;
  for (const std::size_t m : {0, 7, 60}) {  // compared with each, and searched
    List<double> cut(m);
    for (std::size_t j = 0; j < m; ++j) cut[j] = -1.0 + 2.0 * static_cast<double>(j + 1) / static_cast<double>(m + 1);
    for_types<std::int8_t, std::int16_t, std::int32_t>([&](auto type) {
      List<decltype(type)> code(n);
      TB_CALL_AT(p.isa, count_cuts, value.data(), n, cut.data(), m, code.data());
      p.got("count_cuts", code);
    });
  }
}

// Numbers that have codes, of which a register holds all or not, and some that have none.
template <class T>
void known(Probe& p, Numbers& some) {
  constexpr std::size_t n = 1100;
  List<std::int8_t> of(256, -3), out(n);
  for (std::size_t v = 0; v < 100; ++v) of[v] = static_cast<std::int8_t>(99 - v);
  for (const std::uint32_t levels : {16, 100, 101}) {
    auto x = some.below<T>(levels, n);
    x[n - 1] = static_cast<T>(levels - 1);
    const bool all = TB_CALL_AT(p.isa, known_codes, (KnownCodes{bytes_of(x), kDtype<T>, n, of.data()}), out.data());
    p.got("known_codes", all);
    if (all) p.got("known_codes", out);
  }
}

void hashes(Probe& p) {
  Numbers some(3);
  auto x = some.between(-9.0, 9.0, 75);
  x[4] = kNan, x[20] = kInfinity, x[21] = -kInfinity, x[40] = 0.0, x[41] = -0.0;
  const double largest = TB_CALL_AT(p.isa, largest_size, x.data(), x.size());
  p.got("largest_size", largest);
  const std::uint64_t sum = TB_CALL_AT(p.isa, sum_value_hashes, x.data(), x.size(), largest);
  p.got("sum_value_hashes", sum);
  auto out = some.words(x.size());
  TB_CALL_AT(p.isa, add_value_hashes, x.data(), x.size(), largest, sum, out.data());
  p.got("add_value_hashes", out);
}

}  // namespace

void probe_codes(Probe& p) {
  bitmaps(p);
  Numbers some(2);
  for_types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
            std::uint64_t>([&](auto type) { counts<decltype(type)>(p, some); });
  for_types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(
      [&](auto type) { counts_of_pairs<decltype(type)>(p, some); });
  for_types<std::int8_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t>(
      [&](auto type) { narrowed<decltype(type)>(p, some); });
  for_types<std::uint8_t, std::uint16_t, std::uint32_t>([&](auto type) {
    cells<decltype(type)>(p, some);
    known<decltype(type)>(p, some);
  });
  steps(p);
  cuts(p);
  hashes(p);
}

}  // namespace tb
