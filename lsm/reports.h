// Results of calls that process a whole store: opening (recovery), DB::Verify, DB::Repair,
// DB::Backup and DB::Restore.
#ifndef TRELLIS_LSM_REPORTS_H_
#define TRELLIS_LSM_REPORTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// --- opening: writes replayed from the write-ahead logs, and writes dropped ---

// The end of a log that was not replayed.  After a crash this is normal where writes were not
// synced.  Some damage looks the same (lsm/design/log_tail.md).
struct TRELLIS_API DroppedLogEnd {
  std::string path;      // of the log
  uint64_t offset = 0;   // end of the replayed part
  uint64_t bytes = 0;    // from `offset` to the end of the file
  uint64_t records = 0;  // readable records among them: they follow writes that an earlier log lost
  bool synced_before = false;  // records before it are known to have been synced

  // "DIR/000012.log: dropped 42,654 bytes at offset 8,192, after the last readable record; records
  // before them had been synced"
  std::string Describe() const;
  // The part from "42,654 bytes" on.
  std::string DescribeBytes() const;
  // A JSON object; its members have the names of the fields above.
  std::string ToJson() const;
};

struct TRELLIS_API RecoveryReport {
  uint64_t logs = 0;                   // read
  uint64_t records = 0;                // replayed, one per group of writes
  uint64_t writes = 0;                 // replayed entries, range deletes included
  std::vector<DroppedLogEnd> dropped;  // oldest log first; at most one per log

  uint64_t dropped_bytes() const;
};

// --- DB::Verify ---

struct VerifyReport {
  uint64_t tables = 0;
  uint64_t blocks = 0;  // data blocks
  uint64_t bytes = 0;   // of tables
  uint64_t entries = 0;
  uint64_t keys = 0;            // distinct user keys of each table, summed over the tables
  uint64_t keys_in_filter = 0;  // keys that a usable filter was asked for, and answered "maybe"
  uint64_t filters_absent = 0;  // tables that were built without a filter
  // Tables whose filter this library, or this store, cannot query.  That is not damage.
  uint64_t filters_unknown = 0;
  // True if CURRENT, the manifest and the logs were not checked, because their content is unknown
  // after a failed write (DB::GetFailure).  DB::Resume ends that.  Also true for OpenMode::kFollow.
  bool records_left_out = false;
  // Damage, and files that could not be read; empty if everything is sound.  Each line names the
  // file, the offset if there is one, and the fault.  At most 100 lines for a table, and 100 across
  // levels.  For CURRENT and the manifest, and for the logs, only the first problem; `sstdump
  // verify` lists the rest.
  std::vector<std::string> problems;
  // For a store that is open for reading only: ends of logs that an opening drops, perhaps torn
  // writes.  Empty for a store that is open for writing; Statistics::recovery has what its opening
  // dropped.
  std::vector<DroppedLogEnd> dropped;
};

// --- DB::Repair ---

struct RepairReport {
  uint64_t tables_kept = 0;
  uint64_t tables_rewritten = 0;  // because a block, the filter or a property was damaged or wrong
  uint64_t logs_converted = 0;    // into tables
  uint64_t entries_saved = 0;
  // One line for each part that was left out: the file, the offset and the reason.  Further lines
  // name missing logs, writes that are missing before saved ones, contradictions to the entries,
  // and keyspaces that have lost their names.  No line occurs twice.  At most kLeftOutLinesMax
  // lines; `left_out_unnamed` counts the rest.
  //
  // Repair keeps each damaged file in its directory under its name with ".damaged" appended (and a
  // number if an earlier repair kept one of that name).  So it does with the tables of a keyspace
  // that was dropped, if it has no manifest.  A file that only has a store's name, but other
  // content, stays as it is.
  static constexpr size_t kLeftOutLinesMax = 10'000;
  std::vector<std::string> left_out;
  uint64_t left_out_unnamed = 0;
};

// --- DB::Backup and DB::Restore ---

struct CopyReport {
  uint64_t tables_copied = 0;  // each was read back, with every checksum, key and filter verified
  uint64_t bytes_copied = 0;   // of tables_copied
  uint64_t tables_linked = 0;  // taken from `base`, and verified there
  uint64_t logs_copied = 0;    // Restore: logs with writes that are in no table
  uint64_t entries = 0;        // versions and tombstones in all tables
  // Backup with `only`: about how many bytes of the tables belong to no chosen keyspace
  // (DB::Checkpoint).
  uint64_t other_bytes = 0;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_REPORTS_H_
