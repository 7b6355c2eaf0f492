// All entries of a store's tables and of a memtable, as one sorted sequence.
#ifndef TRELLIS_TOOLS_SSTDUMP_STORE_MERGED_ENTRIES_H_
#define TRELLIS_TOOLS_SSTDUMP_STORE_MERGED_ENTRIES_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lsm/base/range_map.h"
#include "lsm/iterator.h"
#include "lsm/memtable/memtable.h"
#include "tools/sstdump/store/store_files.h"

namespace tools {

// User keys from `from` (included) to `to` (excluded).
struct KeyBounds {
  std::string from;
  std::optional<std::string> to;

  bool Holds(std::string_view user_key) const {
    return user_key >= from && (!to || user_key < *to);
  }
};

// The tables that may hold a key of the shown keyspace within the bounds, in order.
std::vector<PlacedTable> TablesWithin(const StoreFiles& files, const KeyBounds& bounds);

// Both of these are about the shown keyspace, and have its keys without the id.

// The range deletes of the memtable and of the tables within the bounds, the newest of each key.
// Unavailable if the store no longer needs a table; other errors as of OpenPlaced.
absl::StatusOr<lsm::RangeMap> MergedRanges(const StoreFiles& files, const lsm::Memtable& memtable,
                                           const KeyBounds& bounds);

// Iterates over internal keys, forward only.  Only one table per run is open at a time.  Tables
// outside the bounds are not opened.  An unreadable table, or keys out of order, end it with an
// error.  `files` and `memtable` must outlive it.
std::unique_ptr<lsm::Iterator> NewMergedEntries(const StoreFiles& files,
                                                const lsm::Memtable& memtable,
                                                const KeyBounds& bounds);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_STORE_MERGED_ENTRIES_H_
