// The tables of one keyspace at one moment: immutable levels of open tables, and lookups in them.
// The common tree has several keyspaces (common_keys.h); its keys are the user keys meant below.
//
//   level 0         tables as flushed, newest first; their key ranges may overlap
//   deeper levels   sorted runs, newest first.  The tables of a run are disjoint, also in user
//                   keys; runs may overlap each other
//
// For one key, level 0 has newer entries than level 1, level 1 than level 2, and so on.  Within a
// level, a newer run has newer entries than an older one.  Exception: a compaction in steps leaves
// copies of a level's entries in the next level (lsm/compaction/steps.h).
//
// Within a level, runs have numbers; the highest is the newest run.  The same number in another
// level means nothing.
//
// A tree has no options.  A function that compacts it gets the effective options of its keyspace
// (EffectiveOptions in lsm/base/keyspace_state.h) from the caller.
//
// Threads: immutable; any number of readers.  A tree keeps its tables open.  A table is closed when
// no tree has it any more.
#ifndef TRELLIS_LSM_VERSION_TREE_H_
#define TRELLIS_LSM_VERSION_TREE_H_

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/base/counters.h"
#include "lsm/base/inner_iterator.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/key_span.h"
#include "lsm/base/range_cover.h"
#include "lsm/base/range_map.h"
#include "lsm/file_system.h"
#include "lsm/statistics.h"
#include "lsm/table/table.h"
#include "lsm/version/common_keys.h"
#include "lsm/version/key_ranges.h"
#include "lsm/version/lookup.h"
#include "lsm/version/open_table.h"
#include "lsm/version/snapshot_list.h"
#include "lsm/version/tree_reads.h"
#include "lsm/version/version_edit.h"

namespace lsm::inline TRELLIS_ABI {

// Whether a snapshot s with from <= s < to exists.
using HasSnapshotIn = absl::FunctionRef<bool(Sequence from, Sequence to)>;
// The same for ascending snapshots.
bool HasSnapshotBetween(std::span<const Sequence> snapshots, Sequence from, Sequence to);

// A table that no reader needs, unless a snapshot lies in [smallest, hidden_from).  A reader below
// `smallest` sees nothing of the table.  For a reader at `hidden_from` or above, range deletes in
// newer runs hide all of it.  This follows from records in memory, so nothing is read.  There are
// three kinds:
//
//   covered   at each key of the span, a newer run has a range delete above the table's largest
//             sequence (of entries and of ranges).  `smallest` is the table's smallest sequence.
//             For `hidden_from`, take at each key the lowest such range delete, and of these the
//             highest
//   idle      the table has no entries, and no older table overlaps the span: its ranges hide
//             nothing.  Both numbers are 0: no snapshot needs it
//   dead      the table is of the common tree, and its span holds no key of a member: all of it
//             belongs to keyspaces that were dropped or have left.  Both numbers are 0
//
// A covered table may hide older versions in its span, by its tombstones and ranges.  The covering
// ranges hide these versions, too.  If the table with these ranges is covered itself, the ranges
// above it do the same.
struct NeedlessTable {
  std::shared_ptr<const OpenTable> table;
  int level = 0;
  Sequence smallest = 0;
  Sequence hidden_from = 0;

  bool IsHeld(HasSnapshotIn has_snapshot) const {
    return hidden_from != 0 && has_snapshot(smallest, hidden_from);
  }
};

class Tree {
 public:
  // Without tables.
  explicit Tree(KeyspaceId keyspace, std::shared_ptr<const Members> members = nullptr,
                const Tree* before = nullptr)
      : keyspace_(keyspace),
        members_(std::move(members)),
        reads_(before == nullptr ? std::make_shared<TreeReads>() : before->reads_) {}
  // The tables of a level may be in any order.  DataLoss if tables of a run overlap, or if a table
  // of level 0 has older writes than tables with lower numbers (AgeOrder).  `before` is the earlier
  // version of this tree, if any; the two share their TreeReads.
  static absl::StatusOr<std::shared_ptr<const Tree>> Create(
      std::array<OpenTables, kLevels> levels, KeyspaceId keyspace = kDefaultKeyspace,
      std::shared_ptr<const Members> members = nullptr, const Tree* before = nullptr);

  KeyspaceId keyspace() const { return keyspace_; }  // its id
  bool is_common() const { return keyspace_ == kCommonTree; }
  // In the common tree, entries of other ids are dead.  Null: none are.
  const Members* members() const { return members_.get(); }
  // The counts change, although the tree does not.
  TreeReads& reads() const { return *reads_; }
  std::shared_ptr<TreeReads> ShareReads() const { return reads_; }
  // Its lookups that no memtable answered.  `store`: the store's counters, which count those of the
  // default tree; null: there were none.
  uint64_t LookupsSoFar(const Counters* store) const;

  // Newest run first; below level 0, the tables of a run are in the order of their keys.
  const OpenTables& level(int level) const { return levels_[static_cast<size_t>(level)].tables; }
  // The sorted runs in the order of lookups; in level 0, each table is one.
  const std::vector<TableSpan>& runs(int level) const {
    return levels_[static_cast<size_t>(level)].runs;
  }
  size_t run_count(int level) const { return runs(level).size(); }
  uint64_t level_bytes(int level) const { return levels_[static_cast<size_t>(level)].bytes; }
  // The tables of level 0 as its limits count them: a table without entries is a sixteenth of one,
  // since a lookup asks only its ranges, and seals for the sake of a range delete make many.
  size_t level0_tables() const { return level0_sixteenths_ / 16; }
  static size_t SixteenthsOf(const OpenTable& table) { return table.meta.has_entries() ? 16 : 1; }
  uint64_t bytes() const {
    uint64_t sum = 0;
    for (int level = 0; level < kLevels; ++level) sum += level_bytes(level);
    return sum;
  }
  // The bytes of filters and indexes in the files.
  uint64_t filter_index_bytes() const { return filter_index_bytes_; }
  bool empty() const { return candidates_.empty(); }    // without tables
  int deepest_level() const { return deepest_level_; }  // with a table; 0 if there is none

  // Mean stored bytes of a key; 0 if there are no tables.
  double bytes_per_key() const { return bytes_per_key_; }
  // The table's record of its dead entries, as DeadEntriesOf in open_table.h has it.  In the common
  // tree, the bytes of no member are among its dead bytes.
  DeadEntries DeadEntriesIn(const OpenTable& table) const;
  // Stored bytes of the table that belong to no member of the common tree.  Every compaction of the
  // table frees them.  Counts data blocks whose keys all lie between members, so what a compaction
  // for these members has written counts nothing.  (With partitions on demand it counts whole
  // partitions, so that nothing is read.)  0 in other trees.
  uint64_t BytesOfNoMember(const OpenTable& table) const;

  // No compaction frees more than this for the sake of tombstones (lsm/compaction/picker.h): for
  // each table the excess of twice its freeable bytes over its size, if positive.
  double tombstone_gain() const { return tombstone_gain_; }
  // Charges a walk over dead entries to the newest table with tombstones whose range holds this
  // key.  True as for TombstoneRent::Pay.
  bool PayRent(std::string_view user_key, uint64_t bytes) const;
  // The times of the tables' oldest tombstones, ascending (DeadEntriesOf).
  std::span<const uint64_t> tombstone_times() const { return tombstone_times_; }

  struct GetOptions {
    bool fill_cache = true;
    bool pin_always = false;  // as in TableLookup
  };
  // Finds the newest version of the key that the lookup may see.  Prefetches the filters of all
  // tables that may have it, then queries them, newest first.  REQUIRES: inside an EpochGuard;
  // `lookup` has no result yet.
  void Get(KeyLookup* lookup, const GetOptions& options, const Counters::Here& counters) const;

  // Looks up many keys together; each gets its own result.  Reads uncached blocks from `files`, the
  // file system of the tables, in rounds of one table per key and one ReadMany.  Throws
  // std::bad_alloc without memory, before anything is counted.
  void MultiGet(std::span<KeyLookup> lookups, const GetOptions& options, FileSystem* files,
                const Counters::Here& counters) const;

  // Adds one iterator for each table of level 0, and one for each run below, newest first.  The
  // tree must outlive them.
  void AddIterators(const Table::ScanOptions& options,
                    std::vector<std::unique_ptr<InnerIterator>>* iterators) const;
  size_t iterator_count() const;  // as AddIterators adds them
  // Whether a table has range deletes that a reader may need.  Those over keys of no member are not
  // needed, so they cost readers nothing.
  bool has_ranges() const { return has_ranges_; }
  // Adds a cover for each of these iterators; null if it has no range deletes.
  void AddCovers(std::vector<const RangeCover*>* covers) const;

  // The tables that no reader needs, by ascending numbers.
  const std::vector<NeedlessTable>& needless() const { return needless_; }
  // The bytes of tables that these range deletes of a memtable would make needless.  Tables that a
  // snapshot holds, or that are needless already, do not count.  Stops as soon as the sum reaches
  // `enough`.  For each cover (lsm/base/range_cover.h) it takes two binary searches in each run,
  // and one search in `ranges` for each table there and for each stretch within the table.
  uint64_t BytesUnder(const RangeMap& ranges, HasSnapshotIn has_snapshot, uint64_t enough) const;

  // --- tables whose entries have expired (lsm/design/expiry.md; expired_tables.cc) ---

  using IsTaken = absl::FunctionRef<bool(const OpenTable& table)>;
  // The tables of this level that can be removed unread, oldest run first.  All entries of such a
  // table have expired for each reader that may see them.  Each older table that overlaps its span
  // is in the list, too, so nothing that it hides comes back.  Leaves out tables for which
  // `is_taken` is true.
  OpenTables Expired(int level, ExpiryByKeyspace& expiry, IsTaken is_taken) const;
  // Picks a table of which at least a fifth has expired, by timed or by untimed puts: the one that
  // reached the fifth first.  nullopt if there is none.  Also nullopt if less than a sixth of the
  // bytes of all tables with such puts has expired: if keys are in the order of time, a table soon
  // goes as a whole.
  struct HalfExpired {
    std::shared_ptr<const OpenTable> table;
    int level = 0;
  };
  std::optional<HalfExpired> PickHalfExpired(ExpiryByKeyspace& expiry, IsTaken is_taken) const;
  // The bytes of tables that have expired for all readers, by an estimate: as if the puts of a
  // table were written evenly between the times that are known.
  double ExpiredBytes(const SnapshotList& snapshots) const;
  // False only if no table has expired at that time, as a whole or by a fifth.  Allocates no
  // memory.
  bool MayHaveExpired(const LimitTable& limits, uint32_t now) const;

  // The tables of the level that overlap the span, in the order of `level`.  Each run takes a
  // binary search.
  OpenTables Overlapping(int level, const KeySpan& span) const;
  // Whether there are such tables.  Allocates no memory.
  bool HasOverlapping(int level, const KeySpan& span) const;
  // Whether there are such tables in deeper levels.  Allocates no memory.
  bool HasOverlappingBelow(int level, const KeySpan& span) const;

  // False only if no table, other than `without`, can hold the user key.
  bool MayExist(std::string_view user_key, const OpenTable* without = nullptr) const {
    const std::span<const uint32_t> with_key = ranges_.With(user_key);
    return with_key.size() > 1 ||
           (with_key.size() == 1 && candidates_[with_key.front()].table != without);
  }

  // False only if no entry of the user key can be older than this run of the level: no table below
  // the level, and no run of the level with a lower number, may hold the key.  The run need not
  // exist.
  bool MayExistBelow(int level, uint32_t run, std::string_view user_key) const;

  // The same for a range delete: the smallest span with all keys of `span` that lie in spans of
  // tables older than this run.  It is a view of these spans and of `span`.  Returns nullopt if
  // there are no such keys.  Level -1: all tables are older.  `without`: a table of level 0 that
  // does not count.  Takes two binary searches in each run.
  std::optional<KeySpan> OlderSpan(int level, uint32_t run, const KeySpan& span,
                                   const OpenTable* without = nullptr) const;

  // Bytes that a tombstone in this run is expected to cover: what the oldest table with the key
  // stores for one key.  Only tables that are older than the run count, as in MayExistBelow, and
  // filters in memory say which of them lack the key.  Level -1: all tables are older.  `without`
  // does not count.
  uint64_t CoveredBytes(int level, uint32_t run, std::string_view user_key,
                        const bloom::DigestSeed& seed, const OpenTable* without = nullptr) const;

  // Approximate bytes of tables for keys in [from, to); nullopt: unbounded.
  uint64_t ApproximateBytes(std::string_view from, std::optional<std::string_view> to) const;

  // Sets the state of each level (not the counters).  `present` tells which entries have expired;
  // it has no snapshots.  Reads nothing.  Estimates what range deletes hide: 5 ms for 10,000 of
  // them and each older run that they cover.
  void Describe(Statistics* statistics, const SnapshotList& present = {}) const;

 private:
  struct Level {
    OpenTables tables;
    uint64_t bytes = 0;
    std::vector<TableSpan> runs;                           // of `tables`
    std::vector<std::unique_ptr<const MapsCover>> covers;  // of `runs`; null: no range deletes
  };
  struct Candidate {
    const OpenTable* table;
    int level;
    bool has_ranges = false;  // as Tree::has_ranges
    bool has_entries = false;
    uint8_t slot = 0;  // SlotOf(level)
  };
  template <bool kBesideRanges>
  class Search;
  template <bool kBesideRanges>
  class Batch;

  template <bool kBesideRanges>
  void GetBy(KeyLookup* lookup, const GetOptions& options, const Counters::Here& counters) const;
  [[gnu::noinline]] void GetBesideRanges(KeyLookup* lookup, const GetOptions& options,
                                         const Counters::Here& counters) const;

  // Whether the table has older entries than this run of the level, as far as they share keys.
  static bool IsOlder(int table_level, const OpenTable& table, int level, uint32_t run);

  // Where lookups of this tree count what they do at a level.
  int SlotOf(int level) const {
    return keyspace_ == kDefaultKeyspace ? level : Counters::kLevelsOfOthers + level;
  }

  // Sorts the tables of a level below 0 into runs.
  absl::Status FindRuns(int level);
  void ListCandidates();
  void NoteTombstones();
  void MakeCovers();
  // needless_tables.cc.  A table that is not covered costs one binary search in each map above it.
  // A covered one costs a walk over its stretches.  Without ranges, this does nothing, except in
  // the common tree.
  void ListNeedless();
  // Whether the table is needless, whatever snapshots exist: it holds no entries of members, and
  // its ranges have no use.  `newer`: the covers of the newer runs.
  bool IsIdle(const OpenTable& table, int level, size_t run,
              std::span<const MapsCover* const> newer) const;
  // Fills bytes_of_no_member_.  A table takes a search for each gap between members, but no more
  // than for each of its blocks.  If `before` has the same members, only new tables are searched.
  void SumBytesOfNoMember(const Tree* before);
  // Whether a table after this run, in the order of lookups, overlaps the span.
  bool HasOlder(int level, size_t run, const KeySpan& span) const;
  // The bytes of the table that have expired for all readers, by an estimate (expired_tables.cc).
  double ExpiredBytesOf(const OpenTable& table, ExpiryByKeyspace& expiry) const;
  // For each of candidates_, the bytes that only range deletes hide, by an estimate (HiddenBytes in
  // open_table.h).  Without ranges they are zeros.
  std::vector<uint64_t> HiddenBytesOfTables(ExpiryByKeyspace& expiry) const;
  // The part of Describe for the runs of a level.  `hidden`: HiddenBytesOfTables, those of the
  // level.
  void DescribeRuns(int level, ExpiryByKeyspace& expiry, std::span<const uint64_t> hidden,
                    LevelStatistics* statistics) const;

  const KeyspaceId keyspace_;
  const std::shared_ptr<const Members> members_;
  const std::shared_ptr<TreeReads> reads_;
  std::array<Level, kLevels> levels_;
  // All tables in the order of lookups: newest first.
  std::vector<Candidate> candidates_;
  bool has_maps_ = false;    // a table has range deletes
  bool has_ranges_ = false;  // and a reader may need them
  KeyRanges ranges_;         // spans of candidates_, without ranges that no reader needs
  uint64_t filter_index_bytes_ = 0;
  int deepest_level_ = 0;
  double bytes_per_key_ = 0;
  double tombstone_gain_ = 0;
  std::vector<uint64_t> tombstone_times_;
  std::vector<NeedlessTable> needless_;
  std::map<uint64_t, uint64_t> bytes_of_no_member_;  // by the table's number; zeros, too
  size_t level0_sixteenths_ = 0;                     // of level0_tables()
};

// The tables of the tree after the edit: those of `base` that stay, and those that the edit adds to
// this tree.  Added tables are tables of `base` that move, or new ones out of `outputs`.
std::array<OpenTables, kLevels> LevelsAfter(const Tree& base, const VersionEdit& edit,
                                            const OpenTables& outputs);

}  // namespace lsm

#endif  // TRELLIS_LSM_VERSION_TREE_H_
