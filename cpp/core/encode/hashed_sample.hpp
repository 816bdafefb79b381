// A sample of rows that depends on what they hold, not on where they stand.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/encode/values.hpp"

namespace tb {

struct HashedSample {
  std::vector<std::int64_t> row;
  std::vector<std::uint64_t> hash;  // of each of them
};

// The `most` rows that count with the smallest hashes, by rising hash; all of them in their order if there are no more.
// A hash is that of a row's class, weight and values. It depends neither on the order of columns nor on their units
// (values count to six digits of the largest one), nor on the codes of classes: columns and classes are distinguished
// by the sum of what they hold. Rows that are the same differ by how many there are before.
HashedSample hashed_sample(const Columns& x, const Rows& rows, std::size_t classes, std::size_t most);

}  // namespace tb
