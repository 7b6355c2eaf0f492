// The only checksum of the store: XXH3-64, bound to the place where the bytes were written.  Sound
// bytes in a wrong place fail.  lsm/FORMAT.md, section "Notation and rules for all files", has the
// formula, and says what a checksum does not show.
#ifndef TRELLIS_LSM_BYTES_CHECKSUM_H_
#define TRELLIS_LSM_BYTES_CHECKSUM_H_

#include <cstdint>
#include <string_view>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

uint64_t Checksum(std::string_view bytes, uint64_t file_id, uint64_t offset);
// The checksum of `first` followed by `second`.
uint64_t Checksum(std::string_view first, std::string_view second, uint64_t file_id,
                  uint64_t offset);

}  // namespace lsm

#endif  // TRELLIS_LSM_BYTES_CHECKSUM_H_
