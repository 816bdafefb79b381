#include "kernels/simd.hpp"
namespace tb::TB_ISA { int dummy(double* a) { store(a, exp_nonpositive(load(a))); return W; } }
