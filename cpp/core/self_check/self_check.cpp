#include "core/self_check/self_check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <mutex>

#include "core/self_check/probe.hpp"

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

constexpr std::array kProbes{probe_codes,    probe_tables,    probe_tallies,       probe_matrices,
                             probe_scores,   probe_densities, probe_discriminants, probe_left_out,
                             probe_averages, probe_chains,    probe_weights};

std::vector<Reading> read(void (*probe_some)(Probe&), Isa isa) {
  Probe probe(isa);
  probe_some(probe);
  return probe.take();
}

// One file of probes after the other: to touch memory for the first time costs more than the kernels do.
std::string find_fault(Isa isa) {
  if (isa == Isa::base) return "";
  try {
    for (const auto probe_some : kProbes) {
      std::string found = difference_of(read(probe_some, Isa::base), read(probe_some, isa));
      if (!found.empty()) return found;
    }
    return "";
  } catch (const std::exception& error) {  // no memory, say: the answers are not known to be right
    return std::string("it could not be finished (") + error.what() + ")";
  }
}

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

const std::string& fault_of(Isa isa) {
  static std::array<std::once_flag, 3> once;
  static std::array<std::string, 3> fault;
  const auto k = static_cast<std::size_t>(isa);
  std::call_once(once[k], [&] { fault[k] = find_fault(isa); });
  return fault[k];
}

}  // namespace tb
