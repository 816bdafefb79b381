#include "core/streams/recent_rows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tb::streams {
namespace {

// Columns of `room` values each, in columns of twice as many.
template <class T>
std::vector<T> spread(const std::vector<T>& values, std::size_t room) {
  std::vector<T> wide(2 * values.size());
  for (std::size_t first = 0; first < values.size(); first += room)
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(first), room,
                wide.begin() + static_cast<std::ptrdiff_t>(2 * first));
  return wide;
}

}  // namespace

int Column::code(float x) const {
  if (std::isnan(x)) return missing();
  if (categorical) return std::min(static_cast<int>(x), kLevels);
  return static_cast<int>(std::upper_bound(cuts.begin(), cuts.end(), x) - cuts.begin());
}

float Column::position(float x, int code) const {
  if (categorical) return static_cast<float>(code);
  const int m = static_cast<int>(cuts.size());
  if (code == missing() || m == 0) return 0.5f;
  if (m == 1) return x < cuts[0] ? 0.25f : 0.75f;
  float rank;
  if (code == 0)
    rank = 1 - std::min(1.0f, (cuts[0] - x) / (cuts[1] - cuts[0]));
  else if (code == m)
    rank = static_cast<float>(m) + std::min(1.0f, (x - cuts[m - 1]) / (cuts[m - 1] - cuts[m - 2]));
  else
    rank = static_cast<float>(code) + (x - cuts[code - 1]) / (cuts[code] - cuts[code - 1]);
  return rank / static_cast<float>(m + 1);
}

void Column::cut(const std::vector<float>& sorted) {
  const std::size_t n = sorted.size();
  const auto run_end = [&](std::size_t i) {
    const float value = sorted[i];
    while (i < n && sorted[i] == value) ++i;
    return i;
  };
  const auto frequent = [&](std::size_t rows) { return rows * kBins >= 2 * n; };
  std::size_t bins = kBins, others = n;  // bins of the others, and how many rows they are
  for (std::size_t i = 0, end; i < n; i = end) {
    end = run_end(i);
    if (frequent(end - i)) bins -= 2, others -= end - i;  // a frequent value may split the bin that it lies in
  }
  bins = std::max<std::size_t>(bins, 1);
  cuts.clear();
  std::size_t below = 0, bin = 0;  // others so far, and the bin in which the last of them began
  bool alone = false;
  for (std::size_t i = 0, end; i < n; i = end) {
    end = run_end(i);
    const bool own = frequent(end - i);
    const std::size_t next = own ? bin : below * bins / std::max<std::size_t>(others, 1);
    if (i > 0 && (own || alone || next > bin)) {
      const float cut = sorted[i - 1] + 0.5f * (sorted[i] - sorted[i - 1]);
      cuts.push_back(cut > sorted[i - 1] ? cut : sorted[i]);
    }
    alone = own, bin = next;
    if (!own) below += end - i;
  }
}

RecentRows::RecentRows(const std::vector<std::uint8_t>& categorical) : columns_(categorical.size()) {
  for (std::size_t j = 0; j < categorical.size(); ++j) columns_[j].categorical = categorical[j];
  value_.resize(at(columns())), position_.resize(at(columns())), code_.resize(at(columns()));
  label_.resize(static_cast<std::size_t>(capacity_));
}

void RecentRows::encode(const float* x, int* codes, float* positions) const {
  for (int j = 0; j < columns(); ++j) {
    codes[j] = columns_[j].code(x[j]);
    positions[j] = columns_[j].position(x[j], codes[j]);
  }
}

// Twice as many rows; those there are lie at the same places.
void RecentRows::make_room() {
  const auto room = static_cast<std::size_t>(capacity_);
  value_ = spread(value_, room), position_ = spread(position_, room), code_ = spread(code_, room);
  label_.resize(2 * room);
  capacity_ *= 2;
}

void RecentRows::add(const float* x, const int* codes, const float* positions, int y) {
  if (seen_ == capacity_ && capacity_ < kCapacity) make_room();
  const std::size_t i = static_cast<std::size_t>(seen_ & (capacity_ - 1));
  for (int j = 0; j < columns(); ++j) {
    value_[at(j) + i] = x[j];
    code_[at(j) + i] = static_cast<std::uint8_t>(codes[j]);
    position_[at(j) + i] = positions[j];
  }
  label_[i] = y;
  ++seen_;
}

bool RecentRows::shares_moved(int j) const {
  std::vector<int> all(columns_[j].codes()), last(columns_[j].codes());
  const std::uint8_t* code = codes(j);
  for (int age = 0; age < size(); ++age) {
    const int c = code[place(age)];
    ++all[c];
    if (age < kCheckEvery) ++last[c];
  }
  // A value that many rows have fills its bin for good: only what was not so before counts.
  float top = 0;
  for (int c = 0; c < columns_[j].missing(); ++c)
    top = std::max(
        top, static_cast<float>(last[c]) / kCheckEvery - 2 * static_cast<float>(all[c]) / static_cast<float>(size()));
  return top >= 3.0f / kBins;
}

std::vector<int> RecentRows::move_bins() {
  std::vector<int> moved;
  const bool doubled = std::has_single_bit(static_cast<std::uint64_t>(seen_)) && seen_ >= 4 && seen_ <= kCapacity;
  if (!doubled && seen_ % kCheckEvery != 0) return moved;
  std::vector<float> sorted;
  for (int j = 0; j < columns(); ++j) {
    if (columns_[j].categorical || (!doubled && !shares_moved(j))) continue;
    sorted.clear();
    for (int i = 0; i < size(); ++i)
      if (!std::isnan(values(j)[i])) sorted.push_back(values(j)[i]);
    if (sorted.size() < 2) continue;
    std::sort(sorted.begin(), sorted.end());
    const std::vector<float> before = columns_[j].cuts;
    columns_[j].cut(sorted);
    if (columns_[j].cuts == before) continue;
    encode_all(j);
    moved.push_back(j);
  }
  return moved;
}

void RecentRows::encode_all(int j) {
  for (std::size_t i = at(j); i < at(j) + static_cast<std::size_t>(size()); ++i) {
    const int c = columns_[j].code(value_[i]);
    code_[i] = static_cast<std::uint8_t>(c);
    position_[i] = columns_[j].position(value_[i], c);
  }
}

void RecentRows::restore(int classes) {
  expect_state(capacity_ >= kFirstCapacity && capacity_ <= kCapacity &&
               std::has_single_bit(static_cast<std::uint32_t>(capacity_)));
  const std::size_t cells = at(columns());
  expect_state(seen_ >= 0 && seen_ < std::int64_t{1} << 53 && size() <= capacity_);
  expect_state(value_.size() == cells && label_.size() == static_cast<std::size_t>(capacity_));
  for (int i = 0; i < size(); ++i) expect_state(label_[i] >= 0 && label_[i] < classes);
  for (Column& c : columns_) {
    expect_state(c.categorical <= 1 && c.cuts.size() < kBins && (!c.categorical || c.cuts.empty()));
    for (std::size_t b = 0; b < c.cuts.size(); ++b)
      expect_state(std::isfinite(c.cuts[b]) && (b == 0 || c.cuts[b] > c.cuts[b - 1]));
  }
  position_.assign(cells, 0), code_.assign(cells, 0);
  for (int j = 0; j < columns(); ++j) {
    for (int i = 0; i < size(); ++i) {
      const float v = values(j)[i];
      expect_state(!std::isinf(v) && !(columns_[j].categorical && (v < 0 || v > kLevels)));
    }
    encode_all(j);
  }
}

}  // namespace tb::streams
