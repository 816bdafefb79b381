// Do the kernels of an instruction set give what those of the base one give? Every kernel is run on a small table.
#pragma once
#include <string>
#include <vector>

#include "core/runtime/dispatch.hpp"

namespace tb {

// What a kernel gave. tolerance: how far another instruction set may be away from it, as a share of the largest
// number in it; 0 where nothing is rounded.
struct Reading {
  std::string kernel;
  double tolerance;
  std::vector<double> value;
};

// Every kernel with this instruction set, which the processor must have.
std::vector<Reading> read_kernels(Isa isa);

// The first kernel whose readings differ by more than they may, in words; empty if none does.
std::string difference_of(const std::vector<Reading>& base, const std::vector<Reading>& other);

}  // namespace tb
