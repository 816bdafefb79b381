// Probes of the kernels that add up the rows of classes.
#include "test/kernels/probe.hpp"
#include "test/kernels/probe_sparse.hpp"
#include "kernels/classes.hpp"
#include "kernels/sparse_sums.hpp"
#include "kernels/moments.hpp"
#include "kernels/column_sums.hpp"

namespace tb {
namespace {

constexpr std::size_t n = 41, kSlots = 2;

// Rows of two classes, in runs that are longer and shorter than what is added at a time.
template <class T>
struct Rows {
  List<T> x;
  List<std::uint32_t> row = first_rows(n), slot = List<std::uint32_t>(n);
  List<double> w;
  RowList list;

  Rows(Numbers& some, std::size_t d, bool weighted, bool holes) : x(some.between<T>(0.0, 3.0, n * d)) {
    w = some.between(0.5, 2.0, n);
    for (std::size_t k = 0; k < n; ++k) slot[k] = static_cast<std::uint32_t>(k / 6 % kSlots);
    std::swap(row[1], row[30]);
    if (holes) x[8 * d] = x[20 * d + d - 1] = static_cast<T>(kNan);
    list = {bytes_of(x), static_cast<std::ptrdiff_t>(d * sizeof(T)),
            kDtype<T>,   d,
            n,           row.data(),
            slot.data(), weighted ? w.data() : nullptr,
            nullptr,     false};
  }
  Rows(Rows&&) = delete;
};

void close(Probe& p, std::size_t d, bool careful, List<double>& acc, std::size_t size) {
  List<double> total(4 * d);
  const ClassMoments all{total.data(), total.data() + d, total.data() + 2 * d, total.data() + 3 * d};
  for (std::size_t s = 0; s < kSlots; ++s) {
    double* slot = acc.data() + s * size;
    p.got("close_moments", static_cast<int>(TB_CALL_AT(p.isa, close_moments, slot, d, careful ? -1.0 : 20.5)));
    const ClassMoments m = TB_CALL_AT(p.isa, moments_of_column, slot, d, d - 1);
    for (const double* field : {m.n, m.shift, m.offset, m.m2}) p.got("moments_of_column", *field, kSums);
    TB_CALL_AT(p.isa, merge_moments, slot, d, all);
    for (const double* field : {all.n, all.shift, all.offset, all.m2}) p.got("merge_moments", field, d, kSums);
  }
}

template <class T>
void moments(Probe& p, Numbers& some, std::size_t d) {
  const std::size_t size = TB_CALL_AT(p.isa, moments_size, d);
  for (const bool careful : {false, true}) {
    for (const bool weighted : {false, true}) {
      const Rows<T> rows(some, d, weighted, careful);
      List<double> acc(kSlots * size);
      for (std::size_t s = 0; s < kSlots; ++s)
        p.got("open_moments",
              TB_CALL_AT(p.isa, open_moments, rows.list, rows.row[s * 6], careful, acc.data() + s * size));
      if (careful)
        TB_CALL_AT(p.isa, add_moments_careful, rows.list, acc.data());
      else
        TB_CALL_AT(p.isa, add_moments, rows.list, acc.data());
      close(p, d, careful, acc, size);
    }
  }
}

template <class T>
void sums(Probe& p, Numbers& some, std::size_t d) {
  const std::size_t size = TB_CALL_AT(p.isa, sums_size, d);
  const auto merged = [&](const char* kernel, const List<double>& acc, double weight) {
    List<double> count(d), sum(d);
    for (std::size_t s = 0; s < kSlots; ++s)
      TB_CALL_AT(p.isa, merge_sums, acc.data() + s * size, d, weight, count.data(), sum.data());
    p.got(kernel, count, kSums);
    p.got(kernel, sum, kSums);
  };
  for (const bool holes : {false, true}) {
    const Rows<T> rows(some, d, true, holes);
    List<double> plain(kSlots * size), careful(kSlots * size), ones(kSlots * size), ones_careful(kSlots * size);
    p.got("add_sums", TB_CALL_AT(p.isa, add_sums, rows.list, plain.data()));
    merged("add_sums", plain, 20.5);
    p.got("add_sums_careful", TB_CALL_AT(p.isa, add_sums_careful, rows.list, careful.data()));
    merged("add_sums_careful", careful, -1.0);
    p.got("add_ones", TB_CALL_AT(p.isa, add_ones, rows.list, 1.0, ones.data()));
    merged("add_ones", ones, 20.5);
    p.got("add_ones_careful", TB_CALL_AT(p.isa, add_ones_careful, rows.list, 1.0, ones_careful.data()));
    merged("add_ones_careful", ones_careful, -1.0);
  }
}

template <class T, class I>
void sparse(Probe& p, Numbers& some) {
  const SparseTable<T, I> table(some);
  const auto w = some.between(0.5, 2.0, table.view.n);
  const auto row = some.below<std::uint32_t>(table.view.n, 30);
  const double threshold = 1.0;
  for (const double* over : {&threshold, static_cast<const double*>(nullptr)}) {
    List<double> sum(table.view.d);
    const SparseRows rows{&table.view, row.data(), row.size(), w.data(), over};
    p.got("add_sparse", TB_CALL_AT(p.isa, add_sparse, rows, sum.data()));
    p.got("add_sparse", sum, kSums);
  }
  for (const std::size_t end : {1, 40}) {
    bool rising = true;
    p.got("check_sparse", TB_CALL_AT(p.isa, check_sparse, table.view, 0, end, rising));
    p.got("check_sparse", rising);
  }
}

void classes(Probe& p, Numbers& some) {
  constexpr std::size_t rows = 75, few = 5;
  auto y = some.below<std::int32_t>(few + 1, rows);
  for (std::int32_t& c : y) --c;
  List<std::uint32_t> count(few), row(rows + 16);
  TB_CALL_AT(p.isa, count_classes, y.data(), rows, few, count.data());
  p.got("count_classes", count);
  for (std::int32_t c = 0; c < static_cast<std::int32_t>(few); ++c)
    p.got("list_class", row.data(), TB_CALL_AT(p.isa, list_class, y.data(), rows, c, row.data()));
}

}  // namespace

void probe_statistics(Probe& p) {
  Numbers some(20);
  for_types<double, float>([&](auto type) {
    for (const std::size_t d : {3, 19}) {  // fewer columns than lanes, and some to spare
      moments<decltype(type)>(p, some, d);
      sums<decltype(type)>(p, some, d);
    }
  });
  for_types<double, float, std::int64_t, std::int32_t>([&](auto type) {
    sparse<decltype(type), std::int32_t>(p, some);
    sparse<decltype(type), std::int64_t>(p, some);
  });
  classes(p, some);
}

}  // namespace tb
