// Reads and makes the Bloom filters of Apache Parquet files.
//
//   auto filter = bloom::ParquetFilter::Load(bytes);  // of a column chunk, from its offset on
//   filter->MayContain(int64_t{42});                  // false: no row of the chunk has it
//
// The bits are those of the split-block kind (bloom/variants/split_block.h).  The hash is XXH64,
// seed 0, of a value's plain encoding: a string's bytes without its length, a number little-endian.
//
//     | header: Thrift's compact protocol | bits: numBytes |
//     header: struct { 1: i32 numBytes,
//                      2: union algorithm { 1: BLOCK {} },
//                      3: union hash { 1: XXHASH {} },
//                      4: union compression { 1: UNCOMPRESSED {} } }
//
// Parquet stores neither a checksum nor the number of values.  Sources: Apache Parquet,
// BloomFilter.md and parquet.thrift.  Thread-safe while no thread changes it.  Movable, not
// copyable.
#ifndef TRELLIS_BLOOM_PARQUET_H_
#define TRELLIS_BLOOM_PARQUET_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/bits.h"
#include "bloom/core/shape.h"
#include "bloom/variants/split_block.h"

namespace bloom::inline TRELLIS_ABI {

// Types whose plain encoding is the number itself.
template <class T>
concept ParquetNumber = (std::signed_integral<T> && (sizeof(T) == 4 || sizeof(T) == 8)) ||
                        std::same_as<T, float> || std::same_as<T, double>;

class TRELLIS_API ParquetFilter {
 public:
  // Largest size that other readers accept.
  static constexpr uint64_t kMaxBytes = uint64_t{128} << 20;

  // Makes a filter for `value_count` different values at `target_fpp`.  The number of lines is a
  // power of two, since some readers accept no other; so the filter may be up to twice as large as
  // needed.  InvalidArgument for a bad count or FPP, and if kMaxBytes are not enough;
  // ResourceExhausted without memory.
  static absl::StatusOr<ParquetFilter> Make(uint64_t value_count, double target_fpp);

  // Loads bytes that begin with the header; further bytes may follow the filter.  DataLoss if they
  // cannot be such a filter.  Unimplemented for an algorithm, a hash or a compression that Parquet
  // does not define yet.  ResourceExhausted without memory.
  static absl::StatusOr<ParquetFilter> Load(std::string_view bytes);

  static uint64_t HashOf(std::string_view value);
  template <ParquetNumber T>
  static uint64_t HashOf(T value) {
    char bytes[sizeof(T)];
    StorePlain(&value, sizeof(T), bytes);
    return HashOf(std::string_view(bytes, sizeof(T)));
  }

  // A value is the content of a BYTE_ARRAY or FIXED_LEN_BYTE_ARRAY, or a number of exactly the
  // width of the column's physical type.
  void Add(std::string_view value) { AddHash(HashOf(value)); }
  void Add(ParquetNumber auto value) { AddHash(HashOf(value)); }
  // For callers that already have the hashes.
  void AddHash(uint64_t hash) { SplitBlock::Add(bits_.data(), shape_, hash); }

  // False only if the value was never added.
  bool MayContain(std::string_view value) const { return MayContainHash(HashOf(value)); }
  bool MayContain(ParquetNumber auto value) const { return MayContainHash(HashOf(value)); }
  bool MayContainHash(uint64_t hash) const {
    return SplitBlock::HasAll(bits_.data(), shape_, hash);
  }

  // Adds all values of `other`, bit for bit.  InvalidArgument, naming the difference, unless the
  // sizes agree; then nothing changes.
  absl::Status Merge(const ParquetFilter& other);
  // Removes all values; keeps the size.
  void Clear();

  // Header and bits, to be written into a file.
  std::string Serialize() const;

  uint64_t size_bytes() const { return bits_.size(); }
  // FPP with `value_count` different values; FPP of the current bits; number of values, estimated
  // from the share of ones.  The latter two read all bits.
  double PredictedFpp(uint64_t value_count) const;
  double CurrentFpp() const;
  double EstimatedValueCount() const;

 private:
  ParquetFilter(const Shape& shape, AlignedBytes bits) : shape_(shape), bits_(std::move(bits)) {}

  // Stores the number's bytes, least significant first.
  static void StorePlain(const void* number, size_t size, char* to);

  Shape shape_;
  AlignedBytes bits_;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_PARQUET_H_
