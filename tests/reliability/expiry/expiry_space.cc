#include "tests/reliability/expiry/expiry_space.h"

#include <functional>
#include <map>

#include "lsm/bytes/status.h"
#include "lsm/version/manifest.h"
#include "tests/lsm/engine/world.h"

namespace reliability {
namespace {

using lsm::Concat;

// The timed puts in tables of a tree, and those of them that have not expired.
struct TreeSize {
  uint64_t tables = 0, timed = 0, live = 0;
};

// Returns the first finding about a tree.
std::string CheckTrees(
    lsm::FileSystem& files, const ExpiringStore& model, uint64_t now,
    const std::function<std::string(lsm::KeyspaceId id, const TreeSize& tree)>& check) {
  std::map<lsm::KeyspaceId, TreeSize> trees;
  const auto directory = files.OpenDirectory(lsm::kStorePath, /*create=*/false);
  if (!directory.ok()) return directory.status().ToString();
  const auto contents = lsm::ReadManifest(**directory);
  if (!contents.ok()) return contents.status().ToString();
  for (const auto& level : contents->state.levels) {
    for (const auto& [number, table] : level) {
      ++trees[table.keyspace].tables;
      trees[table.keyspace].timed += table.times.timed_entries;
    }
  }
  for (const auto& [id, record] : contents->state.keyspaces.all()) {
    trees[record.has_own_tree ? id : lsm::kCommonTree].live +=
        model.keyspaces.at(record.name).SeenAt(now).size();
  }
  for (const auto& [id, tree] : trees) {
    if (std::string finding = check(id, tree); !finding.empty()) return finding;
  }
  return "";
}

}  // namespace

std::string CheckHalfIsFreed(lsm::FileSystem& files, const ExpiringStore& model, uint64_t now) {
  return CheckTrees(files, model, now, [](lsm::KeyspaceId id, const TreeSize& tree) {
    if (tree.timed <= tree.live + tree.live / 2) return std::string();
    return Concat("the tables of tree ", id, " have ", tree.timed, " timed puts, of which ",
                  tree.live, " have not expired");
  });
}

std::string CheckAllIsFreed(lsm::FileSystem& files, const ExpiringStore& model, uint64_t now) {
  return CheckTrees(files, model, now, [](lsm::KeyspaceId id, const TreeSize& tree) {
    // The names of keyspaces, in the common tree, never expire.
    if (id == lsm::kCommonTree ? tree.timed <= 10 : tree.tables == 0) return std::string();
    return Concat("everything has expired, and ", tree.tables, " tables of tree ", id,
                  " are left, with ", tree.timed, " timed puts");
  });
}

}  // namespace reliability
