#include "bind/bind.hpp"

namespace tb::bind {

void bind_levels(nb::module_&) {}

}  // namespace tb::bind
