// Writes sorted entries and range deletes to tables of a given size.  The caller calls Add for each
// entry, then Finish.  If Finish did not succeed, the destructor removes all files that were
// written.  One thread at a time.
//
// Ranges go to the table that holds their keys.  If one crosses the end of a table, its pieces meet
// there: the first one ends where the next table begins, at a key which may be before the first
// entry of that table.
//
//   entries      a   c   f | h   k      ranges b..g, g..j: the table ends at g, where the ranges
//   ranges         b-----g---j          change, since it is full by then
#ifndef TRELLIS_LSM_COMPACTION_TABLE_OUTPUT_H_
#define TRELLIS_LSM_COMPACTION_TABLE_OUTPUT_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/range_map.h"
#include "lsm/compaction/job_context.h"
#include "lsm/compaction/output_filters.h"
#include "lsm/table/table_builder.h"
#include "lsm/version/open_table.h"

namespace lsm::inline TRELLIS_ABI {

// The record of tables about their tombstones (lsm/table/dead_entries.h).
struct TombstoneRecord {
  // Bytes of tables older than the output that a tombstone of the key is expected to cover.  Null:
  // nothing is expected.
  std::function<uint64_t(std::string_view user_key)> covered_bytes;
  // Each table gets the earlier of two times as that of its oldest tombstone: this one, in seconds
  // since 1970, and `age_seconds` before the table is begun.
  uint64_t oldest_tombstone = std::numeric_limits<uint64_t>::max();
  uint64_t age_seconds = 0;
};

class TableOutput {
 public:
  // Writes the entries, and all of `ranges`, to tables for this run of `level`, in the keyspace's
  // tree.  A table never ends within a user key.  It may end before an entry, where ranges change,
  // or where a range enters a grandparent.  So a table may have ranges alone.  A table ends
  //
  //   - when it has `table_bytes_max` bytes, or TableBuilder says that it is full
  //   - when it overlaps too many bytes of `grandparents`, tables of the level below: compacting it
  //     later would be expensive
  //   - before each table of `staying`: tables of the same level that hold none of the keys
  TableOutput(const JobContext& context, OutputFilters filters, int level, uint32_t run,
              uint64_t table_bytes_max, OpenTables grandparents, OpenTables staying = {},
              TombstoneRecord tombstones = {}, RangeMap ranges = {},
              KeyspaceId keyspace = kDefaultKeyspace);
  ~TableOutput();
  TableOutput(const TableOutput&) = delete;
  TableOutput& operator=(const TableOutput&) = delete;

  // Internal keys, strictly ascending.
  absl::Status Add(std::string_view internal_key, std::string_view value);

  // Returns the tables, open, with their files and names synced.  They are open because a table
  // that cannot be read back must not replace its inputs.
  absl::StatusOr<OpenTables> Finish();

  uint64_t bytes_written() const { return bytes_written_; }

 private:
  bool ShouldEndBefore(std::string_view user_key);
  // Adds the ranges up to this user key, or all that are left (nullopt).  May end tables and begin
  // others.
  absl::Status AddRanges(std::optional<std::string_view> up_to);
  // The next place where the ranges change, or where one enters a grandparent.
  std::optional<std::string_view> NextEdge();
  // Whether ranges cover the keys from the last edge on.
  bool is_covered() const {
    return next_stretch_ > 0 && ranges_.sequence_count(next_stretch_ - 1) > 0;
  }
  // The current stretch of the ranges begins, or goes on, at this key of the table.
  void AddStretch(std::string_view user_key);
  absl::Status BeginTable(std::string_view user_key);
  // Cuts ranges that go on at the user key.
  absl::Status EndTableBefore(std::string_view user_key);
  absl::Status EndTable();

  const JobContext& context_;
  const OutputFilters filters_;
  const int level_;
  const uint32_t run_;
  const uint64_t table_bytes_max_;
  const OpenTables grandparents_;
  size_t next_grandparent_ = 0;
  uint64_t grandparent_bytes_ = 0;  // that the table being built overlaps
  const OpenTables staying_;
  const TombstoneRecord tombstones_;
  size_t next_staying_ = 0;
  const RangeMap ranges_;
  const KeyspaceId keyspace_;
  size_t next_stretch_ = 0;  // after the last edge
  std::optional<std::string_view> last_edge_;
  size_t next_grandparent_edge_ = 0;  // the grandparent whose begin may be an edge
  std::vector<Sequence> sequences_;
  std::string begin_;    // of the table being built: user key of its first entry or range
  uint64_t number_ = 0;  // of the table being built; 0: no file was created
  std::unique_ptr<TableBuilder> builder_;
  OpenTables finished_;
  uint64_t bytes_written_ = 0;
  bool done_ = false;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_TABLE_OUTPUT_H_
