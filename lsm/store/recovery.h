// Recovers the state that an engine starts with from the files of a store.
//
//   1. CURRENT names the manifest, and the manifest names the tables.  All tables are opened.
//   2. The logs from `oldest log` on are replayed into memtables, in order.  An opening for writing
//      writes each memtable to a table of level 0 before it fills the next one, so memory does not
//      grow with the logs.  An opening for reading cannot write tables, and keeps all memtables.
//   3. An opening for writing makes a new log and a new manifest; then it swaps CURRENT.  Until
//      then no existing file is changed, so a crash does no harm: the next opening removes the new
//      tables.  An opening that fails removes its own tables.
//
// The records of the logs are numbered without gaps.  A gap means that the end of a log was lost:
//
//   - Usually a crash lost records that were not synced.  Then the records after the gap, which
//     were not synced either, are dropped.
//   - DataLoss if the manifest says that a log after the gap was synced or closed.  Then the
//     earlier logs were synced too, so something other than a crash lost their records.
//
// The manifest knows the size of a log that was closed in order, so nothing of it may be missing.
//
// A log has the creation of a keyspace before the entries of that keyspace.  An entry of a keyspace
// that was dropped is skipped, but its number counts.  An entry of a keyspace that was never
// created is DataLoss.
#ifndef TRELLIS_LSM_STORE_RECOVERY_H_
#define TRELLIS_LSM_STORE_RECOVERY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/file_system.h"
#include "lsm/options.h"
#include "lsm/reports.h"
#include "lsm/store/memtable_filler.h"
#include "lsm/store/store_directory.h"
#include "lsm/version/manifest.h"

namespace lsm::inline TRELLIS_ABI {

struct ReplayedLogs {
  Sequence last_sequence = 0;
  KeyspaceRecords keyspaces;  // of the manifest, with the changes of the logs
  RecoveryReport report;
};

// The error for a missing log that the manifest needs.
absl::Status MissingLog(const Directory& directory, uint64_t number);

// Whether a log holds a record, or was closed in order, or cannot be read.  If none is true, a
// crash during the first opening of a store may have left the log: there are no records before
// CURRENT exists, and an opening that did not get that far does not close its log.
absl::StatusOr<bool> HoldsWrites(Directory& log_directory, const std::string& name);

// Checks a directory for logs alone, before anything in it is removed: FailedPrecondition if a log
// belongs to another store.  Logs that `state` might need are recognised by their ids.  Older logs
// count as the store's if a log that it needs is present.
absl::Status CheckLogsBelong(Directory& log_directory, const ManifestState& state);

// Checks a store that was opened with the log directory that `there` names: FailedPrecondition if
// the manifest names another one that has the store's logs, and the given one has none.  Then no
// log may count as lost, and none may be removed.
absl::Status CheckLogsAreNotElsewhere(const StoreDirectory& there, const ManifestState& state);

// Replays the logs that `state` needs into memtables of at most `memtable_bytes_max`, and hands
// these over, oldest first, as a MemtableFiller does.  DataLoss for a log that is damaged, missing
// or foreign, Unimplemented for one of a newer version, and the sink's errors.  When the sink is
// called, `replayed` has the keyspaces as of the last record in the memtable, or of a later record.
absl::Status ReplayLogs(Directory& log_directory, const ManifestState& state,
                        size_t memtable_bytes_max, const MemtableSink& sink,
                        ReplayedLogs* replayed);

// Checks whether the logs can be replayed, and keeps nothing.  `bytes_written` holds how many bytes
// the writer of each log has written so far: all of them must be present.
absl::StatusOr<RecoveryReport> CheckLogs(Directory& log_directory, const ManifestState& state,
                                         std::map<uint64_t, uint64_t> bytes_written = {});

// REQUIRES: there is no CURRENT.  OK if a store may be made; DataLoss if there are tables or
// records of a store that lost its CURRENT.  Files left by a crash during the first opening are no
// obstacle.
absl::Status CheckNoStore(Directory& directory, Directory& log_directory);

// Before a new store is made: OK if no other store has its logs in the directory; otherwise
// AlreadyExists, naming a log.
absl::Status CheckLogDirectoryIsFree(Directory& log_directory);

// Unimplemented if this release cannot handle the options of one of the keyspaces.  InvalidArgument
// if the store is opened for writing, and the options of a keyspace do not fit its own.
absl::Status CheckKeyspacesAct(const KeyspaceRecords& records, const Options& store);

// Removes files that a store with this state has no use for: tables that are in no level, logs
// before the oldest, manifests but the current one, temporary files.  Files that are not the
// store's, by name or by their first bytes, stay; in a directory for logs alone, all but logs stay.
// Tables that a reader still holds stay too, if `is_read` (may be null) says so.
void RemoveOrphans(Directory& directory, Directory& log_directory, const ManifestState& state,
                   uint64_t manifest_number,
                   const std::function<bool(uint64_t table)>& is_read = nullptr);

}  // namespace lsm

#endif  // TRELLIS_LSM_STORE_RECOVERY_H_
