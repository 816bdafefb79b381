// A test is TEST(name) { CHECK(...); }. It registers itself; main runs all. A failed check ends the run.
#pragma once
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace tb::test {

struct Case {
  const char* name;
  void (*run)();
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

struct Register {
  Register(const char* name, void (*run)()) { cases().push_back({name, run}); }
};

// Equal to within rel of the larger, or both exactly zero.
inline bool near(double a, double b, double rel) {
  return std::abs(a - b) <= rel * std::fmax(std::abs(a), std::abs(b));
}

}  // namespace tb::test

#define TEST(name)                                                        \
  static void test_##name();                                              \
  static const ::tb::test::Register register_##name(#name, &test_##name); \
  static void test_##name()

#define CHECK(cond)                                                             \
  do {                                                                          \
    if (!(cond)) {                                                              \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #cond); \
      std::abort();                                                             \
    }                                                                           \
  } while (false)

#define CHECK_NEAR(a, b, rel)                                                                         \
  do {                                                                                                \
    const double va = (a), vb = (b);                                                                  \
    if (!::tb::test::near(va, vb, rel)) {                                                             \
      std::fprintf(stderr, "%s:%d: %s = %.17g but %s = %.17g\n", __FILE__, __LINE__, #a, va, #b, vb); \
      std::abort();                                                                                   \
    }                                                                                                 \
  } while (false)
