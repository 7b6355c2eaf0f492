// Appends records to a log: (Append | Sync)* [Close].  One thread at a time, but any thread may
// read size_bytes.
//
// A failed append or sync is final: every later call returns the first error.  The content of the
// file is unknown then, and a file must not be synced again after a failed sync.
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
  // Writes and syncs the header, since the reader treats a log with records but without a sound
  // header as damaged.  InvalidArgument unless the file is empty.
  static absl::StatusOr<std::unique_ptr<LogWriter>> Create(std::unique_ptr<AppendFile> file,
                                                           LogKind kind, uint64_t file_id);

  // Reserves memory for a payload of that size.  Appending the next record, if its payload is not
  // longer, then needs no memory but what the file takes.
  void Reserve(size_t payload_bytes);

  // Appends a record in one write to the file.  InvalidArgument beyond kRecordBytesMax; then
  // nothing is written, and the log stays usable.
  absl::Status Append(std::string_view payload);

  // After OK everything appended so far survives a crash (the caller must sync the file's name).
  // Does nothing if nothing was appended since the last sync.
  absl::Status Sync();

  // Writes the end record and closes the file.  With `sync`, syncs everything before the end
  // record, which then says so, and syncs the end record too.  Closes even after an error, and
  // returns the error.  Does not throw.
  absl::Status Close(bool sync);

  // Relaxed: it publishes nothing that the writer has in memory.
  uint64_t size_bytes() const { return size_bytes_.load(std::memory_order_relaxed); }
  // Whether anything was appended since the last sync.
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
