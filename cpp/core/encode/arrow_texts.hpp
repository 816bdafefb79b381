// The texts of an Arrow column, without copying them.
#pragma once
#include <vector>

#include "core/encode/arrow.hpp"
#include "core/text/texts.hpp"

namespace tb::arrow {

// One for each row; they point into the column. Throws Unsupported unless it holds texts (or a dictionary of them, or
// nothing), BadRow for data that points outside its buffers.
std::vector<TextRef> texts_of(const Column& column);

}  // namespace tb::arrow
