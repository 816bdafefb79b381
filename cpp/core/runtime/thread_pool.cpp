#include "core/runtime/thread_pool.hpp"

#include <thread>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace tb {
namespace {

// Never destroyed: its threads may still wait when the process ends.
std::atomic<Pool*> current{nullptr};
#if defined(_WIN32)
const int fork_guard = 0;  // nothing forks there
#else
const int fork_guard =
    pthread_atfork(nullptr, nullptr, [] { current = nullptr; });  // the parent's threads are not here
#endif

}  // namespace

Pool& pool() {
  (void)fork_guard;
  Pool* found = current;
  if (found) return *found;
  Pool* made = new Pool;
  if (current.compare_exchange_strong(found, made)) return *made;
  delete made;
  return *found;
}

bool Pool::run(int width, const std::function<void(int)>& work) {
  if (taken_.exchange(true, std::memory_order_acquire)) return false;
  try {
    for (; started_ < width - 1; ++started_) std::thread([this] { serve(); }).detach();
  } catch (...) {  // no more threads, or no memory for one: those that are there will do
  }
  work_ = &work;
  places_ = width - 1;
  gate_.store(0, std::memory_order_release);
  calls_.fetch_add(1);
  for (int k = 1; k < width; ++k) calls_.notify_one();
  work(0);
  std::uint32_t inside = gate_.fetch_or(kClosed) | kClosed;
  for (; inside != kClosed; inside = gate_.load(std::memory_order_acquire)) wait_while(gate_, inside);
  taken_.store(false, std::memory_order_release);
  return true;
}

void Pool::serve() {
  for (std::uint32_t seen = 0;;) {
    wait_while(calls_, seen);
    seen = calls_;
    if (places_ <= 0 || !enter()) continue;  // the caller waits for all who entered
    const int thread = places_--;
    if (thread > 0) (*work_)(thread);
    leave();
  }
}

bool Pool::enter() {
  std::uint32_t inside = gate_;
  while (!(inside & kClosed)) {
    if (gate_.compare_exchange_weak(inside, inside + 1, std::memory_order_acquire)) return true;
  }
  return false;
}

void Pool::leave() {
  if ((gate_.fetch_sub(1, std::memory_order_release) & kClosed) != 0) gate_.notify_all();
}

}  // namespace tb
