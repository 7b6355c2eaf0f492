// Walks a table block by block and entry by entry, and continues after damage.  Used by
// verification and by sstdump.
#ifndef TRELLIS_LSM_TABLE_TABLE_WALK_H_
#define TRELLIS_LSM_TABLE_TABLE_WALK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/block/format.h"
#include "lsm/options.h"
#include "lsm/table/table.h"

namespace lsm::inline TRELLIS_ABI {

// The result for one data block.
struct BlockFacts {
  size_t ordinal = 0;
  BlockHandle handle;
  Compression compression = Compression::kNone;
  uint64_t expanded_bytes = 0;
  uint32_t restarts = 0;
  uint64_t entries = 0;
  std::string first_key;  // user keys
  std::string last_key;
  absl::Status status;  // the damage that ended it, if any
};

// Returns whether to continue.
using EntryVisitor = std::function<bool(const ParsedKey& key, std::string_view value)>;

// Walks the data blocks of a table.  In addition to faults within blocks, it finds blocks that are
// out of place: `visit` receives entries in strictly ascending order.  Exception: entries after
// damage are only known to be where the index expects them.
//
// The cost of a block is proportional to its bytes and entries, however long the keys that they
// share.  Only its first and last keys are copied.
class TableWalk {
 public:
  // `table` must outlive it.
  explicit TableWalk(const Table& table) : table_(table) {}

  // Reads, verifies and walks a data block.  Entries of a block out of place are counted but not
  // visited.  REQUIRES: `ordinal` is greater than in the call before.  Without memory for the
  // block, the status is ResourceExhausted with file and offset.
  BlockFacts Walk(size_t ordinal, const EntryVisitor& visit);

 private:
  BlockFacts WalkUnguarded(size_t ordinal, const EntryVisitor& visit);
  // DataLoss unless the block may begin with that key.
  absl::Status CheckPlace(size_t ordinal, std::string_view first) const;
  void WalkEntries(const Block& block, const EntryVisitor& visit, BlockFacts* facts);

  const Table& table_;
  std::string last_;  // internal key of the last entry; empty: unknown, at first and after
                      // damage
};

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_TABLE_WALK_H_
