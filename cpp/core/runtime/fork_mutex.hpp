// A shared mutex that is free in a forked child, whoever had it in the parent: the threads that would have released it
// are not there. For mutexes that live longer than a call.
#pragma once
#include <atomic>
#include <new>
#include <shared_mutex>

namespace tb {

// How many forks lie between the process that loaded this library and this one.
unsigned forks();

class ForkMutex {
 public:
  ForkMutex() { new (&mutex_) std::shared_mutex; }
  ForkMutex(const ForkMutex&) = delete;
  ForkMutex& operator=(const ForkMutex&) = delete;
  ~ForkMutex() {  // one that was locked at a fork is left as it is
    if (made_ == forks()) mutex_.~shared_mutex();
  }

  void lock() { current().lock(); }
  void unlock() { mutex_.unlock(); }
  void lock_shared() { current().lock_shared(); }
  void unlock_shared() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex& current() {
    if (made_.load(std::memory_order_acquire) != forks()) renew();
    return mutex_;
  }
  void renew();

  std::atomic<unsigned> made_{forks()};
  union {  // made anew without being destroyed
    std::shared_mutex mutex_;
  };
};

}  // namespace tb
