// What DB::Repair saved, and what it had to leave out.
#ifndef TRELLIS_LSM_BASE_REPAIR_REPORT_H_
#define TRELLIS_LSM_BASE_REPAIR_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lsm {

// What a repair did.
struct RepairReport {
  uint64_t tables_kept = 0;
  uint64_t tables_rewritten = 0;  // a block, the filter or a property was damaged or wrong
  uint64_t logs_converted = 0;    // into tables
  uint64_t entries_saved = 0;
  // What was left out, each a line that names the file, the offset and why; also a log that is
  // missing, writes that are missing before others that were saved, and what contradicts the
  // entries.  The damaged files themselves are kept, each beside where it was, with ".damaged" at
  // the end of its name (and a number, where an earlier repair kept another one).  Files that only
  // have a store's names stay as they are.
  // Each line stands once, and there are kLeftOutLinesMax at most: `left_out_unnamed` says how many
  // more there would be.
  static constexpr size_t kLeftOutLinesMax = 10'000;
  std::vector<std::string> left_out;
  uint64_t left_out_unnamed = 0;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_REPAIR_REPORT_H_
