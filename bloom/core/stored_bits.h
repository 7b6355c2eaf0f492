// The bits of a filter object, with the header for saving them.  Shared by filters whose union is
// the union of their bits.
//
// Thread-safe while no thread changes it.  Movable, not copyable.
#ifndef TRELLIS_BLOOM_CORE_STORED_BITS_H_
#define TRELLIS_BLOOM_CORE_STORED_BITS_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/bits.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/shape.h"
#include "bloom/core/status.h"

namespace bloom::inline TRELLIS_ABI {

struct StoredBits {
  FilterHeader header;
  AlignedBytes bits;

  // All zeros, for a filter of class F.  InvalidArgument if F cannot have the shape,
  // ResourceExhausted without memory.
  template <class F>
  static absl::StatusOr<StoredBits> Zeros(const Shape& shape, uint64_t bytes, uint64_t seed,
                                          double target_fpp) {
    TRELLIS_RETURN_IF_ERROR(CheckDetail<F>(shape));
    if (bytes > kMaxSizeBits / 8)
      return absl::InvalidArgumentError("shape: more than the 2^56 bits that a filter may have");
    TRELLIS_ASSIGN_OR_RETURN(AlignedBytes zeros, ZerosFor(bytes));
    if (const std::string problem = F::Problem(shape, zeros.span()); !problem.empty())
      return absl::InvalidArgumentError("shape: " + problem);
    return StoredBits{HeaderFor<F>(shape, seed, target_fpp), std::move(zeros)};
  }

  // Loads the bytes of Serialize.  DataLoss if they are damaged, Unimplemented if their version is
  // unknown, InvalidArgument if they are a filter of another kind.  ResourceExhausted without
  // memory.
  template <class F>
  static absl::StatusOr<StoredBits> Load(std::string_view bytes) {
    TRELLIS_ASSIGN_OR_RETURN(const ParsedFilter parsed, ParseAs<F>(bytes));
    return Copy(parsed.header, parsed.payload);
  }

  // ResourceExhausted without memory.
  static absl::StatusOr<StoredBits> Copy(const FilterHeader& header,
                                         std::span<const uint8_t> bits) {
    TRELLIS_ASSIGN_OR_RETURN(AlignedBytes copy, ZerosFor(bits.size()));
    std::memcpy(copy.data(), bits.data(), bits.size());
    return StoredBits{header, std::move(copy)};
  }

  std::string Serialize() const { return EncodeFilter(header, bits.span()); }

  // Ors the bits of `other`.  InvalidArgument, naming the difference, unless shape and seed agree;
  // then nothing changes.
  absl::Status Merge(const StoredBits& other, std::string_view detail_name = "details") {
    TRELLIS_RETURN_IF_ERROR(CheckMergeable(header, other.header, detail_name));
    for (size_t i = 0; i < bits.size(); ++i) bits.data()[i] |= other.bits.data()[i];
    header.CountKeys(other.header.key_count);
    return absl::OkStatus();
  }

  // Keeps only ones that `other` also has.  Errors as for Merge.
  absl::Status Intersect(const StoredBits& other) {
    TRELLIS_RETURN_IF_ERROR(CheckMergeable(header, other.header));
    for (size_t i = 0; i < bits.size(); ++i) bits.data()[i] &= other.bits.data()[i];
    header.key_count = std::min(header.key_count, other.header.key_count);
    return absl::OkStatus();
  }

  // Removes all keys; keeps shape and seed.
  void Clear() {
    std::memset(bits.data(), 0, bits.size());
    header.key_count = 0;
  }

  // Number of ones, and their share of `size_bits`.  Both read all bits.
  uint64_t Ones() const { return CountOnes(bits.data(), bits.size()); }
  double OnesPer(uint64_t size_bits) const {
    return static_cast<double>(Ones()) / static_cast<double>(size_bits);
  }
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_STORED_BITS_H_
