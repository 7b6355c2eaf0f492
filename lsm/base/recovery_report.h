// The writes that an opening replayed from the write-ahead logs, and those that it dropped.
#ifndef TRELLIS_LSM_BASE_RECOVERY_REPORT_H_
#define TRELLIS_LSM_BASE_RECOVERY_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace lsm {

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

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_RECOVERY_REPORT_H_
