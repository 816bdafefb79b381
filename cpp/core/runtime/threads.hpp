// The only way to threads. Work is cut into blocks that do not depend on the number of threads,
// so that the same input gives the same bits on any machine.
#pragma once
#include <cstddef>
#include <functional>

namespace tb {

// How many threads a parallel call of this thread may use: what limit_threads said in this thread, else
// OMP_NUM_THREADS, else the processors that this process may use. They are our own (thread_pool.hpp): no OpenMP is
// needed, only its settings.
int threads();
void limit_threads(int most);  // below 1: no limit

// What OMP_NUM_THREADS says (the first number of "4" or "4,2"), or 0 if that is no number from 1 up.
int threads_asked_for(const char* text);

// body(block, thread) for every block, in any order, thread in [0, threads()).
void parallel_for(std::size_t blocks, const std::function<void(std::size_t, int)>& body);

// body(block, thread) in any order, then done(block, thread) strictly in the order of the blocks,
// one at a time: for sums whose rounding must not depend on the schedule.
void parallel_ordered(std::size_t blocks, const std::function<void(std::size_t, int)>& body,
                      const std::function<void(std::size_t, int)>& done);

}  // namespace tb
