#include "lsm/pieces/piece.h"

#include "absl/status/statusor.h"
#include "lsm/block/format.h"
#include "lsm/bytes/checksum.h"
#include "lsm/bytes/coding.h"

namespace lsm::inline TRELLIS_ABI {

uint64_t HashOfPath(std::string_view directory, std::string_view name) {
  return Checksum(directory, name, 0, 0);
}

std::optional<TableIdentity> IdentityOf(uint64_t path_hash, std::string_view last_bytes,
                                        uint64_t file_bytes) {
  if (last_bytes.size() < kFooterBytes || file_bytes < kTableHeaderBytes + kFooterBytes)
    return std::nullopt;
  last_bytes.remove_prefix(last_bytes.size() - kFooterBytes);
  const absl::StatusOr<Footer> footer = Footer::Decode(last_bytes, file_bytes, "");
  if (!footer.ok()) return std::nullopt;
  return TableIdentity{path_hash, footer->file_id, Checksum(last_bytes, footer->file_id, 0)};
}

uint32_t PieceEntry::ChecksumOf(size_t part, std::string_view bytes) const {
  const uint64_t place = number * kPieceBytes + part * kPartBytes;
  return static_cast<uint32_t>(Checksum(bytes, table.path_hash, place));
}

void PieceEntry::SetChecksums(std::string_view bytes) {
  length = static_cast<uint32_t>(bytes.size());
  checksums = {};
  for (size_t part = 0; part * kPartBytes < bytes.size(); ++part)
    checksums[part] = ChecksumOf(part, bytes.substr(part * kPartBytes, kPartBytes));
}

bool PieceEntry::Verify(uint64_t from, std::string_view bytes) const {
  for (size_t part = from / kPartBytes; !bytes.empty(); ++part) {
    const std::string_view checked = bytes.substr(0, kPartBytes);
    if (ChecksumOf(part, checked) != checksums[part]) return false;
    bytes.remove_prefix(checked.size());
  }
  return true;
}

std::string PieceEntry::Encode(uint64_t segment, uint64_t index_offset) const {
  std::string fields;
  for (const uint64_t field : {table.path_hash, table.file_id, table.footer_hash, offset})
    AppendFixed64(&fields, field);
  AppendFixed32(&fields, number);
  AppendFixed32(&fields, length);
  for (const uint32_t checksum : checksums) AppendFixed32(&fields, checksum);
  std::string encoded;
  AppendFixed64(&encoded, Checksum(fields, segment, index_offset));
  return encoded + fields;
}

std::optional<PieceEntry> PieceEntry::Decode(std::string_view bytes, uint64_t segment,
                                             uint64_t index_offset) {
  if (bytes.size() < kBytes) return std::nullopt;
  const std::string_view fields = bytes.substr(8, kBytes - 8);
  if (LoadFixed64(bytes.data()) != Checksum(fields, segment, index_offset)) return std::nullopt;
  const char* const from = fields.data();
  PieceEntry entry;
  entry.table = {LoadFixed64(from), LoadFixed64(from + 8), LoadFixed64(from + 16)};
  entry.offset = LoadFixed64(from + 24);
  entry.number = LoadFixed32(from + 32);
  entry.length = LoadFixed32(from + 36);
  for (size_t i = 0; i < kPartsOfPiece; ++i) entry.checksums[i] = LoadFixed32(from + 40 + 4 * i);
  if (entry.length > kPieceBytes) return std::nullopt;
  return entry;
}

}  // namespace lsm
