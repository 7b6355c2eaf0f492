// The memtables of a follower: reads logs that another process writes (lsm/design/followers.md).
//
// A log has one memtable, and a record enters it whole.  Records are taken in the order of their
// sequence numbers, without gaps, so the memtables hold exactly the writes that the tables of the
// state lack, up to last().  Readers may use a memtable while it takes records: their view says up
// to which number they read.
//
// Keyspaces.  A log has the creation of a keyspace before its entries.  So the records of keyspaces
// are those of the state, with the changes that the memtables hold.
//
// Tails.  A record that the file does not hold whole is being written, or was when its writer
// ended.  A record that is whole, but cannot be read, has three explanations:
//
//   its bytes come later than the file's size          then a later call reads it
//   a crash tore it, before it was acknowledged        then the file grows no more
//   damage                                             otherwise
//
// One thread at a time.
#ifndef TRELLIS_LSM_FOLLOW_FOLLOWED_LOGS_H_
#define TRELLIS_LSM_FOLLOW_FOLLOWED_LOGS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/file_system.h"
#include "lsm/log/log_reader.h"
#include "lsm/memtable/memtable.h"
#include "lsm/version/keyspace_records.h"
#include "lsm/version/manifest.h"

namespace lsm::inline TRELLIS_ABI {

class FollowedLogs {
 public:
  // From now on reads the logs of this state from their beginnings.  For another manifest: its logs
  // may be others, and its sequence numbers may mean other writes.
  void StartOver(const ManifestState& state);
  // The state has new edits, which may change keyspaces.
  void NoteEdits();

  // Reads what is new in the logs that `state`, a later state of the same manifest, needs.
  // `refresh`: the number of the refresh, which may make several calls.  Errors:
  //
  //   Aborted       a record that the file holds whole cannot be read yet: call this again
  //   Unavailable   a log that the state needs does not exist
  //   DataLoss      a record is damaged, or belongs to another log; or the end of a log that is
  //                 known to have been synced or closed is missing
  //   the file system's own
  //
  // The caller knows whether the store has changed meanwhile, and the state with it.  If so, the
  // error says nothing about the store.  What was read before the error stays.
  absl::Status ReadOn(Directory& directory, const ManifestState& state, uint64_t refresh);

  // Whether the last ReadOn stopped before a record because the writes before it are missing.
  bool is_at_gap() const { return is_at_gap_; }
  // The last write that the tables of the state, and the memtables, hold.
  Sequence last() const { return last_; }
  // The memtables of the logs that `state` needs, newest first.
  std::vector<std::shared_ptr<const Memtable>> MemtablesFor(const ManifestState& state) const;
  // The keyspaces as of the last write that the tables of `state`, and the memtables, hold.  The
  // same object as in the last call, unless one has changed.  DataLoss if changes do not fit the
  // state.
  absl::StatusOr<std::shared_ptr<const KeyspaceRecords>> KeyspacesFor(const ManifestState& state);

 private:
  struct Unreadable {
    uint64_t offset = 0;
    uint64_t file_bytes = 0;  // when it was seen first
    uint64_t refresh = 0;     // likewise
  };
  struct Log {
    std::unique_ptr<LogReader> reader;
    std::shared_ptr<Memtable> memtable = std::make_shared<Memtable>();
    uint64_t records = 0;
    // The last record that was read, until it is taken.  It stays valid, because the reader does
    // not go on before.
    std::optional<LogReader::Record> held;
    std::optional<Unreadable> unreadable;
  };
  // One pass over the logs, for ReadOn.
  struct Pass {
    Directory* directory;
    const ManifestState* state;
    uint64_t refresh;
    bool is_at_gap = false;
    const Log* gap_at = nullptr;
    bool gap_is_damage = false;  // the log after the gap was synced or closed
  };

  // Fills in keyspaces_, unless that is done.
  absl::Status MakeKeyspaces(const ManifestState& state);
  absl::Status ReadAll(Pass* pass);
  absl::Status ReadLog(uint64_t number, Pass* pass);
  // Null if there is no log of the state, or not yet.
  absl::StatusOr<Log*> Open(uint64_t number, const Pass& pass);
  // Takes the records that are next, up to the readable end.
  absl::Status TakeRecords(Log* log, Pass* pass);
  // False if the writes before the held record are missing.
  absl::StatusOr<bool> TakeHeld(Log* log);
  // Decides about a tail that is whole but cannot be read.  `error` is the reader's; OK if it took
  // the tail for torn.
  static absl::Status Judge(const absl::Status& error, uint64_t refresh, Log* log);

  Sequence last_ = 0;
  bool is_at_gap_ = false;
  std::map<uint64_t, Log> logs_;
  // Those of the state, with the changes of the memtables; nullopt: to be made.
  std::optional<KeyspaceRecords> keyspaces_;
  std::shared_ptr<const KeyspaceRecords> shared_;  // the last result of KeyspacesFor
  bool is_shared_ = false;                         // keyspaces_ has not changed since
};

}  // namespace lsm

#endif  // TRELLIS_LSM_FOLLOW_FOLLOWED_LOGS_H_
