#include "core/counts/class_rows.hpp"

#include <algorithm>
#include <limits>

#include "kernels/classes.hpp"
#include "kernels/logs.hpp"
#include "kernels/pack.hpp"

namespace tb {
namespace {

constexpr std::size_t kChunkCells = 1 << 18;
constexpr std::size_t kMostRows = 1 << 14;  // of a chunk: a plain sum over them is still exact enough
constexpr std::size_t kBlockBytes = 1 << 17;
constexpr std::size_t kManyClasses = 512;

}  // namespace

// A chunk has about kChunkCells cells, but in the order of the table enough rows that merging its classes
// costs little beside adding its rows.
Plan::Plan(const Labelled& table) : t(table), direct(!t.logs && readable_in_place(t.x)) {
  chunk_rows = std::clamp<std::size_t>(kChunkCells / std::max<std::size_t>(t.x.d, 1), 64, kMostRows);
  by_class =
      direct && t.classes > kManyClasses && t.x.n > chunk_rows && t.x.n < std::numeric_limits<std::uint32_t>::max();
  if (by_class)
    order = rows_by_class(t.y, t.w, t.x.n, t.classes);
  else
    chunk_rows = std::clamp(32 * t.classes, chunk_rows, kMostRows);
  const std::size_t rows = by_class ? order.row.size() : t.x.n;
  chunks = (rows + chunk_rows - 1) / chunk_rows;
}

ClassRows::ClassRows(const Plan& plan) : plan_(plan), t_(plan.t) {
  const std::size_t d = std::max<std::size_t>(t_.x.d, 1);
  const std::size_t size = plan.direct ? item_size(t_.x.col[0].dtype) : sizeof(double);
  block_rows_ = std::min(std::clamp<std::size_t>(kBlockBytes / (d * size), 16, 4096), t_.x.n);
  most_slots_ = std::min({t_.classes, plan.chunk_rows, t_.x.n});
  slot_of_.assign(t_.classes, -1);
  for (auto* v : {&row_, &slot_, &sorted_row_, &sorted_slot_}) v->resize(block_rows_ + 16);  // as list_class wants
  if (t_.w) {
    w_.resize(block_rows_);
    sorted_w_.resize(block_rows_);
  }
  if (!plan.direct) packed_.resize(block_rows_ * t_.x.d);
}

void ClassRows::start(std::size_t chunk) {
  for (const std::uint32_t c : class_of_) slot_of_[c] = -1;
  class_of_.clear();
  first_row_.clear();
  weight_.clear();
  count_.clear();
  at_ = chunk * plan_.chunk_rows;
  end_ = std::min(at_ + plan_.chunk_rows, plan_.by_class ? plan_.order.row.size() : t_.x.n);
}

bool ClassRows::next(RowList& block) {
  if (at_ >= end_) return false;
  const std::size_t begin = at_, end = std::min(at_ + block_rows_, end_);
  at_ = end;
  fresh_from_ = slots();
  std::fill(count_.begin(), count_.end(), 0);
  block.stride = plan_.direct ? t_.x.col[0].stride : static_cast<std::ptrdiff_t>(t_.x.d * sizeof(double));
  block.ahead = nullptr;
  block.scattered = plan_.by_class;
  if (plan_.by_class) {
    take(begin, end);
    block.x = t_.x.col[0].data;
  } else {
    if (!list_few(begin, end)) {
      list(begin, end);
      sort();
    }
    block.x = as_rows(begin, end);
    if (plan_.direct && block.stride > 0 && end < end_)
      block.ahead = block.x + static_cast<std::ptrdiff_t>(end - begin) * block.stride;
  }
  block.dtype = plan_.direct ? t_.x.col[0].dtype : Dtype::f64;
  block.d = t_.x.d;
  block.m = m_;
  block.row = row_.data();
  block.slot = slot_.data();
  block.w = t_.w ? w_.data() : nullptr;
  if (t_.w)
    for (std::size_t k = 0; k < m_; ++k) weight_[slot_[k]] += w_[k];
  else
    for (std::size_t s = 0; s < slots(); ++s) weight_[s] += count_[s];
  return true;
}

// Opens a slot for class c, which is new in this chunk; row: where it is first seen.
std::uint32_t ClassRows::open(std::int32_t c, std::size_t row) {
  const auto s = static_cast<std::uint32_t>(slots());
  slot_of_[static_cast<std::size_t>(c)] = static_cast<std::int32_t>(s);
  class_of_.push_back(static_cast<std::uint32_t>(c));
  first_row_.push_back(static_cast<std::uint32_t>(row));
  weight_.push_back(0.0);
  count_.push_back(0);
  return s;
}

// Lists the rows that count among [begin, end) of the table.
void ClassRows::list(std::size_t begin, std::size_t end) {
  const std::int32_t* y = t_.y + begin;
  const double* w = t_.w ? t_.w + begin : nullptr;
  const std::size_t classes = t_.classes;
  const std::int32_t* slot_of = slot_of_.data();
  std::uint32_t *row = row_.data(), *slot = slot_.data(), *count = count_.data();
  std::size_t m = 0;
  for (std::size_t i = 0; i < end - begin; ++i) {
    if (w) check_weight(w[i]);
    if (y[i] < 0 || (w && w[i] == 0.0)) continue;
    check_class(y[i], classes);
    std::int32_t s = slot_of[y[i]];
    if (s < 0) {
      s = static_cast<std::int32_t>(open(y[i], i));
      count = count_.data();
    }
    ++count[s];
    if (w) w_[m] = w[i];
    row[m] = static_cast<std::uint32_t>(i);
    slot[m++] = static_cast<std::uint32_t>(s);
  }
  m_ = m;
}

// list and sort at once, class by class. False, with nothing done, where that does not pay: a vector must find the rows
// of a class, and each class costs a look at all rows.
bool ClassRows::list_few(std::size_t begin, std::size_t end) {
  if (t_.w || t_.classes > kFewClasses || isa() != Isa::avx512) return false;
  const std::int32_t* y = t_.y + begin;
  const std::size_t n = end - begin;
  std::size_t m = 0;
  for (std::size_t c = 0; c < t_.classes; ++c) {
    std::uint32_t* const row = row_.data() + m;
    const std::size_t found = TB_CALL(list_class, y, n, static_cast<std::int32_t>(c), row);
    if (found == 0) continue;
    const std::int32_t known = slot_of_[c];
    const std::uint32_t s = known < 0 ? open(static_cast<std::int32_t>(c), row[0]) : static_cast<std::uint32_t>(known);
    count_[s] = static_cast<std::uint32_t>(found);
    std::fill_n(slot_.data() + m, found, s);
    m += found;
  }
  if (m < n) std::for_each(y, y + n, [&](std::int32_t c) { check_class(c, t_.classes); });
  m_ = m;
  return true;
}

// Lists entries [begin, end) of the order by class.
void ClassRows::take(std::size_t begin, std::size_t end) {
  const std::vector<std::size_t>& start = plan_.order.start;
  auto c = static_cast<std::size_t>(std::upper_bound(start.begin(), start.end(), begin) - start.begin()) - 1;
  for (std::size_t k = begin; k < end; ++c) {
    const std::size_t last = std::min(end, start[c + 1]);
    if (k == last) continue;
    const std::int32_t known = slot_of_[c];
    const std::uint32_t s =
        known < 0 ? open(static_cast<std::int32_t>(c), plan_.order.row[k]) : static_cast<std::uint32_t>(known);
    count_[s] = static_cast<std::uint32_t>(last - k);
    for (; k < last; ++k) {
      row_[k - begin] = plan_.order.row[k];
      slot_[k - begin] = s;
      if (t_.w) w_[k - begin] = t_.w[plan_.order.row[k]];
    }
  }
  m_ = end - begin;
}

// A counting sort by slot. With about as many classes as rows there is nothing to gain.
void ClassRows::sort() {
  if (slots() < 2 || slots() > m_) return;
  next_.resize(slots());
  std::uint32_t start = 0;
  for (std::size_t s = 0; s < slots(); ++s) {
    next_[s] = start;
    start += count_[s];
  }
  const std::uint32_t *row = row_.data(), *slot = slot_.data();
  std::uint32_t *to_row = sorted_row_.data(), *next = next_.data();
  for (std::size_t k = 0; k < m_; ++k) {
    const std::uint32_t to = next[slot[k]]++;
    to_row[to] = row[k];
    if (t_.w) sorted_w_[to] = w_[k];
  }
  start = 0;
  for (std::size_t s = 0; s < slots(); start += count_[s++])
    std::fill_n(sorted_slot_.data() + start, count_[s], static_cast<std::uint32_t>(s));
  row_.swap(sorted_row_);
  slot_.swap(sorted_slot_);
  w_.swap(sorted_w_);
}

const char* ClassRows::as_rows(std::size_t begin, std::size_t end) {
  if (t_.x.d == 0) return nullptr;
  if (plan_.direct) return t_.x.col[0].data + static_cast<std::ptrdiff_t>(begin) * t_.x.col[0].stride;
  TB_CALL(pack_block, t_.x, begin, end, packed_.data());
  if (t_.logs) TB_CALL(logs_of_positive, packed_.data(), (end - begin) * t_.x.d, packed_.data());
  return reinterpret_cast<const char*>(packed_.data());
}

}  // namespace tb
