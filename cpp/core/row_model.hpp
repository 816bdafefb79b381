// A model that learns and answers one row at a time: class weights, a prior, and terms.
#pragma once
#include <vector>

#include "core/row_terms.hpp"

namespace tb {

struct RowPrior {
  std::vector<double> given;  // log prior; empty: from the weights of the classes
  double added = 0.0;         // to each weight
};

class RowModel {
 public:
  RowModel(std::vector<double> weight, RowPrior prior, std::vector<RowTerm*> terms);

  // The row in the terms, as one more of class c; false, and nothing is changed, if some term does not take it.
  bool takes(std::size_t c, double w) const;
  void learn(std::size_t c, double w);
  // P(class | row), one for each class; null if tables have to say why not.
  const double* proba();

  const std::vector<double>& weight() const { return weight_; }

 private:
  bool scored();

  std::vector<double> weight_;
  RowPrior prior_;
  std::vector<RowTerm*> terms_;
  bool stale_ = true;
  std::vector<double> log_prior_, acc_, answer_;
};

}  // namespace tb
