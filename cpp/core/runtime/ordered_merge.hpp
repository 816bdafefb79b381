// Blocks of work on all threads whose results are merged strictly in the order of the blocks, so that the
// rounding does not depend on the schedule. No thread waits for another's block: a result whose turn has not
// come is parked together with its worker, and the thread takes another worker.
#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/encode/columns.hpp"
#include "core/runtime/threads.hpp"

namespace tb {

// Worker: std::optional<BadValue> add(block) computes a block's result and keeps it in the worker;
//         void merge() adds it to the common total.
template <class Worker>
class InOrder {
 public:
  // make() -> std::unique_ptr<Worker>. Throws the BadValue of the first block that has one.
  template <class Make>
  void run(std::size_t blocks, Make&& make) {
    limit_ = 2 * static_cast<std::size_t>(threads());
    parallel_for(blocks, [&](std::size_t b, int) {
      std::unique_ptr<Worker> w = take(b);
      if (stopped()) return;
      Result r;
      try {
        if (!w) w = make();
        r.bad = w->add(b);
      } catch (...) {
        stop();
        throw;
      }
      r.worker = std::move(w);
      park(b, std::move(r));
    });
    if (first_bad_) throw *first_bad_;
  }

 private:
  struct Result {
    std::unique_ptr<Worker> worker;
    std::optional<BadValue> bad;
  };

  // A free worker, or null: make one. Waits if too many results are parked, unless everybody waits for b.
  std::unique_ptr<Worker> take(std::size_t b) {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return stopped_ || b == next_ || !free_.empty() || out_ < limit_; });
    if (free_.empty()) {
      ++out_;
      return nullptr;
    }
    std::unique_ptr<Worker> w = std::move(free_.back());
    free_.pop_back();
    return w;
  }

  void park(std::size_t b, Result r) {
    const std::lock_guard lock(mutex_);
    parked_.emplace(b, std::move(r));
    for (auto it = parked_.begin(); it != parked_.end() && it->first == next_ && !stopped_;
         it = parked_.erase(it), ++next_) {
      if (it->second.bad) {
        first_bad_ = it->second.bad;
        stopped_ = true;
      } else {
        it->second.worker->merge();
        free_.push_back(std::move(it->second.worker));
      }
    }
    freed_.notify_all();
  }

  bool stopped() {
    const std::lock_guard lock(mutex_);
    return stopped_;
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    freed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Worker>> free_;
  std::map<std::size_t, Result> parked_;
  std::size_t next_ = 0, out_ = 0, limit_ = 1;
  bool stopped_ = false;
  std::optional<BadValue> first_bad_;
};

}  // namespace tb
