#include "core/threads.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "core/pool.hpp"

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

// One block must not wake a pool, and if the pool is at work for another caller, this one works alone.
void share(std::size_t blocks, const std::function<void(int)>& work) {
  const std::size_t width = std::min(static_cast<std::size_t>(threads()), blocks);
  if (width < 2 || !pool().run(static_cast<int>(width), work)) work(0);
}

}  // namespace

int threads() { return std::max(1, omp_get_max_threads()); }

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
