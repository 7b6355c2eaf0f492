// Framing of logs: write-ahead logs and manifests.  lsm/FORMAT.md draws the same.
//
//   file   = header record*            a sector is 512 bytes, counted from the start of the file
//
//   header (32 bytes), the same in every version of the format
//     0  8  magic "TRLSLOG\n"
//     8  2  format version (1)
//    10  2  kind: 1 write-ahead log, 2 manifest
//    12  8  file id, drawn at random; seeds every checksum in the file
//    20  3  zero
//    23  8  checksum of bytes 0-22, at offset 0, under file id 0
//    31  1  seal 0xa5
//
//   record = record header, chunk*, padding
//
//     record header (30 bytes)
//       0  4  mark 0x4c4f4752 ("RGOL" in the file)
//       4  1  type: 1 data, 2 end of log
//       5  4  payload length n (0 for an end record)
//       9  4  ordinal of the record in the file, from 0
//      13  8  durable offset: every byte before it was known to be synced when this was written
//      21  8  checksum of bytes 0-20, at the record's offset
//      29  1  seal 0xa5
//
//     chunk (10 to 512 bytes): a piece of the payload, up to its end or to that of the sector
//       0  8  checksum of the piece, at the chunk's offset
//       8  k  the piece, 1 to 503 bytes
//     8+k  1  seal 0xa5
//
//     padding: if fewer than 40 bytes are left in the sector behind the last chunk, they are zero
//     and belong to the record.  So no header and no chunk ever lies in two sectors.
//
//     offset 32              512                      1024               1536
//     | header chunk         | chunk                  | chunk  header chunk 0|
//     '--- record 0, 1.2 KB -------------------------------' '- record 1 ---'
//
// Why so.  After a crash, any sectors of what was not synced may be missing, zero, garbage or as
// they were, and such a torn tail is dropped; but damage to what was synced must be told from that,
// for dropping it would lose acknowledged writes.  What tells them apart:
//
//   * A header's checksum is its own, so a damaged length is known to be damaged and leads nowhere.
//   * Damage before the durable offset that any later sound header states is damage, never a torn
//     tail.  The mark lets the reader find headers behind the damage; the checksum, bound to file
//     and offset, keeps stale or copied bytes from passing for one.
//   * Behind the last durable offset, a header or chunk that one byte of another value makes sound
//     was overwritten, not torn: the reader tries them all.  A torn write cannot look like that,
//     because every piece that is lost or kept as a whole, a sector, holds a checksum of its own
//     and ends with a seal: a lost one, be it of zeros or garbage, differs from what was written
//     in many bytes, whatever the payload, or in its seal.  (Were chunks to span sectors, then a
//     lost sector with a single one among its zeros could not be told from a flip.)
//   * The seal is not zero.  So a write that stops at any byte and leaves zeros lacks it, and one
//     that became anything else was overwritten.  A zero in its place is taken for a write that
//     stopped just before it, unless something stands behind it in the sector.
//   * The file's header is synced before the first record is appended.  So a file with anything
//     behind a bad header is damaged, and one with nothing behind it was being made when the crash
//     came.  If that holds more than a piece of the magic and zeros, it is no log at all: garbage
//     of a crash, or somebody's file.  An opening passes it over, unless the manifest needs it.
//   * An orderly close syncs, then writes an end record and syncs that: all that came before is
//     then known to have been durable.  A log that lost its end later is noticed by whoever knows
//     that it was closed, and with how many bytes: of write-ahead logs the manifest does.
//   * A sector that holds what was written to another one of the file (a header, or a chunk with
//     nothing but zeros behind it), which its checksum tells, was swapped or misdirected.  (A value
//     that is a piece of the same log may look like that, where it was torn.)
//
// Not told apart from a torn tail, in a log that was not closed and behind the last durable offset
// that is stated in it: two or more bytes overwritten in one header or chunk, for instance a whole
// sector by something else; the last seal of the file overwritten by a zero; and a file cut short.
// And a sector that holds the end of what was synced, and is written again with more behind it, is
// trusted to keep the former (disks write sectors whole).
#ifndef TRELLIS_LSM_LOG_LOG_FORMAT_H_
#define TRELLIS_LSM_LOG_LOG_FORMAT_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lsm {

inline constexpr std::string_view kLogMagic = "TRLSLOG\n";
inline constexpr uint16_t kLogVersion = 1;
enum class LogKind : uint16_t { kWriteAhead = 1, kManifest = 2 };

inline constexpr size_t kLogHeaderBytes = 32;
inline constexpr size_t kRecordHeaderBytes = 30;
inline constexpr std::string_view kRecordMark = "RGOL";
inline constexpr uint8_t kSeal = 0xa5;
inline constexpr size_t kSectorBytes = 512;
inline constexpr size_t kChunkFramingBytes = 9;  // checksum and seal
inline constexpr size_t kChunkPayloadBytesMax = kSectorBytes - kChunkFramingBytes;
// What a sector must have left for a record to start in it: a header and the smallest chunk.
inline constexpr size_t kRecordRoomBytesMin = kRecordHeaderBytes + kChunkFramingBytes + 1;
inline constexpr size_t kRecordBytesMax = size_t{320}
                                          << 20;  // of payload; above WriteBatch's limit

enum class RecordType : uint8_t { kData = 1, kEnd = 2 };

struct LogHeader {
  uint16_t version = kLogVersion;
  LogKind kind = LogKind::kWriteAhead;
  uint64_t file_id = 0;
  uint32_t reserved = 0;  // bytes 20 to 22, as they were read; written as zeros
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

// Of the chunk at `offset`, if `payload_left_bytes` are still to come.
constexpr size_t ChunkPayloadBytes(uint64_t offset, uint64_t payload_left_bytes) {
  return static_cast<size_t>(
      std::min<uint64_t>(payload_left_bytes, SectorRoom(offset) - kChunkFramingBytes));
}

// Behind a record whose chunks end at `offset`.
constexpr size_t PaddingBytes(uint64_t offset) {
  const size_t room = SectorRoom(offset);
  return room < kRecordRoomBytesMin ? room : 0;
}

// Where the record at `offset` ends, its padding included.
uint64_t RecordEnd(uint64_t offset, uint64_t payload_bytes);

// `to` has room for the header's bytes.
void StoreLogHeader(char* to, const LogHeader& header);
void StoreRecordHeader(char* to, const RecordHeader& header, uint64_t file_id, uint64_t offset);
// `to` has room for the piece and kChunkFramingBytes.
void StoreChunk(char* to, std::string_view piece, uint64_t file_id, uint64_t offset);

// False if the bytes (exactly those of a header, or a whole chunk) are not as they were written.
// A sound log header may still be of a version, of a kind or with reserved bytes that are not
// known.
bool LoadLogHeader(std::string_view bytes, LogHeader* header);
bool LoadRecordHeader(std::string_view bytes, uint64_t file_id, uint64_t offset,
                      RecordHeader* header);
bool LoadChunk(std::string_view bytes, uint64_t file_id, uint64_t offset, std::string_view* piece);

}  // namespace lsm

#endif  // TRELLIS_LSM_LOG_LOG_FORMAT_H_
