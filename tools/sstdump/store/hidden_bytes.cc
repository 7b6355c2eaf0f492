#include "tools/sstdump/store/hidden_bytes.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "tools/sstdump/store/table_file.h"

namespace tools {

HiddenInStore::HiddenInStore(const StoreFiles& files, const std::vector<PlacedTable>& tables,
                             const lsm::KeyspaceRecords& records)
    : tables_(tables), members_(records.InCommonTree()) {
  std::map<lsm::KeyspaceId, std::vector<const lsm::RangeMap*>> maps;
  for (const PlacedTable& placed : tables) {
    if (placed.meta.ranges.empty()) continue;
    const absl::StatusOr<std::optional<Target>> found = FindTable(files, placed.meta.number);
    if (!found.ok() || !*found) continue;
    const absl::StatusOr<std::unique_ptr<lsm::Table>> table = OpenTable(**found);
    if (!table.ok()) continue;
    const auto kept = ranges_.emplace(placed.meta.number, (*table)->ranges()).first;
    maps[placed.meta.keyspace].push_back(&kept->second);
  }
  for (const auto& [id, of_tree] : maps) {
    InTree tree{lsm::HiddenBytes(id == lsm::kCommonTree ? &members_ : nullptr), {}};
    tree.bytes.AddRanges(of_tree);
    trees_.emplace(id, std::move(tree));
  }
}

bool HiddenInStore::HasOlder(const PlacedTable& placed) const {
  const lsm::KeySpan span = placed.meta.span();
  return std::any_of(tables_.begin(), tables_.end(), [&](const PlacedTable& other) {
    if (other.meta.keyspace != placed.meta.keyspace || other.level < placed.level) return false;
    if (other.level == placed.level) {
      const bool is_older = placed.level == 0 ? other.meta.number < placed.meta.number
                                              : other.meta.run < placed.meta.run;
      if (!is_older) return false;
    }
    return other.meta.span().Overlaps(span);
  });
}

void HiddenInStore::Add(const PlacedTable& placed, const lsm::Table& table,
                        uint64_t expired_bytes) {
  const auto tree = trees_.find(placed.meta.keyspace);
  if (tree == trees_.end()) return;
  const auto ranges = ranges_.find(placed.meta.number);
  tree->second.numbers.push_back(placed.meta.number);
  tree->second.bytes.Add({.meta = placed.meta,
                          .table = table,
                          .ranges = ranges != ranges_.end() ? ranges->second : no_ranges_,
                          .level = placed.level,
                          .has_older = !placed.meta.ranges.empty() && HasOlder(placed),
                          .dead_bytes = placed.meta.dead.dead_bytes + expired_bytes,
                          .no_member_bytes = 0,
                          .covered_bytes = placed.meta.dead.covered_bytes});
}

std::map<uint64_t, uint64_t> HiddenInStore::BytesByTable() const {
  std::map<uint64_t, uint64_t> by_table;
  for (const auto& [id, tree] : trees_) {
    const std::vector<uint64_t> bytes = tree.bytes.Take();
    for (size_t i = 0; i < bytes.size(); ++i) by_table[tree.numbers[i]] = bytes[i];
  }
  return by_table;
}

}  // namespace tools
