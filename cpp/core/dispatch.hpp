// Files in cpp/kernels are compiled once for each instruction set, into namespaces tb::base, tb::avx2 and
// tb::avx512. TB_CALL(f, args...) runs the one that is chosen: see core/isa_choice.hpp.
// A kernel file must not use anything from the standard library that is not inline arithmetic: a template
// instantiated with AVX-512 could otherwise be the one the linker keeps for everybody.
#pragma once

namespace tb {

enum class Isa : int { base, avx2, avx512 };

Isa isa();                 // the one in use, chosen at the first call, unless lowered:
void limit_isa(Isa most);  // tests run every kernel with every instruction set

}  // namespace tb

// Declares `ret f(params)` in each of the three namespaces.
#if defined(__x86_64__)
#define TB_DECLARE(ret, f, params) \
  namespace tb {                   \
  namespace base {                 \
  ret f params;                    \
  }                                \
  namespace avx2 {                 \
  ret f params;                    \
  }                                \
  namespace avx512 {               \
  ret f params;                    \
  }                                \
  }
#define TB_CALL(f, ...)                                            \
  (::tb::isa() == ::tb::Isa::avx512 ? ::tb::avx512::f(__VA_ARGS__) \
   : ::tb::isa() == ::tb::Isa::avx2 ? ::tb::avx2::f(__VA_ARGS__)   \
                                    : ::tb::base::f(__VA_ARGS__))
#else
#define TB_DECLARE(ret, f, params) \
  namespace tb {                   \
  namespace base {                 \
  ret f params;                    \
  }                                \
  }
#define TB_CALL(f, ...) (::tb::base::f(__VA_ARGS__))
#endif
