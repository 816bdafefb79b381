// The Python class _core.FastMatrix, open to binding files that bring another model.
#pragma once
#include <memory>

#include "bind/bind.hpp"
#include "core/scoring/few_row_models.hpp"

namespace tb::bind {

struct FastMatrix {
  std::size_t columns;
  Doubles prior;
  std::unique_ptr<const FewRows> model;
  nb::object keep;  // what the model points into
};

// Throws unless prior has so many classes.
FastMatrix fast_matrix(const Doubles& prior, std::size_t classes, std::size_t columns, std::unique_ptr<FewRows> model,
                       nb::object keep);
// The same of a model that reads codes of the columns that have so many levels.
FastMatrix fast_matrix(const Doubles& prior, std::size_t classes, const std::vector<std::int64_t>& levels,
                       const MatrixCodes& codes, ScoreCodes scores, nb::object keep);

}  // namespace tb::bind
