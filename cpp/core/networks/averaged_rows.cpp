#include "core/networks/averaged_rows.hpp"

#include <algorithm>
#include <stdexcept>

namespace tb {
namespace {

template <class F>
void with_codes(const PackedCodes& codes, F&& f) {
  if (codes.bytes == 1)
    f(static_cast<const std::uint8_t*>(codes.data));
  else if (codes.bytes == 2)
    f(static_cast<const std::uint16_t*>(codes.data));
  else
    f(static_cast<const std::uint32_t*>(codes.data));
}

}  // namespace

AveragedRows::AveragedRows(const AveragedCounts& m, const PackedCodes& codes, std::size_t lanes, std::size_t most)
    : m_(m),
      codes_(codes),
      lanes_(lanes),
      most_(most),
      wide_(m.entries * lanes > 0xffff),
      alone_(m.d(), false),
      key_(most),
      row_(most),
      met_(m.d()) {
  if (m.entries * lanes > 0xffffffffu) throw std::length_error("the columns have too many levels");
  for (const Bundle& b : m.bundles) alone_[b.column[0]] = b.columns == 1;
  for (std::size_t j = 0; j < m.d(); ++j) widest_ = std::max(widest_, m.size(j));
}

void AveragedRows::read(std::size_t begin, std::size_t rows) {
  begin_ = begin;
  rows_ = rows;
  have_bundled_ = have_single_ = false;
}

std::size_t AveragedRows::level(std::size_t r, std::size_t k) const {
  std::size_t x = 0;
  with_codes(codes_, [&](const auto* code) { x = code[k * codes_.n + begin_ + r]; });
  return x < m_.size(k) ? x : kNoLevel;
}

template <class Place>
void AveragedRows::place_columns(std::vector<Place>& out) const {
  const std::size_t d = m_.d();
  out.resize(most_ * d);
  with_codes(codes_, [&](const auto* code) {
    for (std::size_t j = 0; j < d; ++j) {
      const auto* x = code + j * codes_.n + begin_;
      const std::size_t size = m_.size(j), first = m_.first[j], none = m_.all_levels();
      for (std::size_t r = 0; r < rows_; ++r)
        out[r * d + j] = static_cast<Place>((x[r] < size ? first + x[r] : none) * lanes_);
    }
  });
}

template <class Place>
void AveragedRows::place_bundles(std::vector<Place>& out) const {
  const std::size_t B = m_.bundles.size();
  out.resize(most_ * B);
  with_codes(codes_, [&](const auto* code) {
    for (std::size_t b = 0; b < B; ++b) {
      const Bundle& own = m_.bundles[b];
      const auto column = [&](std::size_t i) { return code + own.column[i] * codes_.n + begin_; };
      const std::size_t size = m_.size(own.column[0]);
      const std::size_t first = own.columns > 1 ? own.at : m_.first[own.column[0]];
      const auto* x = column(0);
      if (own.columns == 1) {
        for (std::size_t r = 0; r < rows_; ++r)
          out[r * B + b] = static_cast<Place>((x[r] < size ? first + x[r] : m_.all_levels()) * lanes_);
        continue;
      }
      std::size_t more = 1;  // of the last column
      for (std::size_t i = own.columns; i-- > 1;) more *= m_.size(own.column[i]) + 1;
      for (std::size_t r = 0; r < rows_; ++r)
        out[r * B + b] = static_cast<Place>((first + std::min<std::size_t>(x[r], size) * more) * lanes_);
      for (std::size_t i = 1; i < own.columns; ++i) {
        const std::size_t next = m_.size(own.column[i]);
        more /= next + 1;
        x = column(i);
        for (std::size_t r = 0; r < rows_; ++r)
          out[r * B + b] = static_cast<Place>(out[r * B + b] + std::min<std::size_t>(x[r], next) * more * lanes_);
      }
    }
  });
}

Products AveragedRows::products(const Places& places, std::size_t factors, const double* table, const double* start,
                                std::size_t run) const {
  const void* place = wide_ ? static_cast<const void*>(places.wide.data()) : places.narrow.data();
  return {place, wide_, factors, lanes_, table, start, run};
}

const Met* AveragedRows::met(const std::uint32_t* row, std::size_t count) {
  if (widest_ <= 2 * count) return nullptr;
  const bool bundles = worth_bundles(count);
  level_.resize(std::max<std::size_t>(m_.d() * count, 1));
  with_codes(codes_, [&](const auto* code) {
    for (std::size_t j = 0; j < m_.d(); ++j) {
      const std::size_t size = m_.size(j);
      met_[j] = {nullptr, 0};
      if (size <= 2 * count || (bundles && !alone_[j])) continue;
      const auto* x = code + j * codes_.n + begin_;
      std::uint32_t* begin = level_.data() + j * count;
      std::uint32_t* end = begin;
      for (std::size_t i = 0; i < count; ++i) {
        if (x[row[i]] < size) *end++ = x[row[i]];
      }
      std::sort(begin, end);
      met_[j] = {begin, static_cast<std::size_t>(std::unique(begin, end) - begin)};
    }
  });
  return met_.data();
}

std::size_t AveragedRows::run(const double* table, const Met* met) const {
  if (!met) return TB_CALL(safe_run, table, (m_.all_levels() + 1) * lanes_);
  std::size_t least = ~std::size_t{0};
  const auto look = [&](std::size_t from, std::size_t entries) {
    least = std::min(least, TB_CALL(safe_run, table + from * lanes_, entries * lanes_));
  };
  for (std::size_t j = 0; j < m_.d(); ++j) {
    if (!met[j].level) look(m_.first[j], m_.size(j));
    for (std::size_t i = 0; i < met[j].count; ++i) look(m_.first[j] + met[j].level[i], 1);
  }
  return least;
}

void AveragedRows::add(double* table, const double* start, std::size_t run, const std::uint32_t* row, std::size_t count,
                       double* sum) {
  if (!worth_bundles(count) || run < kMostTogether) return add_singly(table, start, run, row, count, sum);
  if (!have_bundled_) wide_ ? place_bundles(bundled_.wide) : place_bundles(bundled_.narrow);
  have_bundled_ = true;
  const std::size_t bundles = m_.bundles.size();
  TB_CALL(fill_bundles, m_.bundles.data(), bundles, m_.first.data(), lanes_, table);
  TB_CALL(add_products, products(bundled_, bundles, table, start, run / kMostTogether), row, count, sum);
}

void AveragedRows::add_singly(const double* table, const double* start, std::size_t run, const std::uint32_t* row,
                              std::size_t count, double* sum) {
  if (!have_single_) wide_ ? place_columns(single_.wide) : place_columns(single_.narrow);
  have_single_ = true;
  TB_CALL(add_single_products, products(single_, m_.d(), table, start, run), m_.bundles.data(), m_.bundles.size(), row,
          count, sum);
}

std::vector<std::uint32_t>& AveragedRows::keys(const std::int32_t* column, std::size_t m) {
  std::size_t cells = 1;
  for (std::size_t i = 0; i < m; ++i) cells *= m_.size(static_cast<std::size_t>(column[i]));
  if (cells >= kNoKey) throw std::length_error("a set of parents has too many combinations of levels");
  with_codes(codes_, [&](const auto* code) {
    for (std::size_t i = 0; i < m; ++i) {
      const auto j = static_cast<std::size_t>(column[i]);
      const auto* x = code + j * codes_.n + begin_;
      const std::size_t size = m_.size(j);
      for (std::size_t r = 0; i == 0 && r < rows_; ++r) key_[r] = x[r] < size ? x[r] : kNoKey;
      for (std::size_t r = 0; i > 0 && r < rows_; ++r) {
        const auto next = static_cast<std::uint32_t>(key_[r] * size + x[r]);
        key_[r] = key_[r] == kNoKey || x[r] >= size ? kNoKey : next;
      }
    }
  });
  return key_;
}

const std::vector<AveragedRows::Group>& AveragedRows::groups(std::size_t limit) {
  groups_.clear();
  if (limit > 64 + 4 * rows_) {  // more keys than rows: sorted by comparison
    std::size_t some = 0;
    for (std::uint32_t r = 0; r < rows_; ++r) {
      if (key_[r] != kNoKey) row_[some++] = r;
    }
    std::stable_sort(row_.begin(), row_.begin() + static_cast<std::ptrdiff_t>(some),
                     [&](std::uint32_t a, std::uint32_t b) { return key_[a] < key_[b]; });
    for (std::size_t i = 0; i < some; ++i) {
      if (i == 0 || key_[row_[i]] != groups_.back().key) groups_.push_back({key_[row_[i]], i, 0});
      ++groups_.back().count;
    }
    return groups_;
  }
  // Each of some neighbours has its own counts: an addition need not wait for the one before it. Rows without a key
  // come last.
  constexpr std::size_t ways = 4;
  const auto last = static_cast<std::uint32_t>(limit);
  count_.assign(ways * (limit + 1), 0);
  const auto count = [&](std::size_t r) -> std::uint32_t& { return count_[std::min(key_[r], last) * ways + r % ways]; };
  for (std::size_t r = 0; r < rows_; ++r) ++count(r);
  std::uint32_t from = 0;
  for (std::uint32_t key = 0; key <= last; ++key) {
    const std::uint32_t begin = from;
    for (std::size_t way = 0; way < ways; ++way) {
      const std::uint32_t own = count_[key * ways + way];
      count_[key * ways + way] = from;
      from += own;
    }
    if (from > begin && key < last) groups_.push_back({key, begin, from - begin});
  }
  for (std::size_t r = 0; r < rows_; ++r) row_[count(r)++] = static_cast<std::uint32_t>(r);
  return groups_;
}

}  // namespace tb
