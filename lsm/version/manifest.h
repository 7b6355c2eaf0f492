// The durable record of which tables make up the store.
//
//   CURRENT (40 bytes)
//     0  8  magic "TRLSCUR\n"
//     8  4  format version (1)
//    12  4  zero
//    16  8  number of the manifest
//    24  8  file id of the manifest
//    32  8  checksum of bytes 0-31, file id 0, offset 0
//
//   NNNNNN.manifest: a log (lsm/log/log_format.h, kind manifest) of version edits; the first one is
//   a snapshot.
//
// An edit counts once its record is synced.  A new manifest counts once CURRENT names it.
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
#include <vector>

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
  std::string Encode() const;
  // DataLoss, or Unimplemented for a version that is not known.  In every version the first 12
  // bytes mean the same and the last 8 are the checksum, so the two can be told apart.
  static absl::StatusOr<Current> Decode(std::string_view bytes, std::string_view file);
};

// The file id of log `number`: so a log that was put in its place, another store's or another
// opening's, is known.
uint64_t LogFileId(uint64_t log_seed, uint64_t number);

// The sum of all edits.
struct ManifestState {
  std::array<std::map<uint64_t, TableMeta>, kLevels> levels;  // by number
  uint64_t next_file_number = 1;
  uint64_t last_sequence = 0;
  uint64_t oldest_log = 0;
  bloom::DigestSeed digest_seed;
  std::optional<uint64_t> log_seed;          // nothing: the logs may have any file id
  std::optional<std::string> log_directory;  // as VersionEdit's
  std::set<uint64_t> synced_logs;            // none below oldest_log
  std::map<uint64_t, uint64_t> closed_logs;  // number: file bytes; none below oldest_log

  // DataLoss (naming `file` and `offset`) for an edit that does not fit: a table added twice, added
  // with a number that next_file_number (after this edit) does not cover, or removed without being
  // there; a number that runs backwards, or is beyond the largest; another seed; a log closed with
  // two sizes; a snapshot that is not the first edit, or a first edit that is none.  Removed tables
  // go before added ones come, so one edit can move a table.  After an error the state is worth
  // nothing.
  absl::Status Apply(const VersionEdit& edit, std::string_view file, uint64_t offset);
  // One edit that makes all of this.
  VersionEdit ToSnapshot() const;
  bool started = false;  // an edit was applied

  // The logs that must be there.
  std::set<uint64_t> NeededLogs() const;
  bool NeedsLog(uint64_t number) const;
  // Whether log `number` has this id for certain: false too where no seed is known.
  bool IsLogId(uint64_t number, uint64_t file_id) const;
  // Whether a file of so many bytes that stands where log `number` should, whatever is in it, holds
  // no record that anybody was promised: it has no room for one, and nothing says that the log must
  // be there.  Garbage is what a crash may leave of a log that was being made.
  bool HoldsNoRecord(uint64_t number, uint64_t file_bytes) const;
  // Of the file that stands where log `number` should, with this id (0: it has no header) and so
  // many bytes: DataLoss naming it if it is not that log.  One that need not be there, and has no
  // more than a header, is of an opening that failed, and may be any.
  absl::Status CheckLogId(uint64_t number, std::string_view file, uint64_t file_id,
                          uint64_t file_bytes) const;
  // Of log `number`, that ends as told: DataLoss, naming `file` and where what can be read of it
  // ends, if it was closed and does not end so any more.
  absl::Status CheckClosedLog(uint64_t number, std::string_view file, LogEnd end,
                              uint64_t file_bytes, uint64_t torn_bytes) const;
  // Of log `number`, in which so many records were found: DataLoss naming `file` if it is empty and
  // the manifest knows that it holds synced writes.
  absl::Status CheckSyncedLog(uint64_t number, std::string_view file, uint64_t records) const;
  // FailedPrecondition if the logs are in a directory of their own: for a caller that was given
  // none and must not go on without them.  `directory` is the store's, for the message.
  absl::Status CheckLogsAreWithTables(std::string_view directory) const;
};

// Reads the file `name` of the directory as a CURRENT.  NotFound if it is not there, else as
// Current::Decode.
absl::StatusOr<Current> ReadCurrent(Directory& directory, std::string_view name);

struct ManifestContents {
  Current current;
  std::string current_bytes;  // as in the file
  std::string file_name;
  ManifestState state;
  uint64_t edit_count = 0;
  LogEnd end = LogEnd::kNotYet;
  uint64_t torn_bytes = 0;
};

// Reads CURRENT and the manifest that it names.  `on_edit` (may be null) sees each edit, after it
// was applied.  Errors:
//   NotFound       there is no CURRENT, and so no store
//   DataLoss       CURRENT or the manifest is damaged, or CURRENT names a manifest that is not
//                  there, is another one, or holds no edit
//   Unimplemented  a version, or a field of an edit, that is not known
//   the file system's own
absl::StatusOr<ManifestContents> ReadManifest(
    Directory& directory,
    const std::function<void(uint64_t offset, const VersionEdit&)>& on_edit = nullptr);

// The same for the manifest that `current` names, whatever stands in CURRENT; `current_bytes` is
// left empty.
absl::StatusOr<ManifestContents> ReadManifestOf(
    Directory& directory, const Current& current,
    const std::function<void(uint64_t offset, const VersionEdit&)>& on_edit = nullptr);

// Writes edits to a new manifest.  One thread at a time.
class ManifestWriter {
 public:
  // Writes a manifest whose first edit is `snapshot`, syncs it and its name, and makes CURRENT name
  // it.  `expected_current` is what CURRENT holds now, nullopt if it does not exist.  Calls
  // `before_current` (may be null; throws nothing) right before CURRENT is touched: after a failure
  // before that, nothing leads to the manifest and to what it names.
  static absl::StatusOr<std::unique_ptr<ManifestWriter>> Create(
      Directory& directory, uint64_t number, uint64_t file_id, const VersionEdit& snapshot,
      std::optional<std::string_view> expected_current,
      const std::function<void()>& before_current = nullptr);

  // Durable when it returns OK.  After an error it is unknown whether the edit counts; every later
  // call fails too.
  absl::Status Append(const VersionEdit& edit);

  // Throws nothing.
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
