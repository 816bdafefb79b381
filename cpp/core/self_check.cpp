#include "core/self_check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>

#include "core/probe.hpp"

namespace tb {
namespace {

bool agree(const Reading& a, const Reading& b) {
  if (a.kernel != b.kernel || a.value.size() != b.value.size()) return false;
  double largest = 0.0;
  for (const double x : a.value) largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest;
  const double most = a.tolerance * largest;
  return std::equal(a.value.begin(), a.value.end(), b.value.begin(), [most](double x, double y) {
    return x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= most;
  });
}

std::string find_fault(Isa isa) {
  if (isa == Isa::base) return "";
  try {
    return difference_of(read_kernels(Isa::base), read_kernels(isa));
  } catch (const std::exception& error) {  // no memory, say: the answers are not known to be right
    return std::string("it could not be finished (") + error.what() + ")";
  }
}

}  // namespace

std::vector<Reading> read_kernels(Isa isa) {
  Probe probe(isa);
  probe_codes(probe);
  probe_tables(probe);
  probe_tallies(probe);
  probe_matrices(probe);
  probe_scores(probe);
  probe_densities(probe);
  probe_discriminants(probe);
  probe_left_out(probe);
  probe_averages(probe);
  probe_chains(probe);
  probe_weights(probe);
  return probe.take();
}

std::string difference_of(const std::vector<Reading>& base, const std::vector<Reading>& other) {
  const auto [a, b] = std::mismatch(base.begin(), base.end(), other.begin(), other.end(), agree);
  if (a != base.end()) return "kernel " + a->kernel + " differs from that of base";
  if (b != other.end()) return "kernel " + b->kernel + " has no reading of base";
  return "";
}

const std::string& fault_of(Isa isa) {
  static std::array<std::once_flag, 3> once;
  static std::array<std::string, 3> fault;
  const auto k = static_cast<std::size_t>(isa);
  std::call_once(once[k], [&] { fault[k] = find_fault(isa); });
  return fault[k];
}

}  // namespace tb
