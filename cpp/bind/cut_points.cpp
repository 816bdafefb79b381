#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <algorithm>
#include <cmath>

#include "bind/checked.hpp"
#include "core/encode/cut_points.hpp"
#include "core/encode/hashed_sample.hpp"
#include "core/runtime/memory.hpp"

namespace tb::bind {

void check_cuts(std::size_t d, const Sizes& sizes, const Doubles& cuts) {
  if (sizes.shape(0) != d) throw nb::value_error("sizes must tell the number of cuts of every column");
  std::size_t at = 0;
  for (std::size_t j = 0; j < d; ++j) {
    const std::int64_t m = sizes.data()[j];
    if (m < 0 || static_cast<std::uint64_t>(m) > cuts.shape(0) - at) {
      throw nb::value_error("sizes do not add up to the number of cuts");
    }
    const double* c = cuts.data() + at;
    for (std::int64_t i = 0; i < m; ++i) {
      if (!(c[i] >= c[i > 0 ? i - 1 : 0])) throw nb::value_error("the cuts of a column must ascend, without NaN");
    }
    at += static_cast<std::size_t>(m);
  }
  if (at != cuts.shape(0)) throw nb::value_error("sizes do not add up to the number of cuts");
}

namespace {

using MaybeLabels = std::optional<Labels>;
using MaybeDoubles = std::optional<Doubles>;
using Answer = std::pair<Array<std::int64_t, 1>, Array<double, 1>>;

Rows rows_of(const PyColumns& x, const MaybeLabels& y, const MaybeDoubles& w) {
  if (y && y->shape(0) != x.view.n) throw nb::value_error("labels have another length than the table");
  return {y ? y->data() : nullptr, weights_or_null(w, x.view.n)};
}

Answer answer(const Cuts& cuts) {
  Answer out{make_array<std::int64_t, 1>({cuts.size.size()}), make_array<double, 1>({cuts.cut.size()})};
  std::copy(cuts.size.begin(), cuts.size.end(), out.first.data());
  std::copy(cuts.cut.begin(), cuts.cut.end(), out.second.data());
  return out;
}

std::size_t bins_of(std::int64_t bins) {
  if (bins < 1 || bins > 1000000) {
    throw nb::value_error(("bins must be from 1 to 1000000, not " + std::to_string(bins)).c_str());
  }
  return static_cast<std::size_t>(bins);
}

template <Cuts (*find)(const Columns&, const Rows&, std::size_t)>
Answer unsupervised(const PyColumns& x, const MaybeLabels& y, const MaybeDoubles& w, std::int64_t bins) {
  const Rows rows = rows_of(x, y, w);
  const std::size_t most = bins_of(bins);
  Cuts cuts;
  {
    const GilRelease release;
    cuts = find(x.view, rows, most);
  }
  return answer(cuts);
}

Answer mdl(const PyColumns& x, const Labels& y, const MaybeDoubles& w, std::int64_t classes) {
  const Rows rows = rows_of(x, y, w);
  if (classes < 1) throw nb::value_error("there must be at least one class");
  Cuts cuts;
  {
    const GilRelease release;
    cuts = cuts_mdl(x.view, rows, static_cast<std::size_t>(classes));
  }
  return answer(cuts);
}

Array<double, 1> rounded(const PyColumns& x, const MaybeLabels& y, const MaybeDoubles& w, const Sizes& sizes,
                         const Doubles& cuts) {
  check_cuts(x.view.d, sizes, cuts);
  const Rows rows = rows_of(x, y, w);
  auto out = make_array<double, 1>({cuts.shape(0)});
  std::copy(cuts.data(), cuts.data() + cuts.shape(0), out.data());
  {
    const GilRelease release;
    round_cuts(x.view, rows, sizes.data(), out.data());
  }
  return out;
}

// The codes of all columns in one piece of memory: an array for each would take longer than few rows do.
PyColumns codes(const PyColumns& x, const Sizes& sizes, const Doubles& cuts) {
  check_cuts(x.view.d, sizes, cuts);
  std::vector<std::size_t> at(x.view.d);
  std::size_t bytes = 0;
  PyColumns out;
  for (std::size_t j = 0; j < x.view.d; ++j) {
    const std::size_t size = code_size(static_cast<std::size_t>(sizes.data()[j]));
    bytes = (bytes + size - 1) / size * size;
    at[j] = bytes;
    bytes += size * x.view.n;
    out.col.push_back({nullptr, static_cast<std::ptrdiff_t>(size),
                       size == 1   ? Dtype::i8
                       : size == 2 ? Dtype::i16
                                   : Dtype::i32});
  }
  char* data = static_cast<char*>(allocate(std::max<std::size_t>(bytes, 1)));
  out.keep = nb::capsule(data, [](void* p) noexcept { std::free(p); });
  std::vector<void*> to(x.view.d);
  for (std::size_t j = 0; j < x.view.d; ++j) out.col[j].data = data + at[j], to[j] = data + at[j];
  {
    const GilRelease release;
    digitize(x.view, {}, sizes.data(), cuts.data(), to.data());
  }
  out.view.n = x.view.n;
  out.finish();
  return out;
}

std::pair<Array<std::int64_t, 1>, Array<std::uint64_t, 1>> sample(const PyColumns& x, const Labels& y,
                                                                  const MaybeDoubles& w, std::int64_t classes,
                                                                  std::int64_t most) {
  const Rows rows = rows_of(x, y, w);
  if (classes < 1 || most < 1) throw nb::value_error("there must be at least one class and one row to take");
  HashedSample found;
  {
    const GilRelease release;
    found = hashed_sample(x.view, rows, static_cast<std::size_t>(classes), static_cast<std::size_t>(most));
  }
  auto row = make_array<std::int64_t, 1>({found.row.size()});
  auto hash = make_array<std::uint64_t, 1>({found.hash.size()});
  std::copy(found.row.begin(), found.row.end(), row.data());
  std::copy(found.hash.begin(), found.hash.end(), hash.data());
  return {row, hash};
}

}  // namespace

void bind_cuts(nb::module_& m) {
  m.def("cuts_width", &unsupervised<cuts_width>, nb::arg("cols"), nb::arg("y").noconvert().none(),
        nb::arg("w").noconvert().none(), nb::arg("bins"),
        "Cuts at equal steps between the least and the greatest value of each column: (sizes, cuts).");
  m.def("cuts_frequency", &unsupervised<cuts_frequency>, nb::arg("cols"), nb::arg("y").noconvert().none(),
        nb::arg("w").noconvert().none(), nb::arg("bins"),
        "Cuts that give each bin the same weight, as nearly as ties allow: (sizes, cuts).");
  m.def("cuts_mdl", &mdl, nb::arg("cols"), nb::arg("y").noconvert(), nb::arg("w").noconvert().none(), nb::arg("K"),
        "Fayyad and Irani's cuts by class entropy and description length: (sizes, cuts).");
  m.def("round_cuts", &rounded, nb::arg("cols"), nb::arg("y").noconvert().none(), nb::arg("w").noconvert().none(),
        nb::arg("sizes").noconvert(), nb::arg("cuts").noconvert(),
        "Each cut as the shortest decimal between its neighbouring values: the codes of these rows stay.");
  m.def("digitize", &codes, nb::arg("cols"), nb::arg("sizes").noconvert(), nb::arg("cuts").noconvert(),
        "The codes of each column: the number of cuts <= x, -1 for a missing value.\n"
        "int8 for up to 127 cuts, int16 up to 32767, else int32.");
  m.def("hashed_sample", &sample, nb::arg("cols"), nb::arg("y").noconvert(), nb::arg("w").noconvert().none(),
        nb::arg("K"), nb::arg("most"),
        "The rows with the smallest hashes of class, weight and values, whatever their order: (rows, hashes).");
}

}  // namespace tb::bind
