// Recognises the magic at the start of a file after a crash, or after one byte of it was
// overwritten.
#ifndef TRELLIS_LSM_BYTES_MAGIC_H_
#define TRELLIS_LSM_BYTES_MAGIC_H_

#include <string_view>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// Whether the bytes begin with the magic.  One byte of it may be wrong.
bool BeginsWithMagic(std::string_view bytes, std::string_view magic);

// Whether the bytes are an initial piece of the magic (perhaps empty), then zeros, as an
// interrupted write may leave them.
bool IsPieceOfMagic(std::string_view bytes, std::string_view magic);

}  // namespace lsm

#endif  // TRELLIS_LSM_BYTES_MAGIC_H_
