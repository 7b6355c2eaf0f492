// Reads a log, and distinguishes a torn tail from damage (log_format.h explains how).  Trusts no
// byte.  Memory is bounded by the longest record that the file really holds.  It reads about twice
// the bytes that the file stores, however many places are damaged and however large a sparse file
// claims to be (ReadFile::NextData).  One thread at a time.
#ifndef TRELLIS_LSM_LOG_LOG_READER_H_
#define TRELLIS_LSM_LOG_LOG_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/file_system.h"
#include "lsm/log/log_format.h"

namespace lsm::inline TRELLIS_ABI {

// How the readable part of a log ends.
enum class LogEnd : uint8_t {
  kNotYet,  // more records follow, or damage prevents reading them
  kClosed,  // with an end record, and nothing after it
  kOpen,    // with a sound record or the header, at the end of the file: the writer was not closed
  kTorn,    // with an unfinished write that was never synced
};

class LogReader {
 public:
  // Opens a log and reads its header.  Errors:
  //   the file system's own
  //   InvalidArgument  not a log, or a log of another kind than wanted
  //   Unimplemented    an unknown version, kind or reserved byte; named
  //   DataLoss         a damaged header
  // A file that is at most as long as a header, and has no sound one, may be from a crash during
  // its creation.  This is so if it begins with the magic (one byte may be wrong), or holds only a
  // piece of the magic, perhaps none of it, and zeros.  It opens with kTorn at once and no records.
  // Exception: if changing one byte makes the header sound, that is DataLoss.
  static absl::StatusOr<std::unique_ptr<LogReader>> Open(std::unique_ptr<ReadFile> file,
                                                         LogKind kind);

  struct Record {
    uint64_t offset = 0;          // start in the file, including its sector's tag
    uint64_t size_bytes = 0;      // framing included
    uint64_t durable_offset = 0;  // stated by the record
    std::string_view payload;     // valid until the next call
  };

  // Returns true and the next record, or false at the end (see end()).  DataLoss, with file and
  // offset, if a record is damaged; the reader stays there and repeats the error.  After an error
  // of the file system, a later call tries again.
  absl::StatusOr<bool> Next(Record* record);

  // Payload size of the record that Next will read, if its header is readable; otherwise 0.  With
  // it a caller can make room before the record takes memory.
  uint64_t NextPayloadBytes();
  // Called when the first `bytes` of the last record's payload are no longer needed.  Returns their
  // memory to the system, if it is worthwhile.
  void GiveBackPayload(size_t bytes);

  // For repair and tools: after Next has reported damage, continues at the next record with a sound
  // header.  False if there is none, or if no damage was reported.
  absl::StatusOr<bool> SkipDamage();

  // For a log that its writer still appends to: looks at the file's size again.  If the file has
  // grown, or Next could not read what it has, Next tries again at the first record that it has not
  // returned.  The payload of the last record stays valid.  Errors: as for Open; DataLoss if the
  // file has become shorter.
  absl::Status Continue();

  LogEnd end() const { return end_; }
  // If end() is kTorn: whether the file ends before the record does, as while it is being written.
  // (Otherwise the bytes of the record are in the file, but are wrong.)
  bool ends_within_record() const { return ends_within_record_; }
  // Bytes after the last sound record, if end() is kTorn.
  uint64_t torn_bytes() const { return torn_bytes_; }
  // The highest durable offset that a record has stated so far.
  uint64_t durable_offset() const { return durable_offset_; }
  // Offset of the next record, or of the damage.
  uint64_t offset() const { return offset_; }
  uint64_t file_id() const { return file_id_; }
  // 0 without a sound header.
  uint16_t version() const { return version_; }
  uint64_t size_bytes() const { return size_bytes_; }
  const std::string& path() const { return file_->path(); }

 private:
  struct Found {
    uint64_t offset = 0;  // of the record
    RecordHeader header;
  };
  // A header or chunk, with the tag of its sector if it is the first piece there.
  struct Piece {
    uint64_t at = 0;  // offset of the tag; without one, of the header or chunk
    uint64_t end = 0;
    // True also without a tag: the bytes before the piece in its sector are right then.
    bool has_right_tag = true;
    bool is_sound = false;  // the header or chunk
  };
  // A sector with the content of another one.
  struct Stray {
    uint64_t at = 0;
    uint64_t home = 0;
  };
  // The most recently read bytes.
  struct Window {
    uint64_t offset = 0;  // in the file
    std::string bytes;
  };

  LogReader(std::unique_ptr<ReadFile> file, LogKind kind);

  absl::Status ReadLogHeader();
  // Judges the first bytes of a file whose header is not sound.
  absl::Status JudgeLogHeader(const std::string& head);
  absl::StatusOr<bool> ReadRecord(Record* record);
  // The file ends before the record at offset_ does.
  absl::StatusOr<bool> EndWithinRecord(std::string_view what);
  absl::StatusOr<bool> ReadPayload(const RecordHeader& header, uint64_t end);
  absl::StatusOr<bool> FinishLog(uint64_t end);

  // Sets the piece's place, and whether its tag is right.
  absl::StatusOr<Piece> BeginPiece(uint64_t offset, size_t bytes);
  // Judges a wrong piece of the record at offset_: returns an error if it is damaged, false if it
  // is torn.
  absl::StatusOr<bool> Judge(const Piece& piece, std::string_view what);
  // As Judge, for bytes at or after `from`.  `is_overwritten`: they are certainly damaged.
  absl::StatusOr<bool> DamagedOrTorn(uint64_t from, std::string_view what, bool is_overwritten);
  // Evidence, at or after `from`, that this is not a torn tail; empty if there is none.
  absl::StatusOr<std::string> FindProof(uint64_t from);
  // Searches the rest of the sector at searched_to_.
  absl::Status SearchSector();
  // The offset at which a sector with these first bytes belongs, if it is one of this file.
  std::optional<uint64_t> HomeOf(std::string_view sector) const;
  absl::Status Damage(std::string_view what);
  bool Torn();

  // The first sound record header in [from, to).
  absl::StatusOr<std::optional<Found>> FindHeader(Window* window, uint64_t from, uint64_t to);
  // `from`; or, in a hole, the start of the next sector that the file stores.
  absl::StatusOr<uint64_t> SkipHole(const Window& window, uint64_t from) const;
  static bool IsIn(const Window& window, uint64_t offset, size_t count);
  // At least `least` bytes of the file from `offset` on.  REQUIRES: the file has them.  Valid until
  // the window's next use.
  absl::StatusOr<std::string_view> BytesFrom(Window* window, uint64_t offset, size_t least);
  absl::StatusOr<std::string_view> BytesAt(uint64_t offset, size_t count);

  std::unique_ptr<ReadFile> file_;
  const LogKind kind_;
  uint64_t size_bytes_ = 0;
  std::string log_header_;
  uint64_t file_id_ = 0;
  uint16_t version_ = 0;
  uint64_t offset_ = 0;
  uint64_t durable_offset_ = 0;
  uint64_t torn_bytes_ = 0;
  uint32_t next_ordinal_ = 0;
  LogEnd end_ = LogEnd::kNotYet;
  bool ends_within_record_ = false;
  absl::Status damage_;      // reported by Next
  uint64_t damage_end_ = 0;  // where SkipDamage starts to search
  Window window_;
  std::string payload_;  // of the current record

  // The search for proof runs ahead of the records, so it has its own window.  Both only move
  // forward.
  Window search_window_;
  uint64_t searched_to_ = 0;
  Found witness_;  // of the headers found, the one with the highest durable offset
  Stray stray_;    // the last one found
};

}  // namespace lsm

#endif  // TRELLIS_LSM_LOG_LOG_READER_H_
