// The write-ahead logs in use: the one that takes records, and older ones whose memtables are not
// flushed yet.
//
// The log that comes next is made ahead of time, because its header is synced and a writer would
// wait for that.  It is, one after the other,
//
//   being made   not there at all, or with no header, or a part of one
//   prepared     there with its header, synced, and without records; its name may be lost
//   in use       as any other
//
// In the first two states it holds no acknowledged write, and the manifest does not name it.
// Recovery, repair and DB::Verify see what a crash leaves before a log's first record: an empty
// log, or a piece of one.  Its number is above those of the logs in use, so it is never removed
// together with the logs below one of these.  Tables and manifests that are made meanwhile have
// higher numbers, which are never compared with those of logs.  If a resumed store begins another
// log in its place, it becomes an older log without records, and is removed with the older ones.  A
// log that is never used is removed when the store is closed, or after a crash by the next opening.
//
// A log may be acknowledged as synced only if every older one is, or a crash would leave a hole in
// the order of commits.  And its name must survive, and the manifest must know of it, before the
// first acknowledgement.
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

  // --- of one thread at a time: the writers' leader, or the thread that closes the store ---

  // Makes a log of this number, higher than all before, the prepared one's too, the one that takes
  // records.
  absl::Status Start(uint64_t number, uint64_t file_id);

  // Makes the prepared log the one that takes records, and returns its number; nothing if there is
  // none.  Touches no file, throws nothing.
  std::optional<uint64_t> StartPrepared();

  // The next record, if it is not longer than this, needs no memory but the file's.
  void Reserve(size_t payload_bytes);

  // Appends one record.  Returns the bytes that it takes in the file, framing included.
  absl::StatusOr<uint64_t> Append(std::string_view payload);

  // Every record so far survives a crash.  Returns the logs that were synced for the first time:
  // the manifest must have them before anything in them is acknowledged as durable.
  absl::StatusOr<std::vector<uint64_t>> Sync();

  // Removes the prepared log, and ends the others in order.  `closed` receives numbers and file
  // bytes of those that are now known to survive a crash whole, with their names: all, or those
  // before the first that failed.  Throws nothing.
  absl::Status Close(std::map<uint64_t, uint64_t>* closed);

  // --- of any thread ---

  // Makes the prepared log, with this number, higher than all so far.  REQUIRES: there is none, and
  // no other call makes or closes one meanwhile.  After an error nothing is prepared, but a file
  // may be left.
  absl::Status Prepare(uint64_t number, uint64_t file_id);

  // Afterwards the names of all present logs survive a crash.
  absl::Status SyncNames() ABSL_LOCKS_EXCLUDED(mutex_);

  // How many bytes were written to each.
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
  // `made` gets the log: from map to map it moves without taking memory.
  absl::Status Make(uint64_t number, uint64_t file_id, Logs* made);
  void StartLast() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Throws nothing.
  void RemoveFiles(Logs logs);

  Directory* const directory_;
  Mutex mutex_;
  Logs logs_ ABSL_GUARDED_BY(mutex_);
  Logs prepared_ ABSL_GUARDED_BY(mutex_);  // at most one, above all of these
  // The last one, which takes records.  Not guarded: only the writers' leader changes and uses it,
  // and Remove leaves it; so a record takes no lock for it.
  LogWriter* newest_ = nullptr;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_STORE_LOG_SET_H_
