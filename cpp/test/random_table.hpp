// Small random tables for the tests, in memory with no slack, so that a sanitizer sees any step outside.
#pragma once
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "core/counts/class_rows.hpp"

namespace tb::test {

template <class T>
struct RandomTable {
  std::size_t n, d, classes;
  std::unique_ptr<T[]> x;
  std::vector<Column> col;
  std::vector<std::int32_t> y;
  std::vector<double> w;
  bool by_rows;

  RandomTable(std::size_t n_, std::size_t d_, std::size_t k, bool rows, unsigned seed = 1)
      : n(n_), d(d_), classes(k), x(new T[n_ * d_]), col(d_), y(n_), w(n_), by_rows(rows) {
    std::mt19937 gen(seed);
    for (std::size_t i = 0; i < n * d; ++i) x[i] = static_cast<T>(gen() % 20);
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = static_cast<std::int32_t>(gen() % (k + 1)) - 1;
      w[i] = static_cast<double>(gen() % 4);
    }
    for (std::size_t j = 0; j < d; ++j) {
      const auto* p = reinterpret_cast<const char*>(&x[rows ? j : j * n]);
      col[j] = {p, static_cast<std::ptrdiff_t>((rows ? d : 1) * sizeof(T)), dtype()};
    }
  }
  T& at(std::size_t i, std::size_t j) { return x[by_rows ? i * d + j : j * n + i]; }
  Labelled view(bool weighted) const {
    return {{n, d, col.data(), by_rows && d > 0}, y.data(), weighted ? w.data() : nullptr, classes};
  }
  // f(i, class, weight) for the rows that count
  template <class F>
  void each_row(bool weighted, F&& f) const {
    for (std::size_t i = 0; i < n; ++i) {
      const double v = weighted ? w[i] : 1.0;
      if (y[i] >= 0 && v != 0.0) f(i, static_cast<std::size_t>(y[i]), v);
    }
  }

  static constexpr Dtype dtype() {
    if constexpr (std::is_same_v<T, double>)
      return Dtype::f64;
    else if constexpr (std::is_same_v<T, float>)
      return Dtype::f32;
    else if constexpr (std::is_same_v<T, std::int8_t>)
      return Dtype::i8;
    else if constexpr (std::is_same_v<T, std::uint8_t>)
      return Dtype::u8;
    else if constexpr (std::is_same_v<T, std::int32_t>)
      return Dtype::i32;
    else
      return Dtype::i64;
  }
};

}  // namespace tb::test
