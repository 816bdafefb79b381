#include "kernels/as_double.hpp"
#include "kernels/panels.hpp"

namespace tb::TB_ISA {
namespace {

template <class T>
const T* row_at(const RowsAt& from, std::uint32_t row) {
  return reinterpret_cast<const T*>(from.x + static_cast<std::ptrdiff_t>(row) * from.stride);
}

bool all_zero(Vec v) {
  double lane[W];
  store(lane, v);
  double sum = 0.0;
  for (int q = 0; q < W; ++q) sum += lane[q];
  return sum == 0.0;
}

template <class T>
bool has_infinity(const T* x, std::size_t d) {
  for (std::size_t j = 0; j < d; ++j) {
    if (__builtin_isinf(x[j])) return true;
  }
  return false;
}

// One row into row k of the panels; false if a value is not finite (x - x is then not 0).
template <class T>
bool pack_row(const T* x, const double* shift, double root, std::size_t d, std::size_t room, double* to) {
  const Vec scale = set(root);
  Vec trouble[kPanelVecs] = {};
  std::size_t j = 0;
  for (; j + kPanel <= d; j += kPanel, to += kPanel * room) {
    for (int q = 0; q < kPanelVecs; ++q) {
      const Vec v = load_as_double(x + j + q * W);
      trouble[q] += v - v;
      store(to + q * W, (v - load(shift + j + q * W)) * scale);
    }
  }
  double rest = 0.0;
  for (std::size_t q = 0; q < kPanel && j < d; ++q) {
    const bool inside = j + q < d;
    const double v = inside ? static_cast<double>(x[j + q]) : 0.0;
    rest += v - v;
    to[q] = inside ? (v - shift[j + q]) * root : 0.0;
  }
  for (int q = 1; q < kPanelVecs; ++q) trouble[0] += trouble[q];
  return rest == 0.0 && all_zero(trouble[0]);
}

template <class T>
Packed pack_all(const RowPick& pick, const double* shift, std::size_t room, double* panels, std::uint32_t* kept) {
  const std::size_t d = pick.from.d;
  Packed out{0, false};
  for (std::size_t k = 0; k < pick.count; ++k) {
    constexpr std::size_t ahead = 2;
    if (k + ahead < pick.count) fetch_row(pick, k + ahead);
    const T* x = row_at<T>(pick.from, pick.row[k]);
    const double root = pick.root ? pick.root[k] : 1.0;
    if (pack_row(x, shift + pick.cls[k] * d, root, d, room, panels + out.rows * kPanel)) {
      kept[out.rows++] = static_cast<std::uint32_t>(k);
    } else {
      out.infinite |= has_infinity(x, d);
    }
  }
  return out;
}

template <class T>
bool pack_missing(const RowPick& pick, const double* shift, std::size_t room, double* panels, double* present) {
  const std::size_t d = pick.from.d;
  bool infinite = false;
  for (std::size_t k = 0; k < pick.count; ++k) {
    const T* x = row_at<T>(pick.from, pick.row[k]);
    const double* s = shift + pick.cls[k] * d;
    const double root = pick.root ? pick.root[k] : 1.0;
    for (std::size_t j = 0; j < panels_of(d) * kPanel; ++j) {
      const std::size_t at = (j / kPanel * room + k) * kPanel + j % kPanel;
      const double v = j < d ? static_cast<double>(x[j]) : __builtin_nan("");
      const bool here = v == v;
      infinite |= static_cast<bool>(__builtin_isinf(v));
      panels[at] = here ? (v - s[j]) * root : 0.0;
      present[at] = here ? root : 0.0;
    }
  }
  return infinite;
}

}  // namespace

std::size_t panel_width() { return kPanel; }

Packed pack_centred(const RowPick& pick, const double* shift, std::size_t room, double* panels, std::uint32_t* kept) {
  return pick.from.dtype == Dtype::f64 ? pack_all<double>(pick, shift, room, panels, kept)
                                       : pack_all<float>(pick, shift, room, panels, kept);
}

bool pack_with_missing(const RowPick& pick, const double* shift, std::size_t room, double* panels, double* present) {
  return pick.from.dtype == Dtype::f64 ? pack_missing<double>(pick, shift, room, panels, present)
                                       : pack_missing<float>(pick, shift, room, panels, present);
}

void add_panel_sums(const Pack& z, std::size_t p, const std::uint32_t* cls, const double* root, double* sums) {
  const double* panel = z.panels + p * kPanel * z.stride;
  const std::size_t width = z.d - p * kPanel < kPanel ? z.d - p * kPanel : kPanel;
  for (std::size_t k = 0; k < z.rows;) {
    const std::uint32_t c = cls[k];
    Vec run[kPanelVecs] = {};
    for (; k < z.rows && cls[k] == c; ++k) {  // rows of one class in a row stay in registers
      const Vec scale = set(root ? root[k] : 1.0);
      for (int q = 0; q < kPanelVecs; ++q) run[q] += load(panel + k * kPanel + q * W) * scale;
    }
    double* to = sums + c * z.d + p * kPanel;
    if (width == kPanel) {
      for (int q = 0; q < kPanelVecs; ++q) store(to + q * W, load(to + q * W) + run[q]);
    } else {
      double lane[kPanel];
      for (int q = 0; q < kPanelVecs; ++q) store(lane + q * W, run[q]);
      for (std::size_t q = 0; q < width; ++q) to[q] += lane[q];
    }
  }
}

}  // namespace tb::TB_ISA
