// What a store counts about itself, as a struct, as text and as JSON.
//
// All figures run from the opening of the store.  Lookups are Get, Explain and MultiGet
// (once a key); iterators are not counted among them.  Thread-safe to take at any time; figures of
// one snapshot may be apart by lookups that were under way.
#ifndef TRELLIS_LSM_STATISTICS_H_
#define TRELLIS_LSM_STATISTICS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/histogram.h"
#include "lsm/limits.h"
#include "lsm/reports.h"

namespace lsm::inline TRELLIS_ABI {

// How the point lookups fared at one level, and what the level is.
struct LevelStatistics {
  // What is there now.
  uint64_t tables = 0;
  uint64_t runs = 0;  // sorted runs, each of which a lookup may have to ask: of level 0 its tables
  uint64_t table_bytes = 0;
  uint64_t oldest_run_bytes = 0;  // of these, those in the oldest run
  uint64_t entries = 0;           // versions and tombstones
  uint64_t keys = 0;              // distinct user keys of each table, summed over the tables
  uint64_t filter_bytes = 0;      // resident
  uint64_t index_bytes = 0;       // resident
  // Tables whose filter has more memory than by their size alone, or less (Options::filter_goal):
  // lookups asked for their keys at least twice as often as for others, or at most half as often,
  // until the filter was built.
  uint64_t hot_tables = 0;
  uint64_t cold_tables = 0;
  // In the files of partitioned tables, to be read when they are needed.
  uint64_t filter_partition_bytes = 0;
  uint64_t index_partition_bytes = 0;
  double target_fpp = 0;     // what its usable filters were built for, weighed by keys; 0: none
  double predicted_fpp = 0;  // what their layouts promise with their sizes, weighed by keys
  // The kind of the newest table's filter ("blocked", …, "absent", "damaged", "unknown"), and why
  // it was chosen (the table's property `filter_reason`; empty without Options::filter_goal).
  std::string filter_kind;
  std::string filter_reason;
  // Expected reads of tables at this level, for a key that is not in the store but within the range
  // of each of its tables: the sum over the runs of predicted FPPs, each run's weighed by keys; 1
  // for a table without a usable filter.
  double expected_wasted_reads = 0;

  // Counted.
  uint64_t lookups = 0;            // point lookups that came as far as this level
  uint64_t tables_considered = 0;  // whose key range holds the key: the sum of the next three, and
                                   // of reads that failed
  uint64_t reads_avoided = 0;    // a filter said "no": the table was not read, or only to check it
  uint64_t useful_reads = 0;     // the table was read, and answered: the key or its tombstone
  uint64_t wasted_reads = 0;     // the table was read, and did not answer
  uint64_t false_positives = 0;  // those of the wasted reads that a usable filter had let through
  uint64_t filters_absent = 0;   // of the tables considered: the table has no filter
  uint64_t filters_damaged = 0;  //   its filter is damaged and answers "maybe"
  uint64_t filters_unknown = 0;  //   it is of a kind this library does not know: "maybe"
  uint64_t blocks_from_cache = 0;  // data blocks
  uint64_t blocks_from_file = 0;
  uint64_t bytes_from_cache = 0;  // as they lie in memory
  uint64_t bytes_from_file = 0;   // as they lie in the file, trailers included
  // Partitions of filters and indexes, likewise.
  uint64_t partitions_from_cache = 0;
  uint64_t partitions_from_file = 0;
  uint64_t partition_bytes_from_file = 0;

  // False positives per question asked to a usable filter about a key that is not in the table; 0
  // before any.
  double observed_fpp() const;

  // The counts since `before` was taken; figures of the present state stay.  Counts start at 0
  // again when a store is opened: if any count of `before` but `lookups` is larger, `before` counts
  // as zero.
  LevelStatistics Since(const LevelStatistics& before) const;
};

struct Statistics {
  std::array<LevelStatistics, kLevels> levels;
  LevelStatistics total;  // sum; `lookups` is the number of point lookups that left the memtables
  std::string filter_goal = "none";  // Options::filter_goal, as text

  // Reads.
  uint64_t lookups = 0;
  uint64_t lookups_found = 0;
  uint64_t memtable_hits = 0;  // answered by a memtable, tombstones included
  uint64_t iterators = 0;
  // Seeks of iterators that are gone, those to the first or last key included.  And the sum over
  // these seeks of the number of tables of level 0 that their iterator had; 0 for an iterator that
  // went after level 0 was compacted.
  uint64_t seeks = 0;
  uint64_t level0_seeks = 0;
  uint64_t scan_blocks_from_cache = 0;
  uint64_t scan_blocks_from_file = 0;  // those read ahead included
  uint64_t scan_bytes_from_file = 0;   // partitions of indexes included
  // Reads of footers, properties, filters and indexes of tables when the tables are opened: with
  // the store, or after a job has written them.  Partitions are read later, when a lookup needs
  // them.
  uint64_t opening_reads = 0;
  uint64_t opening_bytes_read = 0;

  // Writes.
  uint64_t writes = 0;              // calls
  uint64_t write_entries = 0;       // puts and deletes
  uint64_t write_groups = 0;        // commits that the calls were grouped into
  uint64_t user_bytes_written = 0;  // keys and values
  uint64_t log_bytes_written = 0;   // records with their framing
  uint64_t log_syncs = 0;
  // Of flushes and compactions that succeeded; those that replay logs at opening included.
  uint64_t flushes = 0;
  uint64_t flush_bytes_written = 0;
  uint64_t flush_nanos = 0;
  uint64_t compactions = 0;
  uint64_t trivial_moves = 0;
  // Of both, those that no level's limit called for: lookups and seeks had wasted as much work on
  // level 0 as merging it takes (lsm/compaction/picker.h).
  uint64_t compactions_for_readers = 0;
  uint64_t compactions_at_once = 0;    // the most that ran beside one another, moves included
  uint64_t compaction_bytes_read = 0;  // sizes of its inputs
  uint64_t compaction_bytes_written = 0;
  uint64_t compaction_nanos = 0;
  uint64_t stalls_memtable = 0;  // writes that waited because the memtables were full
  uint64_t stalls_level0 = 0;    // writes that waited because level 0 had too many tables
  uint64_t stalls_log = 0;       // writes that waited because the next log was not made yet
  uint64_t stalls_reserve = 0;  // waits of puts for a larger reserve; a put may wait more than once
  uint64_t slowdowns = 0;       // writes that were delayed before it came to one of these
  uint64_t stall_nanos = 0;  // time spent in all of these; a flush for the reserve may count twice

  // Memory and state.
  uint64_t memtable_bytes = 0;
  uint64_t block_cache_bytes = 0;
  uint64_t block_cache_capacity_bytes = 0;
  // The reserve for a full disk (Options::reserve_bytes): its bytes now; how often a full disk made
  // the store give it up; and whether puts are refused now because there is no space for it (0, 1).
  uint64_t reserve_bytes = 0;
  uint64_t reserve_releases = 0;
  uint64_t puts_refused = 0;
  // Failures that DB::GetFailure told of (jobs, logs, manifest); and compactions for readers that
  // failed, of which it tells only if they met damage.
  uint64_t background_errors = 0;
  // Tables that were read in spite of their filter's "no".  One lookup in 65,537 of a thread does
  // so, in the tables that it comes to before it has its answer.  Their blocks are among those read
  // at their levels.
  uint64_t filter_denials_checked = 0;
  // Keys that such lookups, or compactions, found in a table whose filter denies them.  Other
  // lookups missed them: it is never anything but 0, unless memory is faulty or the library is.
  // The tables that a compaction wrote have filters of their own.
  uint64_t filter_false_negatives = 0;
  // By DB::Verify and by scrubbing (Options::scrub_seconds).
  uint64_t tables_verified = 0;
  uint64_t bytes_verified = 0;
  uint64_t scrubs = 0;        // times that the turn of every table, and of the records, had come
  uint64_t damage_found = 0;  // lines of DB::GetDamage, and those that are too many for it
  // Callbacks of Options::listener, and the time that they took.  Writes and jobs run them, and
  // wait for them; `stall_nanos` does not include that time.
  uint64_t listener_calls = 0;
  uint64_t listener_nanos = 0;

  // How long calls took, in nanoseconds.  A sample of each thread's calls is timed: one in 127 of
  // Get, one in 31 seeks of iterators, one in 7 writes (Put, Delete and Write, with the time that
  // they waited; each stall is an event of Options::listener).  So max() is the slowest timed call;
  // a slower one may not have been timed.
  LatencyHistogram get_times;
  LatencyHistogram write_times;
  LatencyHistogram seek_times;

  RecoveryReport recovery;  // of the opening; does not change afterwards

  // The counts since `before` was taken.  Figures that describe the store as it is now
  // (tables, bytes, FPPs, memory, the most compactions at once, what the opening recovered) stay.
  //
  // All counts start at 0 again when the store is opened.  If any count of `before` is larger than
  // the same one here, the store was reopened in between: `before` then counts as zero, and the
  // result has all counts since that opening.  This cannot be seen, and the result is too small, if
  // every count has grown past the old one by then.
  Statistics Since(const Statistics& before) const;

  // Bytes written to log and tables per byte that users wrote; 0 before any.
  double write_amplification() const;
  // Bytes of tables per byte in the oldest run of the deepest level that holds any: how much room
  // old versions may take.  While all tables are in level 0, where old versions are not told from
  // new ones: 1.
  double space_amplification() const;

  // Wasted reads of tables per point lookup that left the memtables, found or not; 0 before any. Of
  // absent keys alone it is total.expected_wasted_reads, by chance more or less.
  double wasted_reads_per_lookup() const;

  // Sets those figures of `total` that say what is there to the sums and means of the levels'.
  void SumLevels();

  std::string ToText() const;
  // One object; members are named like the fields above.  A histogram is an object of `count`,
  // `sum_nanos`, percentiles (`p50_nanos`, ...), and `buckets`: pairs of the largest value of a
  // bucket and its count, without empty buckets.
  std::string ToJson() const;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_STATISTICS_H_
