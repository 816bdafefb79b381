// The levels of a column while rows are read: those that are known, which are shared and stay as they are, and
// what the rows hold beyond them, which is gathered here until somebody takes it over.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/encode/dictionary.hpp"

namespace tb {

class Known {
 public:
  Known() = default;
  // The first `size` levels of a dictionary that outlives this; those after them count as unknown.
  Known(const Dictionary& all, std::size_t size)
      : all_(size > 0 ? &all : nullptr), before_(static_cast<std::int32_t>(size)) {}

  std::size_t size() const { return static_cast<std::size_t>(before_) + (fresh_ ? fresh_->size() : 0); }
  // What was added; code c of it is code before() + c here. Null: nothing.
  const Dictionary* fresh() const { return fresh_.get(); }
  std::unique_ptr<Dictionary> take() { return std::move(fresh_); }
  std::size_t before() const { return static_cast<std::size_t>(before_); }
  const Dictionary* all() const { return all_; }  // null if none was known

  // As those of Dictionary.
  std::int32_t find(const Word& w) const {
    return find_in([&](const Dictionary& d) { return d.find(w); });
  }
  std::int32_t find_text(const char* p, std::size_t len) const {
    return find_in([&](const Dictionary& d) { return d.find_text(p, len); });
  }
  std::int32_t add(const Word& w) { return before_ + mine().add(w); }
  std::int32_t add_text(const char* p, std::size_t len) { return before_ + mine().add_text(p, len); }
  std::int32_t add_other() { return before_ + mine().add_other(); }

 private:
  // The lookup melts into the loop over the rows, as that of one dictionary does.
  template <class Find>
  [[gnu::always_inline]] std::int32_t find_in(Find&& find) const {
    if (all_ != nullptr) {
      const std::int32_t code = find(*all_);
      if (static_cast<std::uint32_t>(code) < static_cast<std::uint32_t>(before_)) return code;
    }
    if (fresh_ == nullptr) return kUnseen;
    const std::int32_t code = find(*fresh_);
    return code < 0 ? kUnseen : before_ + code;
  }
  Dictionary& mine() {
    if (fresh_ == nullptr) fresh_ = std::make_unique<Dictionary>();
    return *fresh_;
  }

  const Dictionary* all_ = nullptr;
  std::int32_t before_ = 0;
  std::unique_ptr<Dictionary> fresh_;
};

}  // namespace tb
