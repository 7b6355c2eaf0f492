// A fixture for repairs of stores with keyspaces.
#ifndef TRELLIS_TESTS_LSM_REPAIR_REPAIR_KEYSPACES_FIXTURE_H_
#define TRELLIS_TESTS_LSM_REPAIR_REPAIR_KEYSPACES_FIXTURE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/fs/file_names.h"
#include "lsm/keyspace.h"
#include "lsm/memory_file_system.h"
#include "lsm/version/common_keys.h"
#include "lsm/version/manifest.h"
#include "tests/lsm/keyspaces/keyspaces_fixture.h"
#include "tests/lsm/store/store_forger.h"
#include "tests/support/status_matchers.h"

namespace lsm {

class RepairKeyspacesTest : public KeyspacesTest {
 protected:
  static constexpr size_t kWriteBuffer = 64 << 10;

  RepairKeyspacesTest() {
    options_.write_buffer_bytes = kWriteBuffer;  // enough for one tree
    options_.compression = Compression::kNone;
  }

  StoreForger Forger() { return {world_.files.get(), kStorePath}; }

  // Opens a new store.
  void OpenNew() {
    db_ = nullptr;
    world_.files = std::make_unique<MemoryFileSystem>();
    options_.environment.file_system = world_.files.get();
    Open();
  }
  void Close() {
    ASSERT_OK(db_->Close());
    db_ = nullptr;
  }
  // Writes about half a write buffer, and flushes it.
  void Fill(Keyspace keyspace, std::string_view value) {
    for (int i = 0; i < 32; ++i)
      ASSERT_OK(keyspace.Put(Concat("key", 100 + i), std::string(value) + std::string(1'000, 'v')));
    Flush();
  }
  // Makes the keyspace so large that it leaves the common tree.
  void MakeOwn(std::string_view name) {
    Keyspace keyspace = OpenKeyspace(name);
    for (int round = 0; round < 6 && !keyspace.GetStatistics().has_own_tree; ++round)
      ASSERT_NO_FATAL_FAILURE(Fill(keyspace, Concat(name, round)));
    ASSERT_TRUE(keyspace.GetStatistics().has_own_tree);
  }

  void Remove(const std::string& path) {
    const auto directory = world_.files->OpenDirectory(kStorePath, /*create=*/false).value();
    ASSERT_OK(directory->Remove(path.substr(path.rfind('/') + 1)));
  }
  void RemoveManifests() {
    for (const std::string& path : world_.FilesOf(FileKind::kManifest)) Remove(path);
  }
  void Flip(const std::string& path, uint64_t offset) {
    std::string bytes = world_.files->FileBytes(path);
    ASSERT_LT(offset, bytes.size());
    bytes[offset] ^= 0x10;
    world_.files->SetFileBytes(path, bytes);
  }

  // The tables of a tree, in the order of their numbers.
  std::vector<uint64_t> TablesOf(KeyspaceId tree) {
    std::map<uint64_t, bool> numbers;
    const ManifestState state = Forger().State();
    for (const auto& level : state.levels) {
      for (const auto& [number, table] : level) {
        if (table.keyspace == tree) numbers[number] = true;
      }
    }
    std::vector<uint64_t> tables;
    for (const auto& [number, is_one] : numbers) tables.push_back(number);
    return tables;
  }

  // Returns what the report says.  The store must open and be sound.
  std::vector<std::string> Repair() {
    db_ = nullptr;
    const absl::StatusOr<RepairReport> report = DB::Repair(kStorePath, options_);
    EXPECT_OK(report);
    if (!report.ok()) return {};
    Open();
    if (db_ == nullptr) return {};
    const absl::StatusOr<VerifyReport> verified = db_->Verify();
    EXPECT_OK(verified);
    if (verified.ok()) {
      EXPECT_THAT(verified->problems, testing::IsEmpty());
    }
    return report->left_out;
  }
  std::vector<std::string> RepairWithoutManifest() {
    db_ = nullptr;
    RemoveManifests();
    std::vector<std::string> lines = Repair();
    // That the manifest is missing, and what this means.
    std::erase_if(lines, [](const std::string& line) {
      return line.find(".manifest: ") != std::string::npos || line.starts_with("no manifest is");
    });
    return lines;
  }
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_REPAIR_REPAIR_KEYSPACES_FIXTURE_H_
