// A table, block by block and entry by entry, going on behind damage: what scan, get, blocks,
// filter and verify look through.
#ifndef TRELLIS_TOOLS_SSTDUMP_TABLE_FILE_H_
#define TRELLIS_TOOLS_SSTDUMP_TABLE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/hash.h"
#include "lsm/base/internal_key.h"
#include "lsm/table/table.h"
#include "tools/sstdump/target.h"

namespace tools {

// What is kept in memory of one table, at most.  A larger filter or index is refused by name: a
// forged footer could ask for as much as the file is long, and files may be mostly holes.
inline constexpr uint64_t kFilterBytesMax = uint64_t{1} << 30;
inline constexpr uint64_t kIndexBytesMax = uint64_t{256} << 20;
inline constexpr uint64_t kPropertiesBytesMax = uint64_t{16} << 20;

// DataLoss, or Unimplemented, if there is none that is sound.
absl::StatusOr<lsm::Footer> ReadFooter(const lsm::ReadFile& file);

// Table::Open, after a look at what it would load.  ResourceExhausted beyond the limits above;
// DataLoss for what is no table at all, as the target was taken for one by its magic, its name or
// the manifest.
absl::StatusOr<std::unique_ptr<lsm::Table>> OpenTable(const Target& target);

// One data block, read.
struct BlockFacts {
  size_t ordinal = 0;
  lsm::BlockHandle handle;
  lsm::Compression compression = lsm::Compression::kNone;
  uint64_t expanded_bytes = 0;
  uint32_t restarts = 0;
  uint64_t entries = 0;
  std::string first_key;  // user keys
  std::string last_key;
  absl::Status status;  // the damage that ended it, if any
};

// Whether to go on.
using EntryVisitor = std::function<bool(const lsm::ParsedKey& key, std::string_view value)>;

// Goes through a table's data blocks.  Besides what is wrong within a block, it finds those that
// are out of place: `visit` meets no entry that is not after all those before it, but for entries
// behind damage, which are only known to be where the index looks for them.
//
// A block costs its bytes and the walk over its entries, however long the keys are that these
// share; only its first and last key are copied.
class TableWalk {
 public:
  // `table` must stay.
  explicit TableWalk(const lsm::Table& table) : table_(table) {}

  // Reads, verifies and walks a data block.  The entries of one that is out of place are counted
  // and not visited.  REQUIRES: `ordinal` is greater than that of the call before.
  BlockFacts Walk(size_t ordinal, const EntryVisitor& visit);

 private:
  // Whether the block may begin with that key.
  absl::Status CheckPlace(size_t ordinal, std::string_view first) const;
  void WalkEntries(const lsm::Block& block, const EntryVisitor& visit, BlockFacts* facts);

  const lsm::Table& table_;
  std::string last_;  // internal key of the last entry; empty: not known, as at first, and behind
                      // damage
};
// Of a filter that is not known: what it is.
std::string UnknownFilterText(const lsm::Table& table);

bloom::Digest DigestFor(const lsm::Table& table, std::string_view user_key);

const char* NameOf(lsm::FilterPresence presence);

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_TABLE_FILE_H_
