// A simulated machine for a store: files in memory, one thread, one seed.
#ifndef TRELLIS_TESTS_LSM_ENGINE_WORLD_H_
#define TRELLIS_TESTS_LSM_ENGINE_WORLD_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/fs/file_names.h"
#include "lsm/memory_file_system.h"
#include "tests/support/deterministic_environment.h"
#include "tests/support/dice.h"
#include "tests/support/status_matchers.h"

namespace lsm {

inline constexpr char kStorePath[] = "/store";

using Contents = std::map<std::string, std::string>;

// Must outlive the stores that are opened with its options.
struct World {
  explicit World(uint64_t seed = 1, std::unique_ptr<MemoryFileSystem> of = nullptr)
      : files(of != nullptr ? std::move(of) : std::make_unique<MemoryFileSystem>()), random(seed) {}

  // Options with the smallest sizes, so that little data makes many tables.
  Options SmallOptions() {
    Options options;
    options.write_buffer_bytes = 64 << 10;
    options.block_cache_bytes = 64 << 10;
    options.block_bytes = 512;
    options.table_bytes = 64 << 10;
    options.level1_bytes = 64 << 10;
    options.reserve_bytes = 0;
    options.environment = {files.get(), nullptr, &clock, &scheduler, &random};
    return options;
  }

  // Full paths, sorted.
  std::vector<std::string> FilesOf(FileKind kind, const std::string& directory_path = kStorePath) {
    std::vector<std::string> paths;
    absl::StatusOr<std::unique_ptr<Directory>> directory =
        files->OpenDirectory(directory_path, /*create=*/false);
    if (!directory.ok()) return paths;
    const std::vector<std::string> names = (*directory)->List().value();
    for (const std::string& name : names) {
      const std::optional<FileName> parsed = ParseFileName(name);
      if (parsed && parsed->kind == kind) paths.push_back(Concat(directory_path, "/", name));
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  // The bytes of each file, by name.  None without the directory.
  std::map<std::string, std::string> FilesIn(const std::string& directory_path = kStorePath) {
    std::map<std::string, std::string> bytes;
    const auto directory = files->OpenDirectory(directory_path, /*create=*/false);
    if (!directory.ok()) return bytes;
    const std::vector<std::string> names = (*directory)->List().value();
    for (const std::string& name : names)
      bytes[name] = files->FileBytes(Concat(directory_path, "/", name));
    return bytes;
  }

  std::unique_ptr<MemoryFileSystem> files;
  testing_support::SingleThreadScheduler scheduler;
  testing_support::ManualClock clock;
  testing_support::SeededRandom random;
};

using testing_support::Dice;

// Expects only the files of live tables, after a while: a reader or a job that is ending releases
// the others.  Makes no calls to the store meanwhile, because a call might remove files.
inline void ExpectNoOtherTablesSoon(World& world, DB& db) {
  const auto files = [&] { return world.FilesOf(FileKind::kTable).size(); };
  const uint64_t tables = db.GetStatistics().total.tables;
  for (int i = 0; i < 6000 && files() != tables; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(files(), tables);
}

// All entries that an iterator shows, forward.
inline absl::StatusOr<Contents> ReadAll(DB& db, const ReadOptions& options = {}) {
  Contents contents;
  const std::unique_ptr<Iterator> iterator = db.NewIterator(options);
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    contents.emplace(iterator->key(), iterator->value());
  }
  TRELLIS_RETURN_IF_ERROR(iterator->status());
  return contents;
}

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_ENGINE_WORLD_H_
