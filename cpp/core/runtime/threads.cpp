#include "core/runtime/threads.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

#include "core/runtime/thread_pool.hpp"

namespace tb {
namespace {

// An exception must not leave a thread of the pool: the first one is kept and thrown after it.
class FirstError {
 public:
  template <class F>
  void run(F&& f) noexcept {
    try {
      f();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
};

// A container or `taskset` may allow fewer processors than there are.
int processors() {
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

int threads_at_start() {
  const int asked = threads_asked_for(std::getenv("OMP_NUM_THREADS"));
  return asked > 0 ? asked : std::max(1, processors());
}

const int at_start = threads_at_start();
thread_local int limit = 0;

// One block must not wake a pool, and if the pool is at work for another caller, this one works alone.
void share(std::size_t blocks, const std::function<void(int)>& work) {
  const std::size_t width = std::min(static_cast<std::size_t>(threads()), blocks);
  if (width < 2 || !pool().run(static_cast<int>(width), work)) work(0);
}

}  // namespace

int threads() { return limit > 0 ? limit : at_start; }

void limit_threads(int most) { limit = most; }

int threads_asked_for(const char* text) {
  if (!text) return 0;
  char* end = nullptr;
  const long asked = std::strtol(text, &end, 10);
  while (*end == ' ' || *end == '\t') ++end;
  const bool whole = end != text && (*end == '\0' || *end == ',');
  constexpr long kMaxThreads = 4096;  // more would only fail to start
  return whole && asked > 0 ? static_cast<int>(std::min(asked, kMaxThreads)) : 0;
}

void parallel_for(std::size_t blocks, const std::function<void(std::size_t, int)>& body) {
  FirstError error;
  std::atomic<std::size_t> next{0};
  const auto work = [&](int thread) {
    for (std::size_t b; (b = next++) < blocks;) error.run([&] { body(b, thread); });
  };
  share(blocks, work);
  error.rethrow();
}

void parallel_ordered(std::size_t blocks, const std::function<void(std::size_t, int)>& body,
                      const std::function<void(std::size_t, int)>& done) {
  FirstError error;
  std::atomic<std::size_t> next{0}, turn{0};
  const auto work = [&](int thread) {
    for (std::size_t b; (b = next++) < blocks;) {
      error.run([&] { body(b, thread); });
      for (std::size_t now; (now = turn.load(std::memory_order_acquire)) != b;) wait_while(turn, now);
      error.run([&] { done(b, thread); });
      turn.store(b + 1, std::memory_order_release);
      turn.notify_all();
    }
  };
  share(blocks, work);
  error.rethrow();
}

}  // namespace tb
