// The Python class _core.Scorer, open to binding files that bring another part.
#pragma once
#include "bind/bind.hpp"
#include "core/scoring/scorer.hpp"

namespace tb::bind {

struct PyScorer {
  explicit PyScorer(Scorer&& scorer) : core(std::move(scorer)) {}
  PyScorer(const PyScorer&) = delete;
  PyScorer& operator=(const PyScorer&) = delete;

  Scorer core;
  // What the prior and the parts point into.
  std::vector<nb::ndarray<>> arrays;
  std::vector<nb::object> tables;
  std::ptrdiff_t refused = -1;  // which part met the last bad value

  std::size_t classes() const { return core.classes(); }
  // A table of this scorer's rows, kept alive.
  const Columns& hold(const PyColumns& cols);
  const Csr& hold(const PyCsr& csr);
  // The data of an array, kept alive.
  template <class... Of>
  const double* hold(const nb::ndarray<Of...>& a) {
    arrays.emplace_back(a);
    return static_cast<const double*>(a.data());
  }
};

// For `scorer_class().def("kernel", ...)`, after bind_scores.
inline nb::class_<PyScorer> scorer_class() { return nb::borrow<nb::class_<PyScorer>>(nb::type<PyScorer>()); }

}  // namespace tb::bind
