// What DB::Backup and DB::Restore made.
#ifndef TRELLIS_LSM_BASE_COPY_REPORT_H_
#define TRELLIS_LSM_BASE_COPY_REPORT_H_

#include <cstdint>

namespace lsm {

struct CopyReport {
  uint64_t tables_copied = 0;  // and read back: every checksum, key and filter verified
  uint64_t bytes_copied = 0;   // of them
  uint64_t tables_linked = 0;  // from the backup that was given as base, verified there
  uint64_t logs_copied = 0;    // Restore: those that hold writes which are in no table
  uint64_t entries = 0;        // versions and tombstones in all its tables
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_COPY_REPORT_H_
