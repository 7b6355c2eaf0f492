// Makes a store from existing tables: for checkpoints, backups, restores and repairs.
//
// It writes the tables first, then a log (or copies of the original's logs), then a manifest, and
// CURRENT last.  There is no store before CURRENT exists, so an interrupted call leaves none.
#ifndef TRELLIS_LSM_STORE_COPY_STORE_H_
#define TRELLIS_LSM_STORE_COPY_STORE_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/compaction/job_context.h"
#include "lsm/file_system.h"
#include "lsm/options.h"
#include "lsm/reports.h"
#include "lsm/store/pacer.h"
#include "lsm/store/store_directory.h"
#include "lsm/store/store_files.h"
#include "lsm/version/keyspace_records.h"
#include "lsm/version/manifest.h"
#include "lsm/version/version.h"

namespace lsm::inline TRELLIS_ABI {

// The options for reading the copy of a store with these options: its logs are with its tables.
// `file_system` (null: the store's) has the copy.
Options OptionsOfCopy(Options options, FileSystem* file_system);

// Checks the path of a copy or of its logs in a file system: InvalidArgument if it is one of the
// store's directories or lies in one.
absl::Status CheckIsOutside(const StoreDirectory& store, const FileSystem* file_system,
                            const std::string& path);

// Opens and locks a directory for a new store.  AlreadyExists if it holds files of a store,
// FailedPrecondition if it is in use.
absl::StatusOr<StoreDirectory> OpenForCopy(const std::string& path, const Options& options);

// Leaves these keyspaces in the state, and the tables that may have entries of them: of the common
// tree all or none.  The default keyspace stays; without its id here it loses its tables.  The next
// id stays too, since the common tree has entries of keyspaces that go.
void KeepOnly(const std::set<KeyspaceId>& chosen, ManifestState* state);
// About how many bytes of the common tree belong to none of these keyspaces; 0 if it has none of
// them, and so does not come along.
uint64_t BytesOfOthers(const Version& version, const std::set<KeyspaceId>& chosen);

uint64_t TableBytesOf(const ManifestState& state);

// Records which keyspaces a partial copy has, for a repair without a manifest.  Adds a table to the
// common tree, with the names of the keyspaces in `state`, and tombstones for the others in `all`,
// whose names may have come along with the tables.  `all` are the keyspaces of the original.  The
// table is the newest one, and counts in the report's entries.  `context` is the original's.
absl::Status AddNames(const KeyspaceRecords& all, JobContext context, const StoreDirectory& store,
                      ManifestState* state, NewFiles* made, CopyReport* report);

struct TableSource {
  Directory* directory = nullptr;
  const ManifestState* state = nullptr;
};

// Brings each table of `from`'s state to `store`, in the first of these ways that works:
//
//   1. a link to the table of `base` (whose directory may be null), if that table is sound
//   2. a link to the table of `from`, unverified, if `link`
//   3. a copy, which is verified: DataLoss, naming the original, if it differs from the manifest
//
// Verification reads in mode `wished`, or buffered if the file system does not support it.
absl::Status BringTables(const TableSource& from, bool link, const TableSource& base,
                         const StoreDirectory& store, ReadMode wished, Pacer* pacer, NewFiles* made,
                         CopyReport* report);

// Makes a store of the state's tables, which are present and durable except for their names: adds
// an empty log, a manifest, and CURRENT, whose bytes so far are `expected_current`.  Updates the
// state, with file numbers from its next_file_number on.  Returns the manifest's number.
absl::StatusOr<uint64_t> FoundStore(const StoreDirectory& store,
                                    std::optional<std::string_view> expected_current,
                                    ManifestState* state, NewFiles* made);

// DB::Restore; the options are valid ones, and the backup was opened without an error.
absl::StatusOr<CopyReport> RestoreStore(const std::string& backup, const std::string& path,
                                        const Options& options, const Pace& pace,
                                        FileSystem* file_system);

}  // namespace lsm

#endif  // TRELLIS_LSM_STORE_COPY_STORE_H_
