// Blocks shared out among threads: each once, answers in order, errors thrown, several callers at once, a forked child.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.hpp"
#include "core/runtime/fork_mutex.hpp"
#include "core/runtime/thread_pool.hpp"
#include "core/runtime/threads.hpp"

namespace {

using namespace tb;

void share_and_check(std::size_t blocks) {
  const auto team = static_cast<std::size_t>(threads());
  std::vector<int> met(blocks);
  std::vector<std::size_t> sum(team), last(team), order;
  parallel_for(blocks, [&](std::size_t b, int t) {
    ++met[b];
    sum[static_cast<std::size_t>(t)] += b;
  });
  std::size_t total = 0;
  for (const std::size_t s : sum) total += s;
  CHECK(total == blocks * (blocks - (blocks > 0)) / 2);
  for (const int times : met) CHECK(times == 1);
  parallel_ordered(
      blocks, [&](std::size_t b, int t) { last[static_cast<std::size_t>(t)] = b; },
      [&](std::size_t b, int t) {
        CHECK(last[static_cast<std::size_t>(t)] == b);
        order.push_back(b);
      });
  CHECK(order.size() == blocks);
  for (std::size_t b = 0; b < blocks; ++b) CHECK(order[b] == b);
}

void throw_and_check(std::size_t blocks) {
  std::atomic<std::size_t> begun{0};
  for (const bool ordered : {false, true}) {
    bool met = false;
    const auto body = [&](std::size_t b, int) {
      ++begun;
      if (b == blocks / 2) throw std::runtime_error("this one");
    };
    try {
      if (ordered)
        parallel_ordered(blocks, body, [](std::size_t, int) {});
      else
        parallel_for(blocks, body);
    } catch (const std::runtime_error&) {
      met = true;
    }
    CHECK(met);
  }
  CHECK(begun == 2 * blocks);
}

}  // namespace

TEST(threads_share_blocks) {
  for (std::size_t round = 0; round < 300; ++round) share_and_check(round % 40);
  throw_and_check(1);
  throw_and_check(9);
  share_and_check(9);
}

TEST(threads_of_several_callers) {
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([] {
      for (std::size_t round = 0; round < 200; ++round) share_and_check(1 + round % 20);
      throw_and_check(5);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(threads_inside_threads) {
  std::atomic<int> met{0};
  parallel_for(6, [&](std::size_t, int) { parallel_for(7, [&](std::size_t, int) { ++met; }); });
  CHECK(met == 42);
}

TEST(threads_of_the_environment_and_of_a_limit) {
  for (const char* none : {"", " ", "0", "-2", "two", "2x", "2 3", "1e3", ",4"}) CHECK(threads_asked_for(none) == 0);
  CHECK(threads_asked_for(nullptr) == 0);
  CHECK(threads_asked_for("3") == 3 && threads_asked_for(" 3 ") == 3 && threads_asked_for("4,2") == 4);
  CHECK(threads_asked_for("99999999999999999999") == 4096);
  const int before = threads();
  limit_threads(before + 2);
  CHECK(threads() == before + 2);
  share_and_check(9);
  int elsewhere = 0;
  std::thread([&] { elsewhere = threads(); }).join();
  CHECK(elsewhere == before);  // a limit is that of one thread
  limit_threads(0);
  CHECK(threads() == before);
}

TEST(threads_after_a_fork) {
  share_and_check(20);  // the pool has threads, which the child does not have
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    share_and_check(20);
    _exit(0);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  share_and_check(20);
}

TEST(mutex_after_a_fork) {
  ForkMutex mutex;
  std::atomic<bool> held{false}, leave{false};
  std::thread reader([&] {
    const std::shared_lock reading(mutex);
    held = true;
    held.notify_all();
    leave.wait(false);
  });
  held.wait(false);
  const pid_t child = fork();  // where nobody releases what the reader has
  CHECK(child >= 0);
  if (child == 0) {
    alarm(20);
    {
      const std::unique_lock writing(mutex);
    }
    const std::shared_lock reading(mutex);
    _exit(forks() == 1 ? 0 : 1);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  leave = true;
  leave.notify_all();
  reader.join();
  const std::unique_lock writing(mutex);  // the parent's own is as it was
}

TEST(threads_wait_for_a_change) {
  std::atomic<int> value{0};
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // longer than anybody waits awake
    value = 1;
    value.notify_all();
  });
  wait_while(value, 0);
  CHECK(value == 1);
  other.join();
}
