// Which instruction set the kernels use, and why. Kernels of an instruction set that has met few processors are not
// believed: each set is checked against the base one (core/self_check/self_check.hpp) before its first use.
#pragma once
#include <functional>
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

// The highest set from `most` down (or from the wanted one, if that is a name and not above `most`) in which
// fault(set) finds nothing; the base set needs no finding. wanted: what the environment says, null: nothing.
IsaChoice choose_isa(Isa most, const char* wanted, const std::function<std::string(Isa)>& fault);

// What is wrong with what the environment says, or nothing.
std::string complaint_about(const char* wanted, Isa most);

// TALLYBAYES_ISA, or null.
const char* wanted_isa();

// The choice of this process, made when it is first asked for.
const IsaChoice& isa_choice();

}  // namespace tb
