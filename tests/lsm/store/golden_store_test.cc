// Whole stores that earlier programs wrote.  A new release must read each store written by release
// 1.0 or later.  It may refuse an older store with an error that names the version.  The golden
// files never change; a release that changes a format adds a new one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"
#include "lsm/log/log_writer.h"
#include "lsm/write_batch.h"
#include "tests/lsm/engine/world.h"
#include "tests/lsm/store/drawn_store.h"
#include "tests/support/golden.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

// The contents that all images share; only their newest writes differ.
Contents Expected() {
  Contents contents;
  for (int i = 0; i < 40; ++i) contents[Concat("key", 100 + i)] = std::string(20, 'a');
  for (int i = 0; i < 10; ++i) contents[Concat("key", 105 + i)] = "newer";
  contents.erase("key120");
  contents[""] = std::string("\0\xff", 2);
  contents["in the log"] = "yes";
  return contents;
}

// Makes tables in two levels, with both kinds of filters and without, compressed and uncompressed;
// and logs.  `with_runs`: level 1 has two runs, and the newer one has all newer entries.
void MakeStore(World* world, bool kill, bool with_runs, std::string* drawn) {
  Options options = world->SmallOptions();
  if (with_runs) {
    options.compaction_style = CompactionStyle::kTiered;
    options.level0_compaction_tables = 3;
  }
  const auto open = [&] { return std::move(DB::Open(kStorePath, options)).value(); };
  {
    const auto db = open();
    for (int i = 0; i < 40; ++i) ASSERT_OK(db->Put(Concat("key", 100 + i), std::string(20, 'a')));
    ASSERT_OK(db->CompactRange());
  }
  options.filter_kind = "standard";
  options.compression = Compression::kNone;
  {
    const auto db = open();
    for (int i = 0; i < 10; ++i) ASSERT_OK(db->Put(Concat("key", 105 + i), "newer"));
    ASSERT_OK(db->Delete("key120"));
    ASSERT_OK(db->Flush());
  }
  options.filter_kind = "none";
  auto db = open();
  ASSERT_OK(db->Put("", std::string_view("\0\xff", 2)));
  ASSERT_OK(db->Flush());
  if (with_runs) {
    ASSERT_OK(db->Put("key100", std::string(20, 'a')));
    ASSERT_OK(db->Flush());
    ASSERT_OK(db->WaitForBackgroundWork());
    ASSERT_EQ(db->GetStatistics().levels[1].runs, 2u);
  }
  WriteBatch batch;
  batch.Put("in the log", "not yet");
  batch.Put("in the log", "yes");
  ASSERT_OK(db->Write(batch, {.sync = true}));
  if (kill) *drawn = DrawStore(*world);
  db.reset();
  if (!kill) *drawn = DrawStore(*world);
}

class GoldenStoreTest : public testing::TestWithParam<const char*> {};

TEST_P(GoldenStoreTest, IsRead) {
  const std::string name = GetParam();
  if (std::getenv("TRELLIS_REWRITE") != nullptr &&
      !std::filesystem::exists(GoldenStorePath(name))) {
    World maker(7);
    std::string drawn;
    ASSERT_NO_FATAL_FAILURE(MakeStore(&maker, name.find("killed") != std::string::npos,
                                      name.find("runs") != std::string::npos, &drawn));
    std::filesystem::create_directories(GoldenStorePath(name).parent_path());
    std::ofstream(GoldenStorePath(name)) << drawn;
  }
  World world;
  ASSERT_NO_FATAL_FAILURE(LoadStore(name, &world));
  Options options = world.SmallOptions();
  for (const OpenMode mode : {OpenMode::kReadOnly, OpenMode::kMustExist, OpenMode::kMustExist}) {
    options.mode = mode;
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(kStorePath, options));
    ASSERT_OK_AND_ASSIGN(const Contents contents, ReadAll(*db));
    EXPECT_EQ(contents, Expected());
    for (const auto& [key, value] : Expected()) {
      ASSERT_OK_AND_ASSIGN(const auto found, db->Get(key));
      EXPECT_EQ(found, value) << key;
    }
    ASSERT_OK_AND_ASSIGN(const auto deleted, db->Get("key120"));
    EXPECT_EQ(deleted, std::nullopt);
    EXPECT_EQ(db->GetStatistics().total.filters_unknown, 0u);
    EXPECT_EQ(db->GetStatistics().total.filters_damaged, 0u);
  }
}

// Logs and manifests of format 1: no release has promised to read them.
TEST(OldGoldenStoreTest, RefusesVersion1) {
  World world;
  ASSERT_NO_FATAL_FAILURE(LoadStore("version1_closed.golden", &world));
  EXPECT_THAT(DB::Open(kStorePath, world.SmallOptions()),
              testing_support::StatusIs(absl::StatusCode::kUnimplemented,
                                        testing::HasSubstr("log format version 1")));
}

INSTANTIATE_TEST_SUITE_P(Releases, GoldenStoreTest,
                         testing::Values("version2_closed.golden", "version2_killed.golden",
                                         "version2_runs.golden", "version2_tombstones.golden",
                                         "version2_runs_tombstones.golden",
                                         "version3_closed.golden", "version3_killed.golden"));

// Writes a log of this batch, and compares it with the golden file.  With `seconds`, the record has
// this time.
void ExpectLog(const std::string& golden, WriteBatch batch,
               std::optional<uint32_t> seconds = std::nullopt) {
  World world;
  ASSERT_OK_AND_ASSIGN(const auto directory,
                       world.files->OpenDirectory(kStorePath, /*create=*/true));
  ASSERT_OK_AND_ASSIGN(auto file, directory->CreateExclusive("000001.log"));
  ASSERT_OK_AND_ASSIGN(const auto log,
                       LogWriter::Create(std::move(file), LogKind::kWriteAhead, /*file_id=*/1));
  EncodedBatch::SetFirstSequence(&batch, 7);
  std::string encoded(EncodedBatch::Of(batch));
  if (seconds) EncodedBatch::SetTime(&encoded, *seconds);
  ASSERT_OK(log->Append(encoded));
  ASSERT_OK(log->Close(/*sync=*/true));
  testing_support::ExpectGolden(golden, DrawStore(world));
}

// A log with each kind of entry.
TEST(LogGoldenTest, HasEachKindOfEntry) {
  WriteBatch batch;
  batch.Put("key", "value");
  batch.Delete("kex");
  batch.DeleteRange("a", "kez");
  batch.DeleteRange("x", std::nullopt);
  ExpectLog("store/version3_log.golden", batch);
}

// Changes of keyspaces, with each option.
TEST(LogGoldenTest, HasChangesOfKeyspaces) {
  using Kind = KeyspaceChange::Kind;
  WriteBatch batch;
  EncodedBatch::Change(&batch, {Kind::kCreated, 2, "a", {}});
  EncodedBatch::Change(&batch,
                       {Kind::kCreated,
                        300,
                        "other",
                        {"ribbon", 0.25, Compression::kNone, CompactionStyle::kTiered, 3600}});
  EncodedBatch::Change(&batch, {Kind::kOptions, 0, "", {.expire_after = 0}});
  EncodedBatch::Change(&batch, {Kind::kDropped, 2, "", {}});
  ExpectLog("store/version3_keyspace_changes_log.golden", batch);
}

// The same with entries of keyspaces.
TEST(LogGoldenTest, HasEntriesOfKeyspaces) {
  WriteBatch batch;
  EncodedBatch::Put(&batch, 2, "key", "value");
  EncodedBatch::Delete(&batch, 300, "kex");
  EncodedBatch::DeleteRange(&batch, ~KeyspaceId{0}, "a", "kez");
  EncodedBatch::DeleteRange(&batch, 2, "x", std::nullopt);
  batch.Put("key", "value");
  ExpectLog("store/version3_keyspaces_log.golden", batch);
}

TEST(LogGoldenTest, HasMarksOfLimits) {
  using Kind = KeyspaceChange::Kind;
  WriteBatch batch;
  EncodedBatch::Change(&batch, {Kind::kCreated, 2, "a", {.expire_after = 1}, {0, 1'600'000'000}});
  EncodedBatch::Change(
      &batch, {Kind::kOptions, 0, "", {.expire_after = 0}, {1'600'000'500, 1'600'000'000}});
  ExpectLog("store/version3_marks_log.golden", batch);
}

TEST(LogGoldenTest, HasTimesOfRecords) {
  WriteBatch batch;
  batch.Put("key", "value");
  EncodedBatch::Put(&batch, 2, "key", "value");
  batch.Delete("kex");
  ExpectLog("store/version3_times_log.golden", batch, 1'600'000'500);
}

// The first two were written before tables recorded their dead entries.
TEST(OldGoldenStoreTest, TombstonesCountInEachStore) {
  for (const char* const name : {"version2_closed.golden", "version2_runs.golden",
                                 "version2_tombstones.golden", "version2_runs_tombstones.golden"}) {
    World world;
    ASSERT_NO_FATAL_FAILURE(LoadStore(name, &world));
    Options options = world.SmallOptions();
    options.mode = OpenMode::kReadOnly;
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(kStorePath, options));
    const Statistics statistics = db->GetStatistics();
    EXPECT_EQ(statistics.total.tombstones, 1u) << name;
    EXPECT_GT(statistics.total.freeable_bytes, 10u) << name;
    EXPECT_LT(statistics.total.freeable_bytes, 200u) << name;
    EXPECT_EQ(statistics.total.oldest_tombstone, 1'600'000'000u) << name;
    const bool is_old = std::string_view(name).find("tombstones") == std::string_view::npos;
    EXPECT_EQ(statistics.total.freeable_bytes == statistics.total.covered_bytes, is_old) << name;
  }
}

// After an upgrade too: a table without a record is as old as its file.
TEST(OldGoldenStoreTest, OldTombstonesGoByThemselves) {
  for (const char* const name : {"version2_closed.golden", "version2_runs.golden",
                                 "version2_tombstones.golden", "version2_runs_tombstones.golden"}) {
    World world;
    ASSERT_NO_FATAL_FAILURE(LoadStore(name, &world));
    world.clock.Advance(uint64_t{7} * 24 * 60 * 60 * 1'000'000'000);
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DB> db, DB::Open(kStorePath, world.SmallOptions()));
    EXPECT_EQ(db->GetStatistics().total.tombstones, 1u) << name;
    ASSERT_OK(db->WaitForBackgroundWork());
    EXPECT_EQ(db->GetStatistics().total.tombstones, 0u) << name;
  }
}

}  // namespace
}  // namespace lsm
