// Every kernel gives with each instruction set what it gives with the base set; a wrong number is found; and which set
// is chosen.
#include "test/kernels/readings.hpp"

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "test/check.hpp"
#include "core/runtime/isa_choice.hpp"

namespace {

using namespace tb;

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST(kernels_agree_between_instruction_sets) {
  for (const Isa isa : compiled_isas()) {
    if (isa <= supported_isa()) CHECK(difference_of(read_kernels(Isa::base), read_kernels(isa)).empty());
  }
}

// A number that is wrong is found, and the kernel is named.
TEST(comparison_finds_a_wrong_number) {
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

TEST(comparison_wants_every_reading) {
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
  for (const Isa isa : {Isa::base, Isa::avx2, Isa::avx512}) {
    CHECK(choose_isa(isa, nullptr).isa == isa);
    CHECK(choose_isa(Isa::avx512, name_of(isa)).isa == isa);
    CHECK(complaint_about(name_of(isa), Isa::avx512).empty());
  }
  CHECK(says(choose_isa(Isa::avx512, "base").why, "TALLYBAYES_ISA is 'base'"));
  const IsaChoice above = choose_isa(Isa::avx2, "avx512");
  CHECK(above.isa == Isa::avx2 && says(above.why, "which this processor does not have"));
  const IsaChoice unknown = choose_isa(Isa::avx2, "sse9");
  CHECK(unknown.isa == Isa::avx2 && says(unknown.why, "none of base, avx2 and avx512"));
}
