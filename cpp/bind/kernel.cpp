#include "bind/bind.hpp"

namespace tb::bind {

void bind_kernel(nb::module_&) {}

}  // namespace tb::bind
