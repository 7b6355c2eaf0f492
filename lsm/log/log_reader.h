// Reads a log back, and tells a torn tail from damage (log_format.h says how).  Trusts no byte;
// memory is bounded by the longest record that the file really holds.  It reads about twice the
// bytes that the file stores, however many places are damaged and however large a sparse file
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

// How the readable part of a log ended.
enum class LogEnd : uint8_t {
  kNotYet,  // more records follow, or damage stands in the way
  kClosed,  // an end record, and nothing behind it
  kOpen,    // after a sound record, at the end of the file: the writer was not closed
  kTorn,    // behind the last sound record is a write that did not finish and was never synced
};

class LogReader {
 public:
  // Reads the header.  Errors:
  //   the file system's own
  //   InvalidArgument  no log at all, or a log of another kind than wanted
  //   Unimplemented    a version, a kind or reserved bytes that are not known, named
  //   DataLoss         a damaged header
  // A file no longer than a header that holds a piece of the magic (or none of it) and zeros
  // and has no sound one was being made when a crash came: it opens with kTorn at once and no
  // records (unless one overwritten byte explains it: that is DataLoss).
  static absl::StatusOr<std::unique_ptr<LogReader>> Open(std::unique_ptr<ReadFile> file,
                                                         LogKind kind);

  struct Record {
    uint64_t offset = 0;          // where it begins in the file, its sector's tag included
    uint64_t size_bytes = 0;      // framing included
    uint64_t durable_offset = 0;  // as it states
    std::string_view payload;     // good until the next call
  };

  // True and the next record; false at the end (see end()).  DataLoss where a record is damaged,
  // naming file and offset: the reader then stays there, and says so again.  The file system's
  // errors pass; a later call tries again.
  absl::StatusOr<bool> Next(Record* record);

  // The payload's size of the record that Next will read, as far as its header can be read;
  // otherwise 0.  Lets a caller make room before the record takes its memory.
  uint64_t NextPayloadBytes();
  // The caller has finished with the first `bytes` of the last record's payload: their memory, if
  // it is worth it, goes back to the system.
  void GiveBackPayload(size_t bytes);

  // For repair and for tools: goes on behind the damage that Next reported, at the next record with
  // a sound header.  False if there is none, or no damage was reported.
  absl::StatusOr<bool> SkipDamage();

  LogEnd end() const { return end_; }
  // Behind the last sound record, when end() is kTorn.
  uint64_t torn_bytes() const { return torn_bytes_; }
  // The highest durable offset that any record so far stated.
  uint64_t durable_offset() const { return durable_offset_; }
  // Of the next record, or of the damage.
  uint64_t offset() const { return offset_; }
  uint64_t file_id() const { return file_id_; }
  uint64_t size_bytes() const { return size_bytes_; }
  const std::string& path() const { return file_->path(); }

 private:
  struct Found {
    uint64_t offset = 0;  // of the record
    RecordHeader header;
  };
  // A header or chunk, with the tag of its sector if it is the first there.
  struct Piece {
    uint64_t at = 0;  // of the tag or, without one, of the header or chunk
    uint64_t end = 0;
    bool has_right_tag =
        true;               // also without one: then what comes before it in the sector is right
    bool is_sound = false;  // the header or chunk
  };
  // A sector that holds what was written to another one.
  struct Stray {
    uint64_t at = 0;
    uint64_t home = 0;
  };
  // What was read last.
  struct Window {
    uint64_t offset = 0;  // in the file
    std::string bytes;
  };

  explicit LogReader(std::unique_ptr<ReadFile> file);

  absl::Status ReadLogHeader(LogKind kind);
  // The verdict on the first bytes of the file, which are no sound header.
  absl::Status JudgeLogHeader(const std::string& head);
  absl::StatusOr<bool> ReadRecord(Record* record);
  absl::StatusOr<bool> ReadPayload(const RecordHeader& header, uint64_t end);
  absl::StatusOr<bool> FinishLog(uint64_t end);

  // Sets the piece's place and whether its tag is right.
  absl::StatusOr<Piece> BeginPiece(uint64_t offset, size_t bytes);
  // The verdict on a piece of the record at offset_ that is not as it was written: an error if it
  // was damaged, false if torn.
  absl::StatusOr<bool> Judge(const Piece& piece, std::string_view what);
  // The same, of bytes at or after `from`.  `is_overwritten`: they were damaged for certain.
  absl::StatusOr<bool> DamagedOrTorn(uint64_t from, std::string_view what, bool is_overwritten);
  // Evidence at or after `from` that this is no torn tail; empty if there is none.
  absl::StatusOr<std::string> FindProof(uint64_t from);
  // Searches the rest of the sector at searched_to_.
  absl::Status SearchSector();
  // The offset for which the sector with these first bytes was written, if it is one of this file.
  std::optional<uint64_t> HomeOf(std::string_view sector) const;
  absl::Status Damage(std::string_view what);
  bool Torn();

  // The first sound record header from `from` to `to`.
  absl::StatusOr<std::optional<Found>> FindHeader(Window* window, uint64_t from, uint64_t to);
  // `from`, or if the file stores nothing there, the beginning of the next sector that it stores.
  absl::StatusOr<uint64_t> SkipHole(const Window& window, uint64_t from) const;
  static bool IsIn(const Window& window, uint64_t offset, size_t count);
  // Bytes of the file from `offset` on, at least so many, which it has; good until the window's
  // next use.
  absl::StatusOr<std::string_view> BytesFrom(Window* window, uint64_t offset, size_t least);
  absl::StatusOr<std::string_view> BytesAt(uint64_t offset, size_t count);

  std::unique_ptr<ReadFile> file_;
  uint64_t size_bytes_ = 0;
  std::string log_header_;
  uint64_t file_id_ = 0;
  uint64_t offset_ = 0;
  uint64_t durable_offset_ = 0;
  uint64_t torn_bytes_ = 0;
  uint32_t next_ordinal_ = 0;
  LogEnd end_ = LogEnd::kNotYet;
  absl::Status damage_;      // what Next reported
  uint64_t damage_end_ = 0;  // where SkipDamage starts to look
  Window window_;
  std::string payload_;  // of the current record

  // The search for proof runs ahead of the records, so it has a window of its own.  Both move on
  // only.
  Window search_window_;
  uint64_t searched_to_ = 0;
  Found witness_;  // of the headers found, the one with the highest durable offset
  Stray stray_;    // the last one found
};

}  // namespace lsm

#endif  // TRELLIS_LSM_LOG_LOG_READER_H_
