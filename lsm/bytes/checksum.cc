#include "lsm/bytes/checksum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "lsm/bytes/split_mix.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Two bijections in a row: no two offsets of one file share a seed, and no two files share a seed
// at one offset.  The constant (2^64 / golden ratio) keeps file 0, offset 0 from having seed 0.
uint64_t SeedOf(uint64_t file_id, uint64_t offset) {
  return Mix(Mix(file_id + kSplitMixStep) ^ offset);
}

}  // namespace

uint64_t Checksum(std::string_view bytes, uint64_t file_id, uint64_t offset) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), SeedOf(file_id, offset));
}

uint64_t Checksum(std::string_view first, std::string_view second, uint64_t file_id,
                  uint64_t offset) {
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset_withSeed(&state, SeedOf(file_id, offset));
  XXH3_64bits_update(&state, first.data(), first.size());
  XXH3_64bits_update(&state, second.data(), second.size());
  return XXH3_64bits_digest(&state);
}

}  // namespace lsm
