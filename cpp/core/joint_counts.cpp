#include <algorithm>

#include "core/joint.hpp"
#include "core/labels.hpp"
#include "core/threads.hpp"

namespace tb {
namespace {

template <class T, class N>
void count_table(const LabelledCodes& rows, const Tables& tables, std::size_t t, N* out) {
  const T* const code = static_cast<const T*>(rows.x.code);
  const std::int32_t* const columns = tables.columns(t);
  for (std::size_t i = 0; i < rows.x.n; ++i) {
    if (rows.y[i] < 0) continue;
    std::size_t cell = 0;
    bool present = true;
    for (std::size_t k = 0; k < tables.order(t); ++k) {
      const std::size_t v = code[static_cast<std::size_t>(columns[k]) * rows.x.n + i];
      const auto size = static_cast<std::size_t>(tables.size[columns[k]]);
      present = present && v < size;
      cell = cell * size + v;
    }
    if (!present) continue;
    N& at = out[static_cast<std::size_t>(rows.y[i]) * tables.cells() + tables.offset[t] + cell];
    if constexpr (sizeof(N) == 8) at += rows.w ? rows.w[i] : 1.0;
    else ++at;
  }
}

template <class N>
void count(const LabelledCodes& rows, const Tables& tables, N* out) {
  for (std::size_t i = 0; i < rows.x.n; ++i) {
    check_class(rows.y[i], rows.classes);
    if (rows.w) check_weight(rows.w[i]);
  }
  parallel_for(tables.count, [&](std::size_t t, int) {
    if (rows.x.bytes == 1) count_table<std::uint8_t>(rows, tables, t, out);
    else if (rows.x.bytes == 2) count_table<std::uint16_t>(rows, tables, t, out);
    else count_table<std::uint32_t>(rows, tables, t, out);
  });
}

}  // namespace

void count_tables(const LabelledCodes& rows, const Tables& tables, std::uint32_t* out) { count(rows, tables, out); }
void count_tables(const LabelledCodes& rows, const Tables& tables, double* out) { count(rows, tables, out); }

}  // namespace tb
