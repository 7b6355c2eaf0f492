// A fixture with a store that has keyspaces.
#ifndef TRELLIS_TESTS_LSM_KEYSPACES_KEYSPACES_FIXTURE_H_
#define TRELLIS_TESTS_LSM_KEYSPACES_KEYSPACES_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/base/merging_iterator.h"
#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/store/open_tables.h"
#include "lsm/version/common_keys.h"
#include "lsm/version/keyspace_records.h"
#include "lsm/version/manifest.h"
#include "lsm/version/version.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/lsm/keyspaces/own_trees.h"
#include "tests/support/status_matchers.h"

namespace lsm {

class KeyspacesTest : public StoreTest {
 protected:
  Keyspace OpenKeyspace(std::string_view name, const KeyspaceOptions& options = {}) {
    absl::StatusOr<Keyspace> keyspace = db_->OpenKeyspace(name, options);
    EXPECT_OK(keyspace) << name;
    return keyspace.ok() ? *std::move(keyspace) : Keyspace();
  }
  std::vector<std::string> List() {
    absl::StatusOr<std::vector<std::string>> names = db_->ListKeyspaces();
    EXPECT_OK(names);
    return names.ok() ? *std::move(names) : std::vector<std::string>();
  }
  // The value of the key, "absent", or the error.
  static std::string Get(const Keyspace& keyspace, std::string_view key,
                         const ReadOptions& options = {}) {
    const absl::StatusOr<std::optional<std::string>> value = keyspace.Get(key, options);
    if (!value.ok()) return value.status().ToString();
    return value->value_or("absent");
  }
  using StoreTest::Get;
  static std::string Scan(const Keyspace& keyspace, const ReadOptions& options = {}) {
    return ScanOf(*keyspace.NewIterator(options));
  }
  using StoreTest::Scan;

  // Gives new keyspaces of these names trees of their own, as a flush does once they have grown.
  // Closes the store and opens it.
  void MakeOwnTrees(const std::vector<std::string>& names) {
    for (const std::string& name : names) OpenKeyspace(name);
    Flush();
    db_ = nullptr;
    ASSERT_OK(GiveOwnTrees(*world_.files, kStorePath, [&](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    }));
    Open();
  }

  ManifestState StateOnDisk() {
    const auto directory = *world_.files->OpenDirectory(kStorePath, /*create=*/false);
    return ReadManifest(*directory).value().state;
  }
  // nullopt if the manifest does not know the keyspace.
  std::optional<KeyspaceRecord> RecordOnDisk(std::string_view name) {
    const ManifestState state = StateOnDisk();
    for (const auto& [id, record] : state.keyspaces.all()) {
      if (record.name == name) return record;
    }
    return std::nullopt;
  }
  // kDefaultKeyspace if the manifest does not know the keyspace.
  KeyspaceId IdOf(std::string_view name) {
    const std::optional<KeyspaceRecord> record = RecordOnDisk(name);
    return record ? record->id : kDefaultKeyspace;
  }
  KeyspaceOptions OptionsOnDisk(std::string_view name) {
    const std::optional<KeyspaceRecord> record = RecordOnDisk(name);
    EXPECT_TRUE(record) << name;
    return record ? record->options : KeyspaceOptions();
  }

  // How many tables each tree has, by its id.
  std::map<KeyspaceId, int> TablesByTree() {
    std::map<KeyspaceId, int> tables;
    const ManifestState state = StateOnDisk();
    for (const auto& level : state.levels) {
      for (const auto& [number, table] : level) ++tables[table.keyspace];
    }
    return tables;
  }
  std::shared_ptr<const Version> VersionOnDisk() {
    const ManifestState state = StateOnDisk();
    const auto directory = *world_.files->OpenDirectory(kStorePath, /*create=*/false);
    TableContext context;
    context.digest_seed = state.digest_seed;
    auto levels = OpenTablesOf(*world_.files, *directory, state, ReadMode::kBuffered, context,
                               /*helpers=*/nullptr)
                      .value();
    return Version::Create(std::move(levels), state.keyspaces).value();
  }
  // The newest entries of the common tree: user keys with ids, and values; "-" for a tombstone.
  // Ranges hide nothing here.
  std::map<std::string, std::string> CommonEntries() {
    const auto version = VersionOnDisk();
    std::map<std::string, std::string> found;
    const Tree* const tree = version->TreeOf(kCommonTree);
    if (tree == nullptr) return found;
    std::vector<std::unique_ptr<InnerIterator>> inputs;
    tree->AddIterators({}, &inputs);
    const auto entries = NewMergingIterator(std::move(inputs));
    for (entries->SeekToFirst(); entries->Valid(); entries->Next()) {
      found.emplace(UserKeyOf(entries->key()), IsTombstone(SuffixOf(entries->key()))
                                                   ? std::string_view("-")
                                                   : entries->value());
    }
    EXPECT_OK(entries->status());
    return found;
  }
  // The names in the common tree: "2=a common".
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const auto& [key, value] : CommonEntries()) {
      if (KeyspaceOf(key) != kNamesInCommonTree) continue;
      const KeyspaceId id = KeyspaceOf(std::string_view(key).substr(kKeyspacePrefixBytes));
      if (value == "-") {
        names.push_back(Concat(id, " dropped"));
        continue;
      }
      KeyspaceRecord record;
      EXPECT_OK(DecodeName(value, &record));
      names.push_back(Concat(id, "=", record.name, record.has_own_tree ? " own" : " common"));
    }
    return names;
  }
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_KEYSPACES_KEYSPACES_FIXTURE_H_
