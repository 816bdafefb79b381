// Probes of the kernels that read tables as doubles.
#include "test/kernels/probe.hpp"
#include "kernels/gather.hpp"
#include "kernels/pack.hpp"
#include "kernels/tile.hpp"

namespace tb {
namespace {

constexpr std::size_t d = 9;

template <class T>
void packed(Probe& p, Numbers& some, std::size_t n) {
  const auto row = some.below<std::uint32_t>(static_cast<std::uint32_t>(n - 2), 13);
  const auto values = some.between<T>(0.0, 120.0, n * d);
  List<double> column(n), gathered(row.size() * d);
  for (const bool by_rows : {true, false}) {
    const Table<T> table(values, n, d, by_rows);
    const Column& c = table.col[1];
    for (const std::size_t step : {1, 2}) {
      TB_CALL_AT(p.isa, pack, c.data, c.stride, c.dtype, n / step, column.data(), step);
      p.got("pack", column);
    }
    List<double> block((n - 3) * d);
    TB_CALL_AT(p.isa, pack_block, table.view, 2, n - 1, block.data());
    p.got("pack_block", block);
    TB_CALL_AT(p.isa, gather_rows, table.view, 2, row.data(), row.size(), gathered.data());
    p.got("gather_rows", gathered);
  }
}

template <class T>
void tiles(Probe& p, Numbers& some) {
  constexpr std::size_t n = 70;
  auto values = some.between<T>(0.0, 120.0, n * d);
  const auto centre = some.between(0.0, 120.0, d);
  for (const bool holes : {false, true}) {
    if (holes && !std::is_floating_point_v<T>) break;
    if (holes) values[21 * d + 7] = static_cast<T>(kNan);
    for (const bool by_rows : {true, false}) {
      const Table<T> table(values, n, d, by_rows);
      for (const double* less : {centre.data(), static_cast<const double*>(nullptr)}) {
        List<double> tile(kRows * (d - 2));
        const Patch patch{&table.view, 4, 61, 1, d - 2};
        p.got("load_tile", TB_CALL_AT(p.isa, load_tile, patch, less, tile.data()));
        p.got("load_tile", tile);
      }
    }
  }
}

void looks(Probe& p) {
  constexpr std::size_t rows = 61, width = 5;
  for (const double odd : {0.0, -1.0, kInfinity, -kInfinity, kNan}) {
    for (const std::size_t at : {0, 3, 60}) {
      List<double> tile(kRows * width);
      tile[2 * kRows + at] = odd;
      p.got("tile_has_infinite", TB_CALL_AT(p.isa, tile_has_infinite, tile.data(), rows, width));
      p.got("tile_has_negative", TB_CALL_AT(p.isa, tile_has_negative, tile.data(), rows, width));
    }
  }
}

}  // namespace

void probe_tables(Probe& p) {
  Numbers some(10);
  for_types<double, float>([&](auto type) { packed<decltype(type)>(p, some, 70); });  // more than are packed at a time
  for_types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
            std::uint64_t>([&](auto type) { packed<decltype(type)>(p, some, 20); });
  for_types<double, float, std::int32_t, std::uint8_t>([&](auto type) { tiles<decltype(type)>(p, some); });
  looks(p);
}

}  // namespace tb
