// The write-ahead logs in use: the log that takes records, and older logs whose memtables are not
// flushed yet.
//
// The next log is made ahead of time, because a writer would have to wait for the sync of its
// header.  It passes through these states:
//
//   being made   missing, or without a complete header
//   prepared     with its header, synced, and without records; its name may be lost in a crash
//   in use       like any other log
//
// In the first two states it holds no acknowledged write, and the manifest does not name it.  After
// a crash, recovery, repair and DB::Verify find an empty log or a piece of one, as after a crash
// before any log's first record.  Its number is above those of the logs in use, so removing the
// logs below one of these never removes it.  Tables and manifests that are made meanwhile have
// higher numbers, which are never compared with those of logs.  If a resumed store begins another
// log instead, the prepared log becomes an older log without records, and is removed with the older
// ones.  A log that is never used is removed when the store is closed, or after a crash by the next
// opening.
//
// A log may be acknowledged as synced only if every older log is synced.  Otherwise a crash could
// leave a hole in the order of commits.  Before the first acknowledgement, the log's name must be
// durable and the manifest must list the log.
//
// Thread-safe; records are appended by one thread at a time.
#ifndef TRELLIS_LSM_STORE_LOG_SET_H_
#define TRELLIS_LSM_STORE_LOG_SET_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/file_system.h"
#include "lsm/log/log_writer.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {

class LogSet {
 public:
  explicit LogSet(Directory* directory) : directory_(directory) {}

  // --- for one thread at a time: the writers' leader, or the thread that closes the store ---

  // Makes a log with this number, which takes the records from now on.  REQUIRES: the number is
  // higher than those of all earlier logs, including the prepared one.
  absl::Status Start(uint64_t number, uint64_t file_id);

  // From now on the prepared log takes the records.  Returns its number; nullopt if there is none.
  // Touches no file, throws nothing.
  std::optional<uint64_t> StartPrepared();

  // Afterwards the next record, if it is not longer than this, needs no memory except the file's.
  void Reserve(size_t payload_bytes);

  // Appends one record.  Returns the bytes that it takes in the file, framing included.
  absl::StatusOr<uint64_t> Append(std::string_view payload);

  // Afterwards every record so far survives a crash.  Returns the logs that were synced for the
  // first time: the manifest must list them before any write in them is acknowledged as durable.
  absl::StatusOr<std::vector<uint64_t>> Sync();

  // Removes the prepared log, and closes the others in order.  `closed` receives the numbers and
  // file bytes of the logs that are now known to survive a crash, whole and with their names: all
  // logs, or those before the first that failed.  Throws nothing.
  absl::Status Close(std::map<uint64_t, uint64_t>* closed);

  // --- for any thread ---

  // Makes the prepared log.  REQUIRES: the number is higher than all so far, there is no prepared
  // log, and no other call prepares one or closes the logs meanwhile.  After an error no log is
  // prepared, but a file may be left.
  absl::Status Prepare(uint64_t number, uint64_t file_id);

  // Afterwards the names of all logs that exist now survive a crash.
  absl::Status SyncNames() ABSL_LOCKS_EXCLUDED(mutex_);

  // How many bytes were written to each log in use.
  std::map<uint64_t, uint64_t> Sizes();

  // Removes the files of logs below `number`.  Throws nothing.
  void Remove(uint64_t number);

 private:
  struct Log {
    std::unique_ptr<LogWriter> writer;
    bool name_is_durable = false;
    bool synced_once = false;
  };
  using Logs = std::map<uint64_t, Log>;
  // Adds the log to `made`.  Moving it from map to map allocates no memory.
  absl::Status Make(uint64_t number, uint64_t file_id, Logs* made);
  void StartLast() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Throws nothing.
  void RemoveFiles(Logs logs);

  Directory* const directory_;
  Mutex mutex_;
  Logs logs_ ABSL_GUARDED_BY(mutex_);
  Logs prepared_ ABSL_GUARDED_BY(mutex_);  // at most one, numbered above all of logs_
  // The last log, which takes records.  Not guarded, so that appending a record takes no lock: only
  // the writers' leader changes and uses it, and Remove never removes it.
  LogWriter* newest_ = nullptr;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_STORE_LOG_SET_H_
