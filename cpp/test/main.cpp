// Runs every test, once with each instruction set this processor has.
#include <cstdio>

#include "core/runtime/dispatch.hpp"
#include "test/check.hpp"

int main() {
  std::size_t passed = 0;
  for (const tb::Isa isa : {tb::Isa::base, tb::Isa::avx2, tb::Isa::avx512}) {
    tb::limit_isa(isa);
    if (tb::isa() != isa) continue;
    for (const tb::test::Case& c : tb::test::cases()) {
      std::printf("%s (%d)\n", c.name, static_cast<int>(isa));
      std::fflush(stdout);
      c.run();
      ++passed;
    }
  }
  std::printf("%zu passed, 0 failed\n", passed);
}
