// Classes and weights of rows that come from outside.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tb {

// Throw std::invalid_argument: a class code that is too large, a weight that is negative or not finite. w may be null.
void check_rows(const std::int32_t* y, const double* w, std::size_t n, std::size_t classes);
void check_weights(const double* w, std::size_t n);

// The same for packed codes (core/counts/joint_tables.hpp), of d columns: one that is neither missing nor below its
// column's size.
template <class T>
void check_codes(const T* codes, const std::int64_t* sizes, std::size_t d, std::size_t n);

}  // namespace tb
