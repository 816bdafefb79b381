// Reads memory and does nothing else: what the other kernels are measured against.
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/runtime/dispatch.hpp"

TB_DECLARE(std::uint64_t, sum_words, (const char* p, std::size_t bytes))
