// The register function of the learner of streams.
#pragma once
#include "bind/bind.hpp"

namespace tb::bind {

void bind_streams(nb::module_& m);

}  // namespace tb::bind
