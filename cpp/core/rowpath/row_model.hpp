// A model that learns and answers one row at a time: class weights, a prior, and terms.
#pragma once
#include <vector>

#include "core/rowpath/row_terms.hpp"

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
  // All rows so far count 2^(-1/half_life) times as much, half_life at least 1. Nothing is multiplied: the next rows
  // weigh more instead, until they weigh too much. False, and nothing is changed, if a class has faded away (tables
  // empty it) or a term counts whole rows.
  bool fade(double half_life);
  bool fades(double half_life) const;  // whether fade would
  // All rows so far count `factor` times as much, at once and to the bit as sums of tables. False as for fade.
  bool decay(double factor);
  // The same as for learning, for a row that goes.
  bool gives(std::size_t c, double w) const;
  void forget(std::size_t c, double w);
  // P(class | row), one for each class; null if tables have to say why not.
  const double* proba();

  std::vector<double> weight() const;  // of each class

 private:
  bool scored();
  void set_unit(double unit);
  bool still_there(double factor) const;
  bool can_fade() const;

  std::vector<double> weight_;  // in units: a row of weight 1 that is learned now weighs unit_
  double unit_ = 1.0;
  double half_life_ = 0.0;
  double faded_ = 0.0;  // rows since the unit was 1
  RowPrior prior_;
  std::vector<RowTerm*> terms_;
  bool stale_ = true;
  std::vector<double> log_prior_, acc_, answer_;
};

}  // namespace tb
