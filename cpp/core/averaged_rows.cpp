#include "core/averaged_rows.hpp"

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

// out[r * step] = the place of each code of a column.
template <class Code, class Place>
void place(const Code* code, std::size_t rows, std::size_t size, std::size_t first, std::size_t none, std::size_t lanes,
           Place* out, std::size_t step) {
  for (std::size_t r = 0; r < rows; ++r) {
    const std::size_t x = code[r];
    out[r * step] = static_cast<Place>((x < size ? first + x : none) * lanes);
  }
}

}  // namespace

AveragedRows::AveragedRows(const AveragedCounts& m, const PackedCodes& codes, std::size_t lanes, std::size_t most)
    : m_(m), codes_(codes), lanes_(lanes), wide_((m.all_levels() + 1) * lanes > 0xffff), key_(most), row_(most) {
  if ((m.all_levels() + 1) * lanes > 0xffffffffu) throw std::length_error("the columns have too many levels");
  if (wide_)
    wide_place_.resize(most * m.d());
  else
    narrow_place_.resize(most * m.d());
}

void AveragedRows::read(std::size_t begin, std::size_t rows) {
  begin_ = begin;
  rows_ = rows;
  const std::size_t d = m_.d(), none = m_.all_levels();
  with_codes(codes_, [&](const auto* code) {
    for (std::size_t j = 0; j < d; ++j) {
      const auto* column = code + j * codes_.n + begin;
      if (wide_)
        place(column, rows, m_.size(j), m_.first[j], none, lanes_, wide_place_.data() + j, d);
      else
        place(column, rows, m_.size(j), m_.first[j], none, lanes_, narrow_place_.data() + j, d);
    }
  });
}

std::size_t AveragedRows::level(std::size_t r, std::size_t k) const {
  const std::size_t at = r * m_.d() + k, v = (wide_ ? wide_place_[at] : narrow_place_[at]) / lanes_;
  return v == m_.all_levels() ? kNoLevel : v - m_.first[k];
}

Products AveragedRows::products(const double* table, const double* start, std::size_t run) const {
  const void* place = wide_ ? static_cast<const void*>(wide_place_.data()) : narrow_place_.data();
  return {place, wide_, m_.d(), lanes_, table, start, run};
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
  if (limit > 65536 && limit > 4 * rows_) {  // more keys than rows: sorted by comparison
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
  // Even and odd rows apart: an addition need not wait for the one before it. Rows without a key come last.
  const auto last = static_cast<std::uint32_t>(limit);
  count_.assign(2 * (limit + 1), 0);
  std::uint32_t* even = count_.data();
  std::uint32_t* odd = even + limit + 1;
  for (std::size_t r = 0; r < rows_; ++r) ++(r % 2 ? odd : even)[std::min(key_[r], last)];
  std::uint32_t from = 0;
  for (std::uint32_t key = 0; key <= last; ++key) {
    const std::uint32_t count = even[key] + odd[key];
    if (count > 0 && key < last) groups_.push_back({key, from, count});
    odd[key] = from + even[key];
    even[key] = from;
    from += count;
  }
  std::uint32_t r = 0;
  for (; r + 2 <= rows_; r += 2) {
    row_[even[std::min(key_[r], last)]++] = r;
    row_[odd[std::min(key_[r + 1], last)]++] = r + 1;
  }
  if (r < rows_) row_[even[std::min(key_[r], last)]++] = r;
  return groups_;
}

}  // namespace tb
