// Joint tables of several columns (core/counts/joint.hpp).
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <limits>

#include "bind/checked.hpp"
#include "bind/large_array.hpp"
#include "core/counts/joint.hpp"

namespace tb::bind {
namespace {

using Maps = std::vector<std::optional<Sizes>>;

constexpr std::int64_t kMostLevels = std::numeric_limits<std::uint32_t>::max();  // all ones is no level

void check_sizes(const Sizes& sizes) {
  for (std::size_t j = 0; j < sizes.shape(0); ++j) {
    expect(sizes(j) >= 0 && sizes(j) <= kMostLevels, "sizes must lie between 0 and 2**32 - 1");
  }
}

Tables tables_of(const Sizes& sizes, const Ints& columns, const Sizes& starts) {
  check_sizes(sizes);
  const std::size_t length = starts.shape(0);
  expect(length > 0 && starts(0) == 0 && static_cast<std::size_t>(starts(length - 1)) == columns.shape(0),
         "starts must begin with 0 and end with the number of columns");
  for (std::size_t t = 1; t < length; ++t) expect(starts(t - 1) <= starts(t), "starts must not descend");
  try {
    return Tables(sizes.shape(0), sizes.data(), length - 1, columns.data(), starts.data());
  } catch (const std::length_error& e) {
    throw nb::value_error(e.what());
  }
}

template <class T>
nb::object pack_as(const PyColumns& cols, const Sizes& sizes, bool raw, std::size_t first, std::size_t rows,
                   bool* unseen) {
  auto codes = make_large<T, 2>({cols.view.d, rows});
  {
    const GilRelease release;
    pack_codes(cols.view, sizes.data(), raw, first, rows, sizeof(T), codes.data(), unseen);
  }
  return nb::cast(codes);
}

nb::tuple py_pack_codes(const PyColumns& cols, const Sizes& sizes, bool raw, std::size_t first, std::size_t rows) {
  const std::size_t d = cols.view.d;
  expect(sizes.shape(0) == d, "sizes: one number per column");
  check_sizes(sizes);
  expect(first <= cols.view.n && rows <= cols.view.n - first, "the rows lie outside the table");
  std::int64_t levels = 0;
  for (std::size_t j = 0; j < d; ++j) {
    const Dtype t = cols.view.col[j].dtype;
    if (t == Dtype::f64 || t == Dtype::f32) throw nb::type_error("codes must be integers or booleans");
    levels = std::max(levels, sizes(j));
  }
  auto unseen = make_array<bool>({d});
  const std::size_t bytes = code_bytes(static_cast<std::uint64_t>(levels));
  const auto pack = bytes == 1 ? pack_as<std::uint8_t> : bytes == 2 ? pack_as<std::uint16_t> : pack_as<std::uint32_t>;
  const nb::object codes = pack(cols, sizes, raw, first, rows, unseen.data());
  return nb::make_tuple(codes, unseen);
}

Packed packed(const AnyCodes& codes, const Sizes& sizes) {
  const nb::dlpack::dtype type = codes.dtype();
  if (type != nb::dtype<std::uint8_t>() && type != nb::dtype<std::uint16_t>() && type != nb::dtype<std::uint32_t>()) {
    throw nb::type_error("codes must be uint8, uint16 or uint32");
  }
  expect(codes.shape(0) == sizes.shape(0), "codes: one row per column of the data, as many as sizes");
  const std::size_t bytes = type.bits / 8;
  for (std::size_t j = 0; j < sizes.shape(0); ++j) {
    expect(code_bytes(static_cast<std::uint64_t>(sizes(j))) <= bytes, "codes are of too small a type for their sizes");
  }
  return {codes.data(), bytes, codes.shape(1)};
}

void py_count_tables(const AnyCodes& codes, const Labels& y, const std::optional<Doubles>& w, const Sizes& sizes,
                     const Ints& columns, const Sizes& starts, OwnCounts& out) {
  const Tables tables = tables_of(sizes, columns, starts);
  const Packed x = packed(codes, sizes);
  expect(y.shape(0) == x.n, "class codes have another length than the codes");
  expect(out.shape(1) == tables.cells(), "out must be (classes, cells of all tables)");
  const LabelledCodes rows{x, y.data(), weights_or_null(w, x.n), out.shape(0)};
  with_counts(out.dtype(), out.data(), [&](const auto* cells) {
    using N = std::remove_const_t<std::remove_pointer_t<decltype(cells)>>;
    expect(sizeof(N) == sizeof(double) || !rows.w, "with weights the counts must be float64");
    const GilRelease release;
    count_tables(rows, tables, const_cast<N*>(cells));
  });
}

void check_map(const std::optional<Sizes>& map, std::int64_t from, std::int64_t to) {
  if (!map) return expect(from <= to, "a column that keeps its levels must not become smaller");
  expect(map->shape(0) == static_cast<std::size_t>(from), "a map must name every level of its column");
  for (std::size_t v = 0; v < map->shape(0); ++v) {
    expect((*map)(v) >= 0 && (*map)(v) < to, "a map names a level that the column will not have");
  }
}

nb::object py_move_tables(const AnyCounts& old, const Sizes& old_sizes, const Sizes& new_sizes, const Ints& columns,
                          const Sizes& starts, const Maps& maps) {
  const std::size_t d = old_sizes.shape(0), classes = old.shape(0);
  expect(new_sizes.shape(0) == d && maps.size() == d, "old_sizes, new_sizes and maps differ in length");
  const Tables from = tables_of(old_sizes, columns, starts), to = tables_of(new_sizes, columns, starts);
  expect(old.shape(1) == from.cells(), "old must be (classes, cells of all tables)");
  std::vector<const std::int64_t*> map(d, nullptr);
  for (std::size_t j = 0; j < d; ++j) {
    check_map(maps[j], old_sizes(j), new_sizes(j));
    if (maps[j]) map[j] = maps[j]->data();
  }
  return with_counts(old.dtype(), old.data(), [&](const auto* counts) {
    using N = std::remove_const_t<std::remove_pointer_t<decltype(counts)>>;
    auto moved = make_large<N, 2>({classes, to.cells()});
    {
      const GilRelease release;
      move_tables(from, to, map.data(), classes, counts, moved.data());
    }
    return nb::cast(moved);
  });
}

std::tuple<Array<double, 1>, Array<double, 1>> py_pair_information(const Matrix& single, const AnyCounts& joint,
                                                                   const Sizes& sizes, const Ints& columns,
                                                                   const Sizes& starts) {
  const Tables tables = tables_of(sizes, columns, starts);
  const std::size_t classes = joint.shape(0);
  std::size_t levels = 0;
  for (std::size_t j = 0; j < tables.d; ++j) levels += static_cast<std::size_t>(sizes(j));
  expect(joint.shape(1) == tables.cells(), "joint must be (classes, cells of all tables)");
  expect(single.shape(0) == classes && single.shape(1) == levels, "single must be (classes, sum of sizes)");
  auto pairs = make_array<double>({tables.count}), columns_alone = make_array<double>({tables.d});
  with_counts(joint.dtype(), joint.data(), [&](const auto* counts) {
    const GilRelease release;
    pair_information(tables, classes, counts, pairs.data());
    class_information(tables.d, sizes.data(), classes, single.data(), columns_alone.data());
  });
  return {pairs, columns_alone};
}

}  // namespace

void bind_tables(nb::module_& m) {
  const auto sizes = nb::arg("sizes").noconvert();
  const auto columns = nb::arg("columns").noconvert();
  const auto starts = nb::arg("starts").noconvert();
  m.def("pack_codes", &py_pack_codes, nb::arg("cols"), sizes, nb::arg("raw"), nb::arg("first"), nb::arg("rows"),
        "(codes, unseen): rows [first, first + rows) column by column, (columns, rows) in the smallest unsigned type\n"
        "that holds every level. A code outside [0, size) becomes all ones; unseen[j]: there was one in column j that\n"
        "does not mean missing (-1; nothing does if raw).");
  m.def(
      "count_tables", &py_count_tables, nb::arg("codes").noconvert(), nb::arg("y").noconvert(),
      nb::arg("w").noconvert().none(), sizes, columns, starts, nb::arg("out").noconvert(),
      "Add the rows to the joint tables out (classes, cells), uint32 or float64 (which takes weights). Table t is of\n"
      "columns[starts[t]:starts[t + 1]], ascending, the last running fastest; rows with one of them missing are in\n"
      "no cell of it, rows with y < 0 in none at all.");
  m.def("move_tables", &py_move_tables, nb::arg("old").noconvert(), nb::arg("old_sizes").noconvert(),
        nb::arg("new_sizes").noconvert(), columns, starts, nb::arg("maps"),
        "The same tables with level v of column j renamed maps[j][v] (None: v), for columns of the new sizes.");
  m.def("pair_information", &py_pair_information, nb::arg("single").noconvert(), nb::arg("joint").noconvert(), sizes,
        columns, starts,
        "(I(x_i; x_j | y) of every table of two columns, NaN of others; I(x_j; y) of every column), in nats, from the\n"
        "counts joint (classes, cells) and single (classes, sum of sizes).");
}

}  // namespace tb::bind
