// A fixture with a store that has keyspaces.
#ifndef TRELLIS_TESTS_LSM_KEYSPACES_KEYSPACES_FIXTURE_H_
#define TRELLIS_TESTS_LSM_KEYSPACES_KEYSPACES_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/version/manifest.h"
#include "tests/lsm/engine/store_test.h"
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
  // "a=1 b=2", the same in both directions.
  static std::string Scan(const Keyspace& keyspace, const ReadOptions& options = {}) {
    std::string shown, backward;
    const std::unique_ptr<Iterator> iterator = keyspace.NewIterator(options);
    const auto entry = [&] { return Concat(iterator->key(), "=", iterator->value()); };
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next())
      shown += Concat(shown.empty() ? "" : " ", entry());
    for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev())
      backward = Concat(entry(), backward.empty() ? "" : " ", backward);
    EXPECT_OK(iterator->status());
    EXPECT_EQ(shown, backward);
    return shown;
  }
  using StoreTest::Scan;

  ManifestState StateOnDisk() {
    const auto directory = *world_.files->OpenDirectory(kStorePath, /*create=*/false);
    return ReadManifest(*directory).value().state;
  }
  KeyspaceId IdOf(const std::string& name) {
    const ManifestState state = StateOnDisk();
    for (const auto& [id, record] : state.keyspaces.all()) {
      if (record.name == name) return id;
    }
    return kDefaultKeyspace;
  }
  KeyspaceOptions OptionsOnDisk(const std::string& name) {
    const ManifestState state = StateOnDisk();
    for (const auto& [id, record] : state.keyspaces.all()) {
      if (record.name == name) return record.options;
    }
    return {};
  }
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_KEYSPACES_KEYSPACES_FIXTURE_H_
