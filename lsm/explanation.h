// Every step of one point lookup: the result of DB::Explain and `sstdump explain`.
#ifndef TRELLIS_LSM_EXPLANATION_H_
#define TRELLIS_LSM_EXPLANATION_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

enum class FilterVerdict : uint8_t { kAbsent, kNo, kMaybe, kDamaged, kUnknown };
TRELLIS_API const char* NameOf(FilterVerdict verdict);

// A data block that the lookup searched.
struct BlockStep {
  uint64_t ordinal = 0;  // number of the data block in its table, from 0
  uint64_t offset = 0;
  uint64_t stored_bytes = 0;  // in the file, without the trailer
  bool from_cache = false;
};

// A partition of a filter or an index that the lookup searched.
struct PartitionStep {
  bool is_filter = false;  // false: of the index
  uint64_t ordinal = 0;    // number of the partition in its table, from 0
  uint64_t offset = 0;
  uint64_t stored_bytes = 0;  // in the file, without the trailer
  bool from_cache = false;
};

// A table whose key range contains the key.
struct TableStep {
  int level = 0;
  uint64_t table_number = 0;
  // In a table of the common tree (DB::OpenKeyspace), each begins with the four-byte id of its
  // keyspace.
  std::string smallest_key, largest_key;
  FilterVerdict filter = FilterVerdict::kAbsent;
  std::vector<PartitionStep> partitions;  // none if the table is not partitioned
  std::vector<BlockStep> blocks;  // none if the filter said no, or the key is beyond the last block
  // "skipped" (by the filter, or because the table has no entries), "absent", "put", "delete",
  // "expired" (a put), "failed" (the table could not be read), "range delete" (of this table; it
  // ended the lookup), or "not read" (because a range delete of a newer table or memtable ended the
  // lookup).
  std::string outcome;
  uint64_t sequence = 0;  // of the entry found
  // When an expired put was written, in seconds since 1970.  If it has no time, when its keyspace
  // got its first limit.
  uint32_t written = 0;
  // The table's newest range delete that covers the key, as of the lookup; 0: none.
  uint64_t range_sequence = 0;
  // The filter said "maybe", but the table has no version of the key, not even one too new for the
  // lookup to see.
  bool false_positive = false;
};

struct MemtableStep {
  std::string name;             // "memtable", "sealed memtable 0", or a log's file name
  std::string outcome;          // "absent", "put", "delete", "range delete", "expired"
  uint64_t range_sequence = 0;  // as in TableStep
  uint32_t written = 0;         // as in TableStep; 0: unknown
};

struct TRELLIS_API Explanation {
  std::string key;
  uint64_t digest = 0;
  uint64_t sequence = 0;  // the lookup sees entries up to this one
  std::vector<MemtableStep> memtables;
  std::vector<uint64_t> tables_by_level;  // number of tables in each level
  std::vector<TableStep> tables;          // in the order in which they were considered
  bool found = false;
  std::string answered_by;  // "memtable", "table 12 at level 2"; empty: nothing has the key
  uint64_t value_bytes = 0;
  // The error of Get if a table could not be read; empty otherwise.  The steps show how far the
  // lookup came.
  std::string error;

  // `key_text` shows a key as text.  Null: keys are escaped, and ToText also shortens long ones.
  using KeyText = std::function<std::string(std::string_view key)>;
  std::string ToText(const KeyText& key_text = {}) const;
  std::string ToJson(const KeyText& key_text = {}) const;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_EXPLANATION_H_
