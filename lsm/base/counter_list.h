// The lists of all counters of a store: X(ENUMERATOR, MEMBER of Statistics or LevelStatistics).
// They produce the enumerators, the sums into Statistics, and the names in JSON.
#ifndef TRELLIS_LSM_BASE_COUNTER_LIST_H_
#define TRELLIS_LSM_BASE_COUNTER_LIST_H_

// Counters of the whole store.
#define LSM_COUNTERS(X)                                         \
  X(kLookups, lookups)                                          \
  X(kLookupsFound, lookups_found)                               \
  X(kMemtableHits, memtable_hits)                               \
  X(kLookupsEndedInRange, lookups_ended_in_range)               \
  X(kLookupsEndedExpired, lookups_ended_expired)                \
  X(kIterators, iterators)                                      \
  X(kSeeks, seeks)                                              \
  X(kLevel0Seeks, level0_seeks)                                 \
  X(kDeadEntriesWalked, dead_entries_walked)                    \
  X(kGapJumps, gap_jumps)                                       \
  X(kRangeJumps, range_jumps)                                   \
  X(kScanBlocksFromCache, scan_blocks_from_cache)               \
  X(kScanBlocksFromFile, scan_blocks_from_file)                 \
  X(kScanBytesFromFile, scan_bytes_from_file)                   \
  X(kOpeningReads, opening_reads)                               \
  X(kOpeningBytesRead, opening_bytes_read)                      \
  X(kWrites, writes)                                            \
  X(kWriteEntries, write_entries)                               \
  X(kWriteGroups, write_groups)                                 \
  X(kUserBytesWritten, user_bytes_written)                      \
  X(kLogBytesWritten, log_bytes_written)                        \
  X(kLogSyncs, log_syncs)                                       \
  X(kFlushes, flushes)                                          \
  X(kFlushBytesWritten, flush_bytes_written)                    \
  X(kFlushNanos, flush_nanos)                                   \
  X(kTombstonesDroppedByFlushes, tombstones_dropped_by_flushes) \
  X(kCompactions, compactions)                                  \
  X(kTrivialMoves, trivial_moves)                               \
  X(kCompactionsForReaders, compactions_for_readers)            \
  X(kCompactionsForTombstones, compactions_for_tombstones)      \
  X(kTablesDroppedUnread, tables_dropped_unread)                \
  X(kBytesDroppedUnread, bytes_dropped_unread)                  \
  X(kCompactionsAtOnce, compactions_at_once)                    \
  X(kCompactionBytesRead, compaction_bytes_read)                \
  X(kCompactionBytesWritten, compaction_bytes_written)          \
  X(kCompactionNanos, compaction_nanos)                         \
  X(kStallsMemtable, stalls_memtable)                           \
  X(kStallsLevel0, stalls_level0)                               \
  X(kStallsReserve, stalls_reserve)                             \
  X(kStallsLog, stalls_log)                                     \
  X(kSlowdowns, slowdowns)                                      \
  X(kStallNanos, stall_nanos)                                   \
  X(kReserveReleases, reserve_releases)                         \
  X(kBackgroundErrors, background_errors)                       \
  X(kFilterDenialsChecked, filter_denials_checked)              \
  X(kFilterFalseNegatives, filter_false_negatives)              \
  X(kTablesVerified, tables_verified)                           \
  X(kBytesVerified, bytes_verified)                             \
  X(kScrubs, scrubs)                                            \
  X(kDamageFound, damage_found)

// Counters of one lookup at one level. kLookupsEnded counts lookups that went no further than this
// level, while its member counts those that reached it.  Counters of partitions come last, in this
// order, which Counters::Here::Add checks.
#define LSM_LEVEL_COUNTERS(X)                    \
  X(kLookupsEnded, lookups)                      \
  X(kTablesConsidered, tables_considered)        \
  X(kReadsAvoided, reads_avoided)                \
  X(kUsefulReads, useful_reads)                  \
  X(kWastedReads, wasted_reads)                  \
  X(kFalsePositives, false_positives)            \
  X(kFiltersAbsent, filters_absent)              \
  X(kFiltersDamaged, filters_damaged)            \
  X(kFiltersUnknown, filters_unknown)            \
  X(kBlocksFromCache, blocks_from_cache)         \
  X(kBlocksFromFile, blocks_from_file)           \
  X(kBytesFromCache, bytes_from_cache)           \
  X(kBytesFromFile, bytes_from_file)             \
  X(kPartitionsFromCache, partitions_from_cache) \
  X(kPartitionsFromFile, partitions_from_file)   \
  X(kPartitionBytesFromFile, partition_bytes_from_file)

#endif  // TRELLIS_LSM_BASE_COUNTER_LIST_H_
