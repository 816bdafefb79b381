#include "core/threads.hpp"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

namespace tb {
namespace {

std::atomic<bool> forked{false};
const int fork_guard = pthread_atfork(nullptr, nullptr, [] { forked = true; });

// An exception must not leave a parallel region: the first one is kept and thrown after it.
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

int team(std::size_t blocks) {
  return static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(threads()), std::max<std::size_t>(blocks, 1)));
}

}  // namespace

int threads() {
  (void)fork_guard;
  return forked ? 1 : std::max(1, omp_get_max_threads());
}

void parallel_for(std::size_t blocks, const std::function<void(std::size_t, int)>& body) {
  const int width = team(blocks);
  if (width == 1) {  // no region at all: one row must not wake a pool
    for (std::size_t b = 0; b < blocks; ++b) body(b, 0);
    return;
  }
  FirstError error;
#pragma omp parallel for num_threads(width) schedule(dynamic, 1)
  for (std::size_t b = 0; b < blocks; ++b) error.run([&] { body(b, omp_get_thread_num()); });
  error.rethrow();
}

void parallel_ordered(std::size_t blocks, const std::function<void(std::size_t, int)>& body,
                      const std::function<void(std::size_t, int)>& done) {
  const int width = team(blocks);
  if (width == 1) {
    for (std::size_t b = 0; b < blocks; ++b) {
      body(b, 0);
      done(b, 0);
    }
    return;
  }
  FirstError error;
#pragma omp parallel for num_threads(width) schedule(dynamic, 1) ordered
  for (std::size_t b = 0; b < blocks; ++b) {
    const int t = omp_get_thread_num();
    error.run([&] { body(b, t); });
#pragma omp ordered
    error.run([&] { done(b, t); });
  }
  error.rethrow();
}

}  // namespace tb
