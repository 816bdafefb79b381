// Threads that wait for work. Those of OpenMP wait by spinning for milliseconds: as soon as a program
// has more threads than processors (another process, another library's pool), every parallel call takes that long.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace tb {

class Pool {
 public:
  // work(thread) once in the calling thread (0) and in those of up to width - 1 others (1, 2, ...) that come in time;
  // all have left it when this returns. False if the pool is at work for somebody else: nothing was done.
  // work must share itself out: whoever comes late finds nothing to do. It must not throw.
  bool run(int width, const std::function<void(int)>& work);

 private:
  void serve();
  bool enter();
  void leave();

  std::atomic<bool> taken_{false};
  std::atomic<std::uint32_t> calls_{0};       // what the threads sleep on
  std::atomic<std::uint32_t> gate_{kClosed};  // threads inside, and whether more may come
  std::atomic<int> places_{0};                // how many more may work; the next one's number
  const std::function<void(int)>* work_ = nullptr;
  int started_ = 0;

  static constexpr std::uint32_t kClosed = 1u << 31;
};

// The pool of this process: a forked child has its own.
Pool& pool();

// Waits while value == old: for a moment awake, then asleep. Whoever changes the value must notify it.
template <class T>
void wait_while(const std::atomic<T>& value, T old) {
  for (int k = 0; k < 2000; ++k) {  // less than a tenth of a millisecond
    if (value.load(std::memory_order_acquire) != old) return;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace tb
