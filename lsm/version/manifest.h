// The durable record of the tables of a store.
//
//   CURRENT names the manifest.  lsm/FORMAT.md, section "CURRENT", draws it.
//
//   NNNNNN.manifest: a log (lsm/log/log_format.h, kind manifest) of version edits; the first one is
//   a snapshot.
//
// An edit is valid once its record is synced.  A new manifest is valid once CURRENT names it.
#ifndef TRELLIS_LSM_VERSION_MANIFEST_H_
#define TRELLIS_LSM_VERSION_MANIFEST_H_

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/hash.h"
#include "lsm/file_system.h"
#include "lsm/log/log_reader.h"
#include "lsm/log/log_writer.h"
#include "lsm/statistics.h"
#include "lsm/version/version_edit.h"

namespace lsm::inline TRELLIS_ABI {

inline constexpr size_t kCurrentBytes = 40;
inline constexpr std::string_view kCurrentMagic = "TRLSCUR\n";

struct Current {
  uint64_t manifest_number = 0;
  uint64_t manifest_file_id = 0;
  bool operator==(const Current&) const = default;
  std::string Encode() const;
  // DataLoss, or Unimplemented for an unknown version.  In every version the first 12 bytes are the
  // magic and the version number, and the last 8 are the checksum.  So the two can be
  // distinguished.
  static absl::StatusOr<Current> Decode(std::string_view bytes, std::string_view file);
};

// The file id of log `number`.  A log of another store or of another opening, put in its place, has
// another id.
uint64_t LogFileId(uint64_t log_seed, uint64_t number);

// The result of all edits.
struct ManifestState {
  std::array<std::map<uint64_t, TableMeta>, kLevels> levels;  // by number
  uint64_t next_file_number = 1;
  uint64_t last_sequence = 0;
  uint64_t oldest_log = 0;
  bloom::DigestSeed digest_seed;
  std::optional<uint64_t> log_seed;          // nullopt: the logs may have any file id
  std::optional<std::string> log_directory;  // as in VersionEdit
  std::set<uint64_t> synced_logs;            // none below oldest_log
  std::map<uint64_t, uint64_t> closed_logs;  // number: file bytes; none below oldest_log
  KeyspaceRecords keyspaces;

  // Applies an edit.  After an error the state is undefined.  DataLoss (with `file` and `offset`)
  // for an invalid edit:
  //
  //   - a table is added twice, or with a number that next_file_number (after this edit) does not
  //     cover;
  //   - a table is removed that does not exist;
  //   - a number decreases, or is too large;
  //   - the first edit has no digest seed, or a seed or the log directory changes;
  //   - a log is closed with two sizes;
  //   - a change of keyspaces does not fit (KeyspaceRecords), or a table belongs to none;
  //   - a snapshot is not the first edit, or the first edit is no snapshot.
  //
  // Changes of keyspaces come first, then removals, then additions.  So one edit can move a table.
  absl::Status Apply(const VersionEdit& edit, std::string_view file, uint64_t offset);
  // One edit that produces this whole state.
  VersionEdit ToSnapshot() const;
  bool started = false;  // an edit was applied

  // The logs that must exist.
  std::set<uint64_t> NeededLogs() const;
  bool NeedsLog(uint64_t number) const;
  // Whether log `number` certainly has this id; false if the seed is unknown.
  bool IsLogId(uint64_t number, uint64_t file_id) const;
  // Whether a file of that size, in the place of log `number`, holds no acknowledged record,
  // whatever its content: it is too small for a record, and nothing requires the log.  A crash may
  // leave garbage in a log that was being created.
  bool HoldsNoRecord(uint64_t number, uint64_t file_bytes) const;
  // Checks a file in the place of log `number`, with this id (0: no header) and size.  DataLoss,
  // with its name, if it is not that log.  A log that is not required and has only a header may
  // have any id, since it is from a failed opening.
  absl::Status CheckLogId(uint64_t number, std::string_view file, uint64_t file_id,
                          uint64_t file_bytes) const;
  // DataLoss, with `file` and the end of its readable part, if log `number` was closed, but no
  // longer ends as it did.
  absl::Status CheckClosedLog(uint64_t number, std::string_view file, LogEnd end,
                              uint64_t file_bytes, uint64_t torn_bytes) const;
  // DataLoss, with `file`, if log `number` has no records although the manifest says that it holds
  // synced writes.
  absl::Status CheckSyncedLog(uint64_t number, std::string_view file, uint64_t records) const;
  // FailedPrecondition if the logs have a directory of their own.  For callers that need the logs
  // and were given no log directory.  `directory` is the store's, for the message.
  absl::Status CheckLogsAreWithTables(std::string_view directory) const;

 private:
  // Returns what is wrong; empty if nothing is.
  std::string ApplyKeyspaces(const VersionEdit& edit);
};

// Reads file `name` of the directory as a CURRENT.  NotFound if it does not exist; other errors as
// for Current::Decode.
absl::StatusOr<Current> ReadCurrent(Directory& directory, std::string_view name);

// Reads a manifest, also while another process appends to it.  One thread at a time.
class ManifestReader {
 public:
  using OnEdit = std::function<void(uint64_t offset, const VersionEdit&)>;

  // Opens the manifest that `current` names, whatever CURRENT contains.  Errors: as for
  // ReadManifest, except NotFound.
  static absl::StatusOr<std::unique_ptr<ManifestReader>> Open(Directory& directory,
                                                              const Current& current);

  // Applies the edits that the last call did not find, and returns their number.  Calls `on_edit`
  // (may be null) after each.  After an error, the reader is of no more use.
  absl::StatusOr<uint64_t> ReadOn(const OnEdit& on_edit = nullptr);

  const Current& current() const { return current_; }
  // The sum of all edits so far.
  const ManifestState& state() const { return state_; }
  // As its last call: the state, moved out.
  ManifestState TakeState() { return std::move(state_); }
  uint64_t edit_count() const { return edit_count_; }
  // The last sequence when the manifest began.
  uint64_t first_sequence() const { return first_sequence_; }
  LogEnd end() const { return log_->end(); }
  uint64_t torn_bytes() const { return log_->torn_bytes(); }

 private:
  ManifestReader(const Current& current, std::unique_ptr<LogReader> log)
      : current_(current), log_(std::move(log)) {}
  absl::StatusOr<uint64_t> ReadEdits(const OnEdit& on_edit);

  const Current current_;
  const std::unique_ptr<LogReader> log_;
  ManifestState state_;
  uint64_t edit_count_ = 0;
  uint64_t first_sequence_ = 0;
};

struct ManifestContents {
  Current current;
  std::string current_bytes;  // as in the file
  std::string file_name;
  ManifestState state;
  uint64_t edit_count = 0;
  LogEnd end = LogEnd::kNotYet;
  uint64_t torn_bytes = 0;
};

// Reads CURRENT and the manifest that it names.  Calls `on_edit` (may be null) after applying each
// edit.  Errors:
//
//   NotFound       there is no CURRENT, and so no store
//   DataLoss       CURRENT or the manifest is damaged; or the manifest does not exist, has another
//                  id, or has no edit
//   Unimplemented  unknown version or field of an edit
//   the file system's own
absl::StatusOr<ManifestContents> ReadManifest(Directory& directory,
                                              const ManifestReader::OnEdit& on_edit = nullptr);

// As above for the manifest that `current` names, whatever CURRENT contains; `current_bytes` stays
// empty.
absl::StatusOr<ManifestContents> ReadManifestOf(Directory& directory, const Current& current,
                                                const ManifestReader::OnEdit& on_edit = nullptr);

// Writes edits to a new manifest.  One thread at a time.
class ManifestWriter {
 public:
  // Writes a manifest whose first edit is `snapshot`, syncs it and its name, and makes CURRENT name
  // it.  `expected_current` is the present content of CURRENT, nullopt if it does not exist.  Calls
  // `before_current` (may be null; must not throw) just before it changes CURRENT.  After a failure
  // before that, nothing refers to the manifest or to the files that it names.
  static absl::StatusOr<std::unique_ptr<ManifestWriter>> Create(
      Directory& directory, uint64_t number, uint64_t file_id, const VersionEdit& snapshot,
      std::optional<std::string_view> expected_current,
      const std::function<void()>& before_current = nullptr);

  // The edit is durable after OK.  After an error it is unknown whether the edit is valid, and
  // every later call fails too.
  absl::Status Append(const VersionEdit& edit);

  // Does not throw.
  absl::Status Close();

  uint64_t number() const { return number_; }
  uint64_t size_bytes() const { return log_->size_bytes(); }
  const std::string& current_bytes() const { return current_bytes_; }

 private:
  ManifestWriter(uint64_t number, std::unique_ptr<LogWriter> log, std::string current_bytes)
      : number_(number), log_(std::move(log)), current_bytes_(std::move(current_bytes)) {}
  const uint64_t number_;
  std::unique_ptr<LogWriter> log_;
  const std::string current_bytes_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_VERSION_MANIFEST_H_
