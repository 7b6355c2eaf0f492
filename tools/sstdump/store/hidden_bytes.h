// How many bytes of a store's tables only range deletes hide: the estimate that
// LevelStatistics::hidden_bytes has (lsm::HiddenBytes), without a tree.
#ifndef TRELLIS_TOOLS_SSTDUMP_STORE_HIDDEN_BYTES_H_
#define TRELLIS_TOOLS_SSTDUMP_STORE_HIDDEN_BYTES_H_

#include <cstdint>
#include <map>
#include <vector>

#include "lsm/base/range_map.h"
#include "lsm/version/common_keys.h"
#include "lsm/version/keyspace_records.h"
#include "lsm/version/open_table.h"
#include "tools/sstdump/store/store_files.h"

namespace tools {

// Add*, then BytesOf.  One thread.
class HiddenInStore {
 public:
  // `tables`: in the order of TablesInOrder.  They must outlive this object, and so must `files`.
  // Opens those that have range deletes, according to the manifest, and keeps a copy of these.
  // Leaves out what is unreadable; the caller reports it when it opens the tables.
  HiddenInStore(const StoreFiles& files, const std::vector<PlacedTable>& tables,
                const lsm::KeyspaceRecords& records);

  // One of the tables, in their order.
  void Add(const PlacedTable& placed, const lsm::Table& table, uint64_t expired_bytes);

  // By the number of the table; 0 if it was not added.
  std::map<uint64_t, uint64_t> BytesByTable() const;

 private:
  struct InTree {
    lsm::HiddenBytes bytes;
    std::vector<uint64_t> numbers;  // of the tables that were added
  };
  bool HasOlder(const PlacedTable& placed) const;

  const std::vector<PlacedTable>& tables_;
  const lsm::Members members_;
  const lsm::RangeMap no_ranges_;
  std::map<uint64_t, lsm::RangeMap> ranges_;  // by the number of the table
  std::map<lsm::KeyspaceId, InTree> trees_;   // those with ranges
};

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_STORE_HIDDEN_BYTES_H_
