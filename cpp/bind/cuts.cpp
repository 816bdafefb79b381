#include "bind/bind.hpp"

namespace tb::bind {

void bind_cuts(nb::module_&) {}

}  // namespace tb::bind
