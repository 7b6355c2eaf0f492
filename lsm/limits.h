// Sizes that no store exceeds, whatever its options.
#ifndef TRELLIS_LSM_LIMITS_H_
#define TRELLIS_LSM_LIMITS_H_

#include <cstddef>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// Longest key and value, in bytes.  A call with a longer one fails with InvalidArgument.
inline constexpr size_t kKeyBytesMax = size_t{64} << 10;
inline constexpr size_t kValueBytesMax = size_t{64} << 20;
// A bound of a range delete may be the next possible key after the longest one.
inline constexpr size_t kRangeBoundBytesMax = kKeyBytesMax + 1;

// Largest WriteBatch, in encoded bytes.
inline constexpr size_t kBatchBytesMax = size_t{256} << 20;

// Longest name of a keyspace, in bytes.
inline constexpr size_t kKeyspaceNameBytesMax = 255;
// Most keyspaces of a store, besides "default".  DB::OpenKeyspace says what each one costs.
inline constexpr size_t kKeyspacesMax = 100'000;

// Number of levels.
inline constexpr int kLevels = 7;

}  // namespace lsm

#endif  // TRELLIS_LSM_LIMITS_H_
