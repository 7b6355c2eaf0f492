#include "lsm/block/format.h"

#include <cassert>

#include "lsm/bytes/checksum.h"
#include "lsm/bytes/coding.h"
#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr size_t kHeaderCheckedBytes = 16;
constexpr size_t kFooterCheckedBytes = 96;

BlockHandle TakeHandle(std::string_view* bytes) {
  BlockHandle handle;
  TakeFixed64(bytes, &handle.offset);
  TakeFixed64(bytes, &handle.stored_bytes);
  return handle;
}

void AppendHandle(std::string* out, BlockHandle handle) {
  AppendFixed64(out, handle.offset);
  AppendFixed64(out, handle.stored_bytes);
}

// Whether block and trailer begin at or after `begin` and end exactly at `end`.
bool EndsAt(BlockHandle handle, uint64_t begin, uint64_t end) {
  return handle.offset >= begin && handle.offset <= end &&
         end - handle.offset >= kBlockTrailerBytes &&
         handle.stored_bytes == end - handle.offset - kBlockTrailerBytes;
}

// Sets `ranges` if there is a block between index and properties, and `needs_version_3` otherwise.
// False if the space between them does not fit a block and is not empty, or if a table without data
// blocks has other parts.
bool FindRanges(Footer* footer) {
  if (EndsAt(footer->index, kTableHeaderBytes, footer->properties.offset)) {
    footer->needs_version_3 = true;
    return true;
  }
  const bool has_only_ranges = footer->entries == 0 && footer->filter.is_null() &&
                               footer->index.stored_bytes == 0 && !footer->is_partitioned();
  if (footer->data_blocks == 0 && !has_only_ranges) return false;
  const BlockHandle& index = footer->index;
  const uint64_t end = footer->properties.offset;
  if (index.offset < kTableHeaderBytes || index.offset > end ||
      index.stored_bytes > end - index.offset ||
      end - index.offset - index.stored_bytes <= 2 * kBlockTrailerBytes)
    return false;
  footer->ranges.offset = index.offset + index.stored_bytes + kBlockTrailerBytes;
  footer->ranges.stored_bytes = end - footer->ranges.offset - kBlockTrailerBytes;
  return true;
}

}  // namespace

std::string Footer::Encode() const {
  std::string bytes;
  bytes.reserve(kFooterBytes);
  AppendHandle(&bytes, filter);
  AppendHandle(&bytes, index);
  AppendHandle(&bytes, properties);
  AppendFixed64(&bytes, file_id);
  AppendFixed64(&bytes, file_bytes);
  AppendFixed64(&bytes, data_blocks);
  AppendFixed64(&bytes, entries);
  AppendFixed32(&bytes, version());
  AppendFixed32(&bytes, kChecksumKindXxh3);
  AppendFixed64(&bytes, index_partitions);
  assert(bytes.size() == kFooterCheckedBytes);
  AppendFixed64(&bytes, Checksum(bytes, file_id, file_bytes - kFooterBytes));
  bytes.append(kTableMagic);
  return bytes;
}

absl::StatusOr<Footer> Footer::Decode(std::string_view bytes, uint64_t file_bytes,
                                      std::string_view file) {
  assert(bytes.size() == kFooterBytes && file_bytes >= kTableHeaderBytes + kFooterBytes);
  const uint64_t footer_offset = file_bytes - kFooterBytes;
  if (!bytes.ends_with(kTableMagic)) {
    return absl::InvalidArgumentError(
        Concat(file, ": not a table of Trellis (its last 8 bytes are another magic)"));
  }
  const std::string_view checked = bytes.substr(0, kFooterCheckedBytes);
  std::string_view rest = bytes;
  Footer footer;
  footer.filter = TakeHandle(&rest);
  footer.index = TakeHandle(&rest);
  footer.properties = TakeHandle(&rest);
  uint32_t version = 0;
  uint32_t checksum_kind = 0;
  uint64_t checksum = 0;
  TakeFixed64(&rest, &footer.file_id);
  TakeFixed64(&rest, &footer.file_bytes);
  TakeFixed64(&rest, &footer.data_blocks);
  TakeFixed64(&rest, &footer.entries);
  TakeFixed32(&rest, &version);
  TakeFixed32(&rest, &checksum_kind);
  TakeFixed64(&rest, &footer.index_partitions);
  TakeFixed64(&rest, &checksum);
  // The first check: all versions have it, so a flipped bit in the version number is not mistaken
  // for another version.
  if (checksum != Checksum(checked, footer.file_id, footer_offset)) {
    return DamageAt(file, footer_offset, "the table's footer fails its checksum");
  }
  if (version < kTableVersion || version > kTableVersionWithRanges) {
    return absl::UnimplementedError(Concat(file, ": table format version ", version,
                                           "; this library reads versions ", kTableVersion, " to ",
                                           kTableVersionWithRanges));
  }
  if (checksum_kind != kChecksumKindXxh3) {
    return absl::UnimplementedError(Concat(file, ": checksum kind ", checksum_kind,
                                           "; this library knows kind ", kChecksumKindXxh3));
  }
  if (version == kTableVersion && footer.index_partitions != 0)
    return absl::UnimplementedError(
        Concat(file, ": the table's footer has flags that this library does not know"));
  if (footer.file_bytes != file_bytes) {
    return DamageAt(file, footer_offset,
                    Concat("the footer says that the file has ", footer.file_bytes,
                           " bytes, and it has ", file_bytes));
  }
  // Each block ends where the next one begins, so every byte of the file is covered by a checksum.
  // The top-level block ensures this for partitions.
  const bool in_partitions = version == kTableVersionPartitioned || footer.is_partitioned();
  const uint64_t filter_end = in_partitions ? footer.index_partitions : footer.index.offset;
  const bool sound =
      EndsAt(footer.properties, kTableHeaderBytes, footer_offset) &&
      (version == kTableVersionWithRanges
           ? FindRanges(&footer)
           : EndsAt(footer.index, kTableHeaderBytes, footer.properties.offset)) &&
      filter_end >= kTableHeaderBytes && filter_end <= footer.index.offset &&
      (footer.filter.is_null() || EndsAt(footer.filter, kTableHeaderBytes, filter_end));
  if (!sound) return DamageAt(file, footer_offset, "the footer's block handles are impossible");
  return footer;
}

std::string EncodeTableHeader(uint64_t file_id) {
  std::string bytes(kTableMagic);
  AppendFixed64(&bytes, file_id);
  AppendFixed64(&bytes, Checksum(bytes, file_id, 0));
  return bytes;
}

absl::StatusOr<uint64_t> DecodeTableHeader(std::string_view bytes, std::string_view file) {
  assert(bytes.size() == kTableHeaderBytes);
  if (!bytes.starts_with(kTableMagic)) {
    return absl::InvalidArgumentError(
        Concat(file, ": not a table of Trellis (its first 8 bytes are another magic)"));
  }
  const uint64_t file_id = LoadFixed64(bytes.data() + kTableMagic.size());
  const uint64_t checksum = LoadFixed64(bytes.data() + kHeaderCheckedBytes);
  if (checksum != Checksum(bytes.substr(0, kHeaderCheckedBytes), file_id, 0)) {
    return DamageAt(file, 0, "the table's header fails its checksum");
  }
  return file_id;
}

}  // namespace lsm
