#include "core/runtime/fork_mutex.hpp"

#include <thread>

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace tb {
namespace {

std::atomic<unsigned> count{0};
std::atomic_flag renewing = ATOMIC_FLAG_INIT;
#if defined(_WIN32)
const int fork_guard = 0;  // nothing forks there
#else
const int fork_guard = pthread_atfork(nullptr, nullptr, [] {
  ++count;
  renewing.clear();
});
#endif

}  // namespace

unsigned forks() {
  (void)fork_guard;
  return count.load(std::memory_order_relaxed);
}

void ForkMutex::renew() {
  while (renewing.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  if (made_ != forks()) {
    new (&mutex_) std::shared_mutex;
    made_.store(forks(), std::memory_order_release);
  }
  renewing.clear(std::memory_order_release);
}

}  // namespace tb
