// Texts to words: the columns are read with the GIL, the texts without.
#include "core/text/word_counts.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "bind/checked.hpp"
#include "bind/levels.hpp"
#include "bind/objects.hpp"
#include "bind/scorer.hpp"
#include "core/encode/arrow_texts.hpp"
#include "core/encode/check_rows.hpp"
#include "core/text/text_part.hpp"
#include "core/text/word_sums.hpp"

namespace tb::bind {
namespace {

// The text of a str as it lies there; missing for None and NaN. What holds it stays in x.
TextRef text_of(nb::object& x, std::size_t row) {
  if (x.is_none() || (PyFloat_Check(x.ptr()) && std::isnan(PyFloat_AsDouble(x.ptr())))) return {};
  if (!PyUnicode_Check(x.ptr())) throw BadRow{"it is no text", row};
#if defined(Py_LIMITED_API)  // how a str lies in memory is unknown there: UTF-8, or a copy where that cannot say it
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

  // At most so many from a row on; with the GIL. Good until the next are asked for.
  std::span<const TextRef> next(std::size_t first, std::size_t most) {
    if (!rows_) return std::span(texts_).subspan(first, std::min(most, texts_.size() - first));
    objects_.clear(), texts_.clear();
    objects_.reserve(std::min(most, rows() - first)), texts_.reserve(std::min(most, rows() - first));
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

constexpr std::size_t kChunk = 1 << 15;  // rows whose texts are held at a time

using Pair = std::pair<std::size_t, std::size_t>;
using How = std::tuple<std::string, Pair, bool>;  // analyzer, n-grams, lower case

Analysis analysis_of(const How& how) {
  const auto& [analyzer, ngrams, lowercase] = how;
  return analysis_of(analyzer, ngrams.first, ngrams.second, lowercase);
}

// f(texts, first row) for some rows at a time, without the GIL and with the levels as they are. Ends where f says so.
template <class F>
void each_chunk(TextColumn& read, const LevelList& levels, std::size_t most, F&& f) {
  std::size_t first = 0;
  do {
    const std::span<const TextRef> texts = read.next(first, most);
    const GilRelease free;
    const Reading lock({&levels});
    try {
      if (!f(texts, first)) return;
    } catch (const BadRow& e) {
      throw BadRow{e.why, first + e.row};
    }
    first += std::max(texts.size(), std::size_t{1});
  } while (first < read.rows());
}

nb::tuple word_counts(nb::handle column, nb::handle list, bool grow, const std::string& analyzer, Pair ngrams,
                      bool lowercase, Pair bound) {
  if (bound.second < 1) throw nb::value_error("at least one cell is needed");
  const WordOptions options{analysis_of(analyzer, ngrams.first, ngrams.second, lowercase), bound.first, bound.second};
  TextColumn read(column);
  const auto& levels = level_list(list);
  Known known = levels.known();
  WordCounts counts;
  const std::size_t most = grow ? std::max(read.rows(), std::size_t{1}) : kChunk;  // which words stay all rows tell
  each_chunk(read, levels, most, [&](std::span<const TextRef> texts, std::size_t) {
    count_words(texts, known, grow, options, counts);
    return true;
  });
  const nb::object value = counts.wide ? array_from(counts.large) : array_from(counts.small);
  const nb::object index = array_from(counts.index), start = array_from(counts.start);
  return nb::make_tuple(value, index, start, grown(list, known, NumberKind::integer), counts.shared);
}

nb::object word_sums(nb::handle column, nb::handle list, const How& how, std::size_t most, const Labels& y,
                     const std::optional<Doubles>& w, std::size_t K, bool once) {
  TextColumn read(column);
  if (y.shape(0) != read.rows()) throw nb::value_error("labels have another length than the column");
  expect(K > 0, "at least one class is needed");
  const double* weights = weights_or_null(w, read.rows());
  check_rows(y.data(), weights, read.rows(), K);
  const auto& levels = level_list(list);
  Known known = levels.known();
  bool beyond = false;
  Array<double, 2> count;
  auto rows = make_array<double, 1>({K});
  {
    WordSums sums(known, {analysis_of(how), most, 1}, K, once);
    each_chunk(read, levels, kChunk / 4, [&](std::span<const TextRef> texts, std::size_t first) {
      sums.add(texts, y.data() + first, weights != nullptr ? weights + first : nullptr);
      beyond = known.size() > most;
      return !beyond;
    });
    if (beyond) return nb::none();
    count = make_array<double, 2>({K, known.size()});
    sums.write(count.data(), rows.data());
  }
  return nb::make_tuple(count, rows, grown(list, known, NumberKind::integer));
}

// The Python class _core.Texts: a column that can be asked again and again, without the GIL.
struct PyTexts {
  PyTexts(nb::handle column, const How& how)
      : analysis(analysis_of(how)), held(column), texts(held.next(0, SIZE_MAX)) {}
  Analysis analysis;
  TextColumn held;
  std::span<const TextRef> texts;
};

void add_text_part(PyScorer& self, nb::handle texts, nb::handle list, std::size_t cells, const Matrix& weight,
                   bool once, bool normalized) {
  const auto& read = nb::cast<const PyTexts&>(texts);
  const LevelList& levels = level_list(list);
  expect(read.texts.size() == self.core.rows(), "the texts have another number of rows than the scorer");
  expect(weight.shape(0) == 1 + levels.size && weight.shape(1) == self.classes(),
         "weight must be (1 + words, classes)");
  expect(cells > 0, "at least one cell is needed");
  expect(!(once && normalized), "once or normalized, not both");
  self.tables.push_back(nb::borrow(texts));
  self.tables.push_back(nb::borrow(list));
  self.core.add(text_part(read.texts, levels.known(), levels.store->mutex, {read.analysis, SIZE_MAX, cells},
                          self.hold(weight), self.classes(),
                          once         ? WordUse::once
                          : normalized ? WordUse::normalized
                                       : WordUse::each));
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
  m.def(
      "word_sums", &word_sums, nb::arg("column"), nb::arg("levels"), nb::arg("how"), nb::arg("most"),
      nb::arg("y").noconvert(), nb::arg("w").noconvert().none(), nb::arg("K"), nb::arg("once"),
      nb::sig("def word_sums(column: object, levels: LevelList, how: tuple[str, tuple[int, int], bool], most: int, y: "
              "NDArray[numpy.int32], w: NDArray[numpy.float64] | None, K: int, once: bool) -> "
              "tuple[NDArray[numpy.float64], NDArray[numpy.float64], LevelList] | None"),
      "(count, rows, levels): how often each class has each word (once: in how many rows), (K, words); the weight of\n"
      "its rows that have a text; and the levels with the words that were new. None if these were more than `most`.");
  nb::class_<PyTexts>(m, "Texts", "A column of texts, as Scorer.texts reads it.")
      .def(nb::init<nb::handle, const How&>(), nb::arg("column"), nb::arg("how"),
           nb::sig("def __init__(self, column: object, how: tuple[str, tuple[int, int], bool]) -> None"),
           "An Arrow column, or an object array, list or tuple of str and None; how: analyzer, n-grams, lower case.")
      .def("__len__", [](const PyTexts& x) { return x.texts.size(); });
  scorer_class().def(
      "texts", &add_text_part, nb::arg("texts"), nb::arg("levels"), nb::arg("cells"), nb::arg("weight").noconvert(),
      nb::arg("once"), nb::arg("normalized"),
      nb::sig("def texts(self, texts: Texts, levels: LevelList, cells: int, weight: NDArray[numpy.float64], once: "
              "bool, normalized: bool) -> None"),
      "The weights of the words of texts, (1 + words, K): first what any text adds. once: however often a word is "
      "there. normalized: times the factor of the text's length.");
  m.def("length_factor", &length_factor, nb::arg("words"),
        "By what a text of so many words is multiplied where its length is normalised.");
  m.def("words_of", &words_of, nb::arg("text"), nb::arg("analyzer"), nb::arg("low"), nb::arg("high"),
        nb::arg("lowercase"),
        nb::sig("def words_of(text: str, analyzer: str, low: int, high: int, lowercase: bool) -> list[str]"),
        "The words of one text, in their order.");
}

}  // namespace tb::bind
