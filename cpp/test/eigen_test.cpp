// Eigenvectors of many small matrices: V A V' is diagonal, V V' is the identity.
#include <algorithm>
#include <random>
#include <vector>

#include "check.hpp"
#include "core/math/eigen.hpp"

namespace {

using namespace tb;

void check_eigen(std::size_t count, std::size_t d, const std::vector<double>& a) {
  std::vector<double> value(count * d), vector(count * d * d);
  eigen(count, d, a.data(), value.data(), vector.data());
  for (std::size_t k = 0; k < count; ++k) {
    const double *m = a.data() + k * d * d, *v = vector.data() + k * d * d;
    long double most = 1e-300L;
    for (std::size_t i = 0; i < d * d; ++i) most = std::fmax(most, std::abs(m[i]));
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j < d; ++j) {
        long double form = 0, inner = 0;
        for (std::size_t p = 0; p < d; ++p) {
          inner += static_cast<long double>(v[i * d + p]) * v[j * d + p];
          for (std::size_t q = 0; q < d; ++q)
            form += static_cast<long double>(v[i * d + p]) * m[p * d + q] * v[j * d + q];
        }
        const long double room = 1e-14L * static_cast<long double>(d + 10);
        CHECK(std::abs(inner - (i == j)) < room);
        CHECK(std::abs(form - (i == j ? value[k * d + i] : 0.0)) < room * most);
      }
    }
  }
}

}  // namespace

TEST(eigen_of_many_matrices) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  for (const std::size_t d : {0, 1, 2, 3, 7, 20}) {
    for (const std::size_t count : {0, 1, 3, 9}) {
      for (const double scale : {1.0, 1e-150, 1e150}) {
        std::vector<double> any(count * d * d), flat(any.size()), grades(any.size()), path(any.size()), mixed;
        for (std::size_t k = 0; k < count; ++k) {
          std::vector<double> u(d);
          for (double& x : u) x = normal(random);
          for (std::size_t i = 0; i < d; ++i) {
            for (std::size_t j = 0; j <= i; ++j) {
              const std::size_t at = (k * d + i) * d + j, mirrored = (k * d + j) * d + i;
              any[at] = any[mirrored] = normal(random) * scale;
              flat[at] = flat[mirrored] = u[i] * u[j] * scale;                                   // rank 1
              grades[at] = i == j ? std::pow(10.0, static_cast<double>(i) - 9.0) * scale : 0.0;  // nothing to do
              path[at] = path[mirrored] = i == j + 1 ? scale : 0.0;  // pairs of opposite sign
            }
          }
        }
        mixed = any;  // a matrix that is done at once beside others that are not
        if (count > 1) std::copy_n(grades.begin(), d * d, mixed.begin());
        const std::vector<double> zero(any.size());
        for (const std::vector<double>& a : {any, flat, grades, path, mixed, zero}) check_eigen(count, d, a);
      }
    }
  }
}

TEST(eigen_of_what_is_not_a_number) {
  std::vector<double> a(2 * 9, std::nan("")), value(6), vector(18);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) a[9 + i * 3 + j] = i == j ? 2.0 : 1.0;
  }
  eigen(2, 3, a.data(), value.data(), vector.data());
  CHECK(std::isnan(value[0]) && std::isnan(vector[0]));
  CHECK(std::abs(value[3] + value[4] + value[5] - 6.0) < 1e-14);  // the other is not touched by it
}
