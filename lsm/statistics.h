// Counters and state of a store, as a struct, as text and as JSON.
//
// Counters start at the opening of the store.  A lookup is a Get, an Explain, or one key of a
// MultiGet; iterators have their own counters.  May be taken at any time by any thread.  Counters
// of one Statistics may differ by lookups that were in flight.
//
// In a store with keyspaces:
//
//   counters   of all keyspaces, also those of the levels.  Of the default one alone: level0_seeks,
//              gap_jumps, compactions_for_readers
//   state      of all keyspaces.  A level has the tables that all trees have there: those of
//              keyspaces with a tree of their own, of the common tree, and of the default one.
//              KeyspaceStatistics has the levels of one tree
//
// A text about filters (kind, reason) is that of the first tree with tables in the level; the
// default one comes first.
#ifndef TRELLIS_LSM_STATISTICS_H_
#define TRELLIS_LSM_STATISTICS_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "bloom/core/abi.h"
#include "lsm/histogram.h"
#include "lsm/limits.h"
#include "lsm/reports.h"

namespace lsm::inline TRELLIS_ABI {

// One level: its tables now, and the point lookups that reached it.
struct TRELLIS_API LevelStatistics {
  // State.
  uint64_t tables = 0;
  uint64_t runs = 0;  // sorted runs, which a lookup may have to search; level 0: its tables
  uint64_t table_bytes = 0;
  uint64_t oldest_run_bytes = 0;  // part of table_bytes in the oldest run
  uint64_t entries = 0;           // versions and tombstones
  uint64_t keys = 0;              // distinct user keys of each table, summed over the tables
  uint64_t tombstones = 0;
  // Stretches of keys that range deletes cover, and the memory that they take.  Range deletes that
  // overlap are cut where they do, so one call may count several times.  A range over the keys that
  // a keyspace left in shared tables counts, too, until compactions have freed them.
  uint64_t range_deletes = 0;
  uint64_t range_bytes = 0;
  // Puts that have a time, because entries of their keyspaces expire or once did
  // (KeyspaceOptions::expire_after); and the bytes that have expired for reads of the present.  The
  // bytes are an estimate, as if a table's puts were written evenly between its times.  In a table
  // that several keyspaces share, the longest of their limits counts.
  uint64_t timed_entries = 0;
  uint64_t expired_bytes = 0;
  // Bytes expected to be freed once the tombstones have reached the bottom: the dead and the
  // expired entries of the level's tables, plus older entries in other tables that its tombstones
  // cover (`covered_bytes`).
  uint64_t freeable_bytes = 0;
  uint64_t covered_bytes = 0;
  // Bytes of the level's tables that range deletes in tables of any level hide from reads of the
  // present, in addition to freeable_bytes.  Snapshots may need them.  It is an estimate by the
  // indexes.  At each end of a range it may be off by a block, or by a partition of the index.
  uint64_t hidden_bytes = 0;
  uint64_t oldest_run_dead_bytes = 0;  // part of oldest_run_bytes that is dead, expired or hidden
  // When the memtable of the oldest tombstone or range delete was begun, or when that was replayed
  // from a log, in seconds since 1970; 0 if there are none.
  uint64_t oldest_tombstone = 0;
  uint64_t filter_bytes = 0;  // resident
  uint64_t index_bytes = 0;   // resident
  // Tables whose filter got more memory (hot) or less (cold) than their size alone would give
  // (Options::filter_goal).  When the filter was built, lookups had asked for keys of a hot table
  // at least twice as often as for others, and for those of a cold table at most half as often.
  uint64_t hot_tables = 0;
  uint64_t cold_tables = 0;
  // Bytes in the files of partitioned tables, which lookups read when they need them.
  uint64_t filter_partition_bytes = 0;
  uint64_t index_partition_bytes = 0;
  double target_fpp = 0;     // target of its usable filters, mean weighted by keys; 0: none
  double predicted_fpp = 0;  // predicted from their layouts and sizes, mean weighted by keys
  // Filter kind of the newest table that has entries ("blocked", …, "absent", "damaged", "unknown";
  // empty: there is none), and why it was chosen (table property `filter_reason`; empty without
  // Options::filter_goal).
  std::string filter_kind;
  std::string filter_reason;
  // Expected table reads in this level by a lookup of an absent key, if each run has a table whose
  // range contains the key.  It is the sum over the runs of the predicted FPP (mean weighted by
  // keys; 1 for a table without a usable filter).  In a store with several trees, it is the mean of
  // their sums, weighted by each tree's share of the lookups since the opening (as if 1,000 more
  // had been spread over all keys).
  double expected_wasted_reads = 0;

  // Counters.
  uint64_t lookups = 0;            // point lookups that reached this level
  uint64_t tables_considered = 0;  // whose key range contains the key: sum of the next three and of
                                   // failed reads
  uint64_t reads_avoided = 0;  // a filter said "no"; the table was not read, or only to check that
  uint64_t useful_reads = 0;   // the table was read and answered: the key or its tombstone
  uint64_t wasted_reads = 0;   // the table was read and did not answer
  uint64_t false_positives = 0;    // wasted reads that a usable filter had let through
  uint64_t filters_absent = 0;     // considered tables without a filter
  uint64_t filters_damaged = 0;    // considered tables with a damaged filter, which answers "maybe"
  uint64_t filters_unknown = 0;    // considered tables whose filter kind is unknown: "maybe"
  uint64_t blocks_from_cache = 0;  // data blocks
  uint64_t blocks_from_file = 0;
  uint64_t bytes_from_cache = 0;  // size in memory
  uint64_t bytes_from_file = 0;   // size in the file, trailers included
  // Partitions of filters and indexes.
  uint64_t partitions_from_cache = 0;
  uint64_t partitions_from_file = 0;
  uint64_t partition_bytes_from_file = 0;

  // False positives per query of a usable filter for a key that its table does not have; 0 before
  // any.
  double observed_fpp() const;

  // Counters since `before` was taken; state as it is here.  Counters start at 0 when a store is
  // opened.  So if any counter of `before` except `lookups` is larger than here, `before` counts as
  // zero.
  LevelStatistics Since(const LevelStatistics& before) const;
};

struct TRELLIS_API Statistics {
  std::array<LevelStatistics, kLevels> levels;
  LevelStatistics total;             // sum; `lookups`: point lookups that went beyond the memtables
  std::string filter_goal = "none";  // Options::filter_goal, as text

  // Reads.
  uint64_t lookups = 0;
  uint64_t lookups_found = 0;
  uint64_t memtable_hits = 0;  // answered by an entry of a memtable, tombstones included
  // Lookups that ended because a range delete hid the entry, or everything in the next table.
  uint64_t lookups_ended_in_range = 0;
  // Lookups that ended because the newest version of the key had expired.
  uint64_t lookups_ended_expired = 0;
  uint64_t iterators = 0;
  // Seeks of destroyed iterators, including seeks to the first or last key.  `level0_seeks` is the
  // sum, over the seeks, of the number of tables in level 0 that the iterator had.  It is 0 for an
  // iterator destroyed after level 0 was compacted.
  uint64_t seeks = 0;
  uint64_t level0_seeks = 0;
  // How many tombstones, and entries that they cover, iterators walked over; and how often they
  // jumped over a gap, an interval of keys that is known to be deleted (default keyspace alone).
  // Counted when an iterator is destroyed.
  uint64_t dead_entries_walked = 0;
  uint64_t gap_jumps = 0;
  // How often iterators moved an input (memtable, table of level 0, run) past a range; counted when
  // they are destroyed.
  uint64_t range_jumps = 0;
  uint64_t scan_blocks_from_cache = 0;
  uint64_t scan_blocks_from_file = 0;  // including read-ahead
  uint64_t scan_bytes_from_file = 0;   // including index partitions
  // Reads of footers, properties, filters and indexes when tables are opened: at the opening of the
  // store, or after a job has written them.  Partitions are read later, when a lookup needs them.
  uint64_t opening_reads = 0;
  uint64_t opening_bytes_read = 0;

  // Writes.
  uint64_t writes = 0;              // successful calls of Put, Delete, DeleteRange and Write
  uint64_t write_entries = 0;       // puts, deletes and range deletes
  uint64_t write_groups = 0;        // commits; each serves one or more calls
  uint64_t user_bytes_written = 0;  // keys, values and bounds of ranges
  uint64_t log_bytes_written = 0;   // records with framing
  uint64_t log_syncs = 0;
  // Successful flushes and compactions.  Flushes include those that replay logs at the opening.
  uint64_t flushes = 0;
  uint64_t flush_bytes_written = 0;
  uint64_t flush_nanos = 0;
  // Tombstones that flushes did not write, because no table could hold their keys.
  uint64_t tombstones_dropped_by_flushes = 0;
  uint64_t compactions = 0;
  uint64_t trivial_moves = 0;
  // Compactions and moves that no limit of a level required: lookups and seeks had wasted as much
  // work on level 0 as merging it takes (lsm/compaction/picker.h).
  uint64_t compactions_for_readers = 0;
  // Compactions and moves that tombstones made due: they were expected to free at least as many
  // bytes as the compaction writes, iterators had walked over them for long enough, or they were a
  // week old.
  uint64_t compactions_for_tombstones = 0;
  // Tables that were removed unread, and their bytes.  Either range deletes hid everything in
  // them, or they held only range deletes that hid nothing, or all their entries had expired.  Not
  // part of `compactions`.
  uint64_t tables_dropped_unread = 0;
  uint64_t bytes_dropped_unread = 0;
  uint64_t compactions_at_once = 0;    // most that ran at the same time, moves included
  uint64_t compaction_bytes_read = 0;  // sizes of the inputs
  uint64_t compaction_bytes_written = 0;
  uint64_t compaction_nanos = 0;
  uint64_t stalls_memtable = 0;  // writes that waited because both memtables were full
  uint64_t stalls_level0 = 0;    // writes that waited because level 0 had too many tables
  uint64_t stalls_log = 0;       // writes that waited because the next log was not ready
  uint64_t stalls_reserve = 0;   // waits of puts for a larger reserve; a put may wait repeatedly
  uint64_t slowdowns = 0;        // writes that were delayed to avoid a stall
  uint64_t stall_nanos = 0;      // total of these waits; a flush for the reserve may count twice

  // Memory and state.
  uint64_t keyspaces = 0;  // "default" is one
  // Each keyspace with tables of its own has a tree; the common tree has those of all others.
  uint64_t trees = 0;
  // Bytes of tables that are expected to live: in each tree those in the oldest run of its deepest
  // level that is not empty, minus those that are expected to be dead or hidden by range deletes.
  // (If that is level 0, all its tables count, because old and new versions cannot be told apart
  // there.)
  uint64_t live_bytes = 0;
  uint64_t memtable_bytes = 0;
  uint64_t block_cache_bytes = 0;
  uint64_t block_cache_capacity_bytes = 0;
  // The reserve for a full disk (Options::reserve_bytes): its size now, how often a full disk made
  // the store give it up, and whether puts are refused because there is no space for it (0 or 1).
  uint64_t reserve_bytes = 0;
  uint64_t reserve_releases = 0;
  uint64_t puts_refused = 0;
  // OpenMode::kFollow: time since the last complete refresh of the view began.  0 in other modes.
  uint64_t view_age_nanos = 0;
  // Failures that DB::GetFailure reported (jobs, logs, manifest), and failed read-triggered
  // compactions.  (GetFailure reports one of those only if it found damage.)
  uint64_t background_errors = 0;
  // Tables that were read although their filter said "no", as a check.  One lookup in 65,537 of
  // each thread does that, in each table that it considers before it has its answer.  The block
  // counters of the levels include these reads.
  uint64_t filter_denials_checked = 0;
  // Keys that such a check, or a compaction, found in a table whose filter denies them; other
  // lookups missed them.  Never above 0 unless memory is faulty or the library has a bug.  The
  // tables that a compaction writes get new filters.
  uint64_t filter_false_negatives = 0;
  // Verification by DB::Verify and by scrubbing (Options::scrub_seconds).
  uint64_t tables_verified = 0;
  uint64_t bytes_verified = 0;
  uint64_t scrubs = 0;        // completed rounds over all tables, the manifest and the logs
  uint64_t damage_found = 0;  // lines of DB::GetDamage, and further ones that it has no room for
  // Callbacks of Options::listener, and their total time.  Writes and jobs run them and wait for
  // them; `stall_nanos` does not include that time.
  uint64_t listener_calls = 0;
  uint64_t listener_nanos = 0;

  // Latencies in nanoseconds.  Each thread times a sample of its calls: one Get in 127, one seek of
  // an iterator in 31, one write in 7 (Put, Delete and Write, including waits).  So a slower call
  // than max() may not have been timed.  Every stall is an event of Options::listener.
  LatencyHistogram get_times;
  LatencyHistogram write_times;
  LatencyHistogram seek_times;

  RecoveryReport recovery;  // by the opening; does not change afterwards

  // Counters since `before` was taken.  State (tables, bytes, FPPs, memory, the most compactions at
  // once, the recovery report) is as it is here.
  //
  // Counters start at 0 when the store is opened.  If any counter of `before` is larger than here,
  // the store was opened again in between.  `before` then counts as zero, and the result covers the
  // time since that opening.  A reopening goes unnoticed if every counter has already grown past
  // its old value; the result is then too small.
  Statistics Since(const Statistics& before) const;

  // Bytes written to log and tables per byte written by users; 0 before any.
  double write_amplification() const;
  // Bytes of tables per live byte (live_bytes).  Infinity if no byte is expected to be live (JSON:
  // null); 0 without tables.
  double space_amplification() const;

  // Wasted table reads per point lookup that went beyond the memtables, found or not; 0 before any.
  // For absent keys the expected value is total.expected_wasted_reads.
  double wasted_reads_per_lookup() const;

  // Computes the state of the levels as sums and means over those of these trees, then `total` and
  // live_bytes.  The `lookups` of a tree are those that no memtable answered.
  void SumTrees(std::span<const Statistics> of_trees);

  std::string ToText() const;
  // A JSON object; its members have the names of the fields above.  A histogram is an object of
  // `count`, `sum_nanos`, percentiles (`p50_nanos`, …) and `buckets`: pairs of a bucket's largest
  // value and its count, without empty buckets.
  std::string ToJson() const;
};

// The state of one keyspace (Keyspace::GetStatistics).
struct TRELLIS_API KeyspaceStatistics {
  bool has_own_tree = false;  // false: in the common tree, dropped, or without a store
  std::array<LevelStatistics, kLevels> levels;  // state of its own tree; the counters are 0
  uint64_t table_bytes = 0;                     // an estimate in the common tree
  // Memory of its entries and range deletes that no flush has written yet.  The sum over all
  // keyspaces is Statistics::memtable_bytes, less unused memory and the names of new keyspaces.
  uint64_t memtable_bytes = 0;
  // Counters of its own tree, since the opening or since it got the tree; 0 in the common tree.
  uint64_t lookups = 0;  // that no memtable answered
  uint64_t writes = 0;   // puts, deletes and range deletes
};

}  // namespace lsm

#endif  // TRELLIS_LSM_STATISTICS_H_
