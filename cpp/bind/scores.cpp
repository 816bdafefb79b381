#include "bind/bind.hpp"

namespace tb::bind {

void bind_scores(nb::module_&) {}

}  // namespace tb::bind
