#include "core/encode/hashed_sample.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>

#include "core/runtime/memory.hpp"
#include "core/runtime/threads.hpp"
#include "kernels/row_hashes.hpp"

namespace tb {
namespace {

constexpr std::size_t kTile = 512;          // rows whose values stay in cache from one column to the next
constexpr std::size_t kBlock = 16 * kTile;  // rows of a task
constexpr std::uint8_t kMany = 16;          // hashes that share a place with so many are all looked up
constexpr std::uint64_t kFew = 4;           // and so many at most share a place, mostly
constexpr double kSpare = 4.0;              // candidates for each row that is taken

using Hashes = std::unique_ptr<std::uint64_t, void (*)(void*)>;

// What rows are ordered by: the hash, and how many such rows there are before.
std::uint64_t rank_of(std::uint64_t hash, std::uint64_t before) {
  std::uint64_t x = (hash + before) * 0xBF58476D1CE4E5B9U;
  x ^= x >> 29;
  return x * 0x94D049BB133111EBU;
}

bool counts(const Rows& rows, std::size_t i) { return rows.y[i] >= 0 && (!rows.w || rows.w[i] > 0); }

// All that is hashed: the weights, if there are any, and the columns. A row that does not count has missing values.
class Values {
 public:
  Values(const Columns& x, const Rows& rows, bool all_count)
      : x_(x), rows_(all_count ? Rows{} : rows), own_(rows.w != nullptr), size_(x.d + (own_ ? 1 : 0)) {
    weight_ = {reinterpret_cast<const char*>(rows.w), sizeof(double), Dtype::f64};
  }
  std::size_t size() const { return size_; }

  // body(column, first row, count, values) for tiles of all columns, on threads; done() at the end of each task.
  template <class Task>
  void each(const Task& task) const {
    parallel_for((x_.n + kBlock - 1) / kBlock, [&](std::size_t b, int) {
      std::array<double, kTile> buffer;
      auto body = task();
      const std::size_t end = std::min(x_.n, (b + 1) * kBlock);
      for (std::size_t first = b * kBlock; first < end; first += kTile) {
        const std::size_t count = std::min(kTile, end - first);
        for (std::size_t j = 0; j < size_; ++j) {
          const Column& column = own_ && j == 0 ? weight_ : x_.col[j - (own_ ? 1 : 0)];
          body(j, first, count, read_values(column, rows_, first, count, buffer.data()));
        }
      }
    });
  }

 private:
  const Columns& x_;
  Rows rows_;
  bool own_;
  std::size_t size_;
  Column weight_;
};

// What the tasks found for each column, put together when each is done. Neither sum nor maximum knows an order.
template <class T, class Join, class Look>
std::vector<T> of_columns(const Values& values, const Join& join, const Look& look) {
  std::vector<T> all(values.size(), T{0});
  std::mutex mutex;
  struct Task {
    ~Task() {
      const std::lock_guard lock(mutex);
      for (std::size_t j = 0; j < own.size(); ++j) all[j] = join(all[j], own[j]);
    }
    void operator()(std::size_t j, std::size_t, std::size_t count, const double* x) {
      own[j] = join(own[j], look(j, x, count));
    }
    std::vector<T>& all;
    std::mutex& mutex;
    const Join& join;
    const Look& look;
    std::vector<T> own;
  };
  values.each([&] { return Task{all, mutex, join, look, std::vector<T>(values.size(), T{0})}; });
  return all;
}

// The hash of each row that counts, of `there` rows.
Hashes hash_rows(const Columns& x, const Rows& rows, std::size_t classes, std::size_t there) {
  const Values values(x, rows, there == x.n);
  std::vector<double> largest = of_columns<double>(
      values, [](double a, double b) { return std::max(a, b); },
      [](std::size_t, const double* v, std::size_t count) { return TB_CALL(largest_size, v, count); });
  for (double& each : largest) each = each > 0 ? each : 1.0;
  std::vector<std::uint64_t> sums = of_columns<std::uint64_t>(
      values, [](std::uint64_t a, std::uint64_t b) { return a + b; },
      [&](std::size_t j, const double* v, std::size_t count) {
        return TB_CALL(sum_value_hashes, v, count, largest[j]);
      });
  const std::uint64_t missing = value_hash(std::numeric_limits<double>::quiet_NaN(), 1.0);
  for (std::uint64_t& sum : sums) sum -= (x.n - there) * missing;

  Hashes hash(static_cast<std::uint64_t*>(allocate(x.n * sizeof(std::uint64_t))), std::free);
  std::uint64_t* out = hash.get();
  values.each([&] {
    return [&](std::size_t j, std::size_t first, std::size_t count, const double* v) {
      if (j == 0) std::fill(out + first, out + first + count, 0);
      TB_CALL(add_value_hashes, v, count, largest[j], sums[j], out + first);
    };
  });
  std::vector<std::uint64_t> of_class(classes, 0);
  for (std::size_t i = 0; i < x.n; ++i) {
    if (counts(rows, i)) of_class[static_cast<std::size_t>(rows.y[i])] += mixed(out[i]);
  }
  for (std::size_t i = 0; i < x.n; ++i) {
    if (counts(rows, i)) out[i] = mixed(out[i] + of_class[static_cast<std::size_t>(rows.y[i])]);
  }
  return hash;
}

// How often each hash has come; open addressing, a place that has come 0 times is empty.
class Repetitions {
 public:
  std::uint64_t next(std::uint64_t hash) {
    if (2 * used_ >= place_.size()) grow();
    Place& p = at(hash);
    if (p.count == 0) ++used_, p.hash = hash;
    return p.count++;
  }

 private:
  struct Place {
    std::uint64_t hash = 0, count = 0;
  };
  Place& at(std::uint64_t hash) {
    std::size_t i = hash & (place_.size() - 1);
    while (place_[i].count > 0 && place_[i].hash != hash) i = (i + 1) & (place_.size() - 1);
    return place_[i];
  }
  void grow() {
    std::vector<Place> old(2 * place_.size());
    old.swap(place_);
    for (const Place& p : old) {
      if (p.count > 0) at(p.hash) = p;
    }
  }
  std::vector<Place> place_ = std::vector<Place>(1024);
  std::size_t used_ = 0;
};

// For each hash a bound of how often it comes: a byte that few hashes share counts up to kMany. Where a byte is above
// kFew says a bit, and these stay in cache.
class Bounds {
 public:
  Bounds(const std::uint64_t* hash, const Rows& rows, std::size_t n)
      : mask_(std::bit_ceil(std::max<std::size_t>(n, 64)) - 1),
        count_(static_cast<std::uint8_t*>(allocate(mask_ + 1)), std::free),
        crowded_((mask_ + 1) / 64, 0) {
    std::uint8_t* count = count_.get();
    std::fill(count, count + mask_ + 1, 0);
    for (std::size_t i = 0; i < n; ++i) {
      std::uint8_t& c = count[hash[i] & mask_];
      c = static_cast<std::uint8_t>(c + (c < kMany && counts(rows, i) ? 1 : 0));
    }
    for (std::size_t i = 0; i <= mask_; ++i) crowded_[i / 64] |= std::uint64_t{count[i] > kFew} << i % 64;
  }
  bool crowded(std::uint64_t hash) const { return crowded_[(hash & mask_) / 64] >> hash % 64 & 1; }
  std::uint8_t most(std::uint64_t hash) const { return count_.get()[hash & mask_]; }

 private:
  std::size_t mask_;
  std::unique_ptr<std::uint8_t, void (*)(void*)> count_;
  std::vector<std::uint64_t> crowded_;
};

struct Ranked {
  std::uint64_t rank, hash;
  std::int64_t row;
  bool operator<(const Ranked& other) const { return rank != other.rank ? rank < other.rank : row < other.row; }
};

// All rows that count whose rank is at most `limit`. Of most hashes, no repetition has such a rank: only the others
// are counted one by one.
std::vector<Ranked> ranked_below(const std::uint64_t* hash, const Rows& rows, std::size_t n, const Bounds& bounds,
                                 std::uint64_t limit) {
  std::vector<Ranked> found;
  Repetitions repetitions;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t h = hash[i];
    bool may = false;
    for (std::uint64_t before = 0; before < kFew; ++before) may |= rank_of(h, before) <= limit;
    if (bounds.crowded(h)) {
      const std::uint8_t most = bounds.most(h);
      may |= most >= kMany;
      for (std::uint64_t before = kFew; before < most; ++before) may |= rank_of(h, before) <= limit;
    }
    if (!may || !counts(rows, i)) continue;
    const std::uint64_t rank = rank_of(h, repetitions.next(h));
    if (rank <= limit) found.push_back({rank, h, static_cast<std::int64_t>(i)});
  }
  return found;
}

}  // namespace

HashedSample hashed_sample(const Columns& x, const Rows& rows, std::size_t classes, std::size_t most) {
  check_rows(rows, x.n, classes);
  std::size_t there = 0;
  for (std::size_t i = 0; i < x.n; ++i) there += counts(rows, i) ? 1 : 0;
  const Hashes hashes = hash_rows(x, rows, classes, there);
  const std::uint64_t* hash = hashes.get();
  HashedSample out;
  if (there <= most) {
    for (std::size_t i = 0; i < x.n; ++i) {
      if (counts(rows, i)) out.row.push_back(static_cast<std::int64_t>(i)), out.hash.push_back(hash[i]);
    }
    return out;
  }
  const Bounds bounds(hash, rows, x.n);
  std::vector<Ranked> found;
  for (double spare = kSpare; found.size() < most; spare *= 4) {
    const double share = spare * static_cast<double>(most) / static_cast<double>(there);
    const auto limit =
        share < 0.5 ? static_cast<std::uint64_t>(std::ldexp(share, 64)) : std::numeric_limits<std::uint64_t>::max();
    found = ranked_below(hash, rows, x.n, bounds, limit);
  }
  std::sort(found.begin(), found.end());
  found.resize(most);
  for (const Ranked& r : found) out.row.push_back(r.row), out.hash.push_back(r.hash);
  return out;
}

}  // namespace tb
