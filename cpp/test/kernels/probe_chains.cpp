// Probes of the kernels of chains of estimates.
#include "test/kernels/probe.hpp"
#include "kernels/back_off_chains.hpp"

namespace tb {
namespace {

constexpr std::size_t rows = 37, configurations = 6, bins = 4;

void leave_out(Probe& p, Numbers& some, std::size_t classes, bool of_child, float worth) {
  const std::size_t wide = of_child ? bins : 1, shares = of_child ? configurations * classes : configurations;
  auto configuration = some.below<std::uint32_t>(configurations, rows), child = some.below<std::uint32_t>(bins, rows);
  configuration[3] = child[8] = kNoCell;
  const auto y = some.below<std::int32_t>(classes, rows);
  const auto unit = some.between<float>(0.5, 1.0, rows),
             n = some.between<float>(0.0, 5.0, configurations * wide * classes),
             total = some.between<float>(5.0, 20.0, shares), share = some.between<float>(0.05, 0.2, shares);
  auto out = some.between<float>(0.01, 1.0, rows * classes);
  const LeaveOut task{rows,     classes,     wide,      configuration.data(), child.data(),
                      y.data(), unit.data(), n.data(),  total.data(),         share.data(),
                      2.0f,     worth,       out.data()};
  if (of_child)
    TB_CALL_AT(p.isa, leave_out_child, task);
  else
    TB_CALL_AT(p.isa, leave_out_class, task);
  p.got(of_child ? "leave_out_child" : "leave_out_class", out, kSingle);
}

void own_class(Probe& p, Numbers& some, std::size_t classes) {
  auto configuration = some.below<std::uint32_t>(configurations, rows), child = some.below<std::uint32_t>(bins, rows);
  configuration[3] = child[8] = kNoCell;
  const auto y = some.below<std::int32_t>(classes, rows);
  List<float> unit(rows, 1.0f), n(rows), total(rows);
  unit[3] = unit[5] = 0.0f;
  const auto count = some.between<float>(0.0, 5.0, configurations * bins * classes),
             whole = some.between<float>(5.0, 20.0, configurations * classes),
             log = some.between<float>(-5.0, 0.0, count.size());
  for (const bool alone : {false, true}) {
    const OwnCounts task{rows,         classes,  bins,        configuration.data(),
                         child.data(), y.data(), unit.data(), count.data(),
                         whole.data(), alone,    n.data(),    total.data()};
    TB_CALL_AT(p.isa, own_counts, task);
    p.got("own_counts", n, kSingle);
    p.got("own_counts", total, kSingle);
  }
  auto own = some.between<float>(0.01, 1.0, rows);
  TB_CALL_AT(p.isa, lift_own, own.data(), n.data(), total.data(), rows, 2.0f, 0.5f);
  p.got("lift_own", own, kSingle);
  TB_CALL_AT(p.isa, own_cells, rows, classes, bins, configuration.data(), child.data(), y.data(), count.data(),
             own.data());
  own[3] = own[8] = 0.0f;  // anything
  p.got("own_cells", own);
  const auto w = some.between(0.5, 1.5, rows);
  for (const bool any : {false, true}) {
    List<float> units(rows);
    p.got("row_units", TB_CALL_AT(p.isa, row_units, configuration.data(), child.data(), y.data(),
                                  any ? w.data() : nullptr, rows, any, units.data()));
    p.got("row_units", units);
  }
  auto out = some.between<float>(-1.0, 1.0, rows * classes);
  const LeaveOneOutTerms terms{rows,        classes,    bins,      configuration.data(), child.data(), y.data(),
                               unit.data(), log.data(), own.data()};
  TB_CALL_AT(p.isa, add_leave_one_out, terms, 0.5f, out.data());
  p.got("add_left_out", out, kSingle);
  List<float> joined(log.size() * classes);
  TB_CALL_AT(p.isa, join_own, log.data(), count.data(), configurations * bins, classes, joined.data());
  p.got("join_own", joined);
  configuration[3] = child[8] = 0;
  TB_CALL_AT(p.isa, add_joined, rows, classes, bins, configuration.data(), child.data(), y.data(), joined.data(), 0.5f,
             out.data());
  p.got("add_joined", out, kSingle);
}

void orders(Probe& p, Numbers& some, std::size_t classes) {
  constexpr std::size_t inner = 3;
  const auto n = some.between<float>(0.0, 5.0, configurations * bins * classes),
             above = some.between<float>(0.0, 1.0, configurations / inner * bins * classes),
             share = some.between<float>(0.05, 0.2, configurations * classes);
  List<float> out(n.size()), logs(n.size());
  for (const bool alone : {false, true}) {
    TB_CALL_AT(p.isa, fold_order, n.data(), above.data(), share.data(), 2.0f, configurations, inner, bins, classes,
               alone, out.data());
    p.got("fold_order", out, kSingle);
  }
  TB_CALL_AT(p.isa, fold_lifts, n.data(), above.data(), share.data(), 2.0f, 0.5f, configurations, inner, bins, classes,
             out.data());
  p.got("fold_lifts", out, kSingle);
  TB_CALL_AT(p.isa, fold_own, n.data(), above.data(), share.data(), 2.0f, 0.5f, configurations, inner, bins, classes,
             out.data());
  p.got("fold_own", out, kSingle);
  const auto count = some.below<std::uint32_t>(1000, n.size());
  TB_CALL_AT(p.isa, float_counts, count.data(), out.data(), out.size());
  p.got("float_counts", out);
  for (std::size_t row = 1; row <= bins * classes; ++row) {
    List<float> folded(out.size() / (inner * row) * row);
    TB_CALL_AT(p.isa, fold_counts, out.data(), folded.size() / row, inner, row, folded.data());
    p.got("fold_counts", folded, kSingle);
  }
  out[1] = 0.0f;
  TB_CALL_AT(p.isa, logs_of, out.data(), logs.data(), out.size());
  p.got("logs_of", logs, kSingle);
  TB_CALL_AT(p.isa, add_logs, out.data(), 0.5f, logs.data(), out.size());
  p.got("add_logs", logs, kSingle);
  auto cell = some.below<std::uint32_t>(configurations * bins, rows);
  cell[5] = kNoCell;
  auto sum = some.between(-1.0, 1.0, rows * classes);
  TB_CALL_AT(p.isa, add_cells, logs.data(), cell.data(), rows, classes, 0.5, sum.data());
  p.got("add_cells", sum, kSingle);
}

template <class T>
void whole_chains(Probe& p, Numbers& some, std::size_t classes, const char* name) {
  for (const std::size_t views : {1, 2, 3, 4, 5}) {
    const auto codes = some.below<T>(6, views * rows);
    auto map = some.below<std::uint8_t>(2, 6);
    map[5] = 255;
    const auto log = some.between<float>(-5.0, 0.0, 40 * classes);
    auto sum = some.between(-1.0, 1.0, rows * classes);
    List<std::uint32_t> odd(rows);
    ViewRead view[5];
    for (std::size_t v = 0; v < views; ++v) view[v] = {codes.data() + v * rows, map.data(), 5, 1u << v};
    const auto add = [&] {
      if constexpr (sizeof(T) == 1)
        return TB_CALL_AT(p.isa, add_chain8, view, views, 3, log.data(), rows, classes, 0.5, sum.data(), odd.data());
      else if constexpr (sizeof(T) == 2)
        return TB_CALL_AT(p.isa, add_chain16, view, views, 3, log.data(), rows, classes, 0.5, sum.data(), odd.data());
      else
        return TB_CALL_AT(p.isa, add_chain32, view, views, 3, log.data(), rows, classes, 0.5, sum.data(), odd.data());
    };
    p.got(name, odd.data(), add());
    p.got(name, sum, kSingle);
  }
}

}  // namespace

void probe_chains(Probe& p) {
  Numbers some(90);
  for (const std::size_t classes : {2, 3, 9}) {
    leave_out(p, some, classes, true, 0.0f);
    leave_out(p, some, classes, true, 0.5f);
    leave_out(p, some, classes, false, 0.0f);
    own_class(p, some, classes);
    orders(p, some, classes);
    whole_chains<std::uint8_t>(p, some, classes, "add_chain8");
    whole_chains<std::uint16_t>(p, some, classes, "add_chain16");
    whole_chains<std::uint32_t>(p, some, classes, "add_chain32");
  }
}

}  // namespace tb
