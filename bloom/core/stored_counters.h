// The counters of a filter that forgets keys, with the header that they are saved with: what such
// filters share, whichever cells a key has.  The detail of the shape is the bits of a counter.
//
// A counter that reached its maximum stays there: how often it was raised after that is unknown.
//
// Thread-safe while no thread changes it.  Movable, not copyable.
#ifndef TRELLIS_BLOOM_CORE_STORED_COUNTERS_H_
#define TRELLIS_BLOOM_CORE_STORED_COUNTERS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/bits.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/packed.h"
#include "bloom/core/shape.h"

namespace bloom::inline TRELLIS_ABI {

struct StoredCounters {
  FilterHeader header;
  PackedArray counters;

  // InvalidArgument unless 1 <= counter_bits <= most.
  static absl::Status CheckCounterBits(uint32_t counter_bits, uint32_t most);

  // F::CellsOf(shape) zeros for a filter of class F.  ResourceExhausted without memory.  REQUIRES:
  // F finds nothing wrong with the shape.
  template <class F>
  static absl::StatusOr<StoredCounters> Zeros(const Shape& shape, uint64_t seed,
                                              double target_fpp) {
    absl::StatusOr<PackedArray> zeros =
        PackedArray::Zeros(F::CellsOf(shape), static_cast<uint32_t>(shape.detail));
    if (!zeros.ok()) return zeros.status();
    return StoredCounters{HeaderFor<F>(shape, seed, target_fpp), *std::move(zeros)};
  }

  // What Serialize gave.  DataLoss if it is damaged, Unimplemented if its version is unknown,
  // InvalidArgument if it is a filter of another kind.
  template <class F>
  static absl::StatusOr<StoredCounters> Load(std::string_view bytes) {
    const absl::StatusOr<ParsedFilter> parsed = ParseAs<F>(bytes);
    if (!parsed.ok()) return parsed.status();
    const Shape& shape = parsed->header.shape;
    absl::StatusOr<PackedArray> counters =
        PackedArray::From(F::CellsOf(shape), static_cast<uint32_t>(shape.detail), parsed->payload);
    if (!counters.ok()) return counters.status();
    return StoredCounters{parsed->header, *std::move(counters)};
  }

  std::string Serialize() const { return EncodeFilter(header, counters.bytes()); }

  // One more, or one less, in different cells of a key.
  template <class Cells>
  void Raise(const Cells& cells) {
    for (const uint64_t cell : cells) counters.AddSaturating(cell, 1);
    header.CountKeys();
  }
  // REQUIRES: none of them is 0.
  template <class Cells>
  void Lower(const Cells& cells) {
    for (const uint64_t cell : cells) {
      const uint64_t count = counters.Get(cell);
      if (count < counters.max()) counters.Set(cell, count - 1);
    }
    header.key_count -= header.key_count > 0;
  }

  // Sums, each up to the maximum; the lower of two.  InvalidArgument, naming the difference, unless
  // shape and seed agree; nothing is changed then.
  absl::Status Merge(const StoredCounters& other);
  absl::Status Intersect(const StoredCounters& other);

  // Forgets all keys, keeps shape and seed.
  void Clear();

  // Share of the counters that are not 0; number of those at their maximum.
  double Fill() const;
  uint64_t CountSaturated() const;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_STORED_COUNTERS_H_
