// Open tables of a store, and runs of them.  Opens the tables that a manifest names.
#ifndef TRELLIS_LSM_VERSION_OPEN_TABLE_H_
#define TRELLIS_LSM_VERSION_OPEN_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/base/inner_iterator.h"
#include "lsm/block/covered_keys.h"
#include "lsm/file_system.h"
#include "lsm/filters/hotness.h"
#include "lsm/options.h"
#include "lsm/table/dead_entries.h"
#include "lsm/table/table.h"
#include "lsm/version/tombstone_rent.h"
#include "lsm/version/version_edit.h"

namespace lsm::inline TRELLIS_ABI {

// A table of the store: its record in the manifest, and the open file.
struct OpenTable {
  TableMeta meta;
  std::unique_ptr<Table> table;
  // Wasted reads, which a filter or a better filter could have avoided.
  std::unique_ptr<WastedReadCounter> wasted_reads =
      std::make_unique<WastedReadCounter>(WastedReads(), 0);
  std::unique_ptr<TombstoneRent> rent = std::make_unique<TombstoneRent>();
};
using OpenTables = std::vector<std::shared_ptr<const OpenTable>>;
// A view of consecutive tables.
using TableSpan = std::span<const std::shared_ptr<const OpenTable>>;

// Number of user keys of a table, as far as its file tells.
uint64_t KeysOf(const OpenTable& table);
// Probability that a lookup reads the table for a key in its range that it does not hold.
double FppOf(const OpenTable& table);

// The table's record of its dead entries.  For a table of an older release, an estimate:
// each tombstone covers `bytes_per_key`, and the oldest one is as old as the table.
DeadEntries DeadEntriesOf(const OpenTable& table, double bytes_per_key);

// The share of the table's entries that have expired, an estimate by the times of its writes.
double ExpiredShareOf(const TableMeta& meta, const Table& table, const ExpiryView& expired);

class Members;

// Estimates how many bytes of the tables of a tree only range deletes hide from a reader of the
// present: AddRanges? Add* Take.  The index says how many bytes lie under a range; nothing is
// read.  An end of a range counts by whole pieces (Table::piece_offset), on average neither too
// much nor too little.  (needless_tables.cc)
//
//   newer ranges   A range of a newer run hides all that it covers, whatever its sequence.
//                  (A compaction in steps leaves copies of newer entries below; they count, too.)
//   own ranges     hide what they cover if they are newer than the table's entries.  Otherwise they
//                  hide nothing, because the job that wrote the table dropped what they hide,
//                  except what a snapshot kept.  If nothing older is below the table, only a
//                  snapshot can have kept the range.  Then the entries count by their sequences, as
//                  if these were spread evenly
//   dead, expired  entries count as if they were spread evenly over the table, and are left out
//   covered bytes  what tombstones under a range cover is left out, since `covered_bytes` has it
//   a table without entries counts if newer ranges cover all of it
//
// Cost: see CoveredKeys.  A table takes a step for each span of covered keys in it, and a search in
// its index for each span that leaves a piece.  Threads: one.
class HiddenBytes {
 public:
  // `members`: of the common tree, where ranges of other ids do not count; otherwise null.
  explicit HiddenBytes(const Members* members) : members_(members) {}

  // The ranges of all tables come first.  May be left out if no table has covered bytes.  They must
  // outlive this object.
  void AddRanges(std::span<const RangeMap* const> of_tables);

  struct Input {
    const TableMeta& meta;
    const Table& table;
    const RangeMap& ranges;  // those of the table; must outlive this object
    int level = 0;
    bool has_older = false;        // whether a table of an older run overlaps this one
    uint64_t dead_bytes = 0;       // dead and expired
    uint64_t no_member_bytes = 0;  // Tree::BytesOfNoMember
    uint64_t covered_bytes = 0;
  };
  // The tables in the order of lookups.
  void Add(const Input& input);

  // For each table that was added.
  std::vector<uint64_t> Take() const;

 private:
  struct Estimate {
    int level;
    uint32_t run;
    double hidden;
    double covered;  // the part of its covered_bytes that lies under ranges
  };
  bool IsWanted(std::string_view begin) const;
  double HiddenShareOf(const Input& input) const;
  static bool AreOfOneRun(const Estimate& a, const Estimate& b);

  const Members* const members_;
  CoveredKeys newer_;                 // by the runs before the current one
  std::vector<const RangeMap*> run_;  // of the current one
  CoveredKeys all_;
  std::vector<Estimate> estimates_;
};

// Divides tables into those of the same run.  `tables` must be in the order of Tree::level and
// Overlapping.
std::vector<TableSpan> RunsAmong(TableSpan tables);

ReadMode TableReadMode(const Options& options);

// Opens the file of a table in a manifest.  DataLoss if it does not exist or has another size.
absl::StatusOr<std::unique_ptr<ReadFile>> OpenFileOfTable(Directory& directory,
                                                          const TableMeta& meta, ReadMode mode);

// Opens the table, and checks its id and its number of entries.  The errors DataLoss and
// Unimplemented name the file.  `inherited`: the counts of the tables that it was made from, as far
// as they concern its keys.  `lookups`: of the table's tree so far (Tree::LookupsSoFar).
absl::StatusOr<std::shared_ptr<const OpenTable>> OpenTableFile(Directory& directory,
                                                               const TableMeta& meta, ReadMode mode,
                                                               const TableContext& context,
                                                               const WastedReads& inherited = {},
                                                               uint64_t lookups = 0);

// The second step of OpenTableFile, for a file that OpenFileOfTable opened.  `end` as for
// Table::Open.
absl::StatusOr<std::shared_ptr<const OpenTable>> OpenTableIn(
    std::unique_ptr<ReadFile> file, const TableMeta& meta, const TableContext& context,
    std::string_view end = {}, const WastedReads& inherited = {}, uint64_t lookups = 0);

// The index of the first table of a run whose span ends after the user key; run.size() if there is
// none.
size_t FirstBeyond(TableSpan run, std::string_view user_key);

// Iterates over the entries of the sorted, disjoint tables of one run, which must outlive it.
std::unique_ptr<InnerIterator> NewRunIterator(TableSpan tables, const Table::ScanOptions& options);

}  // namespace lsm

#endif  // TRELLIS_LSM_VERSION_OPEN_TABLE_H_
