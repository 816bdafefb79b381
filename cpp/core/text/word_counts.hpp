// Texts to rows of a sparse matrix: which words, and how often. Column 0 says that there is a text at all, column 1 + c
// is word c of a vocabulary. Words that are new are numbered in the order of the rows, whatever the number of threads.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <utility>

#include "core/text/row_words.hpp"

namespace tb {

// Grows in place where the system can do that: what was there is not there twice.
template <class T>
class Growing {
 public:
  Growing() = default;
  Growing(const Growing&) = delete;
  Growing& operator=(const Growing&) = delete;
  ~Growing() { std::free(data_); }
  std::size_t size() const { return size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  T* extend(std::size_t more) {  // to be filled
    if (size_ + more > room_) reserve((size_ + more) + (size_ + more) / 4);
    T* const from = data_ + size_;
    size_ += more;
    return from;
  }
  void push(T x) { *extend(1) = x; }
  void shrink(std::size_t size) { size_ = size; }
  void fit() { reserve(size_); }
  T* release() {
    size_ = room_ = 0;
    return std::exchange(data_, nullptr);
  }

 private:
  void reserve(std::size_t room) {
    void* p = std::realloc(data_, (room > 0 ? room : 1) * sizeof(T));
    if (p == nullptr) throw std::bad_alloc();
    data_ = static_cast<T*>(p);
    room_ = room;
  }
  T* data_ = nullptr;
  std::size_t size_ = 0, room_ = 0;
};

struct WordCounts {
  Growing<std::int32_t> index, start;  // start: rows + 1
  Growing<std::uint8_t> small;         // how often
  Growing<std::int32_t> large;         // in its place where a count may be beyond 255
  bool wide = false;                   // then
  bool shared = false;                 // new words were put into shared cells
};

// grow: words not known are added to `known` (the most frequent ones if there are too many; then shared cells, which
// are numbers among the words); else they are left out, or counted in their shared cells where those are known, and the
// rows are appended to those that `out` holds already. Throws BadRow.
void count_words(std::span<const TextRef> texts, Known& known, bool grow, const WordOptions& options, WordCounts& out);

}  // namespace tb
