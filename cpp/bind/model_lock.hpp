// The lock of a model: of the thread that has it, as often as it likes. Unlike Python's RLock it can be asked, without
// being taken, whether anybody has it: a row that comes by itself is learned in one go under the GIL, and only has to
// know that nobody is in the middle of something longer.
#pragma once
#include <pythread.h>

#include "bind/bind.hpp"

namespace tb::bind {

class Lock {
 public:
  Lock() : lock_(PyThread_allocate_lock()) {
    if (!lock_) throw std::bad_alloc();
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { PyThread_free_lock(lock_); }

  void enter() {
    const unsigned long me = PyThread_get_thread_ident();
    if (depth_ > 0 && owner_ == me) {
      ++depth_;
      return;
    }
    if (!PyThread_acquire_lock(lock_, NOWAIT_LOCK)) wait();
    owner_ = me, depth_ = 1;
  }

  void leave() {
    if (depth_ == 0 || owner_ != PyThread_get_thread_ident()) throw std::runtime_error("this thread has not the lock");
    if (--depth_ == 0) PyThread_release_lock(lock_);
  }

  bool is_free() const { return depth_ == 0; }

 private:
  // Without the GIL; Ctrl-C is heard.
  void wait() {
    PyLockStatus found = PY_LOCK_INTR;
    while (found == PY_LOCK_INTR) {
      {
        const GilRelease release;
        found = PyThread_acquire_lock_timed(lock_, -1, 1);
      }
      if (found == PY_LOCK_INTR && PyErr_CheckSignals() != 0) nb::raise_python_error();
    }
  }

  PyThread_type_lock lock_;
  unsigned long owner_ = 0;  // this and depth_ change under the GIL only
  std::size_t depth_ = 0;
};

}  // namespace tb::bind
