// Opening several tables at a time.
#include "lsm/store/open_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "lsm/db.h"
#include "tests/lsm/engine/world.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::StatusIs;

constexpr int kTables = 3 * static_cast<int>(kTablesForHelp);

class OpenTablesTest : public testing::Test {
 protected:
  OpenTablesTest() : options_(world_.SmallOptions()) {
    options_.level0_compaction_tables = 1000;
    options_.level0_stop_tables = 1000;
  }

  // Makes tables with one key of their own each, and one key that is in all of them.
  void Make(int tables) {
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options_);
    ASSERT_OK(db);
    for (int i = 0; i < tables; ++i) {
      ASSERT_OK((*db)->Put(Concat("key", i), "value"));
      ASSERT_OK((*db)->Put("all", std::to_string(i)));
      ASSERT_OK((*db)->Flush());
    }
  }

  // Makes tables with these numbers of keys, one after the other, each with a filter of 20 bits per
  // key.
  void MakeOf(const std::vector<int>& keys) {
    options_.write_buffer_bytes = 4 << 20;
    options_.block_cache_bytes = 64 << 20;  // none in partitions
    options_.filter_kind = "blocked";
    options_.target_fpp = 0.0001;
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options_);
    ASSERT_OK(db);
    for (size_t i = 0; i < keys.size(); ++i) {
      for (int j = 0; j < keys[i]; ++j) ASSERT_OK((*db)->Put(Concat("key", i, "-", j), "value"));
      ASSERT_OK((*db)->Flush());
    }
  }
  void ExpectAllThere(DB& db, const std::vector<int>& keys) {
    EXPECT_EQ(db.GetStatistics().total.tables, keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      for (int j = 0; j < keys[i]; j += 1 + j / 5)
        EXPECT_EQ(Get(db, Concat("key", i, "-", j)), "value");
    }
  }

  void ExpectAllThere(DB& db, int tables) {
    EXPECT_EQ(db.GetStatistics().total.tables, static_cast<uint64_t>(tables));
    for (int i = 0; i < tables; ++i) EXPECT_EQ(Get(db, Concat("key", i)), "value");
    EXPECT_EQ(Get(db, "all"), std::to_string(tables - 1));
  }
  static std::string Get(DB& db, std::string_view key) {
    const absl::StatusOr<std::optional<std::string>> value = db.Get(key);
    EXPECT_OK(value);
    return value.ok() ? value->value_or("absent") : "";
  }

  World world_;
  Options options_;
};

TEST_F(OpenTablesTest, ThreadsOpenAllTables) {
  Make(kTables);
  options_.environment.scheduler = nullptr;  // threads
  for (int round = 0; round < 5; ++round) {
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options_);
    ASSERT_OK(db);
    ExpectAllThere(**db, kTables);
  }
}

TEST_F(OpenTablesTest, AllThreadsOpenManyTables) {
  Make(kTables);
  options_.environment.scheduler = nullptr;
  // No thread opens a second table before three threads have begun their first.
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::thread::id> threads;
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation != FileOperation::kOpenRead || !path.ends_with(".table")) return absl::OkStatus();
    std::unique_lock lock(mutex);
    threads.insert(std::this_thread::get_id());
    changed.notify_all();
    changed.wait_for(lock, std::chrono::seconds(20), [&] { return threads.size() == 3; });
    return absl::OkStatus();
  });
  absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options_);
  world_.files->SetFault(nullptr);
  ASSERT_OK(db);
  EXPECT_EQ(threads.size(), 3u);
  ExpectAllThere(**db, kTables);
}

TEST_F(OpenTablesTest, NamesTheFirstError) {
  Make(kTables);
  options_.environment.scheduler = nullptr;
  const std::vector<std::string> tables = world_.FilesOf(FileKind::kTable);
  ASSERT_EQ(tables.size(), static_cast<size_t>(kTables));
  const auto is_bad = [&](const std::string& path) {
    return path == tables[20] || path == tables[21] || path == tables[22] || path == tables[40];
  };
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation != FileOperation::kOpenRead || !is_bad(path)) return absl::OkStatus();
    // Delays this table, so that other threads finish theirs earlier.
    if (path == tables[20]) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return absl::UnavailableError(Concat(path, ": broken"));
  });
  for (int round = 0; round < 10; ++round) {
    EXPECT_THAT(DB::Open(kStorePath, options_).status(),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr(tables[20])));
  }
  world_.files->SetFault(nullptr);
  absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options_);
  ASSERT_OK(db);
  ExpectAllThere(**db, kTables);
}

TEST_F(OpenTablesTest, DoesNotWaitForLateHelpers) {
  Make(kTables);
  world_.scheduler.RunAll();
  {
    // This scheduler runs jobs while a caller waits, which the opening does not do.
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options_);
    ASSERT_OK(db);
    EXPECT_GE(world_.scheduler.queued_count(), 2u);
    ExpectAllThere(**db, kTables);
  }
  world_.scheduler.RunAll();  // finds nothing to do and does not touch the store
}

TEST_F(OpenTablesTest, FewTablesNeedNoHelpers) {
  Make(static_cast<int>(kTablesForHelp) - 1);
  world_.scheduler.RunAll();
  absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options_);
  ASSERT_OK(db);
  EXPECT_EQ(world_.scheduler.queued_count(), 0u);
  ExpectAllThere(**db, static_cast<int>(kTablesForHelp) - 1);
}

// --- tables that are open already ---

class TablesAgainTest : public OpenTablesTest {
 protected:
  TablesAgainTest() {
    options_.environment.scheduler = nullptr;
    context_.block_cache = &block_cache_;
  }

  absl::StatusOr<std::array<OpenTables, kLevels>> OpenAll() {
    world_.files->SetFault([this](FileOperation operation, const std::string& path, uint64_t) {
      if (operation != FileOperation::kOpenRead || !path.ends_with(".table"))
        return absl::OkStatus();
      if (path == broken_) return absl::UnavailableError(Concat(path, ": broken"));
      opened_.push_back(path);
      return absl::OkStatus();
    });
    opened_.clear();
    auto levels = OpenTablesOf(*world_.files, *directory_, state_, ReadMode::kBuffered, context_,
                               nullptr, &again_);
    world_.files->SetFault(nullptr);
    return levels;
  }
  void MakeAndRead(int tables) {
    Make(tables);
    directory_ = world_.files->OpenDirectory(kStorePath, false).value();
    state_ = ReadManifest(*directory_)->state;
    context_.digest_seed = state_.digest_seed;
  }

  BlockCache block_cache_{1 << 20};
  TableContext context_;
  std::unique_ptr<Directory> directory_;
  ManifestState state_;
  TablesByNumber again_;
  std::string broken_;
  std::vector<std::string> opened_;
};

TEST_F(TablesAgainTest, UsesOpenTablesAgain) {
  MakeAndRead(5);
  ASSERT_OK(OpenAll());
  EXPECT_EQ(opened_.size(), 5u);
  EXPECT_EQ(again_.size(), 5u);
  ASSERT_OK_AND_ASSIGN(const auto levels, OpenAll());
  EXPECT_EQ(opened_.size(), 0u);
  ASSERT_EQ(levels[0].size(), 5u);
  for (const auto& table : levels[0]) EXPECT_EQ(table, again_[table->meta.number]);
}

TEST_F(TablesAgainTest, OpensAnotherTableOfTheSameNumber) {
  MakeAndRead(5);
  ASSERT_OK(OpenAll());
  OpenTable other;
  other.meta = again_.begin()->second->meta;
  other.meta.file_id += 1;
  again_.begin()->second = std::make_shared<const OpenTable>(std::move(other));
  ASSERT_OK(OpenAll());
  EXPECT_EQ(opened_.size(), 1u);
  EXPECT_NE(again_.begin()->second->table, nullptr);
}

TEST_F(TablesAgainTest, KeepsTheTablesOfAFailedCall) {
  MakeAndRead(5);
  broken_ = world_.FilesOf(FileKind::kTable)[3];
  EXPECT_THAT(OpenAll(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_GE(again_.size(), 3u);
  const size_t kept = again_.size();
  broken_.clear();
  ASSERT_OK(OpenAll());
  EXPECT_EQ(opened_.size(), 5 - kept);
}

TEST_F(TablesAgainTest, ChecksTheirPlaceAgain) {
  MakeAndRead(2);
  ASSERT_OK(OpenAll());
  state_.last_sequence = 1;
  EXPECT_THAT(OpenAll(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("last sequence")));
}

TEST_F(OpenTablesTest, ReadersOpenTablesAlone) {
  Make(kTables);
  options_.mode = OpenMode::kReadOnly;
  options_.environment.scheduler = nullptr;
  std::mutex mutex;
  std::set<std::thread::id> threads;
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation != FileOperation::kOpenRead || !path.ends_with(".table")) return absl::OkStatus();
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    return absl::OkStatus();
  });
  absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options_);
  world_.files->SetFault(nullptr);
  ASSERT_OK(db);
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
  ExpectAllThere(**db, kTables);
}

TEST_F(OpenTablesTest, OneReadOpensASimilarTable) {
  const std::vector<int> keys(kTables, 4000);
  MakeOf(keys);
  absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options_);
  ASSERT_OK(db);
  const Statistics statistics = (*db)->GetStatistics();
  EXPECT_GT(statistics.total.filter_bytes, 2 * keys.size() * Table::kEndBytes);
  // Opening the first table also reads the sizes of its parts.
  EXPECT_EQ(statistics.opening_reads, keys.size() + 1);
  // One page for properties and footer, and one for the other bytes of the first page.
  EXPECT_LE(statistics.opening_bytes_read, statistics.total.filter_bytes +
                                               statistics.total.index_bytes +
                                               2 * keys.size() * Table::kEndBytes);
  ExpectAllThere(**db, keys);
}

TEST_F(OpenTablesTest, OpensDissimilarTables) {
  std::vector<int> keys;
  for (int i = 0; i < kTables; ++i) keys.push_back(i % 5 == 0 ? 1 : i % 3 == 0 ? 40 : 4000);
  MakeOf(keys);
  for (Scheduler* const scheduler :
       {options_.environment.scheduler, static_cast<Scheduler*>(nullptr)}) {
    options_.environment.scheduler = scheduler;
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options_);
    ASSERT_OK(db);
    // A table takes two reads, or one if the length of its end was guessed right.  Not all guesses
    // are wrong.
    EXPECT_LT((*db)->GetStatistics().opening_reads, 2 * keys.size());
    ExpectAllThere(**db, keys);
    db->reset();
    world_.scheduler.RunAll();
  }
}

TEST_F(OpenTablesTest, NamesUnreadableEnds) {
  const std::vector<int> keys(kTables, 2000);
  MakeOf(keys);
  const std::vector<std::string> tables = world_.FilesOf(FileKind::kTable);
  int failures_left = 1000;
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation != FileOperation::kReadAt || path != tables[20] || failures_left-- <= 0)
      return absl::OkStatus();
    return absl::UnavailableError(Concat(path, ": broken"));
  });
  EXPECT_THAT(DB::Open(kStorePath, options_).status(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(tables[20])));
  // A table that fails to open together with others may succeed alone.
  failures_left = 1;
  absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(kStorePath, options_);
  world_.files->SetFault(nullptr);
  ASSERT_OK(db);
  EXPECT_LE(failures_left, 0);
  ExpectAllThere(**db, keys);
}

}  // namespace
}  // namespace lsm
