// The sizes that no store exceeds, whatever its options.
#ifndef TRELLIS_LSM_LIMITS_H_
#define TRELLIS_LSM_LIMITS_H_

#include <cstddef>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// Longest key and value, in bytes; a longer one makes the call that brought it fail with
// InvalidArgument.
inline constexpr size_t kKeyBytesMax = size_t{64} << 10;
inline constexpr size_t kValueBytesMax = size_t{64} << 20;

// The most bytes of a WriteBatch, encoded.
inline constexpr size_t kBatchBytesMax = size_t{256} << 20;

// Levels of a store.
inline constexpr int kLevels = 7;

}  // namespace lsm

#endif  // TRELLIS_LSM_LIMITS_H_
