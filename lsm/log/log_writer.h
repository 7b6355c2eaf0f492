// Appends records to a log.  Grammar: (Append | Sync)* [Close].  One thread at a time; size_bytes
// may be read by any.
//
// A failed append or sync is final: every later call returns the first error, for what is in the
// file is unknown, and a file whose sync failed must not be synced again.
#ifndef TRELLIS_LSM_LOG_LOG_WRITER_H_
#define TRELLIS_LSM_LOG_LOG_WRITER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/file_system.h"
#include "lsm/log/log_format.h"

namespace lsm::inline TRELLIS_ABI {

class LogWriter {
 public:
  // Writes the header and syncs it, for the reader takes a log with records but no sound header for
  // a damaged one.  The file must be empty, else InvalidArgument.
  static absl::StatusOr<std::unique_ptr<LogWriter>> Create(std::unique_ptr<AppendFile> file,
                                                           LogKind kind, uint64_t file_id);

  // The next record, if it is not longer than this, needs no memory but the file's.
  void Reserve(size_t payload_bytes);

  // One record, in one write to the file.  InvalidArgument beyond kRecordBytesMax: nothing is
  // written then, and the log can go on.
  absl::Status Append(std::string_view payload);

  // Everything appended so far survives a crash (the file's name is the caller's concern).  Costs
  // nothing if nothing was appended since the last time.
  absl::Status Sync();

  // Writes the end record and closes.  With `sync` all that was appended is synced before the end
  // record is written (which then says so), and the end record after.  Closes even after an error,
  // which it returns.  Throws nothing.
  absl::Status Close(bool sync);

  // Relaxed: a figure; what it counts is not read because of it.
  uint64_t size_bytes() const { return size_bytes_.load(std::memory_order_relaxed); }
  // Anything was appended since the last sync.
  bool has_unsynced() const { return durable_offset_ != size_bytes(); }
  uint64_t file_id() const { return file_id_; }
  const std::string& path() const { return file_->path(); }

 private:
  LogWriter(std::unique_ptr<AppendFile> file, uint64_t file_id);
  absl::Status AppendRecord(RecordType type, std::string_view payload);
  absl::Status AppendBytes(std::string_view bytes);

  std::unique_ptr<AppendFile> file_;
  const uint64_t file_id_;
  std::atomic<uint64_t> size_bytes_{0};
  uint64_t durable_offset_ = 0;  // everything before it is synced
  uint32_t next_ordinal_ = 0;
  absl::Status status_;  // the first failure
  std::string scratch_;  // the record being framed; kept, to allocate once
};

}  // namespace lsm

#endif  // TRELLIS_LSM_LOG_LOG_WRITER_H_
