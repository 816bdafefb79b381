#include "core/runtime/isa_choice.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>

#if defined(TB_AVX2)
#include <cpuid.h>
#endif

namespace tb {
namespace {

constexpr std::array kNames{"base", "avx2", "avx512"};

#if defined(TB_AVX2)
// What the processor says of itself. __builtin_cpu_supports would need a symbol that not every toolchain's runtime has.
struct Processor {
  unsigned plain = 0, extended = 0;  // cpuid 1, ecx; cpuid 7, ebx
  std::uint64_t kept = 0;            // registers that the system keeps when it switches tasks

  Processor() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &plain, &d)) return;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) extended = b;
    if (plain & bit_OSXSAVE) {
      unsigned low = 0, high = 0;
      asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
      kept = std::uint64_t{high} << 32 | low;
    }
  }

  bool has_all(unsigned of_plain, unsigned of_extended, std::uint64_t registers) const {
    return (plain & of_plain) == of_plain && (extended & of_extended) == of_extended && (kept & registers) == registers;
  }
};
#endif

// The highest that was compiled and that this processor has.
Isa best() {
#if defined(TB_AVX2)
  const Processor p;
  const bool v3 = p.has_all(bit_AVX | bit_FMA | bit_POPCNT, bit_AVX2 | bit_BMI | bit_BMI2, 0x06);
#if defined(TB_AVX512)
  if (v3 && p.has_all(0, bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL, 0xe6)) return Isa::avx512;
#endif
  if (v3) return Isa::avx2;
#endif
  return Isa::base;
}

}  // namespace

const char* name_of(Isa isa) { return kNames[static_cast<std::size_t>(isa)]; }

std::optional<Isa> isa_named(const std::string& name) {
  for (std::size_t k = 0; k < kNames.size(); ++k) {
    if (name == kNames[k]) return static_cast<Isa>(k);
  }
  return std::nullopt;
}

const std::vector<Isa>& compiled_isas() {
  static const std::vector<Isa> all{
      Isa::base,
#if defined(TB_AVX2)
      Isa::avx2,
#endif
#if defined(TB_AVX512)
      Isa::avx512,
#endif
  };
  return all;
}

Isa supported_isa() {
  static const Isa found = best();
  return found;
}

const char* wanted_isa() {
  const char* wanted = std::getenv("TALLYBAYES_ISA");
  return wanted && *wanted ? wanted : nullptr;
}

std::string complaint_about(const char* wanted, Isa highest) {
  if (!wanted) return "";
  const std::string start = std::string("TALLYBAYES_ISA is '") + wanted + "', ";
  const std::optional<Isa> named = isa_named(wanted);
  if (!named) return start + "which is none of base, avx2 and avx512: it is ignored";
  if (*named > highest) return start + "which this processor does not have, or which was not compiled: it is ignored";
  return "";
}

IsaChoice choose_isa(Isa highest, const char* wanted) {
  const std::string complaint = complaint_about(wanted, highest);
  if (wanted && complaint.empty()) return {*isa_named(wanted), std::string("TALLYBAYES_ISA is '") + wanted + "'"};
  return {highest, complaint.empty() ? "the highest that was compiled and that this processor supports" : complaint};
}

const IsaChoice& isa_choice() {
  static const IsaChoice choice = choose_isa(supported_isa(), wanted_isa());
  return choice;
}

}  // namespace tb
