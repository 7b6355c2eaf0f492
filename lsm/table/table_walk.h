// A table, block by block and entry by entry, going on behind damage: what verifies it, and what
// sstdump shows of it.
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

// One data block, read.
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

// Whether to go on.
using EntryVisitor = std::function<bool(const ParsedKey& key, std::string_view value)>;

// Goes through a table's data blocks.  Besides what is wrong within a block, it finds those that
// are out of place: `visit` meets no entry that is not after all those before it, but for entries
// behind damage, which are only known to be where the index looks for them.
//
// A block costs its bytes and the walk over its entries, however long the keys are that these
// share; only its first and last key are copied.
class TableWalk {
 public:
  // `table` must stay.
  explicit TableWalk(const Table& table) : table_(table) {}

  // Reads, verifies and walks a data block.  The entries of one that is out of place are counted
  // and not visited.  REQUIRES: `ordinal` is greater than that of the call before.
  // Without memory for the block its status is ResourceExhausted, and names file and offset.
  BlockFacts Walk(size_t ordinal, const EntryVisitor& visit);

 private:
  BlockFacts WalkUnguarded(size_t ordinal, const EntryVisitor& visit);
  // Whether the block may begin with that key.
  absl::Status CheckPlace(size_t ordinal, std::string_view first) const;
  void WalkEntries(const Block& block, const EntryVisitor& visit, BlockFacts* facts);

  const Table& table_;
  std::string last_;  // internal key of the last entry; empty: not known, as at first, and behind
                      // damage
};

}  // namespace lsm

#endif  // TRELLIS_LSM_TABLE_TABLE_WALK_H_
