// Hot loops of reading values, of equal-width cuts and of digitising.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/runtime/dispatch.hpp"

TB_DECLARE(bool, any_infinite, (const double* value, std::size_t count))

// Widens [*low, *high] to hold the values; NaN is passed over.
TB_DECLARE(void, widen, (const double* value, std::size_t count, double* low, double* high))

// code[i] = number of cuts <= value[i], -1 for NaN. The m cuts ascend.
TB_DECLARE(void, count_cuts,
           (const double* value, std::size_t count, const double* cut, std::size_t m, std::int8_t* code))
TB_DECLARE(void, count_cuts,
           (const double* value, std::size_t count, const double* cut, std::size_t m, std::int16_t* code))
TB_DECLARE(void, count_cuts,
           (const double* value, std::size_t count, const double* cut, std::size_t m, std::int32_t* code))
