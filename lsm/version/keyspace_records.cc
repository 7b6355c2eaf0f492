#include "lsm/version/keyspace_records.h"

#include <utility>

#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {

bool KeyspaceRecords::Has(KeyspaceId id, std::string_view name) const {
  if (id == kDefaultKeyspace) return name == kDefaultKeyspaceName;
  const auto found = all_.find(id);
  return found != all_.end() && found->second.name == name;
}

bool KeyspaceRecords::HasTree(KeyspaceId id) const {
  if (id == kDefaultKeyspace) return true;
  if (id == kCommonTree) return any();
  const auto found = all_.find(id);
  return found != all_.end() && found->second.has_own_tree;
}

std::vector<KeyspaceId> KeyspaceRecords::InCommonTree() const {
  std::vector<KeyspaceId> ids;
  for (const auto& [id, record] : all_) {
    if (id != kDefaultKeyspace && !record.has_own_tree) ids.push_back(id);
  }
  return ids;
}

std::string KeyspaceRecords::Advance(uint64_t next_id) {
  if (next_id < next_id_)
    return Concat("the next keyspace id runs backwards, from ", next_id_, " to ", next_id);
  next_id_ = next_id;
  return "";
}

std::string KeyspaceRecords::Drop(KeyspaceId id) {
  const auto dropped = all_.find(id);
  if (id == kDefaultKeyspace || dropped == all_.end())
    return Concat("keyspace ", id, " is dropped, but there is none");
  ids_.erase(dropped->second.name);
  all_.erase(dropped);
  return "";
}

std::string KeyspaceRecords::Put(KeyspaceRecord record) {
  const KeyspaceId id = record.id;
  if ((id == kDefaultKeyspace) != (record.name == kDefaultKeyspaceName))
    return Concat("keyspace ", id, " is added with the name \"", Escape(record.name), "\"");
  if (id >= next_id_)
    return Concat("keyspace ", id, " is added, but the next keyspace id is ", next_id_);
  const auto known = all_.find(id);
  if (known != all_.end()) {
    if (known->second.name != record.name) return Concat("the name of keyspace ", id, " changes");
    if (known->second.has_own_tree && !record.has_own_tree)
      return Concat("keyspace ", id, " returns to the common tree");
  } else if (!ids_.emplace(record.name, id).second) {
    return Concat("keyspace ", id, " is added with the name \"", Escape(record.name),
                  "\", which keyspace ", ids_.at(record.name), " has");
  }
  all_.insert_or_assign(id, std::move(record));
  return "";
}

std::string KeyspaceRecords::Replay(const KeyspaceChange& change) {
  switch (change.kind) {
    case KeyspaceChange::Kind::kCreated:
      if (change.id < next_id_) {
        const auto known = all_.find(change.id);
        if (known == all_.end() || known->second.name == change.name) return "";
        return Concat("keyspace ", change.id, " is created with the name \"", Escape(change.name),
                      "\", but it has the name \"", Escape(known->second.name), "\"");
      }
      next_id_ = uint64_t{change.id} + 1;
      return Put({.id = change.id,
                  .has_own_tree = false,
                  .options = change.options,
                  .name = change.name,
                  .marks = change.marks});
    case KeyspaceChange::Kind::kDropped:
    case KeyspaceChange::Kind::kOptions:
      break;
  }
  if (change.id >= next_id_)
    return Concat("a change of keyspace ", change.id, ", which was not created");
  if (change.id != kDefaultKeyspace && !all_.contains(change.id)) return "";
  if (change.kind == KeyspaceChange::Kind::kDropped) return Drop(change.id);
  KeyspaceRecord record;
  record.id = change.id;
  if (const auto known = all_.find(change.id); known != all_.end()) record = known->second;
  record.options = change.options;
  record.marks = change.marks;
  return Put(std::move(record));
}

}  // namespace lsm
