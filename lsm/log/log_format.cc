#include "lsm/log/log_format.h"

#include <cassert>
#include <cstring>

#include "lsm/bytes/checksum.h"
#include "lsm/bytes/coding.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr size_t kLogReservedAt = 20;
constexpr size_t kLogChecksumAt = 23;
constexpr size_t kRecordChecksumAt = 21;

void StoreFixed16(char* to, uint16_t value) {
  value = LittleEndian(value);
  std::memcpy(to, &value, sizeof(value));
}

uint16_t LoadFixed16(const char* from) {
  uint16_t value;
  std::memcpy(&value, from, sizeof(value));
  return LittleEndian(value);
}

// Stores the checksum of the bytes before `checksum_at`, then the seal.
void Sign(char* bytes, size_t checksum_at, uint64_t file_id, uint64_t offset) {
  StoreFixed64(bytes + checksum_at, Checksum({bytes, checksum_at}, file_id, offset));
  bytes[checksum_at + 8] = static_cast<char>(kSeal);
}

bool IsSigned(const char* bytes, size_t checksum_at, uint64_t file_id, uint64_t offset) {
  return static_cast<uint8_t>(bytes[checksum_at + 8]) == kSeal &&
         LoadFixed64(bytes + checksum_at) == Checksum({bytes, checksum_at}, file_id, offset);
}

uint32_t TagCheck(const char* number, uint64_t file_id, uint64_t offset) {
  return static_cast<uint32_t>(Checksum({number, sizeof(uint32_t)}, file_id, offset));
}

}  // namespace

uint64_t RecordEnd(uint64_t offset, uint64_t payload_bytes) {
  uint64_t at = AfterTag(offset) + kRecordHeaderBytes;
  if (payload_bytes > 0) {
    const size_t first = ChunkPayloadBytes(at, payload_bytes);
    at += kChunkFramingBytes + first;
    // If more follows, `at` is now the start of a sector.
    const uint64_t left = payload_bytes - first;
    at += left / kChunkPayloadBytesMax * kSectorBytes;
    const uint64_t last = left % kChunkPayloadBytesMax;
    if (last > 0) at += kSectorTagBytes + kChunkFramingBytes + last;
  }
  return at + PaddingBytes(at);
}

void StoreLogHeader(char* to, const LogHeader& header) {
  std::memset(to, 0, kLogHeaderBytes);
  std::memcpy(to, kLogMagic.data(), kLogMagic.size());
  StoreFixed16(to + 8, header.version);
  StoreFixed16(to + 10, static_cast<uint16_t>(header.kind));
  StoreFixed64(to + 12, header.file_id);
  Sign(to, kLogChecksumAt, 0, 0);
}

bool LoadLogHeader(std::string_view bytes, LogHeader* header) {
  assert(bytes.size() == kLogHeaderBytes);
  const char* from = bytes.data();
  if (!bytes.starts_with(kLogMagic) || !IsSigned(from, kLogChecksumAt, 0, 0)) return false;
  header->version = LoadFixed16(from + 8);
  header->kind = static_cast<LogKind>(LoadFixed16(from + 10));
  header->file_id = LoadFixed64(from + 12);
  header->reserved = 0;
  for (size_t i = kLogChecksumAt; i-- > kLogReservedAt;)
    header->reserved = header->reserved << 8 | static_cast<uint8_t>(from[i]);
  return true;
}

void StoreRecordHeader(char* to, const RecordHeader& header, uint64_t file_id, uint64_t offset) {
  assert(SectorRoom(offset) >= kRecordRoomBytesMin);
  std::memcpy(to, kRecordMark.data(), kRecordMark.size());
  to[4] = static_cast<char>(header.type);
  StoreFixed32(to + 5, header.payload_bytes);
  StoreFixed32(to + 9, header.ordinal);
  StoreFixed64(to + 13, header.durable_offset);
  Sign(to, kRecordChecksumAt, file_id, offset);
}

bool LoadRecordHeader(std::string_view bytes, uint64_t file_id, uint64_t offset,
                      RecordHeader* header) {
  assert(bytes.size() == kRecordHeaderBytes);
  if (!bytes.starts_with(kRecordMark)) return false;
  const char* from = bytes.data();
  if (!IsSigned(from, kRecordChecksumAt, file_id, offset)) return false;
  header->type = static_cast<RecordType>(from[4]);
  header->payload_bytes = LoadFixed32(from + 5);
  header->ordinal = LoadFixed32(from + 9);
  header->durable_offset = LoadFixed64(from + 13);
  // Only a program that can compute the checksum writes such bytes, but even they must not mislead
  // the reader.
  const bool type_is_known = header->type == RecordType::kData ||
                             (header->type == RecordType::kEnd && header->payload_bytes == 0);
  return type_is_known && header->payload_bytes <= kRecordBytesMax &&
         header->durable_offset <= offset && SectorRoom(offset) >= kRecordRoomBytesMin;
}

void StoreSectorTag(char* to, uint64_t file_id, uint64_t offset) {
  assert(offset > 0 && offset % kSectorBytes == 0);
  StoreFixed32(to, static_cast<uint32_t>(offset / kSectorBytes));
  StoreFixed32(to + 4, TagCheck(to, file_id, offset));
}

std::optional<uint64_t> LoadSectorTag(std::string_view bytes, uint64_t file_id) {
  assert(bytes.size() == kSectorTagBytes);
  const uint64_t offset = uint64_t{LoadFixed32(bytes.data())} * kSectorBytes;
  if (offset == 0 || LoadFixed32(bytes.data() + 4) != TagCheck(bytes.data(), file_id, offset))
    return std::nullopt;
  return offset;
}

void StoreChunk(char* to, std::string_view piece, uint64_t file_id, uint64_t offset) {
  assert(!piece.empty() && piece.size() + kChunkFramingBytes <= SectorRoom(offset));
  StoreFixed64(to, Checksum(piece, file_id, offset));
  std::memcpy(to + 8, piece.data(), piece.size());
  to[8 + piece.size()] = static_cast<char>(kSeal);
}

bool LoadChunk(std::string_view bytes, uint64_t file_id, uint64_t offset, std::string_view* piece) {
  assert(bytes.size() > kChunkFramingBytes);
  *piece = bytes.substr(8, bytes.size() - kChunkFramingBytes);
  return static_cast<uint8_t>(bytes.back()) == kSeal &&
         LoadFixed64(bytes.data()) == Checksum(*piece, file_id, offset);
}

}  // namespace lsm
