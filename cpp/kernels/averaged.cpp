#include "kernels/averaged.hpp"

#include "kernels/simd.hpp"

namespace tb::TB_ISA {
namespace {

constexpr double kDown = 0x1p-512, kUp = 0x1p512;

// `lanes` doubles as vectors that this instruction set has.
template <int lanes>
struct Lanes {
  static constexpr int width = lanes < W ? lanes : W;
  static constexpr int parts = lanes / width;
  typedef double Part __attribute__((vector_size(width * 8), may_alias));
  typedef std::int64_t Where __attribute__((vector_size(width * 8), may_alias));
  Part v[parts];
};

template <class Part>
TB_INLINE const Part& part(const double* p) {
  return *reinterpret_cast<const Part*>(p);
}

template <class F>
TB_INLINE void with_lanes(std::size_t lanes, F&& f) {
  if (lanes == 2) return f(Lanes<2>{});
  if (lanes == 4) return f(Lanes<4>{});
  f(Lanes<8>{});
}

// ---- conditional probabilities -----------------------------------------------------------------------------
template <class Count, int lanes>
struct Cursor {  // the counts of one child, class by class
  const Count* n[lanes];

  Cursor(const CellFill& f, const Family& family) {
    std::size_t base = family.offset;
    for (std::size_t i = 0; i < f.parents; ++i) base += f.value[i] * family.step[i];
    for (std::size_t c = 0; c < lanes; ++c) {  // a lane to spare repeats the first class
      n[c] = static_cast<const Count*>(f.joint) + (c < f.classes ? c : 0) * f.cells + base;
    }
  }
  template <class Part>
  __attribute__((always_inline)) void read(std::size_t at, int first, Part& out) const {
    constexpr int width = sizeof(Part) / 8;
    if constexpr (width == 2) {
      out = Part{static_cast<double>(n[first][at]), static_cast<double>(n[first + 1][at])};
    } else if constexpr (width == 4) {
      out = Part{static_cast<double>(n[first][at]), static_cast<double>(n[first + 1][at]),
                 static_cast<double>(n[first + 2][at]), static_cast<double>(n[first + 3][at])};
    } else {
      for (int c = 0; c < width; ++c) out[c] = static_cast<double>(n[first + c][at]);
    }
  }
};

// The sums over the levels of a child that were laid up.
template <int lanes>
const double* total_of(const CellFill& f, const Family& family, std::size_t size) {
  std::size_t at = family.total;
  for (std::size_t i = 0; i < f.parents; ++i) {
    at += f.value[i] * (family.step[i] > family.stride ? family.step[i] / size : family.step[i]);
  }
  return f.totals + at * f.of_totals;
}

template <class Count, int lanes, bool all>
void fill(const CellFill& f) {
  using L = Lanes<lanes>;
  using Part = typename L::Part;
  for (std::size_t k = 0; k < f.d; ++k) {
    const Family& family = f.family[k];
    if (!family.child) continue;
    const Cursor<Count, lanes> count(f, family);
    const std::size_t size = f.first[k + 1] - f.first[k];
    const std::uint32_t* level = all ? nullptr : f.met[k].level;
    const std::size_t levels = level ? f.met[k].count : size;
    const double* laid_up = family.total == kNoTotal ? nullptr : total_of<lanes>(f, family, size);
    const double more = f.concentration ? f.concentration[k] : f.alpha;
    const double shared = f.concentration ? more : f.alpha * f.levels[k];
    const double even = 1.0 / f.levels[k];
    for (int i = 0; i < L::parts; ++i) {
      double* p = f.p + f.first[k] * lanes + i * L::width;
      Part total{};
      for (int c = 0; laid_up && c < L::width; ++c) {
        const auto lane = static_cast<std::size_t>(i * L::width + c);
        total[c] = laid_up[lane < f.classes ? lane : 0];
      }
      for (std::size_t x = 0; !laid_up && x < size; ++x) {
        Part n;
        count.read(x * family.stride, i * L::width, n);
        total += n;
        if (all && !f.concentration) *reinterpret_cast<Part*>(p + x * lanes) = n;  // for the second time
      }
      total -= f.removed;
      total = total > 0.0 ? total : Part{};
      const Part below = total + shared;
      for (std::size_t q = 0; q < levels; ++q) {
        const std::size_t x = level ? level[q] : q;
        Part& out = *reinterpret_cast<Part*>(p + x * lanes);
        Part n;
        if (all && !f.concentration && !laid_up)
          n = out;
        else
          count.read(x * family.stride, i * L::width, n);
        n -= f.removed;
        n = n > 0.0 ? n : Part{};
        // Without counts and without smoothing: what it tends to as the smoothing goes to zero.
        if (f.concentration)
          out = below > 0.0 ? (n + more * out) / below : out;
        else
          out = below > 0.0 ? (n + more) / below : even - Part{};
      }
    }
  }
}

// Is a lane set? By halves: two steps at most.
template <class Where>
TB_INLINE bool any(const Where& w) {
  typedef std::int64_t Two __attribute__((vector_size(16), may_alias));
  const Two* pair = reinterpret_cast<const Two*>(&w);
  Two both = pair[0];
  for (std::size_t i = 1; i < sizeof(Where) / 16; ++i) both |= pair[i];
  return (both[0] | both[1]) != 0;
}

// ---- products ----------------------------------------------------------------------------------------------
// x back to [2^-512, 1], unless it is zero.
template <class L>
TB_INLINE void lift(typename L::Part& x, typename L::Part& e) {
  const auto low = x < kDown;
  x = low ? x * kUp : x;
  e = low ? e - 1.0 : e;
}

// The same for a factor anywhere in [0, 1], down to the smallest double.
template <class L>
TB_INLINE void times(typename L::Part factor, typename L::Part& x, typename L::Part& e) {
  lift<L>(factor, e);
  lift<L>(factor, e);
  x *= factor;
  lift<L>(x, e);
}

template <class L>
TB_INLINE void add(typename L::Part x, typename L::Part e, double* sum) {
  using Part = typename L::Part;
  Part& s = *reinterpret_cast<Part*>(sum);
  Part& most = *reinterpret_cast<Part*>(sum + L::width * L::parts);
  e = x > 0.0 ? e : kNothing - Part{};
  const auto up = e > most;
  const Part above = up ? e : most, below = up ? most : e;
  const Part large = up ? x : s, small = up ? s : x;
  const Part difference = above - below;
  const Part scale = difference == 0.0
                         ? 1.0 - Part{}
                         : (difference == 1.0 ? kDown - Part{} : Part{});  // further down: nothing is left
  s = large + small * scale;
  most = above;
}

template <class Code, class L, int together>
TB_INLINE void product_of(const Products& t, const std::uint32_t* row, double* sum) {
  using Part = typename L::Part;
  using Where = typename L::Where;
  constexpr std::size_t lanes = L::width * L::parts;
  const Code* code[together];
  Part x[together][L::parts], e[together][L::parts];
  for (int i = 0; i < together; ++i) {
    code[i] = static_cast<const Code*>(t.code) + row[i] * t.factors;
    for (int v = 0; v < L::parts; ++v) {
      x[i][v] = part<Part>(t.start + v * L::width);
      e[i][v] = part<Part>(t.start + lanes + v * L::width);
    }
  }
  for (std::size_t k0 = 0; k0 < t.factors; k0 += t.run) {
    const std::size_t k1 = t.factors - k0 < t.run ? t.factors : k0 + t.run;
    for (std::size_t k = k0; k < k1; ++k) {
      for (int i = 0; i < together; ++i) {
        for (int v = 0; v < L::parts; ++v) x[i][v] *= part<Part>(t.table + code[i][k] + v * L::width);
      }
    }
    Where low{};
    for (int i = 0; i < together; ++i) {
      for (int v = 0; v < L::parts; ++v) low |= x[i][v] < kDown;
    }
    if (!any(low)) continue;
    for (int i = 0; i < together; ++i) {
      for (int v = 0; v < L::parts; ++v) lift<L>(x[i][v], e[i][v]);
    }
  }
  Where apart{};
  for (int i = 0; i < together; ++i) {
    for (int v = 0; v < L::parts; ++v) apart |= e[i][v] != part<Part>(sum + row[i] * 2 * lanes + lanes + v * L::width);
  }
  const bool same = !any(apart);  // the usual case: no scaling
  for (int i = 0; i < together; ++i) {
    for (int v = 0; v < L::parts; ++v) {
      double* s = sum + row[i] * 2 * lanes + v * L::width;
      if (same)
        *reinterpret_cast<Part*>(s) += x[i][v];
      else
        add<L>(x[i][v], e[i][v], s);
    }
  }
}

template <class Code, class L>
void products(const Products& t, const std::uint32_t* row, std::size_t rows, double* sum) {
  constexpr std::size_t together = L::parts == 1 ? 4 : 2, ahead = 3 * together;
  const Code* code = static_cast<const Code*>(t.code);
  std::size_t r = 0;
  for (; r + together <= rows; r += together) {
    for (std::size_t i = r + ahead; i < r + ahead + together && i < rows; ++i) {  // rows of a group lie apart
      const auto* begin = reinterpret_cast<const char*>(code + row[i] * t.factors);
      for (std::size_t at = 0; at < t.factors * sizeof(Code); at += 64) __builtin_prefetch(begin + at);
      __builtin_prefetch(sum + row[i] * 2 * L::width * L::parts, 1);
    }
    product_of<Code, L, together>(t, row + r, sum);
  }
  for (; r < rows; ++r) product_of<Code, L, 1>(t, row + r, sum);
}

// Factors column by column: each bundle's by themselves first, as in its table.
template <class Code, class L>
void single_products(const Products& t, const Bundle* bundle, std::size_t bundles, const std::uint32_t* row,
                     std::size_t rows, double* sum) {
  using Part = typename L::Part;
  constexpr std::size_t lanes = L::width * L::parts;
  for (std::size_t r = 0; r < rows; ++r) {
    const Code* code = static_cast<const Code*>(t.code) + row[r] * t.factors;
    for (int v = 0; v < L::parts; ++v) {
      const double* table = t.table + v * L::width;
      Part x = part<Part>(t.start + v * L::width), e = part<Part>(t.start + lanes + v * L::width);
      for (std::size_t b = 0; b < bundles; ++b) {
        Part q = 1.0 - Part{};
        if (t.run >= kMostTogether) {
          for (std::size_t k = 0; k < bundle[b].columns; ++k) q *= part<Part>(table + code[bundle[b].column[k]]);
          x *= q;
          lift<L>(x, e);
        } else {
          for (std::size_t k = 0; k < bundle[b].columns; ++k)
            times<L>(part<Part>(table + code[bundle[b].column[k]]), q, e);
          times<L>(q, x, e);
        }
      }
      add<L>(x, e, sum + row[r] * 2 * lanes + v * L::width);
    }
  }
}

template <class L>
void bundle_tables(const Bundle* bundle, std::size_t bundles, const std::size_t* first, double* p) {
  using Part = typename L::Part;
  constexpr std::size_t lanes = L::width * L::parts;
  for (std::size_t b = 0; b < bundles; ++b) {
    const Bundle& own = bundle[b];
    if (own.columns < 2) continue;
    std::size_t cells = 1;
    double* out = p + own.at * lanes;
    for (std::size_t c = 0; c < lanes; ++c) out[c] = 1.0;
    for (std::size_t k = 0; k < own.columns; ++k) {
      const double* from = p + first[own.column[k]] * lanes;
      const std::size_t size = first[own.column[k] + 1] - first[own.column[k]];
      for (std::size_t v = cells; v-- > 0;) {  // from behind: what is there is still to be read
        for (int i = 0; i < L::parts; ++i) {
          const Part q = part<Part>(out + v * lanes + i * L::width);
          double* to = out + v * (size + 1) * lanes + i * L::width;
          for (std::size_t x = 0; x < size; ++x)
            *reinterpret_cast<Part*>(to + x * lanes) = q * part<Part>(from + x * lanes + i * L::width);
          *reinterpret_cast<Part*>(to + size * lanes) = q;
        }
      }
      cells *= size + 1;
    }
  }
}

}  // namespace

void fill_cell(const CellFill& f) {
  with_lanes(f.lanes, [&](auto l) {
    constexpr int lanes = decltype(l)::width * decltype(l)::parts;
    if (f.whole)
      f.met ? fill<std::uint32_t, lanes, false>(f) : fill<std::uint32_t, lanes, true>(f);
    else
      f.met ? fill<double, lanes, false>(f) : fill<double, lanes, true>(f);
  });
}

void fill_bundles(const Bundle* bundle, std::size_t bundles, const std::size_t* first, std::size_t lanes, double* p) {
  with_lanes(lanes, [&](auto l) { bundle_tables<decltype(l)>(bundle, bundles, first, p); });
}

std::size_t safe_run(const double* p, std::size_t count) {
  double least = 1.0;
  std::size_t i = 0;
  if (count >= 4 * W) {
    Vec low[4] = {set(1.0), set(1.0), set(1.0), set(1.0)};
    for (; i + 4 * W <= count; i += 4 * W) {
      for (int q = 0; q < 4; ++q) {
        const Vec x = load(p + i + q * W);
        low[q] = pick((x > 0.0) & (x < low[q]), x, low[q]);
      }
    }
    for (int q = 0; q < 4; ++q) {
      for (int v = 0; v < W; ++v) least = low[q][v] < least ? low[q][v] : least;
    }
  }
  for (; i < count; ++i) {
    const double x = p[i] > 0.0 ? p[i] : 1.0;
    least = x < least ? x : least;
  }
  std::uint64_t bits;
  std::memcpy(&bits, &least, 8);
  const int down = 1023 - static_cast<int>(bits >> 52);  // least >= 2^-down
  if (down > 500) return 0;
  return static_cast<std::size_t>(500 / (down > 0 ? down : 1));
}

void add_products(const Products& t, const std::uint32_t* row, std::size_t rows, double* sum) {
  with_lanes(t.lanes, [&](auto l) {
    using L = decltype(l);
    if (t.wide)
      products<std::uint32_t, L>(t, row, rows, sum);
    else
      products<std::uint16_t, L>(t, row, rows, sum);
  });
}

void add_single_products(const Products& t, const Bundle* bundle, std::size_t bundles, const std::uint32_t* row,
                         std::size_t rows, double* sum) {
  with_lanes(t.lanes, [&](auto l) {
    using L = decltype(l);
    if (t.wide)
      single_products<std::uint32_t, L>(t, bundle, bundles, row, rows, sum);
    else
      single_products<std::uint16_t, L>(t, bundle, bundles, row, rows, sum);
  });
}

}  // namespace tb::TB_ISA
