#include "lsm/version/version.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

using TablesByLevel = std::array<OpenTables, kLevels>;

bool IsBeforeId(const Version::TreeOfId& entry, KeyspaceId id) { return entry.id < id; }

// Null if the keyspace has no tree.
const std::shared_ptr<const Tree>* FindTree(std::span<const Version::TreeOfId> trees,
                                            KeyspaceId id) {
  const auto at = std::lower_bound(trees.begin(), trees.end(), id, IsBeforeId);
  return at != trees.end() && at->id == id ? &at->tree : nullptr;
}

// The ids of the trees that gain or lose tables.
std::set<KeyspaceId> IdsTouched(const Version& base, const VersionEdit& edit) {
  std::set<KeyspaceId> ids;
  for (const auto& added : edit.added) ids.insert(added.table.keyspace);
  std::set<uint64_t> removed;
  for (const auto& entry : edit.removed) removed.insert(entry.number);
  for (const auto& [id, tree] : base.trees()) {
    for (int level = 0; level < kLevels; ++level) {
      if (std::any_of(tree->level(level).begin(), tree->level(level).end(),
                      [&](const auto& table) { return removed.contains(table->meta.number); }))
        ids.insert(id);
    }
  }
  return ids;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Version>> Version::Create(TablesByLevel levels,
                                                               const KeyspaceRecords& keyspaces,
                                                               const Version* before) {
  std::map<KeyspaceId, TablesByLevel> trees;
  trees[kDefaultKeyspace];
  for (const auto& [id, record] : keyspaces.all()) {
    if (record.has_own_tree) trees[id];
  }
  for (size_t level = 0; level < levels.size(); ++level) {
    for (auto& table : levels[level])
      trees[table->meta.keyspace][level].push_back(std::move(table));
  }
  auto version = std::make_shared<Version>();
  version->members_ = std::make_shared<const Members>(keyspaces.InCommonTree());
  for (auto& [id, tables] : trees) {
    TRELLIS_ASSIGN_OR_RETURN(std::shared_ptr<const Tree> tree,
                             Tree::Create(std::move(tables), id, version->MembersOf(id),
                                          before == nullptr ? nullptr : before->TreeOf(id)));
    version->Put(std::move(tree));
  }
  version->FindFullest();
  return std::shared_ptr<const Version>(std::move(version));
}

absl::StatusOr<std::shared_ptr<const Version>> Version::After(const VersionEdit& edit,
                                                              const OpenTables& outputs) const {
  auto version = std::make_shared<Version>(*this);
  version->ApplyKeyspaces(edit);
  std::set<KeyspaceId> touched = IdsTouched(*this, edit);
  // Other tables may be dead now.
  if (common_tree_ != nullptr && version->members_ != members_) touched.insert(kCommonTree);
  for (const KeyspaceId id : touched) {
    const Tree none(id);
    const Tree* const before = version->TreeOf(id);
    TRELLIS_ASSIGN_OR_RETURN(
        std::shared_ptr<const Tree> tree,
        Tree::Create(LevelsAfter(before != nullptr ? *before : none, edit, outputs), id,
                     version->MembersOf(id), before));
    // An own tree stays without tables, unless the edit drops its keyspace.
    if (tree->empty() && (before == nullptr || id == kCommonTree)) {
      version->Remove(id);
    } else {
      version->Put(std::move(tree));
    }
  }
  version->FindFullest();
  return std::shared_ptr<const Version>(std::move(version));
}

void Version::ApplyKeyspaces(const VersionEdit& edit) {
  if (edit.dropped_keyspaces.empty() && edit.keyspaces.empty()) return;
  std::set<KeyspaceId> members(members_->ids().begin(), members_->ids().end());
  for (const KeyspaceId id : edit.dropped_keyspaces) {
    Remove(id);
    members.erase(id);
  }
  for (const KeyspaceRecord& record : edit.keyspaces) {
    if (record.id == kDefaultKeyspace) continue;
    if (!record.has_own_tree) {
      members.insert(record.id);
      continue;
    }
    members.erase(record.id);
    if (TreeOf(record.id) == nullptr) Put(std::make_shared<const Tree>(record.id));
  }
  if (!std::equal(members.begin(), members.end(), members_->ids().begin(), members_->ids().end()))
    members_ =
        std::make_shared<const Members>(std::vector<KeyspaceId>(members.begin(), members.end()));
}

const Tree* Version::OwnTreeOf(KeyspaceId keyspace) const {
  const std::shared_ptr<const Tree>* const tree = FindTree(trees_, keyspace);
  return tree != nullptr ? tree->get() : nullptr;
}

std::shared_ptr<const Tree> Version::ShareTree(KeyspaceId keyspace) const {
  const std::shared_ptr<const Tree>* const tree = FindTree(trees_, keyspace);
  return tree != nullptr ? *tree : std::make_shared<const Tree>(keyspace);
}

void Version::Describe(Statistics* statistics, const Counters* counters,
                       const SnapshotList& present) const {
  std::vector<Statistics> of_trees(trees_.size());
  for (size_t i = 0; i < trees_.size(); ++i) {
    trees_[i].tree->Describe(&of_trees[i], present);
    of_trees[i].lookups = trees_[i].tree->LookupsSoFar(counters);
  }
  statistics->trees = trees_.size();
  statistics->SumTrees(of_trees);
}

void Version::FindFullest() {
  fullest_tree_ =
      std::max_element(trees_.begin(), trees_.end(), [](const TreeOfId& a, const TreeOfId& b) {
        return a.tree->level0_tables() < b.tree->level0_tables();
      })->tree.get();
}

void Version::Put(std::shared_ptr<const Tree> tree) {
  const KeyspaceId id = tree->keyspace();
  if (id == kDefaultKeyspace) default_tree_ = tree;
  if (id == kCommonTree) common_tree_ = tree.get();
  const auto at = std::lower_bound(trees_.begin(), trees_.end(), id, IsBeforeId);
  if (at != trees_.end() && at->id == id) {
    at->tree = std::move(tree);
  } else {
    trees_.insert(at, {id, std::move(tree)});
  }
}

void Version::Remove(KeyspaceId id) {
  if (id == kCommonTree) common_tree_ = nullptr;
  std::erase_if(trees_, [id](const TreeOfId& entry) { return entry.id == id; });
}

uint64_t Version::ApproximateBytes(KeyspaceId keyspace, std::string_view from,
                                   std::optional<std::string_view> to) const {
  const Tree* const tree = TreeWith(keyspace);
  if (tree == nullptr || (to && from >= *to)) return 0;
  if (!tree->is_common()) return tree->ApproximateBytes(from, to);
  const CommonBounds bounds = CommonBoundsOf(keyspace, from, to);
  return tree->ApproximateBytes(bounds.from, bounds.to);
}

uint64_t Version::bytes() const {
  uint64_t sum = 0;
  for (const auto& [id, tree] : trees_) sum += tree->bytes();
  return sum;
}

uint64_t Version::FilterIndexBytesBeside(KeyspaceId keyspace) const {
  uint64_t sum = 0;
  for (const auto& [id, tree] : trees_) {
    if (id != keyspace) sum += tree->filter_index_bytes();
  }
  return sum;
}

TablesByLevel Version::Levels() const {
  TablesByLevel levels;
  for (const auto& [id, tree] : trees_) {
    for (int i = 0; i < kLevels; ++i) {
      OpenTables& tables = levels[static_cast<size_t>(i)];
      tables.insert(tables.end(), tree->level(i).begin(), tree->level(i).end());
    }
  }
  return levels;
}

}  // namespace lsm
