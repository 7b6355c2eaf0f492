// Which instructions this CPU has.  All paths give the same bits and the same answers.
#ifndef TRELLIS_BLOOM_CORE_CPU_H_
#define TRELLIS_BLOOM_CORE_CPU_H_

// In front of functions that are compiled for AVX2, whatever the build is for.
#if defined(__x86_64__)
#define TRELLIS_AVX2 __attribute__((target("avx2")))
#endif

// For functions in headers whose code is another one in files that are compiled for AVX2: a linker
// keeps one of several copies of a function, and must not take that one for files that are compiled
// for any CPU.  With this their names differ.
#if defined(__x86_64__) && defined(__AVX2__)
#define TRELLIS_INLINES_AVX2 1
#define TRELLIS_OF_THIS_CPU [[gnu::abi_tag("avx2")]]
#else
#define TRELLIS_OF_THIS_CPU
#endif

#include "bloom/core/abi.h"

namespace bloom::inline TRELLIS_ABI {

enum class Simd {
  kPortable,  // plain C++
  kAvx2,      // 256-bit integer vectors of x86
};

inline Simd BestSimd() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return Simd::kAvx2;
#endif
  return Simd::kPortable;
}

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_CPU_H_
