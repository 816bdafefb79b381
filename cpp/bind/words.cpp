// Texts to words: the columns are read with the GIL, the texts without.
#include "core/word_counts.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "bind/levels.hpp"
#include "bind/objects.hpp"
#include "core/arrow_texts.hpp"
#include "core/lookup.hpp"

namespace tb::bind {
namespace {

// The text of a str as it lies there; missing for None and NaN. What holds it stays in x.
TextRef text_of(nb::object& x, std::size_t row) {
  if (x.is_none() || (PyFloat_Check(x.ptr()) && std::isnan(PyFloat_AsDouble(x.ptr())))) return {};
  if (!PyUnicode_Check(x.ptr())) throw BadRow{"it is no text", row};
#if defined(Py_LIMITED_API)  // how a str lies in memory is not told there: UTF-8, or a copy where that cannot say it
  Py_ssize_t bytes = 0;
  if (const char* utf8 = PyUnicode_AsUTF8AndSize(x.ptr(), &bytes)) {
    return {utf8, static_cast<std::size_t>(bytes), TextRef::utf8};
  }
  PyErr_Clear();  // half of a pair of surrogates
  constexpr bool little = std::endian::native == std::endian::little;
  x = nb::steal(PyUnicode_AsEncodedString(x.ptr(), little ? "utf-32-le" : "utf-32-be", "surrogatepass"));
  if (!x.is_valid()) throw nb::python_error();
  return {PyBytes_AsString(x.ptr()), static_cast<std::size_t>(PyBytes_Size(x.ptr())) / 4, TextRef::ucs4};
#else
  const auto size = static_cast<std::size_t>(PyUnicode_GET_LENGTH(x.ptr()));
  const int kind = PyUnicode_KIND(x.ptr());
  return {PyUnicode_DATA(x.ptr()), size,
          kind == PyUnicode_1BYTE_KIND   ? TextRef::latin1
          : kind == PyUnicode_2BYTE_KIND ? TextRef::ucs2
                                         : TextRef::ucs4};
#endif
}

// The texts of a column, some rows at a time, and what keeps them alive.
class TextColumn {
 public:
  explicit TextColumn(nb::handle x) {
    if (!PyList_Check(x.ptr()) && !PyTuple_Check(x.ptr()) && PyObject_CheckBuffer(x.ptr()) == 0) {
      column_ = arrow_column(x);
      texts_ = arrow::texts_of(column_);
    } else {
      rows_.emplace(x);
    }
  }

  std::size_t rows() const { return rows_ ? rows_->rows() : texts_.size(); }

  // At most so many from a row on; with the GIL. Good until the next are asked for. Arrow's columns give all at once.
  const std::vector<TextRef>& next(std::size_t first, std::size_t most) {
    if (!rows_) return texts_;
    objects_.clear(), texts_.clear();
    for (std::size_t i = first; i < rows() && i < first + most; ++i) {
      objects_.push_back((*rows_)[i]);
      texts_.push_back(text_of(objects_.back(), i));
    }
    return texts_;
  }

 private:
  arrow::Column column_;
  std::optional<Objects> rows_;
  std::vector<nb::object> objects_;
  std::vector<TextRef> texts_;
};

Analysis analysis_of(const std::string& analyzer, std::size_t low, std::size_t high, bool lowercase) {
  if (low < 1 || high < low) throw nb::value_error("n-grams have at least one unit, and low is at most high");
  if (analyzer != "word" && analyzer != "char" && analyzer != "auto") throw nb::value_error("word, char or auto");
  const Analysis::Unit unit = analyzer == "word"   ? Analysis::words
                              : analyzer == "char" ? Analysis::characters
                                                   : Analysis::by_script;
  return {unit, low, high, lowercase};
}

template <class T>
nb::object array_from(Growing<T>& from) {
  const std::size_t size = from.size();
  T* data = from.release();
  nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner));
}

constexpr std::size_t kChunk = 1 << 15;  // rows held at a time where no word is new: which ones stay all rows tell

using Pair = std::pair<std::size_t, std::size_t>;

nb::tuple word_counts(nb::handle column, nb::handle list, bool grow, const std::string& analyzer, Pair ngrams,
                      bool lowercase, Pair bound) {
  if (bound.second < 1) throw nb::value_error("at least one cell is needed");
  const WordOptions options{analysis_of(analyzer, ngrams.first, ngrams.second, lowercase), bound.first, bound.second};
  TextColumn read(column);
  const auto& levels = level_list(list);
  Known known = levels.known();
  WordCounts counts;
  std::size_t first = 0;
  do {
    const std::vector<TextRef>& texts = read.next(first, grow ? read.rows() : kChunk);
    const nb::gil_scoped_release free;
    const Reading lock({&levels});
    try {
      count_words(texts, known, grow, options, counts);
    } catch (const BadRow& e) {
      throw BadRow{e.why, first + e.row};
    }
    first += std::max(texts.size(), std::size_t{1});
  } while (first < read.rows());
  const nb::object value = counts.wide ? array_from(counts.large) : array_from(counts.small);
  const nb::object index = array_from(counts.index), start = array_from(counts.start);
  return nb::make_tuple(value, index, start, grown(list, known, NumberKind::integer), counts.shared);
}

nb::list words_of(nb::handle text, const std::string& analyzer, std::size_t low, std::size_t high, bool lowercase) {
  Analyzer words(analysis_of(analyzer, low, high, lowercase));
  nb::object held = nb::borrow(text);
  const TextRef found = text_of(held, 0);
  nb::list out;
  if (found.missing()) return out;
  words.pieces(found, [&](const char* p, std::size_t len) { out.append(nb::str(p, len)); });
  return out;
}

}  // namespace

void bind_words(nb::module_& m) {
  m.def(
      "cell_of", [](const std::string& word, std::size_t cells) { return cell_of(word, cells > 0 ? cells : 1); },
      nb::arg("word"), nb::arg("cells"), "The cell, below `cells`, that a word without a code of its own shares.");
  m.def(
      "word_counts", &word_counts, nb::arg("column"), nb::arg("levels"), nb::arg("grow"), nb::arg("analyzer"),
      nb::arg("ngrams"), nb::arg("lowercase"), nb::arg("bound"),
      nb::sig("def word_counts(column: object, levels: LevelList, grow: bool, analyzer: str, ngrams: tuple[int, int], "
              "lowercase: bool, bound: tuple[int, int]) -> tuple"),
      "(values, indices, indptr, levels, shared) of a column of texts: an Arrow column, or an object array, list or "
      "tuple of str and None. Column 0 of the sparse matrix says that there is a text, 1 + c is the word of code c. "
      "bound: how many words have a code of their own when the levels may grow; and how many cells the others share, "
      "which are whole numbers among the levels.");
  m.def("words_of", &words_of, nb::arg("text"), nb::arg("analyzer"), nb::arg("low"), nb::arg("high"),
        nb::arg("lowercase"),
        nb::sig("def words_of(text: str, analyzer: str, low: int, high: int, lowercase: bool) -> list[str]"),
        "The words of one text, in their order.");
}

}  // namespace tb::bind
