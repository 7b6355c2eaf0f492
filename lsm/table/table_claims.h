// Checks the claims in a table's properties.  Footer, index and manifest must agree with them
// before a store uses the table.  CheckTable checks those that require reading the entries.
#ifndef TRELLIS_LSM_TABLE_TABLE_CLAIMS_H_
#define TRELLIS_LSM_TABLE_TABLE_CLAIMS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/table/dead_entries.h"
#include "lsm/table/range_record.h"
#include "lsm/table/table.h"

namespace lsm::inline TRELLIS_ABI {

// A manifest's record of a table.
struct TableRecord {
  uint64_t entries = 0;
  std::string_view smallest;  // user keys; empty if there are no entries
  std::string_view largest;
  DeadEntries dead;
  const RangeRecord& ranges;
  KeyspaceId keyspace = kDefaultKeyspace;
  WriteTimes times = {};
};

// For messages: "2 range deletes from "b" to "h"", or "no range deletes".
std::string Described(const RangeRecord& ranges);

// DataLoss if the properties contradict the footer, the index, the record or each other.  Reads
// nothing.  Missing properties are not checked, except for the two sequences, on which a store
// depends.
absl::Status CheckClaims(const Table& table, const TableRecord& record);

// The place of a table, according to a manifest.
struct TablePlace {
  int level = 0;
  Sequence last_sequence = 0;  // of all tables of the store
};

// DataLoss if the table was made for a deeper level, or has writes after the place's last sequence.
absl::Status CheckPlace(const Table& table, const TablePlace& place);

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_TABLE_CLAIMS_H_
