// The parts of an SSTable: version 1; version 2, in which filter and index are partitioned
// (partitions.h); and version 3, with range deletes, whole or in partitions.  lsm/FORMAT.md,
// section "Tables", draws them.
//
// A data block is LZ4 (varint32 expanded size, then the LZ4 block) or uncompressed.  Filter, index,
// ranges and properties are never compressed.  A filter block may begin at any offset; it is loaded
// to 64-byte aligned memory.
#ifndef TRELLIS_LSM_BLOCK_FORMAT_H_
#define TRELLIS_LSM_BLOCK_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

inline constexpr std::string_view kTableMagic = "TRLSTBL\n";
inline constexpr size_t kTableHeaderBytes = 24;
inline constexpr size_t kFooterBytes = 112;
inline constexpr size_t kBlockTrailerBytes = 9;
// A larger block has one large value, or is a filter or an index.  Writers avoid copies of its
// bytes.
inline constexpr size_t kLargeBlockBytesMin = size_t{1} << 20;
inline constexpr uint32_t kTableVersion = 1;
inline constexpr uint32_t kTableVersionPartitioned = 2;
inline constexpr uint32_t kTableVersionWithRanges = 3;  // or as Footer::needs_version_3
inline constexpr uint32_t kChecksumKindXxh3 = 1;
// Larger blocks are rejected.  An entry with the largest key and value fits.
inline constexpr uint64_t kBlockBytesMax = uint64_t{128} << 20;
// Upper bounds for parts of a table that stay in memory; larger ones are rejected.  Builders end a
// table long before (TableBuilder::is_full).  In the properties, the two keys are the largest
// parts.
inline constexpr uint64_t kFilterBytesMax = uint64_t{1} << 30;
inline constexpr uint64_t kIndexBytesMax = uint64_t{256} << 20;  // stored, and with keys in full
inline constexpr uint64_t kPropertiesBytesMax = uint64_t{1} << 20;
// Index entries between restart points.  It bounds the memory of the index with keys written in
// full.
inline constexpr int kIndexRestartInterval = 16;

// Place of a block's stored bytes, which the trailer follows.
struct BlockHandle {
  uint64_t offset = 0;
  uint64_t stored_bytes = 0;
  bool operator==(const BlockHandle&) const = default;
  bool is_null() const { return offset == 0 && stored_bytes == 0; }
};

struct Footer {
  BlockHandle filter;  // null: none; of a partitioned table, all partitions
  BlockHandle index;   // of a partitioned table, the top-level block
  BlockHandle ranges;  // null: none.  Not in the file: it lies between its two neighbours here
  BlockHandle properties;
  uint64_t file_id = 0;
  uint64_t file_bytes = 0;
  uint64_t data_blocks = 0;
  uint64_t entries = 0;
  uint64_t index_partitions = 0;  // offset of the first; 0: not partitioned
  // The table belongs to a keyspace other than the default one, or has puts with times, so older
  // releases must refuse it.  Not in the file: Decode sets it if the version has no other reason.
  bool needs_version_3 = false;

  bool is_partitioned() const { return index_partitions != 0; }
  // End of the data blocks.
  uint64_t data_end() const {
    if (!filter.is_null()) return filter.offset;
    return is_partitioned() ? index_partitions : index.offset;
  }

  // The oldest version that can express it.
  uint32_t version() const {
    if (!ranges.is_null() || needs_version_3) return kTableVersionWithRanges;
    return is_partitioned() ? kTableVersionPartitioned : kTableVersion;
  }
  // Encodes kFooterBytes.
  std::string Encode() const;

  // Decodes `bytes`, the last kFooterBytes of `file`, which has `file_bytes`.  InvalidArgument if
  // the magic shows that it is no table of Trellis; Unimplemented, named, for another version or
  // checksum kind; DataLoss for a wrong checksum, or an impossible size or handle.
  static absl::StatusOr<Footer> Decode(std::string_view bytes, uint64_t file_bytes,
                                       std::string_view file);
};

// Encodes the header.
std::string EncodeTableHeader(uint64_t file_id);
absl::StatusOr<uint64_t> DecodeTableHeader(std::string_view bytes,
                                           std::string_view file);  // returns the file id

}  // namespace lsm

#endif  // TRELLIS_LSM_BLOCK_FORMAT_H_
