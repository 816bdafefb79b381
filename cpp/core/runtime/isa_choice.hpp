// Which instruction set the kernels use, and why. That every set gives what the base set gives is tested
// (test/kernels); on a user's machine, `tallybayes check` compares them.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/runtime/dispatch.hpp"

namespace tb {

const char* name_of(Isa isa);
std::optional<Isa> isa_named(const std::string& name);

// From the lowest up; every one contains those before it.
const std::vector<Isa>& compiled_isas();
Isa supported_isa();  // the highest compiled one that this processor has

struct IsaChoice {
  Isa isa;
  std::string why;
};

// The wanted set if that is a name and not above `highest`, else the highest. wanted: what the environment says, or
// null.
IsaChoice choose_isa(Isa highest, const char* wanted);

// What is wrong with what the environment says; empty if nothing is.
std::string complaint_about(const char* wanted, Isa highest);

// TALLYBAYES_ISA, or null.
const char* wanted_isa();

// The choice of this process, made when it is first asked for.
const IsaChoice& isa_choice();

}  // namespace tb
