// ADWIN (Bifet and Gavalda 2007): a window over numbers in [0, 1] that forgets its older part when the means of the
// two parts differ by more than chance explains.
#pragma once
#include <cstdint>
#include <vector>

#include "core/streams/archive.hpp"

namespace tb::streams {

struct Change {
  std::int64_t row;      // rows learned when it was found
  std::int64_t since;    // rows of the newer part
  double before, after;  // means of the two parts
};

class DriftDetector {
 public:
  // Adds a number; whether the mean rose: then change() says how.
  bool add(double value);
  const Change& change() const { return change_; }

  template <class Archive>
  void visit(Archive& a) {
    a(seen_), a(buckets_), a(change_);
  }
  void check() const;

 private:
  struct Bucket {  // of 2^level numbers
    std::int64_t n;
    double sum, squares;
  };
  void compress();
  bool shrink();

  std::int64_t seen_ = 0;
  std::vector<Bucket> buckets_;  // the oldest first; sizes never grow from one to the next
  Change change_{};
};

}  // namespace tb::streams
