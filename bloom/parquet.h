// The Bloom filters of Apache Parquet files: to ask those that a file has, and to make such.
//
//   auto filter = bloom::ParquetFilter::Load(bytes);  // a column chunk's, from its offset on
//   filter->MayContain(int64_t{42});                  // false: no row of the chunk has it
//
// The bits are those of the split-block kind (bloom/variants/split_block.h), set by the XXH64, seed
// 0, of a value's plain encoding: the bytes of a string without its length, numbers little-endian.
//
//     | header: Thrift's compact protocol | bits: numBytes |
//     header: struct { 1: i32 numBytes,
//                      2: union algorithm { 1: BLOCK {} },
//                      3: union hash { 1: XXHASH {} },
//                      4: union compression { 1: UNCOMPRESSED {} } }
//
// Parquet has no checksum here, nor the number of values.  Apache Parquet, BloomFilter.md and
// parquet.thrift.  Thread-safe while no thread changes it.  Movable, not copyable.
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

// Types of a column whose plain encoding is the number itself.
template <class T>
concept ParquetNumber = (std::signed_integral<T> && (sizeof(T) == 4 || sizeof(T) == 8)) ||
                        std::same_as<T, float> || std::same_as<T, double>;

class ParquetFilter {
 public:
  // The most that other readers take.
  static constexpr uint64_t kMaxBytes = uint64_t{128} << 20;

  // For `value_count` different values at `target_fpp`.  The number of lines is a power of two,
  // since some readers take no other; so it is up to twice what would do.  InvalidArgument for a
  // bad count or FPP, and where kMaxBytes do not suffice.
  static absl::StatusOr<ParquetFilter> Make(uint64_t value_count, double target_fpp);

  // From bytes that begin with the header; others may follow.  DataLoss if they cannot be such a
  // filter, Unimplemented for an algorithm, a hash or a compression that Parquet does not have yet.
  static absl::StatusOr<ParquetFilter> Load(std::string_view bytes);

  static uint64_t HashOf(std::string_view value);
  template <ParquetNumber T>
  static uint64_t HashOf(T value) {
    char bytes[sizeof(T)];
    StorePlain(&value, sizeof(T), bytes);
    return HashOf(std::string_view(bytes, sizeof(T)));
  }

  // A value is what a BYTE_ARRAY or FIXED_LEN_BYTE_ARRAY holds, or a number of exactly as many
  // bytes as the column's physical type.
  void Add(std::string_view value) { AddHash(HashOf(value)); }
  void Add(ParquetNumber auto value) { AddHash(HashOf(value)); }
  // For those who have the hashes already.
  void AddHash(uint64_t hash) { SplitBlock::Add(bits_.data(), shape_, hash); }

  // False only if the value was never added.
  bool MayContain(std::string_view value) const { return MayContainHash(HashOf(value)); }
  bool MayContain(ParquetNumber auto value) const { return MayContainHash(HashOf(value)); }
  bool MayContainHash(uint64_t hash) const {
    return SplitBlock::HasAll(bits_.data(), shape_, hash);
  }

  // Adds all values of `other`, bit for bit.  InvalidArgument, naming the difference, unless the
  // sizes agree; nothing is changed then.
  absl::Status Merge(const ParquetFilter& other);
  // Forgets all values, keeps the size.
  void Clear();

  // Header and bits, to be written into a file.
  std::string Serialize() const;

  uint64_t size_bytes() const { return bits_.size(); }
  // FPP with `value_count` different values in it; that of the bits as they are; the number of
  // values that would set as many.  The latter two read all bits.
  double PredictedFpp(uint64_t value_count) const;
  double CurrentFpp() const;
  double EstimatedValueCount() const;

 private:
  ParquetFilter(const Shape& shape, AlignedBytes bits) : shape_(shape), bits_(std::move(bits)) {}

  // Its bytes from the least significant on.
  static void StorePlain(const void* number, size_t size, char* to);

  Shape shape_;
  AlignedBytes bits_;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_PARQUET_H_
