// The bytes that a file of ours begins with, in what a crash or one overwritten byte left of them.
#ifndef TRELLIS_LSM_BYTES_MAGIC_H_
#define TRELLIS_LSM_BYTES_MAGIC_H_

#include <string_view>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// Whether the bytes begin with the magic, of which one byte may be another.
bool BeginsWithMagic(std::string_view bytes, std::string_view magic);

// Whether the bytes are a piece of the magic, or none of it, and zeros: what a write that stops may
// leave of it.
bool IsPieceOfMagic(std::string_view bytes, std::string_view magic);

}  // namespace lsm

#endif  // TRELLIS_LSM_BYTES_MAGIC_H_
