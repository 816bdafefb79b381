#include "core/runtime/dispatch.hpp"

#include <algorithm>
#include <atomic>

#include "core/runtime/isa_choice.hpp"

namespace tb {
namespace {

constexpr int kNotChosen = -1;
std::atomic<int> current{kNotChosen};

}  // namespace

Isa isa() {
  int now = current.load(std::memory_order_relaxed);
  if (now == kNotChosen) {  // whoever else comes meanwhile waits in isa_choice
    const int chosen = static_cast<int>(isa_choice().isa);
    if (current.compare_exchange_strong(now, chosen)) now = chosen;
  }
  return static_cast<Isa>(now);
}

void limit_isa(Isa highest) { current = static_cast<int>(std::min(highest, isa_choice().isa)); }

}  // namespace tb
