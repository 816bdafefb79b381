// Where classes came more often, or less, than an ensemble expected.
#include "core/ensemble/boosting.hpp"

#include <algorithm>
#include <cmath>

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bind/checked.hpp"
#include "core/ensemble/back_off_chains.hpp"

namespace tb::bind {
namespace {

using Bins = nb::ndarray<const std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Starts = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Keys = nb::ndarray<const std::uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Sizes = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
using How = std::tuple<double, double, double, double, double, double>;
using PyCorrection = std::tuple<Array<std::int32_t, 1>, Array<std::int32_t, 1>, Array<double, 2>>;

CorrectionSearch search_of(const Sizes& size, const How& how) {
  const auto& [most, patience, depth, columns, rows, seed] = size;
  const auto& [step, worth, ridge, least, own, eager] = how;
  for (const std::int64_t each : {most, patience, columns, rows, seed}) expect(each >= 0, "sizes must not be negative");
  expect(depth >= 1 && depth <= 15, "depth must lie between 1 and 15");
  expect(step > 0 && step <= 1, "step must lie between 0 and 1");
  for (const double each : {worth, ridge})
    expect(each >= 1e-6 && each <= 1e6, "worth and ridge must lie between 1e-6 and 1e6");
  expect(least >= 0, "least must not be negative");
  expect(own >= 0 && own <= 1, "own must lie between 0 and 1");
  expect(eager >= 0 && eager <= 1e6, "eager must lie between 0 and 1e6");
  return {static_cast<std::size_t>(most),
          static_cast<std::size_t>(patience),
          static_cast<std::size_t>(depth),
          static_cast<std::size_t>(columns),
          static_cast<std::size_t>(rows),
          static_cast<std::uint64_t>(seed),
          step,
          worth,
          ridge,
          least,
          own,
          eager};
}

std::pair<std::vector<PyCorrection>, double> py_find_corrections(const std::tuple<Bins, Ints, Flags>& columns,
                                                                 const std::tuple<Labels, Doubles, Keys>& rows,
                                                                 const Matrix& joint, const Sizes& size,
                                                                 const How& how) {
  const auto& [bin, bins, ordered] = columns;
  const auto& [y, w, key] = rows;
  const std::size_t d = bin.shape(0), n = bin.shape(1), K = joint.shape(1);
  expect(n < std::size_t{1} << 31, "bin has 2**31 rows or more");
  expect(bins.shape(0) == d && ordered.shape(0) == d, "bins and ordered: one for each column");
  for (std::size_t j = 0; j < d; ++j) {
    expect(bins(j) >= 1 && bins(j) <= kNoBin, "bins must lie between 1 and 255");
    const std::uint8_t* own = bin.data() + j * n;
    bool good = true;
    for (std::size_t r = 0; r < n; ++r) good &= (own[r] < bins(j)) | (own[r] == kNoBin);
    expect(good, "bin goes beyond the bins of its column");
  }
  expect(y.shape(0) == n && w.shape(0) == n && key.shape(0) == n, "y, w and key: one for each row");
  expect(joint.shape(0) == n && K > 0, "joint must be (rows, classes)");
  for (std::size_t i = 0; i < n * K; ++i) expect(std::abs(joint.data()[i]) <= 1e300, "joint must be finite");
  const CorrectionSearch search = search_of(size, how);
  Corrections found;
  {
    const nb::gil_scoped_release release;
    found = find_corrections(
        {n, K, d, bin.data(), bins.data(), ordered.data(), y.data(), w.data(), joint.data(), key.data()}, search);
  }
  std::vector<PyCorrection> out;
  for (const Correction& each : found.found) {
    auto column = make_array<std::int32_t, 1>({each.column.size()}),
         cut = make_array<std::int32_t, 1>({each.cut.size()});
    auto value = make_array<double, 2>({each.value.size() / K, K});
    std::copy(each.column.begin(), each.column.end(), column.data());
    std::copy(each.cut.begin(), each.cut.end(), cut.data());
    std::copy(each.value.begin(), each.value.end(), value.data());
    out.emplace_back(column, cut, value);
  }
  return {std::move(out), found.gain};
}

Array<std::uint8_t, 1> py_cut_views(const std::tuple<Bytes, Starts, Flags>& columns,
                                    const std::pair<Ints, Ints>& cuts) {
  const auto& [bin, start, ordered] = columns;
  const auto& [column, cut] = cuts;
  const std::size_t d = ordered.shape(0);
  expect(start.shape(0) == d + 1 && start(0) == 0, "start: one for each column, and the end");
  for (std::size_t j = 0; j < d; ++j) expect(start(j) < start(j + 1), "every column has a bin for what is missing");
  expect(start(d) == static_cast<std::int64_t>(bin.shape(0)), "start must end where bin does");
  expect(column.shape(0) == cut.shape(0), "a cut has a column");
  std::size_t all = 0;
  for (std::size_t i = 0; i < column.shape(0); ++i) {
    expect(column(i) >= 0 && static_cast<std::size_t>(column(i)) < d, "there is no such column");
    expect(cut(i) >= 0 && cut(i) < kNoBin, "a cut is at a bin");
    const auto j = static_cast<std::size_t>(column(i));
    all += static_cast<std::size_t>(start(j + 1) - start(j));
  }
  auto map = make_array<std::uint8_t, 1>({all});
  const nb::gil_scoped_release release;
  cut_views({column.shape(0), column.data(), cut.data(), bin.data(), start.data(), ordered.data()}, map.data());
  return map;
}

}  // namespace

void bind_corrections(nb::module_& m) {
  m.def("find_corrections", &py_find_corrections, nb::arg("columns").noconvert(), nb::arg("rows").noconvert(),
        nb::arg("joint").noconvert(), nb::arg("size"), nb::arg("how"),
        "([(column, cut, value), ...], gain): what is to be added to joint (rows, classes). columns: bin (columns, "
        "rows), 255 for\n"
        "none; how many bins each has; whether they are ordered. rows: y, w and key. Rows of the bin at a cut, or up "
        "to it\n"
        "where bins are ordered, are the second half of each cell; value (2^(cuts + 1) - 1, classes) is of no cut, of "
        "the cells of the first, of the\n"
        "first two, and so on. gain: by how much the mean log-loss fell of rows on which no cut was searched. size: "
        "corrections at\n"
        "most, tries in a row without one before the search ends, cuts of one, columns that are looked at for one, "
        "rows on which\n"
        "its cuts are searched, and a seed. how: step, "
        "worth, ridge, least, own, eager.");
  m.def("cut_views", &py_cut_views, nb::arg("columns").noconvert(), nb::arg("cuts").noconvert(),
        "For each cut (columns, bins), one after the other, which half each level of its column is in. columns: the\n"
        "bins of the levels of all of them, the last of each being that of a missing value; where each begins, and\n"
        "the end; whether they are ordered. A missing value with bin 255 keeps it.");
}

}  // namespace tb::bind
