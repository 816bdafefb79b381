// A sparse table for the probes.
#pragma once
#include "test/kernels/probe.hpp"

namespace tb {

template <class T, class I>
struct SparseTable {
  static constexpr std::size_t rows = 40, terms = 30, per_row = 6;
  List<T> value;
  List<I> index, start = List<I>(rows + 1);
  Csr view;

  explicit SparseTable(Numbers& some)
      : value(some.between<T>(0.0, 4.0, rows * per_row)), index(some.below<I>(terms, rows * per_row)) {
    for (std::size_t i = 0; i <= rows; ++i) start[i] = static_cast<I>(i * per_row);
    view = {rows, terms, value.data(), index.data(), start.data(), kDtype<T>, kDtype<I>};
  }
  SparseTable(SparseTable&&) = delete;
};

}  // namespace tb
