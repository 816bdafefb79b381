// Rows are taken chunk by chunk and sorted by class. Every level of every column gets a bitmap of the class's rows that
// have it; a cell's count is the number of bits set in all of its levels' bitmaps. All columns of a table but the last
// make its prefix, whose bitmaps serve every table that shares it. Where no row lacks a value, the cells of the last
// level follow by subtraction.
#include <algorithm>
#include <limits>
#include <memory>

#include "core/runtime/buffer.hpp"
#include "core/counts/joint_counters.hpp"
#include "core/runtime/threads.hpp"
#include "kernels/bits.hpp"

namespace tb {
namespace {

constexpr std::size_t kBitmapBits = std::size_t{1} << 25;  // 4 MB of bitmaps at a time
constexpr std::size_t kLeastRows = 1 << 14, kMostRows = 1 << 16;
constexpr std::int64_t kMostLevels = 64;
constexpr std::size_t kMostOrder = 8, kMostClasses = 256;
constexpr std::size_t kMostPairs = 1 << 20;   // of levels, of all classes
constexpr std::size_t kPiece = 32;            // tables with one prefix that one thread counts
constexpr std::size_t kSerialWork = 1 << 16;  // rows times tables not worth a team of threads

std::size_t chunk_rows(const Tables& tables) {
  std::size_t levels = 1;
  for (std::size_t j = 0; j < tables.d; ++j)
    if (tables.size[j] <= kMostLevels) levels += static_cast<std::size_t>(tables.size[j]);
  return std::clamp(kBitmapBits / levels, kLeastRows, kMostRows);
}

struct Piece {  // tables list[begin .. end) have one prefix
  std::size_t begin, end;
};

template <class N>
class BitCounter {
 public:
  BitCounter(const LabelledCodes& rows, const Tables& tables, const TableList& list, N* out)
      : rows_(rows),
        tables_(tables),
        list_(list),
        out_(out),
        chunk_(std::min(chunk_rows(tables), rows.x.n)),
        first_level_(tables.d, 0),
        row_(chunk_),
        class_(rows.classes) {
    find_columns();
    find_pieces();
    const auto triples = static_cast<std::size_t>(
        std::count_if(list.begin(), list.end(), [&](std::size_t t) { return tables.order(t) == 3; }));
    with_pairs_ = 2 * triples > column_.size() * column_.size() && levels_ * levels_ <= kMostPairs / rows.classes;
    for (Class& c : class_) {
      c.single.resize(levels_);
      c.whole.resize(tables.d);
      if (with_pairs_) c.pair.resize(levels_ * levels_);
    }
    const std::size_t blocks = chunk_ / kBitBlock + 2 * rows.classes;
    bits_ = std::make_unique<Buffer<std::uint64_t>>(blocks * kBlockWords * levels_);
  }

  void add() {
    const auto threads = static_cast<std::size_t>(tb::threads());
    std::vector<std::unique_ptr<Buffer<std::uint64_t>>> prefix(threads);
    const bool small = rows_.x.n * list_.size() < kSerialWork;
    for (std::size_t begin = 0; begin < rows_.x.n; begin += chunk_) {
      sort(begin, std::min(rows_.x.n, begin + chunk_));
      parallel_for(small ? 1 : column_.size(), [&](std::size_t k, int) {
        std::vector<std::uint8_t> bytes((longest_ + 1) * kBitBlock);
        if (!small) return draw(column_[k], begin, bytes.data());
        for (const std::size_t j : column_) draw(j, begin, bytes.data());
      });
      if (with_pairs_) parallel_for(column_.size(), [&](std::size_t k, int) { count_pairs(column_[k]); });
      const std::size_t units = piece_.size() * class_.size();
      parallel_for(small ? 1 : units, [&](std::size_t unit, int thread) {
        auto& own = prefix[static_cast<std::size_t>(thread)];
        if (!own)
          own = std::make_unique<Buffer<std::uint64_t>>(prefix_maps_ * (kMostRows / kBitBlock + 2) * kBlockWords);
        for (std::size_t u = small ? 0 : unit; u < (small ? units : unit + 1); ++u) {
          count(class_[u / piece_.size()], u / piece_.size(), piece_[u % piece_.size()], own->data());
        }
      });
    }
  }

 private:
  struct Class {
    std::size_t begin = 0, count = 0;   // its rows of the chunk are row_[begin ..]
    std::size_t words = 0, stride = 0;  // of a bitmap
    std::uint64_t* bits = nullptr;
    std::vector<std::uint32_t> single;  // how many rows have a level
    std::vector<char> whole;            // columns in which no row lacks a value
    std::vector<std::uint32_t> pair;    // (levels_, levels_), or nothing
  };

  void find_columns() {
    std::vector<char> used(tables_.d, 0);
    for (const std::size_t t : list_) {
      for (std::size_t k = 0; k < tables_.order(t); ++k) used[static_cast<std::size_t>(tables_.columns(t)[k])] = 1;
    }
    for (std::size_t j = 0; j < tables_.d; ++j) {
      if (!used[j]) continue;
      column_.push_back(j);
      first_level_[j] = levels_;
      levels_ += size(j);
    }
  }

  void find_pieces() {
    for (std::size_t a = 0, b = 0; a < list_.size(); a = b) {
      const std::size_t order = tables_.order(list_[a]);
      while (b < list_.size() && b - a < kPiece && tables_.order(list_[b]) == order &&
             (order == 0 || std::equal(tables_.columns(list_[a]), tables_.columns(list_[a]) + order - 1,
                                       tables_.columns(list_[b])))) {
        ++b;
      }
      piece_.push_back({a, b});
      if (order > 2) prefix_maps_ = std::max(prefix_maps_, combinations(list_[a]) + order);
    }
  }

  std::size_t size(std::size_t j) const { return static_cast<std::size_t>(tables_.size[j]); }
  std::size_t column(std::size_t t, std::size_t k) const { return static_cast<std::size_t>(tables_.columns(t)[k]); }
  std::size_t combinations(std::size_t t) const {  // of the levels of its prefix
    std::size_t all = 1;
    for (std::size_t k = 0; k + 1 < tables_.order(t); ++k) all *= size(column(t, k));
    return all;
  }

  // Rows [begin, end) by class, and where the bitmaps of each class lie.
  void sort(std::size_t begin, std::size_t end) {
    for (Class& c : class_) c.count = 0;
    for (std::size_t i = begin; i < end; ++i)
      if (rows_.y[i] >= 0) ++class_[static_cast<std::size_t>(rows_.y[i])].count;
    std::uint64_t* bits = bits_->data();
    std::vector<std::size_t> next;
    std::size_t before = 0;
    longest_ = 0;
    for (Class& c : class_) {
      const std::size_t blocks = (c.count + kBitBlock - 1) / kBitBlock;
      c.begin = before;
      c.words = blocks * kBlockWords;
      c.stride = (blocks | 1) * kBlockWords;  // odd: bitmaps side by side do not compete for the same places in a cache
      c.bits = bits;
      if (c.count) bits += c.stride * levels_;
      next.push_back(before);
      before += c.count;
      longest_ = std::max(longest_, blocks);
    }
    for (std::size_t i = begin; i < end; ++i) {
      if (rows_.y[i] >= 0) row_[next[static_cast<std::size_t>(rows_.y[i])]++] = static_cast<std::uint32_t>(i - begin);
    }
  }

  // The bitmaps of a column.
  void draw(std::size_t j, std::size_t chunk_begin, std::uint8_t* bytes) {
    const char* code = static_cast<const char*>(rows_.x.code) + (j * rows_.x.n + chunk_begin) * rows_.x.bytes;
    for (Class& c : class_) {
      if (c.count == 0) continue;
      TB_CALL(gather_bytes, code, rows_.x.bytes, row_.data() + c.begin, c.count, size(j), bytes);
      std::fill(bytes + c.count, bytes + c.words * 64, std::uint8_t{255});
      std::uint64_t* bits = c.bits + first_level_[j] * c.stride;
      TB_CALL(level_bits, bytes, c.words, size(j), c.stride, bits);
      std::size_t present = 0;
      for (std::size_t v = 0; v < size(j); ++v) {
        std::uint32_t& single = c.single[first_level_[j] + v];
        TB_CALL(count_both, bits + v * c.stride, bits + v * c.stride, 0, 1, c.words, &single);
        present += single;
      }
      c.whole[j] = present == c.count;
    }
  }

  const std::uint64_t* bitmap(const Class& c, std::size_t j, std::size_t v = 0) const {
    return c.bits + (first_level_[j] + v) * c.stride;
  }

  // The bitmaps of all combinations of a prefix, from column `depth` on: those of the columns before are in `given`.
  void cross(const Class& c, std::size_t t, std::size_t depth, const std::uint64_t* given, std::uint64_t*& next,
             std::uint64_t* scratch) const {
    const std::size_t j = column(t, depth);
    const bool last = depth + 2 == tables_.order(t);
    for (std::size_t v = 0; v < size(j); ++v) {
      const std::uint64_t* both = bitmap(c, j, v);
      if (given) {
        std::uint64_t* to = last ? next : scratch;
        TB_CALL(and_bits, given, both, c.words, to);
        both = to;
      }
      if (last)
        next += c.stride;
      else
        cross(c, t, depth + 1, both, next, scratch + c.stride);
    }
  }

  // The bitmaps of a prefix of order - 1 columns: combination v0 * size1 + v1, where v1 stands for all columns after
  // the first. What has the last level of the first column (skip0), or of the second (skip1), is found by subtraction.
  struct Prefix {
    const std::uint64_t* bits;
    std::vector<std::uint32_t> rows;  // how many have it
    std::size_t size0, size1;
    bool skip0, skip1;
  };

  Prefix prefix_of(const Class& c, std::size_t t, std::uint64_t* own) const {
    const std::size_t order = tables_.order(t), combos = combinations(t), first = column(t, 0);
    Prefix p{bitmap(c, first), std::vector<std::uint32_t>(combos), size(first), combos / size(first), false, false};
    if (order == 2) {
      std::copy_n(c.single.data() + first_level_[first], combos, p.rows.data());
      p.skip0 = c.whole[first];
      return p;
    }
    std::uint64_t* next = own;
    cross(c, t, 0, nullptr, next, own + combos * c.stride);
    p.bits = own;
    for (std::size_t k = 0; k < combos; ++k)
      TB_CALL(count_both, own + k * c.stride, own + k * c.stride, 0, 1, c.words, &p.rows[k]);
    p.skip0 = order == 3 && with_pairs_ && c.whole[first];
    p.skip1 = order == 3 && with_pairs_ && c.whole[column(t, 1)];
    return p;
  }

  void count(const Class& c, std::size_t number, const Piece& piece, std::uint64_t* own) {
    if (c.count == 0) return;
    const std::size_t order = tables_.order(list_[piece.begin]);
    N* const out = out_ + number * tables_.cells();
    if (order == 0) {
      for (std::size_t k = piece.begin; k < piece.end; ++k) out[tables_.offset[list_[k]]] += static_cast<N>(c.count);
      return;
    }
    if (order == 1) {
      for (std::size_t k = piece.begin; k < piece.end; ++k) {
        const std::size_t j = column(list_[k], 0);
        add(c.single.data() + first_level_[j], size(j), out + tables_.offset[list_[k]]);
      }
      return;
    }
    const Prefix prefix = prefix_of(c, list_[piece.begin], own);
    std::vector<std::uint32_t> cell;
    for (std::size_t k = piece.begin; k < piece.end; ++k) {
      const std::size_t t = list_[k];
      cell.assign(tables_.offset[t + 1] - tables_.offset[t], 0);
      count_table(c, t, prefix, cell.data());
      add(cell.data(), cell.size(), out + tables_.offset[t]);
    }
  }

  static void add(const std::uint32_t* from, std::size_t cells, N* to) {
    for (std::size_t i = 0; i < cells; ++i) to[i] += static_cast<N>(from[i]);
  }

  void count_table(const Class& c, std::size_t t, const Prefix& prefix, std::uint32_t* cell) const {
    const std::size_t j = column(t, tables_.order(t) - 1), levels = size(j);
    const std::size_t n0 = prefix.size0 - prefix.skip0, n1 = prefix.size1 - prefix.skip1;
    for (std::size_t v0 = 0; v0 < n0; ++v0) {
      for (std::size_t v1 = 0; v1 < n1; ++v1) {
        const std::size_t p = v0 * prefix.size1 + v1;
        if (prefix.rows[p] == 0) continue;
        std::uint32_t* to = cell + p * levels;
        TB_CALL(count_both, prefix.bits + p * c.stride, bitmap(c, j), c.stride, levels - c.whole[j], c.words, to);
        if (!c.whole[j]) continue;
        to[levels - 1] = prefix.rows[p];
        for (std::size_t v = 0; v + 1 < levels; ++v) to[levels - 1] -= to[v];
      }
    }
    // All rows that have the other levels, less those with one of the levels counted.
    const auto rest = [&](const std::uint32_t* all, std::size_t at, std::size_t from, std::size_t step,
                          std::size_t times) {
      std::uint32_t* to = cell + at * levels;
      std::copy_n(all, levels, to);
      for (std::size_t k = 0; k < times; ++k) {
        for (std::size_t v = 0; v < levels; ++v) to[v] -= cell[(from + k * step) * levels + v];
      }
    };
    if (prefix.skip1) {
      for (std::size_t v0 = 0; v0 < n0; ++v0)
        rest(pairs(c, column(t, 0), v0, j), v0 * prefix.size1 + n1, v0 * prefix.size1, 1, n1);
    }
    if (prefix.skip0) {
      for (std::size_t v1 = 0; v1 < prefix.size1; ++v1) {
        const std::uint32_t* all =
            tables_.order(t) == 2 ? c.single.data() + first_level_[j] : pairs(c, column(t, 1), v1, j);
        rest(all, n0 * prefix.size1 + v1, v1, prefix.size1, n0);
      }
    }
  }

  // How many rows have level v of column a and each level of column b > a.
  const std::uint32_t* pairs(const Class& c, std::size_t a, std::size_t v, std::size_t b) const {
    return c.pair.data() + (first_level_[a] + v) * levels_ + first_level_[b];
  }

  void count_pairs(std::size_t a) {
    for (Class& c : class_) {
      if (c.count == 0) continue;
      for (const std::size_t b : column_) {
        if (b <= a) continue;
        for (std::size_t v = 0; v < size(a); ++v) {
          std::uint32_t* to = c.pair.data() + (first_level_[a] + v) * levels_ + first_level_[b];
          TB_CALL(count_both, bitmap(c, a, v), bitmap(c, b), c.stride, size(b), c.words, to);
        }
      }
    }
  }

  const LabelledCodes& rows_;
  const Tables& tables_;
  const TableList& list_;
  N* out_;
  std::size_t chunk_;
  std::size_t levels_ = 0;
  bool with_pairs_ = false;      // the counts of all pairs are wanted for those of triples
  std::size_t longest_ = 0;      // blocks of the largest class
  std::size_t prefix_maps_ = 0;  // bitmaps of a prefix, at most
  std::vector<std::size_t> column_, first_level_;
  std::vector<Piece> piece_;
  std::vector<std::uint32_t> row_;
  std::vector<Class> class_;
  std::unique_ptr<Buffer<std::uint64_t>> bits_;
};

template <class N>
void count(const LabelledCodes& rows, const Tables& tables, const TableList& list, N* out) {
  if (rows.x.n > 0 && !list.empty()) BitCounter<N>(rows, tables, list, out).add();
}

}  // namespace

std::size_t bit_parts(const LabelledCodes& rows, const Tables& tables) {
  return (rows.x.n / chunk_rows(tables) + 1) * rows.classes;
}

double cost_by_bits(const LabelledCodes& rows, const Tables& tables, std::size_t parts, std::size_t t) {
  const std::size_t order = tables.order(t);
  constexpr double never = std::numeric_limits<double>::infinity();
  if (order > kMostOrder || rows.classes > kMostClasses) return never;
  double counts = 1;
  for (std::size_t k = 0; k < order; ++k) {
    const std::int64_t levels = tables.size[tables.columns(t)[k]];
    if (levels > kMostLevels) return never;
    counts *= static_cast<double>(k + 1 == order || order == 2 ? levels - 1 : levels);
  }
  const double vectors = static_cast<double>(rows.x.n) / 64.0 / (isa() == Isa::base ? 2 : isa() == Isa::avx2 ? 4 : 8);
  return counts * (1.1 * vectors + 8.0 * static_cast<double>(parts));
}

void count_by_bits(const LabelledCodes& rows, const Tables& tables, const TableList& list, std::uint32_t* out) {
  count(rows, tables, list, out);
}
void count_by_bits(const LabelledCodes& rows, const Tables& tables, const TableList& list, double* out) {
  count(rows, tables, list, out);
}

}  // namespace tb
