// Damage to the files of a store: every bit flipped, every truncation, sectors that are zeroed,
// garbage or swapped, files that are swapped or missing.  Every answer afterwards is right, or an
// error that names a file.
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_DAMAGE_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_DAMAGE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "tests/reliability/faults/disk.h"
#include "tests/reliability/workload/specimen.h"

namespace reliability {

struct DamageReport {
  uint64_t flips = 0;  // of one bit or, by FlipPairs, of two
  uint64_t cuts = 0;
  uint64_t sectors = 0;  // or blocks: overwritten, swapped or in another one's place
  uint64_t files = 0;    // swapped, missing, another store's
  // The outcomes; all other reads gave right answers.
  uint64_t not_opened = 0;
  uint64_t not_read = 0;  // opened, and some reads fail
  uint64_t filters = 0;   // right answers, and the statistics tell of a damaged filter
  uint64_t torn = 0;      // taken for a write that a crash tore, where that cannot be told
  uint64_t verified = 0;  // of which DB::Verify told, tables being open
  std::string finding;

  uint64_t cases() const { return flips + cuts + sectors + files; }
};

// Damages the store that the seed makes: closed or killed, with or without compression, with its
// logs in the same directory or in another.  Flips every bit, or one in `stride`, beginning where
// the seed says.
// With a `check`, each damaged image is given to that instead of to an inspection; it returns what
// went wrong, or an empty string.
using DamageCheck = std::function<std::string(const Specimen& specimen, const Image& image)>;
DamageReport DamageEverything(uint64_t seed, uint64_t stride, const DamageCheck& check = nullptr);

// Flips `pairs` random pairs of bits in the same store.  The two bits are near each other, so that
// mostly one checksum covers both.
DamageReport FlipPairs(uint64_t seed, uint64_t pairs);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_DAMAGE_H_
