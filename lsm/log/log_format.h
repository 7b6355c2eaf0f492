// Framing of logs: write-ahead logs and manifests.  lsm/FORMAT.md, section "Logs", draws header
// (the same in every version), sector tag, record header and chunk.  An example:
//
//     offset 32              512                    1024                  1536
//     | header chunk         |tag chunk             |tag chunk header chunk 0|
//     '--- record 0, 1.2 KB -----------------------------' '--- record 1 ----'
//
// After a crash, any sector that was not synced may be missing, zero, garbage, or unchanged.  The
// reader drops such a torn tail.  It must not take damage to synced bytes for a torn tail, because
// dropping them would lose acknowledged writes.  The same section lists the signs of damage.
//
// In a log that was not closed, some damage after the last durable offset that the log states
// looks like a torn write: a sector overwritten from its first byte on, except by another sector
// of the log; zeros up to the end of a sector; a lost end of the file.
// lsm/design/log_tail.md has the reasons.
#ifndef TRELLIS_LSM_LOG_LOG_FORMAT_H_
#define TRELLIS_LSM_LOG_LOG_FORMAT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

inline constexpr std::string_view kLogMagic = "TRLSLOG\n";
enum class LogKind : uint16_t { kWriteAhead = 1, kManifest = 2 };
// Version 3 of write-ahead logs has more kinds of entries in its batches.  The framing is the same.
inline constexpr uint16_t kLogVersionMin = 2;
constexpr uint16_t LogVersionMax(LogKind kind) { return kind == LogKind::kWriteAhead ? 3 : 2; }

inline constexpr size_t kLogHeaderBytes = 32;
inline constexpr size_t kRecordHeaderBytes = 30;
inline constexpr std::string_view kRecordMark = "RGOL";
inline constexpr uint8_t kSeal = 0xa5;
inline constexpr size_t kSectorBytes = 512;
inline constexpr size_t kSectorTagBytes = 8;
inline constexpr size_t kChunkFramingBytes = 9;  // checksum and seal
inline constexpr size_t kChunkPayloadBytesMax = kSectorBytes - kSectorTagBytes - kChunkFramingBytes;
// Space that a record needs at the end of a sector to start there: a header and the smallest chunk.
inline constexpr size_t kRecordRoomBytesMin = kRecordHeaderBytes + kChunkFramingBytes + 1;
inline constexpr size_t kRecordBytesMax = size_t{320}
                                          << 20;  // of payload; above WriteBatch's limit

// The limit of the sector numbers in tags.
inline constexpr uint64_t kLogBytesMax = kSectorBytes << 32;

enum class RecordType : uint8_t { kData = 1, kEnd = 2 };

struct LogHeader {
  uint16_t version = kLogVersionMin;
  LogKind kind = LogKind::kWriteAhead;
  uint64_t file_id = 0;
  uint32_t reserved = 0;  // bytes 20 to 22 as read; written as zeros
};

struct RecordHeader {
  RecordType type = RecordType::kData;
  uint32_t payload_bytes = 0;
  uint32_t ordinal = 0;
  uint64_t durable_offset = 0;
};

// Bytes from `offset` to the end of its sector.
constexpr size_t SectorRoom(uint64_t offset) {
  return kSectorBytes - static_cast<size_t>(offset % kSectorBytes);
}

// Position of the next header or chunk at `offset`: after the tag, if a sector begins there.
constexpr uint64_t AfterTag(uint64_t offset) {
  return offset % kSectorBytes == 0 ? offset + kSectorTagBytes : offset;
}

// Payload of the chunk at `offset`, if `payload_left_bytes` remain.
constexpr size_t ChunkPayloadBytes(uint64_t offset, uint64_t payload_left_bytes) {
  return static_cast<size_t>(
      std::min<uint64_t>(payload_left_bytes, SectorRoom(offset) - kChunkFramingBytes));
}

// Padding after a record whose chunks end at `offset`.
constexpr size_t PaddingBytes(uint64_t offset) {
  const size_t room = SectorRoom(offset);
  return room < kRecordRoomBytesMin ? room : 0;
}

// End of a record, including padding.  `offset` is that of its header or of the tag before it.
uint64_t RecordEnd(uint64_t offset, uint64_t payload_bytes);

// The Store functions REQUIRE room in `to` for all that they write.
void StoreLogHeader(char* to, const LogHeader& header);
void StoreRecordHeader(char* to, const RecordHeader& header, uint64_t file_id, uint64_t offset);
// `offset` is the start of a sector other than the first.
void StoreSectorTag(char* to, uint64_t file_id, uint64_t offset);
// Writes the piece and kChunkFramingBytes.
void StoreChunk(char* to, std::string_view piece, uint64_t file_id, uint64_t offset);

// False if the bytes (exactly those of a header, or of a whole chunk) are damaged.  A sound log
// header may still have an unknown version, kind or reserved byte.
bool LoadLogHeader(std::string_view bytes, LogHeader* header);
bool LoadRecordHeader(std::string_view bytes, uint64_t file_id, uint64_t offset,
                      RecordHeader* header);
bool LoadChunk(std::string_view bytes, uint64_t file_id, uint64_t offset, std::string_view* piece);

// The offset of the sector to which this tag belongs; nullopt if it is no tag of this file.
std::optional<uint64_t> LoadSectorTag(std::string_view bytes, uint64_t file_id);

}  // namespace lsm

#endif  // TRELLIS_LSM_LOG_LOG_FORMAT_H_
