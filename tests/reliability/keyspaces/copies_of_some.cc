#include "tests/reliability/keyspaces/copies_of_some.h"

#include <memory>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "tests/reliability/keyspaces/repair_store.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::DB;
using lsm::Keyspace;

using CopiedContent = std::map<std::string, std::map<std::string, std::string>>;

std::string CompareCopy(DB& copy, const CopiedContent& expected) {
  const auto names = copy.ListKeyspaces();
  if (!names.ok()) return names.status().ToString();
  if (names->size() != expected.size())
    return Concat("it has ", names->size(), " keyspaces instead of ", expected.size());
  for (const auto& [name, keys] : expected) {
    const auto keyspace = copy.OpenKeyspace(name);
    if (!keyspace.ok()) return Concat(name, ": ", keyspace.status().ToString());
    const std::unique_ptr<lsm::Iterator> iterator = keyspace->NewIterator();
    auto at = keys.begin();
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++at) {
      if (at == keys.end() || at->first != iterator->key() || at->second != iterator->value())
        return Concat(name, " has other keys");
      const auto value = keyspace->Get(at->first);
      if (!value.ok() || *value != at->second) return Concat("Get in ", name, " differs");
    }
    if (!iterator->status().ok()) return Concat(name, ": ", iterator->status().ToString());
    if (at != keys.end()) return Concat(name, " lacks keys");
  }
  return "";
}

}  // namespace

std::string CopiesOfSome::Make(DB& db, const std::map<std::string, Keyspace>& handles,
                               const CopiedContent& content, const lsm::Options& options) {
  std::vector<Keyspace> only, others;
  CopiedContent expected = {{"default", {}}};
  for (const auto& [name, keyspace] : handles) {
    if (dice_.OneIn(2)) {
      others.push_back(keyspace);
      continue;
    }
    only.push_back(keyspace);
    expected[name] = content.at(name);
  }
  if (only.empty()) expected = content;
  const std::string path = Concat("/some", count_++);
  const absl::Status copied = dice_.OneIn(3) ? db.Checkpoint(path, nullptr, only)
                                             : db.Backup(path, base_, {}, nullptr, only).status();
  if (!copied.ok()) return Concat("a copy of some keyspaces: ", copied.ToString());
  if (!base_.empty()) {
    if (const absl::Status status = DB::Destroy(base_, options); !status.ok())
      return Concat("Destroy: ", status.ToString());
  }
  base_ = path;
  lsm::Options of_copy = options;
  of_copy.mode = lsm::OpenMode::kMustExist;
  of_copy.level0_stop_tables = 30;
  if (dice_.OneIn(3)) {
    const std::string problem = RepairStoreWithKeyspaces(options.environment.file_system, path,
                                                         of_copy, /*has_manifest=*/dice_.OneIn(3));
    if (!problem.empty()) return Concat("in a copy of some keyspaces: ", problem);
  }
  const auto copy = DB::Open(path, of_copy);
  if (!copy.ok()) return Concat("a copy cannot be opened: ", copy.status().ToString());
  std::string problem = CompareCopy(**copy, expected);
  for (size_t i = 0; !only.empty() && problem.empty() && i < others.size(); ++i) {
    const std::string& name = others[i].name();
    auto again = (*copy)->OpenKeyspace(name);
    if (!again.ok()) return Concat("OpenKeyspace in a copy: ", again.status().ToString());
    if (const absl::Status status = again->Put("new", name); !status.ok())
      return Concat("Put in a copy: ", status.ToString());
    expected[name] = {{"new", name}};
    problem = CompareCopy(**copy, expected);
  }
  if (problem.empty() && dice_.OneIn(2)) {
    for (const Keyspace& keyspace : only) {
      auto in_copy = (*copy)->OpenKeyspace(keyspace.name());
      const absl::Status status = in_copy.ok() ? in_copy->CompactRange() : in_copy.status();
      if (!status.ok()) return Concat("CompactRange in a copy: ", status.ToString());
    }
    problem = CompareCopy(**copy, expected);
  }
  return problem.empty() ? "" : Concat("a copy of some keyspaces: ", problem);
}

}  // namespace reliability
