#include "kernels/back_off_chains.hpp"

#include "kernels/simd.hpp"

namespace tb::TB_ISA {
namespace {

constexpr std::size_t kFewLifts = 512;  // cells of a configuration

template <class Bin>
TB_INLINE bool step(std::uint32_t bins, std::uint32_t* cell, std::size_t n, Bin&& bin_of) {
  bool none = false;
  for (std::size_t r = 0; r < n; ++r) {
    const std::uint32_t b = bin_of(r);
    const bool gone = (b == 255) | (cell[r] == kNoCell);
    none |= gone;
    cell[r] = gone ? kNoCell : cell[r] * bins + b;
  }
  return none;
}

// Cephes' logf: x = 2^e m, m in [sqrt(1/2), sqrt(2)).
TB_INLINE float log_of(float x) {
  x = x > 1e-37f ? x : 1e-37f;
  std::uint32_t bits;
  std::memcpy(&bits, &x, 4);
  const std::uint32_t shifted = bits - 0x3F3504F3u;
  const float e = static_cast<float>(static_cast<std::int32_t>(shifted) >> 23);
  const std::uint32_t low = (shifted & 0x007FFFFFu) + 0x3F3504F3u;
  float m;
  std::memcpy(&m, &low, 4);
  const float f = m - 1.0f, z = f * f;
  float q = 7.0376836292e-2f;
  q = q * f - 1.1514610310e-1f;
  q = q * f + 1.1676998740e-1f;
  q = q * f - 1.2420140846e-1f;
  q = q * f + 1.4249322787e-1f;
  q = q * f - 1.6668057665e-1f;
  q = q * f + 2.0000714765e-1f;
  q = q * f - 2.4999993993e-1f;
  q = q * f + 3.3333331174e-1f;
  float y = q * f * z;
  y += -2.12194440e-4f * e;
  y += -0.5f * z;
  return f + y + 0.693359375f * e;
}

TB_INLINE float less(float n, float unit) { return n > unit ? n - unit : 0.0f; }

template <std::size_t fixed>
TB_INLINE void child_out(const LeaveOut& t) {
  const std::size_t K = fixed ? fixed : t.classes;
  const float a = t.concentration;
  for (std::size_t r = 0; r < t.rows; ++r) {
    if (t.configuration[r] == kNoCell || t.child[r] == kNoCell) continue;
    const float* n = t.n + (t.configuration[r] * t.bins + t.child[r]) * K;
    const float* share = t.share + t.configuration[r] * K;
    float* p = t.p + r * K;
    const std::size_t y = static_cast<std::size_t>(t.y[r]);
    const float below = t.total[t.configuration[r] * K + y] - t.unit[r] + a, above = less(n[y], t.unit[r]) + a * p[y];
    const float own = below > 0.0f ? above / below : p[y];
    for (std::size_t c = 0; c < K; ++c) p[c] = (n[c] + a * p[c]) * share[c];
    p[y] = own;
  }
}

// p times (n + s) / (N p + s), s = concentration * p + worth: how often the value came by how often it was to be
// expected.
TB_INLINE float lifted(float p, float n, float total, float concentration, float worth) {
  return p * (n + (concentration * p + worth)) / ((total + concentration) * p + worth);
}

template <std::size_t fixed>
TB_INLINE void child_lifts_out(const LeaveOut& t) {
  const std::size_t K = fixed ? fixed : t.classes;
  for (std::size_t r = 0; r < t.rows; ++r) {
    if (t.configuration[r] == kNoCell || t.child[r] == kNoCell) continue;
    const float* n = t.n + (t.configuration[r] * t.bins + t.child[r]) * K;
    const float* total = t.total + t.configuration[r] * K;
    float* p = t.p + r * K;
    const std::size_t y = static_cast<std::size_t>(t.y[r]);
    for (std::size_t c = 0; c < K; ++c) {
      const float unit = c == y ? t.unit[r] : 0.0f;
      p[c] = lifted(p[c], less(n[c], unit), less(total[c], unit), t.concentration, t.worth);
    }
  }
}

template <std::size_t fixed>
TB_INLINE void class_out(const LeaveOut& t) {
  const std::size_t K = fixed ? fixed : t.classes;
  const float a = t.concentration;
  for (std::size_t r = 0; r < t.rows; ++r) {
    if (t.configuration[r] == kNoCell) continue;
    const float* n = t.n + t.configuration[r] * K;
    float* p = t.p + r * K;
    const std::size_t y = static_cast<std::size_t>(t.y[r]);
    const float below = t.total[t.configuration[r]] - t.unit[r] + a;
    if (!(below > 0.0f)) continue;
    const float share = 1.0f / below, own = (less(n[y], t.unit[r]) + a * p[y]) * share;
    for (std::size_t c = 0; c < K; ++c) p[c] = (n[c] + a * p[c]) * share;
    p[y] = own;
  }
}

template <bool alone>
TB_INLINE void own_counts_of(const OwnCounts& t) {
  for (std::size_t r = 0; r < t.rows; ++r) {
    const bool none = t.configuration[r] == kNoCell || t.child[r] == kNoCell;
    const std::size_t u = none ? 0 : t.configuration[r], x = none ? 0 : t.child[r];
    const std::size_t y = none ? 0 : static_cast<std::size_t>(t.y[r]);
    const float n = t.n[(u * t.bins + x) * t.classes + y], total = t.total[alone ? u : u * t.classes + y];
    t.own_n[r] = none ? 0.0f : less(n, t.unit[r]);
    t.own_total[r] = none ? 0.0f : less(total, t.unit[r]);
  }
}

template <std::size_t fixed>
TB_INLINE void leave_one_out_terms(const LeaveOneOutTerms& t, float scale, float* out) {
  constexpr std::size_t some = 256;  // rows at a time
  const std::size_t K = fixed ? fixed : t.classes;
  float own[some];
  for (std::size_t first = 0; first < t.rows; first += some) {
    const std::size_t count = t.rows - first < some ? t.rows - first : some;
    for (std::size_t r = 0; r < count; ++r) own[r] = log_of(t.own[first + r]);
    for (std::size_t r = first; r < first + count; ++r) {
      if (t.unit[r] != 1.0f || t.child[r] == kNoCell) continue;
      const float* from = t.log + (t.configuration[r] * t.bins + t.child[r]) * K;
      float* to = out + r * K;
      const std::size_t y = static_cast<std::size_t>(t.y[r]);
      const float mine = to[y] + scale * own[r - first];
      for (std::size_t c = 0; c < K; ++c) to[c] += scale * from[c];
      to[y] = mine;
    }
  }
}

template <std::size_t fixed>
TB_INLINE void add_joined_of(std::size_t rows, std::size_t classes, std::size_t bins,
                             const std::uint32_t* configuration, const std::uint32_t* child, const std::int32_t* y,
                             const float* table, float scale, float* out) {
  const std::size_t K = fixed ? fixed : classes;
  for (std::size_t r = 0; r < rows; ++r, out += K) {
    const std::size_t cell = configuration[r] * bins + child[r];
    const float* from = table + (cell * K + static_cast<std::size_t>(y[r])) * K;
    for (std::size_t c = 0; c < K; ++c) out[c] += scale * from[c];
  }
}

// fold_lifts, or fold_own, for few classes: their totals stand beside the bins, so that a row is one loop.
template <bool own>
TB_INLINE void fold_few(const float* n, const float* above, const float* total, float concentration, float worth,
                        std::size_t configurations, std::size_t inner, std::size_t row, std::size_t classes, float* p) {
  float each[kFewLifts];
  std::size_t next = 0;
  for (std::size_t i = 0; i < configurations; ++i, n += row, p += row, total += classes) {
    if (classes == 2) {
      const float a = own ? less(total[0], 1.0f) : total[0], b = own ? less(total[1], 1.0f) : total[1];
      for (std::size_t e = 0; e < row; e += 2) each[e] = a, each[e + 1] = b;
    } else {
      for (std::size_t e = 0; e < row; e += classes) {
        for (std::size_t c = 0; c < classes; ++c) each[e + c] = own ? less(total[c], 1.0f) : total[c];
      }
    }
    for (std::size_t e = 0; e < row; ++e)
      p[e] = lifted(above[e], own ? less(n[e], 1.0f) : n[e], each[e], concentration, worth);
    if (++next == inner) {
      next = 0;
      above += row;
    }
  }
}

template <bool own>
TB_INLINE void fold_cells(const float* n, const float* above, const float* total, float concentration, float worth,
                          std::size_t configurations, std::size_t inner, std::size_t bins, std::size_t classes,
                          float* p) {
  const std::size_t row = bins * classes;
  if (classes < 8 && row <= kFewLifts)
    return fold_few<own>(n, above, total, concentration, worth, configurations, inner, row, classes, p);
  std::size_t next = 0;
  for (std::size_t i = 0; i < configurations; ++i, n += row, p += row, total += classes) {
    for (std::size_t x = 0; x < row; x += classes) {
      for (std::size_t c = 0; c < classes; ++c) {
        const float here = own ? less(n[x + c], 1.0f) : n[x + c], whole = own ? less(total[c], 1.0f) : total[c];
        p[x + c] = lifted(above[x + c], here, whole, concentration, worth);
      }
    }
    if (++next == inner) {
      next = 0;
      above += row;
    }
  }
}

// `size` numbers side by side, summed over `inner` rows.
template <int size>
TB_INLINE void fold_some(const float* from, std::size_t inner, std::size_t row, float* to) {
  typedef float Some __attribute__((vector_size(size * 4), aligned(4), may_alias));
  Some sum = {};
  for (std::size_t k = 0; k < inner; ++k) sum += *reinterpret_cast<const Some*>(from + k * row);
  *reinterpret_cast<Some*>(to) = sum;
}

// fold_counts of rows of two, four of them at a time.
TB_INLINE void fold_pairs(const float* from, std::size_t configurations, std::size_t inner, float* to) {
  typedef float Eight __attribute__((vector_size(32), aligned(4), may_alias));
  for (std::size_t i = 0; i < configurations; ++i, to += 2) {
    Eight sum = {};
    std::size_t k = 0;
    for (; k + 4 <= inner; k += 4, from += 8) sum += *reinterpret_cast<const Eight*>(from);
    float a = (sum[0] + sum[2]) + (sum[4] + sum[6]), b = (sum[1] + sum[3]) + (sum[5] + sum[7]);
    for (; k < inner; ++k, from += 2) a += from[0], b += from[1];
    to[0] = a, to[1] = b;
  }
}

// One sum of table look-ups gives the cell; a missing bin makes it kMostCells or more, whatever the others add.
template <std::size_t fixed, std::size_t fixed_classes>
TB_INLINE std::size_t add_bytes(const std::uint8_t* const* code, const std::uint32_t (*lut)[256], std::size_t many,
                                const float* log, std::size_t rows, std::size_t classes, double scale, double* out,
                                std::uint32_t* odd) {
  const std::size_t views = fixed ? fixed : many, K = fixed_classes ? fixed_classes : classes;
  constexpr std::size_t some = 128;  // rows whose estimates are asked for before the first is added
  std::uint32_t cell[some];
  std::size_t left = 0;
  for (std::size_t first = 0; first < rows; first += some) {
    const std::size_t count = rows - first < some ? rows - first : some;
    for (std::size_t r = 0; r < count; ++r) {
      std::uint32_t at = 0;
      for (std::size_t v = 0; v < views; ++v) at += lut[v][code[v][first + r]];
      cell[r] = at;
      __builtin_prefetch(log + (at < kMostCells ? at : 0) * K);
    }
    for (std::size_t r = 0; r < count; ++r) {
      if (cell[r] >= kMostCells) {
        odd[left++] = static_cast<std::uint32_t>(first + r);
        continue;
      }
      const float* from = log + cell[r] * K;
      double* to = out + (first + r) * K;
      for (std::size_t c = 0; c < K; ++c) to[c] += scale * static_cast<double>(from[c]);
    }
  }
  return left;
}

template <std::size_t fixed>
std::size_t add_bytes(const std::uint8_t* const* code, const std::uint32_t (*lut)[256], std::size_t views,
                      const float* log, std::size_t rows, std::size_t classes, double scale, double* out,
                      std::uint32_t* odd) {
  if (classes == 2) return add_bytes<fixed, 2>(code, lut, views, log, rows, classes, scale, out, odd);
  if (classes == 3) return add_bytes<fixed, 3>(code, lut, views, log, rows, classes, scale, out, odd);
  if (classes == 4) return add_bytes<fixed, 4>(code, lut, views, log, rows, classes, scale, out, odd);
  return add_bytes<fixed, 0>(code, lut, views, log, rows, classes, scale, out, odd);
}

template <class T>
std::size_t add_wide_codes(const ViewRead* view, std::size_t views, std::uint32_t start, const float* log,
                           std::size_t rows, std::size_t classes, double scale, double* out, std::uint32_t* odd) {
  std::size_t left = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    std::uint32_t cell = start;
    bool none = false;
    for (std::size_t v = 0; v < views; ++v) {
      const std::size_t code = static_cast<const T*>(view[v].code)[r];
      const std::uint32_t b = view[v].map[code < view[v].levels ? code : view[v].levels];
      none |= b == 255;
      cell += b * view[v].times;
    }
    if (none) {
      odd[left++] = static_cast<std::uint32_t>(r);
      continue;
    }
    const float* from = log + cell * classes;
    double* to = out + r * classes;
    for (std::size_t c = 0; c < classes; ++c) to[c] += scale * static_cast<double>(from[c]);
  }
  return left;
}

}  // namespace

std::size_t add_chain8(const ViewRead* view, std::size_t views, std::uint32_t start, const float* log, std::size_t rows,
                       std::size_t classes, double scale, double* out, std::uint32_t* odd) {
  std::uint32_t lut[kMostReads][256];
  const std::uint8_t* code[kMostReads];
  for (std::size_t v = 0; v < views; ++v) {
    code[v] = static_cast<const std::uint8_t*>(view[v].code);
    for (std::size_t i = 0; i < 256; ++i) {
      const std::uint32_t b = view[v].map[i < view[v].levels ? i : view[v].levels];
      lut[v][i] = b == 255 ? kMostCells : b * view[v].times + (v == 0 ? start : 0);
    }
  }
  switch (views) {
    case 1:
      return add_bytes<1>(code, lut, views, log, rows, classes, scale, out, odd);
    case 2:
      return add_bytes<2>(code, lut, views, log, rows, classes, scale, out, odd);
    case 3:
      return add_bytes<3>(code, lut, views, log, rows, classes, scale, out, odd);
    case 4:
      return add_bytes<4>(code, lut, views, log, rows, classes, scale, out, odd);
    case 5:  // a child and four parents: what most chains of many rows have
      return add_bytes<5>(code, lut, views, log, rows, classes, scale, out, odd);
    case 6:  // the cuts of a boosted tree
      return add_bytes<6>(code, lut, views, log, rows, classes, scale, out, odd);
    default:
      return add_bytes<0>(code, lut, views, log, rows, classes, scale, out, odd);
  }
}
std::size_t add_chain16(const ViewRead* view, std::size_t views, std::uint32_t start, const float* log,
                        std::size_t rows, std::size_t classes, double scale, double* out, std::uint32_t* odd) {
  return add_wide_codes<std::uint16_t>(view, views, start, log, rows, classes, scale, out, odd);
}
std::size_t add_chain32(const ViewRead* view, std::size_t views, std::uint32_t start, const float* log,
                        std::size_t rows, std::size_t classes, double scale, double* out, std::uint32_t* odd) {
  return add_wide_codes<std::uint32_t>(view, views, start, log, rows, classes, scale, out, odd);
}

bool step_cells8(const std::uint8_t* code, const std::uint8_t* lut, std::uint32_t bins, std::uint32_t* cell,
                 std::size_t n) {
  return step(bins, cell, n, [&](std::size_t r) { return lut[code[r]]; });
}
bool step_cells16(const std::uint16_t* code, const std::uint8_t* lut, std::size_t levels, std::uint32_t bins,
                  std::uint32_t* cell, std::size_t n) {
  return step(bins, cell, n, [&](std::size_t r) { return lut[code[r] < levels ? code[r] : levels]; });
}
bool step_cells32(const std::uint32_t* code, const std::uint8_t* lut, std::size_t levels, std::uint32_t bins,
                  std::uint32_t* cell, std::size_t n) {
  return step(bins, cell, n, [&](std::size_t r) { return lut[code[r] < levels ? code[r] : levels]; });
}

void leave_out_child(const LeaveOut& t) {
  if (t.worth > 0) {
    if (t.classes == 2) return child_lifts_out<2>(t);
    if (t.classes == 3) return child_lifts_out<3>(t);
    return child_lifts_out<0>(t);
  }
  if (t.classes == 2) return child_out<2>(t);
  if (t.classes == 3) return child_out<3>(t);
  child_out<0>(t);
}

void leave_out_class(const LeaveOut& t) {
  if (t.classes == 2) return class_out<2>(t);
  if (t.classes == 3) return class_out<3>(t);
  class_out<0>(t);
}

void own_counts(const OwnCounts& t) { t.alone ? own_counts_of<true>(t) : own_counts_of<false>(t); }

void own_cells(std::size_t rows, std::size_t classes, std::size_t bins, const std::uint32_t* configuration,
               const std::uint32_t* child, const std::int32_t* y, const float* table, float* out) {
  for (std::size_t r = 0; r < rows; ++r) {
    const bool none = configuration[r] == kNoCell || child[r] == kNoCell;
    const std::size_t cell = (configuration[r] * bins + child[r]) * classes + static_cast<std::size_t>(y[r]);
    out[r] = table[none ? 0 : cell];
  }
}

bool row_units(const std::uint32_t* configuration, const std::uint32_t* child, const std::int32_t* y, const double* w,
               std::size_t rows, bool any, float* unit) {
  for (std::size_t r = 0; r < rows; ++r) unit[r] = w && w[r] < 1.0 ? static_cast<float>(w[r]) : 1.0f;
  const std::uint32_t all = any ? 1 : 0;
  std::uint32_t found = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const float u = configuration[r] == kNoCell ? 0.0f : unit[r];
    unit[r] = u;
    found |= (child[r] != kNoCell ? 1u : 0u) & (y[r] >= 0 ? 1u : 0u) & (all | (u != 1.0f ? 1u : 0u));
  }
  return found;
}

void lift_own(float* p, const float* n, const float* total, std::size_t rows, float concentration, float worth) {
  for (std::size_t r = 0; r < rows; ++r) p[r] = lifted(p[r], n[r], total[r], concentration, worth);
}

void add_leave_one_out(const LeaveOneOutTerms& t, float scale, float* out) {
  if (t.classes == 2) return leave_one_out_terms<2>(t, scale, out);
  if (t.classes == 3) return leave_one_out_terms<3>(t, scale, out);
  leave_one_out_terms<0>(t, scale, out);
}

void join_own(const float* other, const float* own, std::size_t cells, std::size_t classes, float* table) {
  for (std::size_t e = 0; e < cells; ++e, other += classes, own += classes) {
    for (std::size_t y = 0; y < classes; ++y, table += classes) {
      for (std::size_t c = 0; c < classes; ++c) table[c] = other[c];
      table[y] = own[y];
    }
  }
}

void add_joined(std::size_t rows, std::size_t classes, std::size_t bins, const std::uint32_t* configuration,
                const std::uint32_t* child, const std::int32_t* y, const float* table, float scale, float* out) {
  if (classes == 2) return add_joined_of<2>(rows, classes, bins, configuration, child, y, table, scale, out);
  if (classes == 3) return add_joined_of<3>(rows, classes, bins, configuration, child, y, table, scale, out);
  add_joined_of<0>(rows, classes, bins, configuration, child, y, table, scale, out);
}

void fold_order(const float* n, const float* above, const float* share, float concentration, std::size_t configurations,
                std::size_t inner, std::size_t bins, std::size_t classes, bool alone, float* p) {
  const std::size_t row = bins * classes;
  std::size_t next = 0;
  for (std::size_t i = 0; i < configurations; ++i, n += row, p += row) {
    if (alone) {
      const float s = share[i];
      for (std::size_t c = 0; c < row; ++c) p[c] = (n[c] + concentration * above[c]) * s;
    } else {
      const float* s = share + i * classes;
      for (std::size_t x = 0; x < row; x += classes) {
        for (std::size_t c = 0; c < classes; ++c) p[x + c] = (n[x + c] + concentration * above[x + c]) * s[c];
      }
    }
    if (++next == inner) {
      next = 0;
      above += row;
    }
  }
}

void fold_lifts(const float* n, const float* above, const float* total, float concentration, float worth,
                std::size_t configurations, std::size_t inner, std::size_t bins, std::size_t classes, float* p) {
  fold_cells<false>(n, above, total, concentration, worth, configurations, inner, bins, classes, p);
}
void fold_own(const float* n, const float* above, const float* total, float concentration, float worth,
              std::size_t configurations, std::size_t inner, std::size_t bins, std::size_t classes, float* p) {
  fold_cells<true>(n, above, total, concentration, worth, configurations, inner, bins, classes, p);
}

void float_counts(const std::uint32_t* n, float* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(n[i]);
}

void fold_counts(const float* from, std::size_t configurations, std::size_t inner, std::size_t row, float* to) {
  if (row == 2) return fold_pairs(from, configurations, inner, to);
  for (std::size_t i = 0; i < configurations; ++i, from += inner * row, to += row) {
    std::size_t e = 0;
    for (; e + 16 <= row; e += 16) fold_some<16>(from + e, inner, row, to + e);
    if (e + 8 <= row) fold_some<8>(from + e, inner, row, to + e), e += 8;
    if (e + 4 <= row) fold_some<4>(from + e, inner, row, to + e), e += 4;
    if (e + 2 <= row) fold_some<2>(from + e, inner, row, to + e), e += 2;
    if (e >= row) continue;
    float sum = 0;
    for (std::size_t k = 0; k < inner; ++k) sum += from[k * row + e];
    to[e] = sum;
  }
}

void logs_of(const float* p, float* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = log_of(p[i]);
}
void add_logs(const float* p, float scale, float* out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] += scale * log_of(p[i]);
}

void add_cells(const float* log, const std::uint32_t* cell, std::size_t rows, std::size_t classes, double scale,
               double* out) {
  if (classes == 2) {
    for (std::size_t r = 0; r < rows; ++r) {
      if (cell[r] == kNoCell) continue;
      const float* from = log + std::size_t{cell[r]} * 2;
      out[2 * r] += scale * static_cast<double>(from[0]);
      out[2 * r + 1] += scale * static_cast<double>(from[1]);
    }
    return;
  }
  for (std::size_t r = 0; r < rows; ++r) {
    if (cell[r] == kNoCell) continue;
    const float* from = log + cell[r] * classes;
    double* to = out + r * classes;
    for (std::size_t c = 0; c < classes; ++c) to[c] += scale * static_cast<double>(from[c]);
  }
}

}  // namespace tb::TB_ISA
