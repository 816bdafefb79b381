#include "core/class_rows.hpp"

#include <algorithm>

#include "core/labels.hpp"
#include "kernels/pack.hpp"

namespace tb {
namespace {

constexpr std::size_t kChunkCells = 1 << 18;
constexpr std::size_t kBlockBytes = 1 << 17;

bool aligned(const Columns& x) {
  const auto size = static_cast<std::ptrdiff_t>(item_size(x.col[0].dtype));
  return reinterpret_cast<std::uintptr_t>(x.col[0].data) % static_cast<std::uintptr_t>(size) == 0 &&
         x.col[0].stride % size == 0;
}

bool readable_in_place(const Columns& x) {
  return x.d > 0 && x.row_major && (x.col[0].dtype == Dtype::f64 || x.col[0].dtype == Dtype::f32) && aligned(x);
}

}  // namespace

// About kChunkCells cells, but enough rows that merging the chunk's classes costs little beside adding its
// rows, and no more than keeps a plain sum over them exact enough.
std::size_t chunk_rows(const Labelled& t) {
  const std::size_t cells = kChunkCells / std::max<std::size_t>(t.x.d, 1);
  return std::clamp<std::size_t>(std::max(cells, 32 * t.classes), 64, 16384);
}

std::size_t chunks(const Labelled& t) {
  const std::size_t rows = chunk_rows(t);
  return (t.x.n + rows - 1) / rows;
}

ClassRows::ClassRows(const Labelled& t) : t_(t), direct_(readable_in_place(t.x)), chunk_rows_(chunk_rows(t)) {
  const std::size_t size = direct_ ? item_size(t.x.col[0].dtype) : sizeof(double);
  block_rows_ = std::clamp<std::size_t>(kBlockBytes / std::max<std::size_t>(t.x.d * size, 1), 16, 4096);
  most_slots_ = std::min(t.classes, std::min(chunk_rows_, t.x.n));
  const std::size_t rows = std::min(block_rows_, t.x.n);
  slot_of_.assign(t.classes, -1);
  for (auto* v : {&row_, &slot_, &ordered_row_, &ordered_slot_}) v->resize(rows);
  if (t.w) {
    w_.resize(rows);
    ordered_w_.resize(rows);
  }
  if (!direct_) packed_.resize(rows * t.x.d);
}

void ClassRows::start(std::size_t chunk) {
  for (const std::uint32_t c : class_of_) slot_of_[c] = -1;
  class_of_.clear();
  first_row_.clear();
  weight_.clear();
  count_.clear();
  at_ = chunk * chunk_rows_;
  end_ = std::min(at_ + chunk_rows_, t_.x.n);
}

bool ClassRows::next(RowList& block) {
  if (at_ >= end_) return false;
  const std::size_t begin = at_, end = std::min(at_ + block_rows_, end_);
  at_ = end;
  list(begin, end);
  order();
  const std::ptrdiff_t stride = direct_ ? t_.x.col[0].stride : static_cast<std::ptrdiff_t>(t_.x.d * sizeof(double));
  block.x = as_rows(begin, end);
  block.stride = stride;
  block.dtype = direct_ ? t_.x.col[0].dtype : Dtype::f64;
  block.d = t_.x.d;
  block.m = m_;
  block.row = row_.data();
  block.slot = slot_.data();
  block.w = t_.w ? w_.data() : nullptr;
  block.ahead = direct_ && stride > 0 && end < end_ ? block.x + static_cast<std::ptrdiff_t>(end - begin) * stride : nullptr;
  return true;
}

// The slot of class c, opened if the class is new in this chunk; i: the row of the block.
std::uint32_t ClassRows::slot(std::int32_t c, std::size_t i) {
  check_class(c, t_.classes);
  std::int32_t& s = slot_of_[static_cast<std::size_t>(c)];
  if (s < 0) {
    s = static_cast<std::int32_t>(slots());
    class_of_.push_back(static_cast<std::uint32_t>(c));
    first_row_.push_back(static_cast<std::uint32_t>(i));
    weight_.push_back(0.0);
    count_.push_back(0);
  }
  return static_cast<std::uint32_t>(s);
}

// Fills row_, slot_, w_ with the rows that count, and opens slots for classes that are new.
void ClassRows::list(std::size_t begin, std::size_t end) {
  fresh_from_ = slots();
  std::fill(count_.begin(), count_.end(), 0);
  const std::int32_t* y = t_.y + begin;
  const double* w = t_.w ? t_.w + begin : nullptr;
  m_ = 0;
  for (std::size_t i = 0; i < end - begin; ++i) {
    if (y[i] < 0) continue;
    if (w) {
      if (w[i] == 0.0) continue;
      check_weight(w[i]);
      w_[m_] = w[i];
    }
    const std::uint32_t s = slot(y[i], i);
    ++count_[s];
    row_[m_] = static_cast<std::uint32_t>(i);
    slot_[m_++] = s;
  }
  if (w) for (std::size_t k = 0; k < m_; ++k) weight_[slot_[k]] += w_[k];
  else for (std::size_t s = 0; s < slots(); ++s) weight_[s] += count_[s];
}

// A counting sort by slot. With about as many classes as rows there is nothing to gain.
void ClassRows::order() {
  if (slots() < 2 || slots() > m_) return;
  std::uint32_t start = 0;
  for (std::uint32_t& c : count_) {
    const std::uint32_t rows = c;
    c = start;
    start += rows;
  }
  for (std::size_t k = 0; k < m_; ++k) {
    const std::uint32_t to = count_[slot_[k]]++;
    ordered_row_[to] = row_[k];
    ordered_slot_[to] = slot_[k];
    if (t_.w) ordered_w_[to] = w_[k];
  }
  row_.swap(ordered_row_);
  slot_.swap(ordered_slot_);
  if (t_.w) w_.swap(ordered_w_);
}

const char* ClassRows::as_rows(std::size_t begin, std::size_t end) {
  if (t_.x.d == 0) return nullptr;
  const Column& first = t_.x.col[0];
  if (direct_) return first.data + static_cast<std::ptrdiff_t>(begin) * first.stride;
  TB_CALL(pack_block, t_.x, begin, end, packed_.data());
  return reinterpret_cast<const char*>(packed_.data());
}

}  // namespace tb
