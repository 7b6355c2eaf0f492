// What DB::Verify looked at, and what it found.
#ifndef TRELLIS_LSM_BASE_VERIFY_REPORT_H_
#define TRELLIS_LSM_BASE_VERIFY_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lsm/base/recovery_report.h"

namespace lsm {

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
  // What is wrong, each a line that names the file, the offset where there is one, and what:
  // damage, and files that cannot be read.  Up to 100 for a table, and up to 100 across levels; the
  // first of CURRENT and the manifest, and the first of the logs (`sstdump verify` names the rest).
  // Empty: all that was looked at is as it was written.
  std::vector<std::string> problems;
  // For a store that is open for reading only: ends of its logs that an opening drops, which may be
  // torn writes (lsm/base/recovery_report.h).  A store that is open for writing has none;
  // Statistics::recovery tells what its opening dropped.
  std::vector<DroppedLogEnd> dropped;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_VERIFY_REPORT_H_
