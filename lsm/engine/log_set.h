// The write-ahead logs in use: the one that takes records, and older ones whose memtables are not
// flushed yet.
//
// A log may be acknowledged as synced only if every older one is, or a crash would leave a hole in
// the order of commits.  And its name must survive, and the manifest must know of it, before the
// first acknowledgement.
//
// Thread-safe; records are appended by one thread at a time.
#ifndef TRELLIS_LSM_ENGINE_LOG_SET_H_
#define TRELLIS_LSM_ENGINE_LOG_SET_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "lsm/fs/file_system.h"
#include "lsm/log/log_writer.h"

namespace lsm {

class LogSet {
 public:
  explicit LogSet(Directory* directory) : directory_(directory) {}

  // --- of one thread at a time: who leads the writers, or who closes the store ---

  // Makes a log of this number, higher than all before, the one that takes records.
  absl::Status Start(uint64_t number, uint64_t file_id);

  // The next record, if it is not longer than this, needs no memory but the file's.
  void Reserve(size_t payload_bytes);

  // Appends one record.  Returns the bytes that it takes in the file, framing included.
  absl::StatusOr<uint64_t> Append(std::string_view payload);

  // Every record so far survives a crash.  Returns the logs that were synced for the first time:
  // the manifest must have them before anything in them is acknowledged as durable.
  absl::StatusOr<std::vector<uint64_t>> Sync();

  // Ends the logs in order.  `closed` receives numbers and file bytes of those that are now known
  // to survive a crash whole, with their names: all, or those before the first that failed.  Throws
  // nothing.
  absl::Status Close(std::map<uint64_t, uint64_t>* closed);

  // --- of any thread ---

  // The names of all logs survive a crash.
  absl::Status SyncNames() { return directory_->Sync(); }

  // How many bytes were written to each.
  std::map<uint64_t, uint64_t> Sizes();

  // Removes the files of logs below `number`.  Throws nothing.
  void Remove(uint64_t number);

 private:
  struct Log {
    std::unique_ptr<LogWriter> writer;
    bool synced_once = false;
  };
  Directory* const directory_;
  absl::Mutex mutex_;
  std::map<uint64_t, Log> logs_ ABSL_GUARDED_BY(mutex_);
  // The last one, which takes records.  Not guarded: it is changed and used by who leads alone, and
  // Remove leaves it; so a record takes no lock for it.
  LogWriter* newest_ = nullptr;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_ENGINE_LOG_SET_H_
