// Files in cpp/kernels are compiled once for each instruction set, into namespaces tb::base, tb::avx2 and
// tb::avx512. TB_CALL(f, args...) runs the one that is chosen: see core/runtime/isa_choice.hpp.
// A kernel file must not use anything from the standard library that is not inline arithmetic: a template
// instantiated with AVX-512 could otherwise be the one the linker keeps for everybody.
#pragma once

namespace tb {

enum class Isa : int { base, avx2, avx512 };

Isa isa();                    // the one in use, chosen at the first call, unless limited:
void limit_isa(Isa highest);  // tests run every kernel with every instruction set

}  // namespace tb

// Which are compiled says CMake (TB_ISAS): TB_AVX2 is defined, and TB_AVX512, which never is without it.
#define TB_DECLARE_IN(isa, ret, f, params) \
  namespace tb::isa {                      \
  ret f params;                            \
  }

// TB_DECLARE(ret, f, params) declares `ret f(params)` in the namespace of each; TB_CALL_AT is f of a given one.
#if defined(TB_AVX512)
#define TB_DECLARE(ret, f, params)    \
  TB_DECLARE_IN(base, ret, f, params) \
  TB_DECLARE_IN(avx2, ret, f, params) \
  TB_DECLARE_IN(avx512, ret, f, params)
#define TB_CALL_AT(isa, f, ...)                              \
  ((isa) == ::tb::Isa::avx512 ? ::tb::avx512::f(__VA_ARGS__) \
   : (isa) == ::tb::Isa::avx2 ? ::tb::avx2::f(__VA_ARGS__)   \
                              : ::tb::base::f(__VA_ARGS__))
#elif defined(TB_AVX2)
#define TB_DECLARE(ret, f, params)    \
  TB_DECLARE_IN(base, ret, f, params) \
  TB_DECLARE_IN(avx2, ret, f, params)
#define TB_CALL_AT(isa, f, ...) ((isa) == ::tb::Isa::avx2 ? ::tb::avx2::f(__VA_ARGS__) : ::tb::base::f(__VA_ARGS__))
#else
#define TB_DECLARE(ret, f, params) TB_DECLARE_IN(base, ret, f, params)
#define TB_CALL_AT(isa, f, ...) ((void)(isa), ::tb::base::f(__VA_ARGS__))
#endif
#define TB_CALL(f, ...) TB_CALL_AT(::tb::isa(), f, __VA_ARGS__)
