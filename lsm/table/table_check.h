// Whether a table is as it was written: every checksum, the order of all keys within and across
// blocks, the index's fences, what footer and properties count, and the filter's answer for every
// key.
#ifndef TRELLIS_LSM_TABLE_TABLE_CHECK_H_
#define TRELLIS_LSM_TABLE_TABLE_CHECK_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/table/table.h"

namespace lsm::inline TRELLIS_ABI {

struct TableFacts {
  uint64_t blocks = 0;
  uint64_t entries = 0;
  uint64_t keys = 0;
  uint64_t keys_in_filter = 0;  // that the filter was asked about, and passed
  std::string smallest;         // internal keys; empty if there are no entries
  std::string largest;
  Sequence smallest_sequence = 0;
  Sequence largest_sequence = 0;
};

struct TableCheckCalls {
  // Told of everything that is wrong: DataLoss with the file's name and the offset, or the error
  // with which it could not be read.  Whether to go on.
  std::function<bool(const absl::Status&)> problem;
  // Before so many bytes are read from the file: whether to go on.  May be null.
  std::function<bool(uint64_t bytes)> before_block;
};

// For messages: "'key' at sequence 7"; "none" for an empty one.
std::string QuotedInternalKey(std::string_view internal_key);

// Reads the header and all data blocks from the file, past the cache.  Footer, properties, index
// and filter, with all their partitions, are those that Table::Open has read.  REQUIRES: the table
// was not opened with partitions_on_demand.
TableFacts CheckTable(const Table& table, const TableCheckCalls& calls);

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_TABLE_CHECK_H_
