#include "core/counts/counts.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "core/encode/bad_values.hpp"
#include "core/counts/bit_counts.hpp"
#include "core/encode/code_place.hpp"
#include "core/counts/code_table.hpp"
#include "core/encode/labels.hpp"
#include "core/counts/pair_counts.hpp"
#include "core/runtime/threads.hpp"
#include "kernels/integer_range.hpp"

namespace tb {
namespace {

constexpr std::size_t kPrivateCells = 1 << 19;  // a thread's own tables take at most 2 MB
constexpr std::size_t kTileBytes = 3 << 13;     // rows counted column by column while in the first-level cache
constexpr std::size_t kStripBytes = 512;
constexpr std::size_t kSerialCells = 1 << 15;  // cells
constexpr std::size_t kManyRows = 1 << 12;     // from which it pays to find out how columns are counted together

struct Task {
  const Labelled& t;
  const std::int64_t* size;
  std::uint64_t limit;
  std::size_t chunk_rows;
  bool strict;  // every row has a code below the limit in every column, or NotCodes is thrown
};

struct TooLarge {};  // for private tables
struct NotCodes {};

// Counts columns [j0, j1) chunk by chunk.
template <class N>
class Counter {
 public:
  Counter(const Task& task, std::size_t j0, std::size_t j1, std::size_t most_cells)
      : task_(task), j0_(j0), j1_(j1), most_cells_(most_cells), cls_(std::min(task.chunk_rows, task.t.x.n)) {
    const std::size_t rows = task.t.classes + 1;
    std::size_t cells = 0;
    for (std::size_t j = j0; j < j1; ++j) {
      const auto places = static_cast<std::size_t>(task.size[j]) + 1;
      if (places > most_cells / rows || (cells += places * rows) > most_cells) throw TooLarge{};
    }
    for (std::size_t j = j0; j < j1; ++j) table_.emplace_back(task.t.classes, static_cast<std::uint64_t>(task.size[j]));
  }

  std::optional<BadValue> add(std::size_t chunk) {
    begin_ = chunk * task_.chunk_rows;
    end_ = std::min(begin_ + task_.chunk_rows, task_.t.x.n);
    classify();
    const bool fine = task_.t.x.row_major ? add_rows() : add_columns();
    return fine ? std::nullopt : find_bad();
  }

  // To be called before the tables are read.
  void finish() {
    if (pairing_ != Pairing::on) return;
    pairs_.take([&](std::size_t c, std::size_t j, std::size_t code, std::uint32_t n) {
      CodeTable<N>& table = table_[j];
      if (!table.holds(code + 1)) grow(table, code + 1);
      table.add(c, code + 1, static_cast<N>(n));
    });
  }

  CodeTable<N>& table(std::size_t j) { return table_[j - j0_]; }

  // What the tiles did not show: -1, and codes beyond the limit for which a table had room.
  void check() const {
    if (!task_.strict) return;
    for (const CodeTable<N>& t : table_)
      if (t.any_outside(task_.limit)) throw NotCodes{};
  }

 private:
  // cls_: the class of each row of the chunk, or one more for rows that do not count.
  void classify() {
    const Labelled& t = task_.t;
    const auto none = static_cast<std::uint32_t>(t.classes);
    std::int32_t most = -1;
    for (std::size_t i = begin_; i < end_; ++i) {  // one below 0 is huge without its sign
      most = std::max(most, t.y[i]);
      cls_[i - begin_] = std::min(static_cast<std::uint32_t>(t.y[i]), none);
    }
    check_class(most, t.classes);
    for (std::size_t i = begin_; t.w && i < end_; ++i) {
      check_weight(t.w[i]);
      if (t.w[i] == 0.0) cls_[i - begin_] = none;
    }
  }

  bool add_rows() {
    const Columns& x = task_.t.x;
    const std::size_t size = item_size(x.col[j0_].dtype);
    const std::size_t strip = std::min(j1_ - j0_, kStripBytes / size);
    const std::size_t rows = std::clamp<std::size_t>(kTileBytes / (strip * size), 32, 2048);
    for (std::size_t i = begin_; i < end_; i += rows) {
      if (!add_pairs(i, rows)) return false;
      if (i == end_) break;
      if (!add_rows(i, std::min(end_, i + rows), strip)) return false;
      pair_columns();
    }
    return true;
  }

  // Takes rows from i on, as long as the levels of all are known; i is then the first of the others.
  bool add_pairs(std::size_t& i, std::size_t rows) {
    const bool odd = (j1_ - j0_) % 2 != 0;
    while (pairing_ == Pairing::on && i < end_) {
      const std::size_t n = odd ? std::min(rows, end_ - i) : end_ - i;  // the last column while the rows are near
      const std::size_t done = pairs_.count(codes(j0_, i, i + n));
      if (odd && !add_tile(j1_ - 1, i, i + done, TB_CALL(most_place, codes(j1_ - 1, i, i + done)))) return false;
      i += done;
      if (done < n) break;
    }
    return true;
  }

  // Rows have been counted column by column: because it was not known which levels there are, or there were others.
  void pair_columns() {
    if (sizeof(N) != 4 || pairing_ == Pairing::off || task_.t.x.n < kManyRows) return;
    std::vector<std::size_t> levels;
    for (const CodeTable<N>& t : table_) levels.push_back(t.levels());
    finish();
    const bool within = std::bit_ceil(*std::max_element(levels.begin(), levels.end())) <= task_.limit;
    const bool more = std::exchange(levels_, levels) != levels;  // if not, codes are missing, and will be again
    const bool pays = more && within && pairs_.fit(levels, task_.t.classes, item_size(task_.t.x.col[j0_].dtype));
    pairing_ = pays ? Pairing::on : Pairing::off;
  }

  // Rows [i, e), while they are in the first-level cache column by column.
  bool add_rows(std::size_t i, std::size_t e, std::size_t strip) {
    std::uint64_t most[kStripBytes];
    for (std::size_t j = j0_; j < j1_; j += strip) {
      const std::size_t width = std::min(strip, j1_ - j);
      const Column& c = task_.t.x.col[j];
      TB_CALL(most_places, c.data + static_cast<std::ptrdiff_t>(i) * c.stride, c.stride, c.dtype, e - i, width, most);
      for (std::size_t k = 0; k < width; ++k)
        if (!add_tile(j + k, i, e, most[k])) return false;
    }
    return true;
  }

  bool add_columns() {
    bool classified = false;
    for (std::size_t j = j0_; j < j1_; ++j) {
      const bool bytes = sizeof(N) == 4 && item_size(task_.t.x.col[j].dtype) == 1 && task_.t.x.col[j].stride == 1;
      const std::uint64_t most = bytes ? most_exactly(j) : TB_CALL(most_place, codes(j, begin_, end_));
      std::size_t i = begin_;
      if (bytes && BitCounts::pays(most, task_.t.classes)) {
        if (!classified) bits_.classify(cls_.data(), end_ - begin_, task_.t.classes);
        classified = true;
        switch (room(j, begin_, end_, most)) {
          case Room::none:
            return false;
          case Room::all:
            add_bits(j, most);
            i += bits_.rows();
            break;
          case Room::some:
            break;
        }
      }
      if (!add_tile(j, i, end_, most)) return false;
    }
    return true;
  }

  // The largest place, where bytes lie one after another: each level less is one that need not be looked for.
  std::uint64_t most_exactly(std::size_t j) const {
    const Column& c = task_.t.x.col[j];
    const Range r = TB_CALL(range_of, c.data + begin_, end_ - begin_, c.stride, c.dtype);
    return r.low < -1 ? kHuge : static_cast<std::uint64_t>(r.high + 1);
  }

  void add_bits(std::size_t j, std::uint64_t most) {
    CodeTable<N>& table = this->table(j);
    const auto* x = reinterpret_cast<const std::uint8_t*>(task_.t.x.col[j].data) + begin_;
    const std::size_t missing = bits_.count(x, static_cast<std::size_t>(most), [&](auto c, auto level, auto n) {
      table.add(c, level + 1, static_cast<N>(n));
    });
    table.add(0, 0, static_cast<N>(missing));  // of any class
  }

  Codes codes(std::size_t j, std::size_t i, std::size_t e) const {
    const Column& c = task_.t.x.col[j];
    return {c.data + static_cast<std::ptrdiff_t>(i) * c.stride,
            c.stride,
            c.dtype,
            e - i,
            cls_.data() + (i - begin_),
            task_.t.w ? task_.t.w + i : nullptr};
  }

  enum class Room { none, some, all };

  // Makes room for column j of rows [i, e), which need no place beyond `most`. none: a code is not below the limit;
  // some: only for rows that count.
  Room room(std::size_t j, std::size_t i, std::size_t e, std::uint64_t most) {
    CodeTable<N>& table = this->table(j);
    if (table.holds(most)) return Room::all;
    std::uint64_t any = 0, counted = 0;  // the largest place exactly: of all rows, of those that count
    for (std::size_t r = i; r < e; ++r) {
      const std::uint64_t place = place_at(task_.t.x.col[j], r);
      any = std::max(any, place);
      if (place != kHuge && cls_[r - begin_] < task_.t.classes) counted = std::max(counted, place);
    }
    if (task_.strict && any > task_.limit) throw NotCodes{};
    if (task_.strict) counted = any;  // rows that do not count are looked at as well
    if (counted > task_.limit) return Room::none;
    if (most <= 2 * counted) counted = most;  // then the next tile will not have to look again
    if (!table.holds(counted)) grow(table, counted);
    return table.holds(any) ? Room::all : Room::some;
  }

  // Counts column j of rows [i, e). False: a code is not below the limit.
  bool add_tile(std::size_t j, std::size_t i, std::size_t e, std::uint64_t most) {
    switch (room(j, i, e, most)) {
      case Room::none:
        return false;
      case Room::some:
        add_careful(j, i, e);
        return true;
      case Room::all:
        break;
    }
    if constexpr (sizeof(N) == 4)
      TB_CALL(count_codes, codes(j, i, e), table(j).places());
    else
      TB_CALL(weigh_codes, codes(j, i, e), table(j).places());
    return true;
  }

  void grow(CodeTable<N>& table, std::uint64_t place) {
    table.grow(place);
    std::size_t cells = 0;
    for (const CodeTable<N>& t : table_) cells += t.cells();
    if (cells > most_cells_) throw TooLarge{};
  }

  void add_careful(std::size_t j, std::size_t i, std::size_t e) {
    for (std::size_t r = i; r < e; ++r) {
      const std::uint64_t place = place_at(task_.t.x.col[j], r);
      if (place == kHuge || cls_[r - begin_] >= task_.t.classes) continue;
      table(j).add(cls_[r - begin_], place, task_.t.w ? static_cast<N>(task_.t.w[r]) : N{1});
    }
  }

  std::optional<BadValue> find_bad() const {
    for (std::size_t i = begin_; i < end_; ++i) {
      if (cls_[i - begin_] >= task_.t.classes) continue;
      for (std::size_t j = j0_; j < j1_; ++j) {
        const std::uint64_t place = place_at(task_.t.x.col[j], i);
        if (place != kHuge && place > task_.limit)
          return BadValue{BadValue::code, i, j, static_cast<double>(place - 1)};
      }
    }
    throw std::logic_error("a code beyond the limit was seen and not found again");
  }

  const Task& task_;
  std::size_t j0_, j1_, most_cells_, begin_ = 0, end_ = 0;
  std::vector<std::uint32_t> cls_;
  std::vector<CodeTable<N>> table_;
  BitCounts bits_;
  enum class Pairing { not_yet, on, off } pairing_ = Pairing::not_yet;
  PairCounts pairs_;
  std::vector<std::size_t> levels_;  // that pairs_ is made for
};

std::size_t chunks(const Task& task) { return (task.t.x.n + task.chunk_rows - 1) / task.chunk_rows; }

// Every thread counts whole chunks of rows in tables of its own. Whole numbers: the order does not matter.
CodeCounts by_rows(const Task& task) {
  const std::size_t d = task.t.x.d;
  std::vector<std::unique_ptr<Counter<std::uint32_t>>> own(static_cast<std::size_t>(threads()));
  FirstBadValue first;
  std::atomic<std::size_t> last{chunks(task)};  // chunks after one with a bad value need not be counted
  parallel_for(chunks(task), [&](std::size_t b, int thread) {
    if (b > last) return;
    auto& mine = own[static_cast<std::size_t>(thread)];
    try {
      if (!mine) mine = std::make_unique<Counter<std::uint32_t>>(task, 0, d, kPrivateCells);
      if (const std::optional<BadValue> bad = mine->add(b)) {
        first.offer(*bad);
        for (std::size_t now = last; b < now && !last.compare_exchange_weak(now, b);) {
        }
      }
    } catch (...) {
      last = 0;
      throw;
    }
  });
  first.rethrow();
  for (const auto& c : own) {
    if (!c) continue;
    c->finish();
    c->check();
  }
  CodeCounts out;
  for (std::size_t j = 0; j < d; ++j) {
    auto size = static_cast<std::size_t>(task.size[j]);
    for (const auto& c : own)
      if (c) size = std::max(size, c->table(j).levels());
    out.size.push_back(static_cast<std::int64_t>(size));
    out.table.emplace_back(task.t.classes * size, 0.0);
    for (const auto& c : own)
      if (c) c->table(j).add_to(out.table[j].data(), size);
  }
  return out;
}

// Columns that one thread counts from top to bottom: those that share cache lines, or a few that share the
// reading of the classes.
std::size_t group_columns(const Columns& x) {
  if (x.n * x.d < kSerialCells) return std::max<std::size_t>(x.d, 1);  // not worth a team of threads
  if (x.row_major) return std::max<std::size_t>(1, 64 / item_size(x.col[0].dtype));
  return std::clamp<std::size_t>(x.d / (4 * static_cast<std::size_t>(threads())), 1, 8);
}

// Every column is counted by one thread, in the order of the rows, in the only table there is of it.
CodeCounts by_columns(const Task& task) {
  const std::size_t d = task.t.x.d, width = group_columns(task.t.x);
  CodeCounts out;
  out.size.resize(d);
  out.table.resize(d);
  FirstBadValue first;
  parallel_for((d + width - 1) / width, [&](std::size_t g, int) {
    const std::size_t j0 = g * width, j1 = std::min(d, j0 + width);
    Counter<double> counter(task, j0, j1, std::numeric_limits<std::size_t>::max());
    for (std::size_t b = 0; b < chunks(task); ++b) {
      if (const std::optional<BadValue> bad = counter.add(b)) return first.offer(*bad);
    }
    counter.check();
    for (std::size_t j = j0; j < j1; ++j) {
      const std::size_t size = std::max(static_cast<std::size_t>(task.size[j]), counter.table(j).levels());
      out.size[j] = static_cast<std::int64_t>(size);
      out.table[j].assign(task.t.classes * size, 0.0);
      counter.table(j).add_to(out.table[j].data(), size);
    }
  });
  first.rethrow();
  return out;
}

}  // namespace

std::size_t CodeCounts::total() const {
  std::size_t sum = 0;
  for (const std::int64_t s : size) sum += static_cast<std::size_t>(s);
  return sum;
}

void CodeCounts::write(std::size_t classes, double* out) const {
  for (std::size_t c = 0; c < classes; ++c) {
    for (std::size_t j = 0; j < table.size(); ++j) {
      const auto s = static_cast<std::size_t>(size[j]);
      out = std::copy_n(table[j].data() + c * s, s, out);
    }
  }
}

namespace {

CodeCounts counts(const Labelled& t, const std::int64_t* size, std::int64_t limit, bool strict) {
  const std::size_t rows = std::clamp<std::size_t>((1 << 18) / std::max<std::size_t>(t.x.d, 1), 1024, 1 << 16);
  const Task task{t, size, static_cast<std::uint64_t>(limit), rows, strict};
  if (!t.w && t.x.n < std::numeric_limits<std::uint32_t>::max()) {
    try {
      return by_rows(task);
    } catch (const TooLarge&) {
    }
  }
  return by_columns(task);
}

}  // namespace

CodeCounts counts(const Labelled& t, const std::int64_t* size, std::int64_t limit) {
  return counts(t, size, limit, false);
}

std::optional<CodeCounts> counts_of_codes(const Labelled& t, const std::int64_t* size, std::int64_t limit) {
  if (t.w) throw std::invalid_argument("a row without weight leaves no trace of its codes");
  try {
    return counts(t, size, limit, true);
  } catch (const NotCodes&) {
    return std::nullopt;
  }
}

}  // namespace tb
