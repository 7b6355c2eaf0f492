// The vector instructions of this CPU.  All code paths give the same bits and the same answers.
#ifndef TRELLIS_BLOOM_CORE_CPU_H_
#define TRELLIS_BLOOM_CORE_CPU_H_

// Marks functions that are compiled for AVX2, whatever CPU the build targets.
#if defined(__x86_64__)
#define TRELLIS_AVX2 __attribute__((target("avx2")))
#endif

// Marks functions in headers whose code differs in files compiled for AVX2.  A linker keeps one
// copy of a function, and must not keep the AVX2 copy for files compiled for any CPU.  This gives
// the copies different names.
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
