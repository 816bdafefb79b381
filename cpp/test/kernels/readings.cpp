#include "test/kernels/readings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "test/kernels/probe.hpp"

namespace tb {
namespace {

bool agree(const Reading& a, const Reading& b) {
  if (a.kernel != b.kernel || a.value.size() != b.value.size()) return false;
  if (std::memcmp(a.value.data(), b.value.data(), a.value.size() * sizeof(double)) == 0) return true;  // most are
  double largest = 0.0;
  for (const double x : a.value) largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
  const double most = a.tolerance * largest;
  return std::equal(a.value.begin(), a.value.end(), b.value.begin(), [most](double x, double y) {
    return x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= most;
  });
}

constexpr std::array kProbes{probe_codes,    probe_tables,    probe_statistics,    probe_matrices,
                             probe_scores,   probe_densities, probe_discriminants, probe_leave_one_out,
                             probe_averages, probe_chains,    probe_ensemble};

}  // namespace

std::vector<Reading> read_kernels(Isa isa) {
  Probe probe(isa);
  for (const auto probe_some : kProbes) probe_some(probe);
  return probe.take();
}

std::string difference_of(const std::vector<Reading>& base, const std::vector<Reading>& other) {
  const auto [a, b] = std::mismatch(base.begin(), base.end(), other.begin(), other.end(), agree);
  if (a != base.end()) return "kernel " + a->kernel + " differs from that of base";
  if (b != other.end()) return "kernel " + b->kernel + " has no reading of base";
  return "";
}

}  // namespace tb
