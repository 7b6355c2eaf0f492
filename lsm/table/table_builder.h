// Writes one SSTable: (Add | AddRange)+ Finish.  Destruction without Finish abandons it.  One
// thread at a time.  After the first error Add does nothing, and Finish returns that error.
#ifndef TRELLIS_LSM_TABLE_TABLE_BUILDER_H_
#define TRELLIS_LSM_TABLE_TABLE_BUILDER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/filter_policy.h"
#include "bloom/hash.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/key_buffer.h"
#include "lsm/base/range_map.h"
#include "lsm/block/block.h"
#include "lsm/block/format.h"
#include "lsm/file_system.h"
#include "lsm/options.h"
#include "lsm/table/dead_entries.h"
#include "lsm/table/partition_builder.h"
#include "lsm/table/properties.h"
#include "lsm/table/range_record.h"
#include "lsm/table/write_times.h"

namespace lsm::inline TRELLIS_ABI {

struct TableBuildOptions {
  size_t block_bytes = 4096;
  int block_restart_interval = 16;
  Compression compression = Compression::kLz4;
  std::shared_ptr<const bloom::FilterPolicy> filter_policy;  // null: no filter
  double target_fpp = 0.01;
  std::string filter_reason;  // value of the property of that name
  // Approximate size of an index partition, if filter and index are partitioned (partitions.h); 0:
  // they are whole.
  size_t partition_bytes = 0;
  bloom::DigestSeed digest_seed;
  uint64_t file_id = 0;  // must be drawn at random
  KeyspaceId keyspace = kDefaultKeyspace;
  int level = 0;
  uint64_t created_micros = 0;  // wall clock, for people
  // The property of that name, for a table with tombstones or range deletes.
  uint64_t oldest_tombstone = 0;
};

// The manifest's record of a finished table.
struct TableSummary {
  uint64_t file_id = 0;
  uint64_t file_bytes = 0;
  std::string smallest;  // internal keys; empty if there are no entries
  std::string largest;
  TableProperties properties;
  RangeRecord ranges;
};

class TableBuilder {
 public:
  TableBuilder(TableBuildOptions options, std::unique_ptr<AppendFile> file);
  ~TableBuilder();

  // REQUIRES: internal keys in strictly ascending order.  Checked in release builds too, with the
  // error Internal, since a file out of order would lose keys.
  void Add(std::string_view internal_key, std::string_view value);

  // These sequences of range deletes cover the keys from `boundary` up to that of the next call; as
  // RangeMapBuilder::Add.  The order among calls of Add does not matter: ranges may lie before,
  // between and after the entries.
  void AddRange(std::string_view boundary, std::span<const Sequence> sequences);

  // The tombstone that was added last is expected to cover this much of older tables.
  void AddCoveredBytes(uint64_t bytes) { properties_.covered_bytes += bytes; }

  // Writes filter, index, ranges, properties and footer, syncs and closes the file.  The caller
  // must sync its name.  A table without entries and without ranges is an error.
  absl::StatusOr<TableSummary> Finish();

  const absl::Status& status() const { return status_; }
  uint64_t entry_count() const { return properties_.entries; }
  // Approximate size of the file if it were finished now.
  uint64_t size_bytes_estimate() const;
  // Whether the index, the filter or the ranges are near the largest size that readers accept, so
  // that another table must begin.
  bool is_full() const;
  std::string_view last_key() const { return last_key_; }  // empty before the first entry

 private:
  void FlushDataBlock(std::string_view next_user_key);
  void AddToFilter(std::string_view user_key, bool is_new_key);
  // The error of Add for this entry, apart so that Add stays small.
  [[gnu::noinline]] absl::Status Refusal(std::string_view internal_key, size_t value_bytes,
                                         bool is_parsed, bool is_in_order) const;
  absl::Status WriteFilter(Footer* footer);
  absl::Status WriteIndex(Footer* footer);
  absl::Status WriteRanges(const RangeMap& ranges, Footer* footer);
  // Filter and index, or their partitions.
  absl::Status WriteEntryParts(Footer* footer);
  // For a table of range deletes alone: it has no filter, and its index has no bytes.
  void LeaveOutEntryParts();

  const TableBuildOptions options_;
  std::unique_ptr<AppendFile> file_;
  absl::Status status_;
  BlockBuilder data_block_;
  BlockBuilder index_block_;
  std::unique_ptr<bloom::FilterBuilder> filter_;
  std::unique_ptr<PartitionBuilder> partitions_;  // if not null, it replaces the two above
  uint64_t index_key_bytes_ = 0;                  // with each key written in full
  double filter_bytes_per_key_ = 0;
  DeadEntryCounter dead_entries_;
  WriteTimesCounter write_times_;
  RangeMapBuilder ranges_;
  uint64_t range_memory_bytes_ = 0;  // that the map will take (ranges_part.h)
  TableProperties properties_;
  std::string smallest_;
  KeyBuffer last_key_;
  std::string scratch_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_TABLE_BUILDER_H_
