// The counters of a filter with removal, and the header for saving them.  Shared by such filters,
// however they choose the cells of a key.  The detail of the shape is the width of a counter in
// bits.
//
// A counter at its maximum stays there, since its true value is unknown.
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
#include "bloom/core/status.h"

namespace bloom::inline TRELLIS_ABI {

struct TRELLIS_API StoredCounters {
  FilterHeader header;
  PackedArray counters;

  // InvalidArgument unless 1 <= counter_bits <= most.
  static absl::Status CheckCounterBits(uint32_t counter_bits, uint32_t most);

  // F::CellsOf(shape) zeros, for a filter of class F.  ResourceExhausted without memory.  REQUIRES:
  // F finds nothing wrong with the shape.
  template <class F>
  static absl::StatusOr<StoredCounters> Zeros(const Shape& shape, uint64_t seed,
                                              double target_fpp) {
    TRELLIS_ASSIGN_OR_RETURN(
        PackedArray zeros,
        PackedArray::Zeros(F::CellsOf(shape), static_cast<uint32_t>(shape.detail)));
    return StoredCounters{HeaderFor<F>(shape, seed, target_fpp), std::move(zeros)};
  }

  // Loads the bytes of Serialize.  DataLoss if they are damaged, Unimplemented if their version is
  // unknown, InvalidArgument if they are a filter of another kind.  ResourceExhausted without
  // memory.
  template <class F>
  static absl::StatusOr<StoredCounters> Load(std::string_view bytes) {
    TRELLIS_ASSIGN_OR_RETURN(const ParsedFilter parsed, ParseAs<F>(bytes));
    const Shape& shape = parsed.header.shape;
    TRELLIS_ASSIGN_OR_RETURN(
        PackedArray counters,
        PackedArray::From(F::CellsOf(shape), static_cast<uint32_t>(shape.detail), parsed.payload));
    return StoredCounters{parsed.header, std::move(counters)};
  }

  std::string Serialize() const { return EncodeFilter(header, counters.bytes()); }

  // Increments, or decrements, the given different cells of a key.
  template <class Cells>
  void Raise(const Cells& cells) {
    for (const uint64_t cell : cells) counters.AddSaturating(cell, 1);
    header.CountKeys();
  }
  // REQUIRES: no cell is 0.
  template <class Cells>
  void Lower(const Cells& cells) {
    for (const uint64_t cell : cells) {
      const uint64_t count = counters.Get(cell);
      if (count < counters.max()) counters.Set(cell, count - 1);
    }
    header.key_count -= header.key_count > 0;
  }

  // Merge adds the counters, each up to its maximum; Intersect takes the lower of two.
  // InvalidArgument, naming the difference, unless shape and seed agree; then nothing changes.
  absl::Status Merge(const StoredCounters& other);
  absl::Status Intersect(const StoredCounters& other);

  // Removes all keys; keeps shape and seed.
  void Clear();

  // Share of nonzero counters; number of counters at their maximum.
  double Fill() const;
  uint64_t CountSaturated() const;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_STORED_COUNTERS_H_
