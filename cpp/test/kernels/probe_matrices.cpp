// Probes of covariances, triangular inverses and eigenvectors. How numbers lie in panels and lanes depends on
// the instruction set: what is noted is put in order first.
#include <algorithm>

#include "test/kernels/probe.hpp"
#include "kernels/eigen.hpp"
#include "kernels/inverse_roots.hpp"
#include "kernels/scatter.hpp"

namespace tb {
namespace {

// Row by row what a pack holds column panel by column panel.
List<double> unpacked(const double* panels, std::size_t room, std::size_t rows, std::size_t d, std::size_t width) {
  List<double> out(rows * d);
  for (std::size_t k = 0; k < rows; ++k) {
    for (std::size_t j = 0; j < d; ++j) out[k * d + j] = panels[(j / width * room + k) * width + j % width];
  }
  return out;
}

void clear_upper(List<double>& s, std::size_t d) {  // what is above the diagonal means nothing
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = i + 1; j < d; ++j) s[i * d + j] = 0.0;
  }
}

template <class T>
void scatter(Probe& p, Numbers& some) {
  constexpr std::size_t n = 37, d = 19, classes = 2, room = n + 1;
  const std::size_t width = TB_CALL_AT(p.isa, panel_width), panels = (d + width - 1) / width;
  auto x = some.between<T>(-1.0, 1.0, n * d);
  x[5 * d + 3] = static_cast<T>(kNan);
  const auto shift = some.between(-0.1, 0.1, classes * d), root = some.between(0.5, 1.5, n);
  const auto row = first_rows(n);
  List<std::uint32_t> cls(n), kept(n);
  for (std::size_t k = 0; k < n; ++k) cls[k] = static_cast<std::uint32_t>(k / 7 % classes);
  const RowsAt from{bytes_of(x), d * sizeof(T), kDtype<T>, d};
  const RowPick pick{from, row.data(), cls.data(), root.data(), n};
  List<double> z(panels * width * room), holed(z.size()), present(z.size());

  const Packed done = TB_CALL_AT(p.isa, pack_centred, pick, shift.data(), room, z.data(), kept.data());
  p.got("pack_centred", done.rows);
  p.got("pack_centred", done.infinite);
  p.got("pack_centred", kept);
  p.got("pack_centred", unpacked(z.data(), room, done.rows, d, width), kSums);
  p.got("pack_with_holes",
        TB_CALL_AT(p.isa, pack_with_missing, pick, shift.data(), room, holed.data(), present.data()));
  p.got("pack_with_holes", unpacked(holed.data(), room, n, d, width), kSums);
  p.got("pack_with_holes", unpacked(present.data(), room, n, d, width));

  const Pack whole{z.data(), room, done.rows, d};
  const Pack a{holed.data(), room, n, d}, b{present.data(), room, n, d};
  List<double> sums(classes * d), s(d * d), cross(d * d), total(d * d);
  for (std::size_t k = 0; k < panels; ++k)
    TB_CALL_AT(p.isa, add_panel_sums, whole, k, cls.data(), root.data(), sums.data());
  p.got("add_panel_sums", sums, kSums);
  TB_CALL_AT(p.isa, add_products, whole, 0, panels, s.data(), &pick);
  clear_upper(s, d);
  p.got("add_products", s, kSums);
  TB_CALL_AT(p.isa, add_cross_products, a, b, 0, panels, cross.data());
  p.got("add_cross_products", cross, kSums);
  TB_CALL_AT(p.isa, move_lower, s.data(), d, total.data());
  p.got("move_lower", total, kSums);
  p.got("move_lower", s);
}

// A symmetric positive matrix.
List<double> positive(Numbers& some, std::size_t d) {
  const auto x = some.between(-1.0, 1.0, d * d);
  List<double> m(d * d);
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < d; ++j) {
      for (std::size_t k = 0; k < d; ++k) m[i * d + j] += x[i * d + k] * x[j * d + k];
    }
    m[i * d + i] += 1.0;
  }
  return m;
}

void roots(Probe& p) {
  constexpr std::size_t size = 13, sides = 16;
  Numbers some(31);
  const std::size_t width = TB_CALL_AT(p.isa, panel_width), panels = (size + width - 1) / width;
  auto m = positive(some, size);
  for (double& x : m) x = -x;
  List<double> upper(panels * width * size), inverse(size);
  p.got("root_of_block", TB_CALL_AT(p.isa, root_of_block, m.data(), size, size, upper.data(), inverse.data()));
  p.got("root_of_block", unpacked(upper.data(), size, size, size, width), kSums);
  p.got("root_of_block", inverse, kSums);

  const auto right = some.between(-1.0, 1.0, size * sides);
  List<double> x(size * sides);
  for (std::size_t k = 0; k < size; ++k) {
    for (std::size_t j = 0; j < sides; ++j) x[(j / width * size + k) * width + j % width] = right[k * sides + j];
  }
  TB_CALL_AT(p.isa, solve_panels, upper.data(), inverse.data(), size, x.data(), sides / width);
  p.got("solve_panels", unpacked(x.data(), size, size, sides, width), kSums);

  const auto a = some.between(-1.0, 1.0, 3 * size);
  List<double> weight(3 * size), square(3);
  TB_CALL_AT(p.isa, normal_equations, right.data(), size, a.data(), 3, weight.data(), square.data());
  p.got("normal_equations", weight, kSums);
  p.got("normal_equations", square, kSums);
}

// The order of eigenvalues is nobody's: they are noted sorted, the vectors by the matrix that they make up again.
void eigen(Probe& p) {
  constexpr std::size_t d = 6, problems = 8;
  Numbers some(32);
  std::vector<List<double>> matrix;
  for (std::size_t k = 0; k < problems; ++k) matrix.push_back(positive(some, d));
  const std::size_t lanes = TB_CALL_AT(p.isa, eigen_lanes);
  for (std::size_t first = 0; first < problems; first += lanes) {
    List<double> a(d * d * lanes), value(d * lanes), work(d * lanes);
    for (std::size_t i = 0; i < d * d; ++i) {
      for (std::size_t q = 0; q < lanes; ++q) a[i * lanes + q] = matrix[first + q][i];
    }
    const bool found = TB_CALL_AT(p.isa, eigen_of_lanes, a.data(), d, value.data(), work.data());
    for (std::size_t q = 0; q < lanes; ++q) {
      List<double> sorted(d), again(d * d);
      for (std::size_t j = 0; j < d; ++j) sorted[j] = value[j * lanes + q];
      for (std::size_t i = 0; i < d * d; ++i) {
        for (std::size_t j = 0; j < d; ++j)
          again[i] += sorted[j] * a[(j * d + i / d) * lanes + q] * a[(j * d + i % d) * lanes + q];
      }
      std::sort(sorted.begin(), sorted.end());
      p.got("eigen_of_lanes", found);
      p.got("eigen_of_lanes", sorted, kSums);
      p.got("eigen_of_lanes", again, kSums);
    }
  }
}

}  // namespace

void probe_matrices(Probe& p) {
  Numbers some(30);
  scatter<double>(p, some);
  scatter<float>(p, some);
  roots(p);
  eigen(p);
}

}  // namespace tb
