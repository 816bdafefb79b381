// State as bytes and back: the same visit(archive) writes and reads.
#pragma once
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace tb::streams {

class Writer {
 public:
  template <class T>
  void operator()(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t at = bytes.size();
    bytes.resize(at + sizeof(T));  // insert() of a range makes GCC 12 warn under ThreadSanitizer
    std::memcpy(bytes.data() + at, &value, sizeof(T));
  }
  template <class T>
  void operator()(std::vector<T>& values) {
    std::uint64_t size = values.size();
    (*this)(size);
    for (T& v : values) item(v);
  }

  std::vector<std::uint8_t> bytes;

 private:
  template <class T>
  void item(T& v) {
    if constexpr (requires { v.visit(*this); })
      v.visit(*this);
    else
      (*this)(v);
  }
};

class Reader {
 public:
  Reader(const std::uint8_t* bytes, std::size_t size) : at_(bytes), left_(size) {}

  template <class T>
  void operator()(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    need(sizeof(T));
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T), left_ -= sizeof(T);
  }
  template <class T>
  void operator()(std::vector<T>& values) {
    std::uint64_t size = 0;
    (*this)(size);
    need(size);  // each item takes a byte at least: memory is in proportion to the bytes there are
    values.clear();
    values.resize(size);
    for (T& v : values) {
      if constexpr (requires { v.visit(*this); })
        v.visit(*this);
      else
        (*this)(v);
    }
  }
  bool done() const { return left_ == 0; }

 private:
  void need(std::uint64_t size) const {
    if (size > left_) throw std::invalid_argument("the state of a stream learner ends too early");
  }
  const std::uint8_t* at_;
  std::size_t left_;
};

inline void expect_state(bool holds) {
  if (!holds) throw std::invalid_argument("the state of a stream learner is not one");
}

}  // namespace tb::streams
