// Checks that a table is intact: every checksum, the order of all keys within and across blocks,
// the index's fences, the counts in footer and properties, and the filter's answer for every key.
// Opening the table has read its range deletes, and checked them as far as they go.
#ifndef TRELLIS_LSM_TABLE_TABLE_CHECK_H_
#define TRELLIS_LSM_TABLE_TABLE_CHECK_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/table/table.h"

namespace lsm::inline TRELLIS_ABI {

struct TableFacts {
  uint64_t blocks = 0;
  uint64_t entries = 0;
  uint64_t keys = 0;
  uint64_t keys_in_filter = 0;  // keys for which the filter was queried and said "maybe"
  std::string smallest;         // internal keys; empty if there are no entries
  std::string largest;
  Sequence smallest_sequence = 0;  // of the entries
  Sequence largest_sequence = 0;
  std::pair<Sequence, Sequence> all_sequences;  // the same of entries and range deletes together
};

struct TableCheckCalls {
  // Called for every problem: DataLoss with file name and offset, or the error of a read.  Returns
  // whether to continue.
  std::function<bool(const absl::Status&)> problem;
  // Called before that many bytes are read from the file; returns whether to continue.  May be
  // null.
  std::function<bool(uint64_t bytes)> before_block;
};

// For messages: "'key' at sequence 7", or "none" for an empty one.
std::string QuotedInternalKey(std::string_view internal_key);

// Reads the header and all data blocks from the file, not through the cache.  Uses footer,
// properties, index and filter, including all partitions, as Table::Open has read them.  REQUIRES:
// the table was opened without partitions_on_demand.
TableFacts CheckTable(const Table& table, const TableCheckCalls& calls);

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_TABLE_CHECK_H_
