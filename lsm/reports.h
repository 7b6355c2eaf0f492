// The reports of calls that go through a whole store: opening (recovery), DB::Verify, DB::Repair,
// and DB::Backup and DB::Restore.
#ifndef TRELLIS_LSM_REPORTS_H_
#define TRELLIS_LSM_REPORTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

// --- opening: the writes that it replayed from the write-ahead logs, and those that it dropped ---

// The end of a log that was not replayed.  A crash leaves one where writes were not synced, and
// then nothing is wrong.  Some damage looks the same (lsm/README.md, "Durability contract").
struct DroppedLogEnd {
  std::string path;      // of the log
  uint64_t offset = 0;   // where the replayed part ends
  uint64_t bytes = 0;    // from there to the end of the file
  uint64_t records = 0;  // readable records in it: they follow writes that an earlier log lost
  bool synced_before = false;  // records before it are known to have been synced

  // "DIR/000012.log: dropped 42,654 bytes at offset 8,192, after the last readable record; records
  // before them had been synced"
  std::string Describe() const;
  // The same from "42,654 bytes" on.
  std::string DescribeBytes() const;
  // One object; members are named like the fields above.
  std::string ToJson() const;
};

struct RecoveryReport {
  uint64_t logs = 0;                   // read
  uint64_t records = 0;                // replayed, one per group of writes
  uint64_t writes = 0;                 // replayed puts and deletes
  std::vector<DroppedLogEnd> dropped;  // oldest log first; at most one per log

  uint64_t dropped_bytes() const;
};

// --- DB::Verify: what it read, and what it found ---

struct VerifyReport {
  uint64_t tables = 0;
  uint64_t blocks = 0;  // data blocks
  uint64_t bytes = 0;   // of tables
  uint64_t entries = 0;
  uint64_t keys = 0;             // distinct user keys of each table, summed over the tables
  uint64_t keys_in_filter = 0;   // that a usable filter was asked about, and passed
  uint64_t filters_absent = 0;   // tables without a filter, as they were asked for
  uint64_t filters_unknown = 0;  // whose filter this library, or this store, cannot ask: no damage
  // CURRENT, the manifest and the logs were not looked at, for after a failed write it is unknown
  // what they hold (DB::GetFailure).  After DB::Resume they are looked at again.
  bool records_left_out = false;
  // Damage, and files that cannot be read.  Each line names the file, the offset if there is one,
  // and the fault.  There are up to 100 for a table, and up to 100 across levels; the first of
  // CURRENT and the manifest, and the first of the logs (`sstdump verify` names the rest).  Empty:
  // all that was read is as it was written.
  std::vector<std::string> problems;
  // For a store that is open for reading only: ends of its logs that an opening drops, which may be
  // torn writes.  A store that is open for writing has none; Statistics::recovery tells what its
  // opening dropped.
  std::vector<DroppedLogEnd> dropped;
};

// --- DB::Repair: what it saved, and what it left out ---

struct RepairReport {
  uint64_t tables_kept = 0;
  uint64_t tables_rewritten = 0;  // a block, the filter or a property was damaged or wrong
  uint64_t logs_converted = 0;    // into tables
  uint64_t entries_saved = 0;
  // Bytes that were left out: each line names the file, the offset and the reason.  Lines also name
  // missing logs, writes that are missing before others that were saved, and contradictions to the
  // entries.  The damaged files themselves are kept, each beside where it was, with ".damaged" at
  // the end of its name (and a number, where an earlier repair kept another one).  Files that only
  // have a store's names stay as they are.
  // Each line stands once, and there are kLeftOutLinesMax at most: `left_out_unnamed` says how many
  // more there would be.
  static constexpr size_t kLeftOutLinesMax = 10'000;
  std::vector<std::string> left_out;
  uint64_t left_out_unnamed = 0;
};

// --- DB::Backup and DB::Restore: what they copied ---

struct CopyReport {
  uint64_t tables_copied = 0;  // and read back: every checksum, key and filter verified
  uint64_t bytes_copied = 0;   // of them
  uint64_t tables_linked = 0;  // from the backup that was given as base, verified there
  uint64_t logs_copied = 0;    // Restore: those that hold writes which are in no table
  uint64_t entries = 0;        // versions and tombstones in all its tables
};

}  // namespace lsm

#endif  // TRELLIS_LSM_REPORTS_H_
