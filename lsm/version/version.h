// The tables of a store at one moment: immutable levels of open tables, and how a key is found in
// them.
//
// Level 0 holds tables as they were flushed, newest first, whose key ranges may overlap.  Each
// deeper level holds sorted runs, newest first: the ranges of a run's tables are disjoint, also in
// user keys, and those of two runs may overlap.  Of one key, what is in a higher level is newer
// than what is below, and what is in a newer run is newer than what is in an older one of the same
// level; except for copies of entries above, which a compaction in steps leaves below
// (lsm/compaction/steps.h).  Within a level runs are told apart by numbers, of which the highest is
// the newest run's; in another level the same number means nothing.
//
// Threads: immutable; any number of readers.  A version keeps its tables open; a table that no
// version holds any longer is closed.
#ifndef TRELLIS_LSM_VERSION_VERSION_H_
#define TRELLIS_LSM_VERSION_VERSION_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/base/counters.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/key_ranges.h"
#include "lsm/explanation.h"
#include "lsm/filters/hotness.h"
#include "lsm/iterator.h"
#include "lsm/options.h"
#include "lsm/statistics.h"
#include "lsm/table/table.h"
#include "lsm/version/version_edit.h"

namespace lsm::inline TRELLIS_ABI {

// A table of the store: what the manifest says of it, and the open file.
struct OpenTable {
  TableMeta meta;
  std::unique_ptr<Table> table;
  // Of lookups that a filter could have spared, or a better one.
  std::unique_ptr<WastedReadCounter> wasted_reads =
      std::make_unique<WastedReadCounter>(WastedReads(), 0);
};
using OpenTables = std::vector<std::shared_ptr<const OpenTable>>;
// Some of such, which stay where they are.
using TableSpan = std::span<const std::shared_ptr<const OpenTable>>;

// User keys of a table, as far as its file tells.
uint64_t KeysOf(const OpenTable& table);
// With which probability it is read for a key that it does not hold.
double FppOf(const OpenTable& table);

// Those of the same run that follow one another, as Version::level and Overlapping order them.
std::vector<TableSpan> RunsAmong(TableSpan tables);

ReadMode TableReadMode(const Options& options);

// Opens the file of a table of a manifest; DataLoss if it is not there, or has another size.
absl::StatusOr<std::unique_ptr<ReadFile>> OpenFileOfTable(Directory& directory,
                                                          const TableMeta& meta, ReadMode mode);

// Opens the table; DataLoss or Unimplemented names the file.  Checks id and number of entries too.
// `inherited`: counted of the tables that it was made of, with its range of keys.
absl::StatusOr<std::shared_ptr<const OpenTable>> OpenTableFile(Directory& directory,
                                                               const TableMeta& meta, ReadMode mode,
                                                               const TableContext& context,
                                                               const WastedReads& inherited = {});

// The second half of it, of the file that OpenFileOfTable opened; `end` as for Table::Open.
absl::StatusOr<std::shared_ptr<const OpenTable>> OpenTableIn(std::unique_ptr<ReadFile> file,
                                                             const TableMeta& meta,
                                                             const TableContext& context,
                                                             std::string_view end = {},
                                                             const WastedReads& inherited = {});

// The answer of a point lookup, from a memtable or a table; a memtable's has no pin.
struct LookupResult : TableHit {
  TableAnswer answer = TableAnswer::kAbsent;
};

// One key that is looked up, alone or with others.
struct KeyLookup {
  KeyLookup(std::string_view user_key, Sequence sequence, const bloom::DigestSeed& seed)
      : key(user_key, sequence, seed) {}

  LookupKey key;
  // Looks into tables even if their filters say no.  One that has the key nevertheless answers, and
  // is counted.
  bool doubt_filters = false;
  Explanation* explanation = nullptr;  // lists each step; null: not wanted

  // The outcome.
  absl::Status status;
  LookupResult result;
};

class Version {
 public:
  // The levels in any order; DataLoss if tables of a run overlap.
  static absl::StatusOr<std::shared_ptr<const Version>> Create(
      std::array<OpenTables, kLevels> levels);

  // Newest run first; below level 0 in the order of keys within a run.
  const OpenTables& level(int level) const { return levels_[static_cast<size_t>(level)].tables; }
  // Its sorted runs in the order in which a lookup may have to ask them: in level 0 the tables.
  const std::vector<TableSpan>& runs(int level) const {
    return levels_[static_cast<size_t>(level)].runs;
  }
  size_t run_count(int level) const { return runs(level).size(); }
  uint64_t level_bytes(int level) const { return levels_[static_cast<size_t>(level)].bytes; }
  uint64_t bytes() const {
    uint64_t sum = 0;
    for (int level = 0; level < kLevels; ++level) sum += level_bytes(level);
    return sum;
  }
  int deepest_level() const { return deepest_level_; }  // that holds a table; 0 if none does

  struct GetOptions {
    bool fill_cache = true;
    bool pin_always = false;  // as in TableLookup
  };
  // Finds the newest version of the key that the lookup may see.  Asks the filters of all tables
  // that may hold it at once: prefetches every one, then probes newest first.  REQUIRES: an
  // EpochGuard stands, and `lookup` has no outcome yet.
  void Get(KeyLookup* lookup, const GetOptions& options, const Counters::Here& counters) const;

  // The same of many keys side by side; each gets an outcome of its own.  What is not cached is
  // read from `files`, where the tables lie, with one ReadMany a round, a table each in a round.
  // Throws std::bad_alloc, before anything is counted, if there is no memory for it.
  void MultiGet(std::span<KeyLookup> lookups, const GetOptions& options, FileSystem* files,
                const Counters::Here& counters) const;

  // One iterator for each table of level 0 and one for each run below.  The version must outlive
  // them.
  void AddIterators(const Table::ScanOptions& options,
                    std::vector<std::unique_ptr<Iterator>>* iterators) const;
  size_t iterator_count() const;  // as many as it adds

  // Tables of the level whose user keys meet [smallest, largest].
  OpenTables Overlapping(int level, std::string_view smallest_user_key,
                         std::string_view largest_user_key) const;

  // False only if nothing that is older than the level's run of this number, or than what such a
  // run would hold, may hold the user key: no table below the level, and none of its runs with
  // lower numbers.
  bool MayExistBelow(int level, uint32_t run, std::string_view user_key) const;

  // Bytes of tables, about, that keys in [from, to) take; nullopt: to the end.
  uint64_t ApproximateBytes(std::string_view from, std::optional<std::string_view> to) const;

  // Fills what a level is (not what was counted).
  void Describe(Statistics* statistics) const;

 private:
  struct Level {
    OpenTables tables;
    uint64_t bytes = 0;
    std::vector<TableSpan> runs;  // of `tables`
  };
  struct Candidate {
    const OpenTable* table;
    int level;
  };
  class Search;
  class Batch;

  // Of one level below 0, whose tables it sorts.
  absl::Status FindRuns(int level);
  void ListCandidates();
  // What Describe says of a level's runs.
  void DescribeRuns(int level, LevelStatistics* statistics) const;

  std::array<Level, kLevels> levels_;
  // Every table, in the order in which a lookup asks them: newest first.
  std::vector<Candidate> candidates_;
  KeyRanges ranges_;  // theirs
  int deepest_level_ = 0;
};

// Over the sorted, disjoint tables of one run, which must outlive it.
std::unique_ptr<Iterator> NewRunIterator(TableSpan tables, const Table::ScanOptions& options);

}  // namespace lsm

#endif  // TRELLIS_LSM_VERSION_VERSION_H_
