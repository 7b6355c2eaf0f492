// Damages the files of a store: flips every bit, truncates at every length, zeroes, overwrites and
// swaps sectors, and swaps or removes files.  Every answer afterwards must be right, or an error
// that names a file.
#ifndef TRELLIS_TESTS_RELIABILITY_JOBS_DAMAGE_H_
#define TRELLIS_TESTS_RELIABILITY_JOBS_DAMAGE_H_

#include <cstdint>
#include <functional>
#include <string>

#include "tests/reliability/faults/disk.h"
#include "tests/reliability/workload/specimen.h"

namespace reliability {

struct DamageReport {
  uint64_t flips = 0;  // of one bit or, by FlipPairs, of two bits
  uint64_t cuts = 0;
  uint64_t sectors = 0;  // sectors or blocks: overwritten, swapped or misplaced
  uint64_t files = 0;    // files: swapped, missing, or another store's
  // The outcomes.  In all other cases every answer was right.
  uint64_t not_opened = 0;
  uint64_t not_read = 0;  // opened, but some reads failed
  uint64_t filters = 0;   // right answers; the statistics count a damaged filter
  uint64_t torn = 0;      // taken for a torn write, which looks the same
  uint64_t verified = 0;  // DB::Verify named the damage, with tables open
  std::string finding;

  uint64_t cases() const { return flips + cuts + sectors + files; }
};

// Damages the specimen of this seed: a store that was closed or killed, with or without
// compression, with its logs in the same directory or in another.  Flips one in `stride` bits, and
// cuts each file at every byte, or at one in `stride` / 8 bytes.  The seed determines the first
// one.  If given, `check` is called with each damaged image instead of an inspection.  It returns
// what went wrong, or an empty string.
using DamageCheck = std::function<std::string(const Specimen& specimen, const Image& image)>;
DamageReport DamageEverything(uint64_t seed, uint64_t stride, const DamageCheck& check = nullptr);

// Flips `pairs` random pairs of bits in the same store.  The two bits are near each other, so that
// mostly one checksum covers both.
DamageReport FlipPairs(uint64_t seed, uint64_t pairs);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_JOBS_DAMAGE_H_
