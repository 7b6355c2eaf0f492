// What the program is built with to find errors.
#ifndef TRELLIS_LSM_BYTES_SANITIZER_H_
#define TRELLIS_LSM_BYTES_SANITIZER_H_

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// AddressSanitizer, which sees what is done behind the end of an allocation or after its time, but
// not what is done within a larger one.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kHasAddressSanitizer = true;
#elif defined(__has_feature)
inline constexpr bool kHasAddressSanitizer = __has_feature(address_sanitizer);
#else
inline constexpr bool kHasAddressSanitizer = false;
#endif

}  // namespace lsm

#endif  // TRELLIS_LSM_BYTES_SANITIZER_H_
