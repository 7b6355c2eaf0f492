#include "lsm/repair/found_keyspaces.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Collects what a batch says about keyspaces.
class KeyspacesOfBatch final : public EncodedBatch::Handler {
 public:
  explicit KeyspacesOfBatch(Sequence first) : next_(first) {}

  absl::Status Time(uint32_t) override { return absl::OkStatus(); }
  absl::Status Put(KeyspaceId keyspace, std::string_view, std::string_view) override {
    return Entry(keyspace);
  }
  absl::Status Delete(KeyspaceId keyspace, std::string_view) override { return Entry(keyspace); }
  absl::Status DeleteRange(KeyspaceId keyspace, std::string_view,
                           std::optional<std::string_view>) override {
    return Entry(keyspace);
  }
  absl::Status Change(const KeyspaceChange& change, size_t) override {
    changes_.emplace_back(next_++, change);
    return absl::OkStatus();
  }

  const std::set<KeyspaceId>& ids() const { return ids_; }
  const std::vector<std::pair<Sequence, KeyspaceChange>>& changes() const { return changes_; }

 private:
  absl::Status Entry(KeyspaceId keyspace) {
    ++next_;
    if (keyspace != kDefaultKeyspace) ids_.insert(keyspace);
    return absl::OkStatus();
  }

  Sequence next_;
  std::set<KeyspaceId> ids_;
  std::vector<std::pair<Sequence, KeyspaceChange>> changes_;
};

}  // namespace

void FoundKeyspaces::StartWith(const KeyspaceRecords& manifest, Sequence last_sequence) {
  for (const auto& [id, record] : manifest.all()) {
    Found& found = found_[id];
    found.name = record.name;
    found.options = record.options;
    found.marks = record.marks;
    found.options_sequence = last_sequence;
    found.has_own_tree = found.has_left = record.has_own_tree;
  }
  known_below_ = manifest.next_id();
  AdvanceTo(known_below_);
}

void FoundKeyspaces::AdvanceTo(uint64_t next_id) { next_id_ = std::max(next_id_, next_id); }

FoundKeyspaces::Found* FoundKeyspaces::FindOrMake(KeyspaceId id) {
  if (id == kCommonTree) return nullptr;
  AdvanceTo(uint64_t{id} + 1);
  if (const auto found = found_.find(id); found != found_.end()) return &found->second;
  if (id != kDefaultKeyspace && IsKnown(id)) return nullptr;
  Found& found = found_[id];
  if (id == kDefaultKeyspace) {
    found.name = kDefaultKeyspaceName;
    found.has_own_tree = true;
  }
  return &found;
}

void FoundKeyspaces::AddTable(KeyspaceId tree) {
  if (tree == kDefaultKeyspace) return;
  if (Found* const found = FindOrMake(tree)) found->has_own_tree = true;
}

void FoundKeyspaces::AddEntry(KeyspaceId id) {
  if (id != kDefaultKeyspace) FindOrMake(id);
}

void FoundKeyspaces::AddTimed(KeyspaceId id) {
  if (Found* const found = FindOrMake(id)) found->has_timed = true;
}

void FoundKeyspaces::AddName(const KeyspaceRecord& record, Sequence sequence) {
  Found* const found = FindOrMake(record.id);
  if (found == nullptr || IsKnown(record.id)) return;
  if (sequence >= found->options_sequence) {
    found->options = record.options;
    found->marks = record.marks;
    found->options_sequence = sequence;
  }
  if (record.id == kDefaultKeyspace || sequence < found->sequence) return;
  found->name = record.name;
  // With a manifest, an id that is new to it has no tables of its own.
  found->has_left = record.has_own_tree && known_below_ == 0;
  found->has_own_tree = found->has_own_tree || found->has_left;
  found->is_dropped = false;
  found->sequence = sequence;
}

void FoundKeyspaces::AddDroppedName(KeyspaceId id, Sequence sequence) {
  if (!IsKnown(id)) AddDrop(id, sequence);
}

void FoundKeyspaces::AddDrop(KeyspaceId id, Sequence sequence) {
  if (id == kDefaultKeyspace) return;
  Found* const found = FindOrMake(id);
  if (found == nullptr || sequence < found->sequence) return;
  found->is_dropped = true;
  found->sequence = sequence;
}

absl::Status FoundKeyspaces::AddBatch(std::string_view encoded, const Say& say) {
  KeyspacesOfBatch batch(EncodedBatch::FirstSequenceOf(encoded));
  TRELLIS_RETURN_IF_ERROR(EncodedBatch::ForEach(encoded, &batch));
  for (const KeyspaceId id : batch.ids()) AddEntry(id);
  for (const auto& [sequence, change] : batch.changes()) AddChange(change, sequence, say);
  return absl::OkStatus();
}

void FoundKeyspaces::AddChange(const KeyspaceChange& change, Sequence sequence, const Say& say) {
  const bool creates = change.kind == KeyspaceChange::Kind::kCreated;
  if (change.kind == KeyspaceChange::Kind::kDropped) return AddDrop(change.id, sequence);
  Found* const found = FindOrMake(change.id);
  if (found == nullptr || (creates && IsKnown(change.id))) return;
  if (sequence >= found->options_sequence) {
    found->options = change.options;
    found->marks = change.marks;
    found->options_sequence = sequence;
  }
  if (!creates || change.name == kDefaultKeyspaceName) return;
  if (!found->name.empty() && found->name != change.name) {
    say(Concat("keyspace ", change.id, " was created twice, as \"", Escape(found->name),
               "\" and as \"", Escape(change.name),
               "\": a crash lost one of them, and its keys may now be in the other"));
  }
  if (!found->name.empty() && sequence < found->sequence) return;
  found->name = change.name;
  if (sequence < found->sequence) return;  // a drop without a name
  found->is_dropped = false;
  found->sequence = sequence;
}

bool FoundKeyspaces::IsDropped(KeyspaceId id) const {
  const auto found = found_.find(id);
  if (found == found_.end()) return id >= kOtherKeyspaceMin && IsKnown(id);
  return found->second.is_dropped;
}

KeyspaceId FoundKeyspaces::TreeOf(KeyspaceId id) const {
  if (id == kDefaultKeyspace) return id;
  const auto found = found_.find(id);
  return found != found_.end() && found->second.has_own_tree ? id : kCommonTree;
}

bool FoundKeyspaces::IsTimed(KeyspaceId id) const {
  const auto found = found_.find(id);
  return found != found_.end() && found->second.marks.are_timed();
}

bool FoundKeyspaces::HasLeft(KeyspaceId id) const {
  const auto found = found_.find(id);
  return found != found_.end() && found->second.has_left;
}

KeyspaceRecords FoundKeyspaces::Records(const Say& say) const {
  std::map<std::string, KeyspaceId> ids = {{std::string(kDefaultKeyspaceName), kDefaultKeyspace}};
  std::set<KeyspaceId> nameless;
  // If two have one name, the older one must have been dropped before the other was created.
  for (auto each = found_.rbegin(); each != found_.rend(); ++each) {
    const auto& [id, found] = *each;
    if (id == kDefaultKeyspace || found.is_dropped) continue;
    if (found.name.empty()) {
      nameless.insert(id);
      continue;
    }
    const auto [place, is_free] = ids.emplace(found.name, id);
    if (is_free) continue;
    nameless.insert(id);
    say(Concat("the keyspaces ", id, " and ", place->second, " have the name \"",
               Escape(found.name), "\": the first one, which was probably dropped, loses it"));
  }
  KeyspaceRecords records;
  records.Advance(next_id_);
  for (const KeyspaceId id : nameless) {
    std::string name = Concat("keyspace-", id);
    while (!ids.emplace(name, id).second) name += '-';
    say(Concat("keyspace ", id, " has no name in the files: it is \"", name, "\" now"));
  }
  std::map<KeyspaceId, std::string> names;
  for (const auto& [name, id] : ids) names.emplace(id, name);
  for (const auto& [id, found] : found_) {
    if (found.is_dropped) continue;
    if (found.has_timed && !found.marks.are_timed()) {
      say(Concat("the entries of keyspace \"", Escape(names.at(id)),
                 "\" have times, but no file says how long they live: they stay"));
    }
    if (id == kDefaultKeyspace && found.options == KeyspaceOptions()) continue;
    records.Put({.id = id,
                 .has_own_tree = found.has_own_tree,
                 .options = found.options,
                 .name = names.at(id),
                 .marks = found.marks});
  }
  return records;
}

}  // namespace lsm
