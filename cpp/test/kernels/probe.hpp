// Small tables to run every kernel on, and a note of what it gives. Only for test/kernels/probe_*.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "core/encode/columns.hpp"
#include "test/kernels/readings.hpp"

namespace tb {

constexpr double kSums = 1e-11;   // doubles summed in another order, or with fused multiplications
constexpr double kSingle = 1e-4;  // floats
constexpr double kNan = __builtin_nan(""), kInfinity = __builtin_inf();

template <class T>
struct AtLine {  // memory that begins at a cache line, as some kernels want it
  using value_type = T;
  AtLine() = default;
  template <class U>
  explicit AtLine(const AtLine<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64})); }
  void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t{64}); }
  bool operator==(const AtLine&) const { return true; }
};
template <class T>
using List = std::vector<T, AtLine<T>>;

class Probe {
 public:
  explicit Probe(Isa which) : isa(which) {}
  const Isa isa;

  template <class T>
  void got(const char* kernel, const T* value, std::size_t count, double tolerance = 0.0) {
    Reading& r = readings_.emplace_back(Reading{kernel, tolerance, {}});
    if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {  // no double holds all of it
      r.value.resize(2 * count);
      for (std::size_t i = 0; i < count; ++i) {
        r.value[2 * i] = static_cast<double>(static_cast<std::uint64_t>(value[i]) >> 32);
        r.value[2 * i + 1] = static_cast<double>(static_cast<std::uint64_t>(value[i]) & 0xFFFFFFFF);
      }
    } else {
      r.value.assign(value, value + count);
    }
  }
  template <class T>
  void got(const char* kernel, const List<T>& value, double tolerance = 0.0) {
    got(kernel, value.data(), value.size(), tolerance);
  }
  template <class T>
    requires std::is_arithmetic_v<T>
  void got(const char* kernel, T value, double tolerance = 0.0) {
    got(kernel, &value, 1, tolerance);
  }
  std::vector<Reading> take() { return std::move(readings_); }

 private:
  std::vector<Reading> readings_;
};

// Numbers that look drawn by chance and are the same every time (Steele, Lea and Flood's splitmix).
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t word() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  template <class T = double>
  List<T> between(double low, double high, std::size_t count) {
    List<T> out(count);
    for (T& x : out) x = static_cast<T>(low + (high - low) * static_cast<double>(word() >> 11) * 0x1p-53);
    return out;
  }
  template <class T>
  List<T> below(std::uint32_t levels, std::size_t count) {
    List<T> out(count);
    for (T& x : out) x = static_cast<T>((word() >> 32) * levels >> 32);
    return out;
  }
  List<std::uint64_t> words(std::size_t count) {
    List<std::uint64_t> out(count);
    for (std::uint64_t& x : out) x = word();
    return out;
  }

 private:
  std::uint64_t state_;
};

template <class T>
constexpr Dtype kDtype = Dtype::f64;
template <>
inline constexpr Dtype kDtype<float> = Dtype::f32;
template <>
inline constexpr Dtype kDtype<std::int8_t> = Dtype::i8;
template <>
inline constexpr Dtype kDtype<std::int16_t> = Dtype::i16;
template <>
inline constexpr Dtype kDtype<std::int32_t> = Dtype::i32;
template <>
inline constexpr Dtype kDtype<std::int64_t> = Dtype::i64;
template <>
inline constexpr Dtype kDtype<std::uint8_t> = Dtype::u8;
template <>
inline constexpr Dtype kDtype<std::uint16_t> = Dtype::u16;
template <>
inline constexpr Dtype kDtype<std::uint32_t> = Dtype::u32;
template <>
inline constexpr Dtype kDtype<std::uint64_t> = Dtype::u64;

template <class T>
const char* bytes_of(const List<T>& x) {
  return reinterpret_cast<const char*>(x.data());
}

// n rows and d columns, by rows or by columns.
template <class T>
struct Table {
  List<T> x;
  std::vector<Column> col;
  Columns view;

  Table(List<T> values, std::size_t n, std::size_t d, bool row_major) : x(std::move(values)), col(d) {
    constexpr auto size = static_cast<std::ptrdiff_t>(sizeof(T));
    for (std::size_t j = 0; j < d; ++j) {
      const std::size_t first = row_major ? j : j * n;
      col[j] = {bytes_of(x) + first * sizeof(T), row_major ? static_cast<std::ptrdiff_t>(d) * size : size, kDtype<T>};
    }
    view = {n, d, col.data(), row_major};
  }
  Table(Table&&) = delete;
};

// f(T{}) for every type named.
template <class... T, class F>
void for_types(F&& f) {
  (f(T{}), ...);
}

// 0, 1, 2, ...
inline List<std::uint32_t> first_rows(std::size_t count) {
  List<std::uint32_t> row(count);
  for (std::size_t k = 0; k < count; ++k) row[k] = static_cast<std::uint32_t>(k);
  return row;
}

void probe_codes(Probe& p);
void probe_tables(Probe& p);
void probe_statistics(Probe& p);
void probe_matrices(Probe& p);
void probe_scores(Probe& p);
void probe_densities(Probe& p);
void probe_discriminants(Probe& p);
void probe_leave_one_out(Probe& p);
void probe_averages(Probe& p);
void probe_chains(Probe& p);
void probe_ensemble(Probe& p);

}  // namespace tb
