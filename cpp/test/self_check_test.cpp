// The self-check before an instruction set is used: it passes here, finds a kernel that is wrong, and the choice that
// follows from it.
#include "core/self_check/self_check.hpp"

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "check.hpp"
#include "core/runtime/isa_choice.hpp"

namespace {

using namespace tb;

std::string none(Isa) { return ""; }

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST(self_check_passes) {
  for (const Isa isa : compiled_isas()) {
    if (isa <= supported_isa()) CHECK(fault_of(isa).empty());
  }
}

// A number that is wrong is found, and the kernel is named.
TEST(self_check_finds_a_wrong_number) {
  const std::vector<Reading> base = read_kernels(Isa::base);
  CHECK(difference_of(base, base).empty());
  std::set<std::string> kernels;
  for (const Reading& r : base) {
    kernels.insert(r.kernel);
    double largest = 0.0;
    for (const double x : r.value) largest = std::isfinite(x) ? std::fmax(largest, std::abs(x)) : largest;
    const double off = r.tolerance > 0.0 && largest > 0.0 ? 2.0 * r.tolerance * largest : 1.0;
    for (std::size_t i = 0; i < r.value.size(); i += r.value.size() / 16 + 1) {
      Reading wrong = r;
      double& x = wrong.value[i];
      x = std::isfinite(x) ? x + off : 0.0;
      CHECK(difference_of({r}, {wrong}) == "kernel " + r.kernel + " differs from that of base");
      x = std::isnan(r.value[i]) ? 0.0 : std::numeric_limits<double>::quiet_NaN();
      CHECK(!difference_of({r}, {wrong}).empty());
    }
  }
  CHECK(kernels.size() > 90);
  std::vector<Reading> other = base;
  Reading& middle = other[other.size() / 2];
  middle.value.back() += 1.0;
  CHECK(difference_of(base, other) == "kernel " + middle.kernel + " differs from that of base");
}

TEST(self_check_wants_every_reading) {
  const std::vector<Reading> base = read_kernels(Isa::base);
  std::vector<Reading> fewer = base;
  fewer.pop_back();
  CHECK(says(difference_of(base, fewer), base.back().kernel));
  CHECK(says(difference_of(fewer, base), base.back().kernel));
  fewer = base;
  fewer.front().value.pop_back();
  CHECK(says(difference_of(base, fewer), base.front().kernel));
}

TEST(choice_of_an_instruction_set) {
  CHECK(choose_isa(Isa::avx512, nullptr, none).isa == Isa::avx512);
  CHECK(choose_isa(Isa::avx2, nullptr, none).isa == Isa::avx2);
  CHECK(choose_isa(Isa::base, nullptr, none).isa == Isa::base);

  const auto wrong512 = [](Isa isa) { return std::string(isa == Isa::avx512 ? "kernel pack differs" : ""); };
  const IsaChoice lower = choose_isa(Isa::avx512, nullptr, wrong512);
  CHECK(lower.isa == Isa::avx2 && says(lower.why, "avx512 failed its self-check: kernel pack differs"));
  const IsaChoice lowest = choose_isa(Isa::avx512, nullptr, [](Isa) { return std::string("all wrong"); });
  CHECK(lowest.isa == Isa::base && says(lowest.why, "avx512 failed") && says(lowest.why, "avx2 failed"));
}

TEST(choice_by_the_environment) {
  for (const Isa isa : {Isa::base, Isa::avx2, Isa::avx512}) {
    CHECK(choose_isa(Isa::avx512, name_of(isa), none).isa == isa);
    CHECK(complaint_about(name_of(isa), Isa::avx512).empty());
  }
  CHECK(says(choose_isa(Isa::avx512, "base", none).why, "TALLYBAYES_ISA is 'base'"));
  const IsaChoice above = choose_isa(Isa::avx2, "avx512", none);
  CHECK(above.isa == Isa::avx2 && says(above.why, "which this processor does not have"));
  const IsaChoice unknown = choose_isa(Isa::avx2, "sse9", none);
  CHECK(unknown.isa == Isa::avx2 && says(unknown.why, "none of base, avx2 and avx512"));
  const auto wrong = [](Isa isa) { return std::string(isa == Isa::avx2 ? "kernel pack differs" : ""); };
  const IsaChoice fallen = choose_isa(Isa::avx512, "avx2", wrong);
  CHECK(fallen.isa == Isa::base && says(fallen.why, "avx2 failed"));
}
