// The trees of a store at one moment.  The default keyspace always has one.  Any other keyspace has
// one if and only if it has tables (lsm/design/keyspaces.md).  A table belongs to one tree, which
// its record names (TableMeta::keyspace).
//
// Threads: immutable; any number of readers.  Versions share the trees in which they do not differ.
#ifndef TRELLIS_LSM_VERSION_VERSION_H_
#define TRELLIS_LSM_VERSION_VERSION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/statistics.h"
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

  // The tables of a level may be in any order, and may belong to any trees.  Errors as from
  // Tree::Create.
  static absl::StatusOr<std::shared_ptr<const Version>> Create(
      std::array<OpenTables, kLevels> levels);

  // The version after the edit.  Added tables are tables of this version that move, or new ones out
  // of `outputs`.  A dropped keyspace loses its tree.  Trees that neither gain nor lose tables are
  // shared with this version.
  absl::StatusOr<std::shared_ptr<const Version>> After(const VersionEdit& edit,
                                                       const OpenTables& outputs) const;

  // Never null.
  const std::shared_ptr<const Tree>& default_tree() const { return default_tree_; }
  // Null if the keyspace has no tables, unless it is the default one.
  const Tree* TreeOf(KeyspaceId keyspace) const {
    if (keyspace == kDefaultKeyspace) [[likely]]
      return default_tree_.get();
    return OwnTreeOf(keyspace);
  }
  // The same, for callers that hold the tree longer than the version.  Never null: a keyspace
  // without tables gets an empty tree.
  std::shared_ptr<const Tree> ShareTree(KeyspaceId keyspace) const;
  // The tree whose level 0 has the most tables (Tree::level0_tables).  Never null.
  const Tree* fullest_tree() const { return fullest_tree_; }
  // All trees, by ascending ids, so the default one is the first.
  std::span<const TreeOfId> trees() const { return trees_; }

  uint64_t bytes() const;  // of all tables
  // The bytes of filters and indexes in all trees but this one.
  uint64_t FilterIndexBytesBeside(KeyspaceId keyspace) const;
  // The tables of all trees.
  std::array<OpenTables, kLevels> Levels() const;

 private:
  const Tree* OwnTreeOf(KeyspaceId keyspace) const;
  // Adds the tree, or replaces the one with its id.
  void Put(std::shared_ptr<const Tree> tree);
  void Remove(KeyspaceId id);
  void FindFullest();

  std::shared_ptr<const Tree> default_tree_;  // trees_[0], for readers in one step
  std::vector<TreeOfId> trees_;
  const Tree* fullest_tree_ = nullptr;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_VERSION_VERSION_H_
