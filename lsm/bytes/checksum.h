// The only checksum of the store: XXH3-64, bound to the place where the bytes were written.
//
// Each file draws a random 64-bit id at its creation.  The seed of a checksum is made from that id
// and the offset, so sound bytes in a wrong place fail: a swapped block, a misdirected write, a
// file under another name.  This is not authentication: a process that can write the file can also
// write the checksum.
//
//   Checksum(bytes, id, offset) = XXH3_64bits_withSeed(bytes, seed), arithmetic modulo 2^64, with
//     seed   = mix(mix(id + 0x9e3779b97f4a7c15) ^ offset)
//     mix(w) = w = (w ^ w >> 30) * 0xbf58476d1ce4e5b9
//              w = (w ^ w >> 27) * 0x94d049bb133111eb
//              w ^ w >> 31
//   Checksum("Trellis", 1, 0) == 0xe24972dd7b501631
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
