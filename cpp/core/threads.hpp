// The only door to threads. Work is cut into blocks that do not depend on the number of threads,
// so that the same input gives the same bits on any machine.
#pragma once
#include <cstddef>
#include <functional>

namespace tb {

// How many threads a parallel call may use: OpenMP's setting (OMP_NUM_THREADS, threadpoolctl). They are our own: see
// pool.hpp.
int threads();

// body(block, thread) for every block, in any order, thread in [0, threads()).
void parallel_for(std::size_t blocks, const std::function<void(std::size_t, int)>& body);

// body(block, thread) in any order, then done(block, thread) strictly in the order of the blocks,
// one at a time: for sums whose rounding must not depend on the schedule.
void parallel_ordered(std::size_t blocks, const std::function<void(std::size_t, int)>& body,
                      const std::function<void(std::size_t, int)>& done);

}  // namespace tb
