// The sanitizers that the program is built with.
#ifndef TRELLIS_LSM_BYTES_SANITIZER_H_
#define TRELLIS_LSM_BYTES_SANITIZER_H_

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// AddressSanitizer finds accesses beyond an allocation or after it was freed, but not beyond an
// object within a larger allocation.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kHasAddressSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kHasAddressSanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool kHasAddressSanitizer = false;
#endif

}  // namespace lsm

#endif  // TRELLIS_LSM_BYTES_SANITIZER_H_
