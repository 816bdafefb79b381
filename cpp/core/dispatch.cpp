#include "core/dispatch.hpp"

#include <algorithm>
#include <atomic>

namespace tb {
namespace {

Isa best() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  if (v4) return Isa::avx512;
  if (v3) return Isa::avx2;
#endif
  return Isa::base;
}

const Isa available = best();
std::atomic<Isa> current{available};

}  // namespace

Isa isa() { return current.load(std::memory_order_relaxed); }
void limit_isa(Isa most) { current = std::min(most, available); }

}  // namespace tb
