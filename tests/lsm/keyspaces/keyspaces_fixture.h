// A fixture with a store that has keyspaces.
#ifndef TRELLIS_TESTS_LSM_KEYSPACES_KEYSPACES_FIXTURE_H_
#define TRELLIS_TESTS_LSM_KEYSPACES_KEYSPACES_FIXTURE_H_

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/version/keyspace_records.h"
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
  static std::string Scan(const Keyspace& keyspace, const ReadOptions& options = {}) {
    return ScanOf(*keyspace.NewIterator(options));
  }
  using StoreTest::Scan;

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
  KeyspaceOptions OptionsOnDisk(std::string_view name) {
    const std::optional<KeyspaceRecord> record = RecordOnDisk(name);
    EXPECT_TRUE(record) << name;
    return record ? record->options : KeyspaceOptions();
  }
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_KEYSPACES_KEYSPACES_FIXTURE_H_
