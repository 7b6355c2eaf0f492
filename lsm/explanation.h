// The whole way of one point lookup, step by step: what DB::Explain and `sstdump explain` return.
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
const char* NameOf(FilterVerdict verdict);

// One data block that was looked into.
struct BlockStep {
  uint64_t ordinal = 0;  // which data block of its table, from 0
  uint64_t offset = 0;
  uint64_t stored_bytes = 0;  // in the file, without the trailer
  bool from_cache = false;
};

// One partition of a filter or an index that was looked into.
struct PartitionStep {
  bool is_filter = false;  // else of the index
  uint64_t ordinal = 0;    // which partition of its table, from 0
  uint64_t offset = 0;
  uint64_t stored_bytes = 0;  // in the file, without the trailer
  bool from_cache = false;
};

// One table whose key range holds the key.
struct TableStep {
  int level = 0;
  uint64_t table_number = 0;
  std::string smallest_key, largest_key;
  FilterVerdict filter = FilterVerdict::kAbsent;
  std::vector<PartitionStep> partitions;  // none if the table is not partitioned
  std::vector<BlockStep> blocks;  // none if the filter said no, or the key is beyond the last block
  // What the table said: "skipped" (filter), "absent", "put", "delete", "failed" (to be read).
  std::string outcome;
  uint64_t sequence = 0;  // of the entry found
  // The filter said "maybe" and the table has no version of the key, not even one that is newer
  // than the lookup may see.
  bool false_positive = false;
};

struct MemtableStep {
  std::string name;     // "memtable", "sealed memtable 0", or a log's file name
  std::string outcome;  // "absent", "put", "delete"
};

struct Explanation {
  std::string key;
  uint64_t digest = 0;
  uint64_t sequence = 0;  // as of which the lookup was made
  std::vector<MemtableStep> memtables;
  std::vector<uint64_t> tables_by_level;  // how many tables each level has
  std::vector<TableStep> tables;          // in the order in which they were considered
  bool found = false;
  std::string answered_by;  // "memtable", "table 12 at level 2"; empty: none has the key
  uint64_t value_bytes = 0;
  // The error of Get, if a table could not be read.  The steps tell how far the lookup came.  Empty
  // otherwise.
  std::string error;

  // Keys as `key_text` shows them; without one escaped, and in the text cut if they are long.
  using KeyText = std::function<std::string(std::string_view key)>;
  std::string ToText(const KeyText& key_text = {}) const;
  std::string ToJson(const KeyText& key_text = {}) const;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_EXPLANATION_H_
