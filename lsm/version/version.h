// The trees of a store at one moment.  The default keyspace always has one.  Other keyspaces may
// have trees of their own, also without tables (lsm/design/keyspaces.md).  All others, the members,
// are in the common tree, which exists if and only if it has tables.  A table belongs to one tree,
// which its record names (TableMeta::keyspace).
//
// Threads: immutable; any number of readers.  Versions share the trees in which they do not differ.
#ifndef TRELLIS_LSM_VERSION_VERSION_H_
#define TRELLIS_LSM_VERSION_VERSION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/base/counters.h"
#include "lsm/base/internal_key.h"
#include "lsm/statistics.h"
#include "lsm/version/common_keys.h"
#include "lsm/version/keyspace_records.h"
#include "lsm/version/open_table.h"
#include "lsm/version/tree.h"
#include "lsm/version/version_edit.h"

namespace lsm::inline TRELLIS_ABI {

class Version {
 public:
  struct TreeOfId {
    KeyspaceId id = kDefaultKeyspace;
    std::shared_ptr<const Tree> tree;
  };

  // The tables of a level may be in any order, and may belong to any trees.  Without tables, the
  // default keyspace and those with trees of their own have empty ones, and there is no common
  // tree.  Errors as from Tree::Create.  `before` is the version that this one follows, if any:
  // their trees share their TreeReads.
  static absl::StatusOr<std::shared_ptr<const Version>> Create(
      std::array<OpenTables, kLevels> levels, const KeyspaceRecords& keyspaces = {},
      const Version* before = nullptr);

  // The version after the edit.  Added tables are tables of this version that move, or new ones out
  // of `outputs`.  A dropped keyspace loses its tree.  Trees that neither gain nor lose tables are
  // shared with this version; the common one only if the members are the same.
  absl::StatusOr<std::shared_ptr<const Version>> After(const VersionEdit& edit,
                                                       const OpenTables& outputs) const;

  // Never null.
  const std::shared_ptr<const Tree>& default_tree() const { return default_tree_; }
  // Null if the keyspace has no tree of its own.
  const Tree* TreeOf(KeyspaceId keyspace) const {
    if (keyspace == kDefaultKeyspace) [[likely]]
      return default_tree_.get();
    return OwnTreeOf(keyspace);
  }
  // The tree where the keyspace's entries are: its own, or else the common one (Tree::is_common).
  // Null: it has none.
  const Tree* TreeWith(KeyspaceId keyspace) const {
    const Tree* const own = TreeOf(keyspace);
    return own != nullptr ? own : common_tree_;
  }
  // Approximate bytes of tables for the keyspace's keys in [from, to); nullopt: unbounded.
  uint64_t ApproximateBytes(KeyspaceId keyspace, std::string_view from,
                            std::optional<std::string_view> to) const;
  // Those in the common tree.  Never null.  Versions share them until they change.
  const std::shared_ptr<const Members>& members() const { return members_; }

  // Sets the state of the levels, and the number of trees.  `counters` are the store's; null: there
  // were no lookups.  `present` tells which entries have expired; it has no snapshots.
  void Describe(Statistics* statistics, const Counters* counters = nullptr,
                const SnapshotList& present = {}) const;
  // As TreeOf, for callers that hold the tree longer than the version.  Never null: a keyspace
  // without one gets an empty tree.
  std::shared_ptr<const Tree> ShareTree(KeyspaceId keyspace) const;
  // The tree whose level 0 has the most tables (Tree::level0_tables).  Never null.
  const Tree* fullest_tree() const { return fullest_tree_; }
  // All trees, by ascending ids: the default one, the common one, if it has tables, and the others.
  std::span<const TreeOfId> trees() const { return trees_; }

  uint64_t bytes() const;  // of all tables
  // The bytes of filters and indexes in all trees but this one.
  uint64_t FilterIndexBytesBeside(KeyspaceId keyspace) const;
  // The tables of all trees.
  std::array<OpenTables, kLevels> Levels() const;

 private:
  const Tree* OwnTreeOf(KeyspaceId keyspace) const;
  // Also the members.
  void ApplyKeyspaces(const VersionEdit& edit);
  std::shared_ptr<const Members> MembersOf(KeyspaceId tree) const {
    return tree == kCommonTree ? members_ : nullptr;
  }
  // Adds the tree, or replaces the one with its id.
  void Put(std::shared_ptr<const Tree> tree);
  void Remove(KeyspaceId id);
  void FindFullest();

  std::shared_ptr<const Tree> default_tree_;  // trees_[0], for readers in one step
  std::vector<TreeOfId> trees_;
  const Tree* common_tree_ = nullptr;  // in trees_; null if it is not there
  std::shared_ptr<const Members> members_ =
      std::make_shared<const Members>(std::vector<KeyspaceId>());
  const Tree* fullest_tree_ = nullptr;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_VERSION_VERSION_H_
