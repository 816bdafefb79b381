#include "bind/bind.hpp"

namespace tb::bind {

void bind_tallies(nb::module_&) {}

}  // namespace tb::bind
