#include "lsm/runtime/store_verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/lsm/runtime/runtime_world.h"
#include "tests/lsm/version/table_maker.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A store with a manifest, a log and no table.
class StoreVerifierTest : public testing::Test {
 protected:
  StoreVerifierTest() {
    options_.scrub_seconds = 100;
    context_.options = &options_;
    context_.digest_seed = bloom::DigestSeed(42);
    manifest_.SetNextFileNumber(20);
    Begin();
    Publish({});
  }
  ~StoreVerifierTest() override {
    Close();
    views_.Close();
  }
  void Close() {
    if (lifetime_.is_closing()) return;
    EXPECT_FALSE(lifetime_.BeginClosing([] { return false; }));
  }

  // Publishes tables of level 0 with these numbers, whose files are missing.
  void Publish(const std::vector<uint64_t>& numbers) {
    std::array<OpenTables, kLevels> levels;
    for (const uint64_t number : numbers)
      levels[0].push_back(maker_.Make(number, {PutOf("a", number)}));
    PublishLevels(std::move(levels));
  }
  void PublishLevels(std::array<OpenTables, kLevels> levels) {
    auto view = std::make_shared<ReadView>();
    view->memtable = std::make_shared<Memtable>();
    view->version = Version::Create(std::move(levels)).value();
    LiveViews::Prepared prepared = views_.Prepare(std::move(view));
    MutexLock lock(&world_.mutex);
    views_.AssertHeld();
    views_.Publish(std::move(prepared));
  }
  void Begin() {
    const uint64_t log = manifest_.NewFileNumber();
    ASSERT_OK(logs_.Start(log, LogFileId(7, log)));
    ASSERT_OK(logs_.SyncNames());
    ManifestState state;
    state.digest_seed = context_.digest_seed;
    state.started = true;
    state.log_seed = 7;
    state.oldest_log = log;
    NewFiles made;
    MutexLock lock(manifest_.mutex());
    ASSERT_OK(manifest_.Begin(std::move(state), std::nullopt, &made).status());
  }
  void DamageManifest() {
    const std::string path = world_.FilesOf(FileKind::kManifest)[0];
    std::string bytes = world_.files->FileBytes(path);
    bytes[bytes.size() / 2] ^= 1;
    world_.files->SetFileBytes(path, bytes);
  }

  RuntimeWorld world_;
  TableMaker maker_;
  Options options_ = world_.SmallOptions();
  StoreDirectory store_ = StoreDirectory::Open(kStorePath, options_).value();
  JobContext context_;
  LogSet logs_{&store_.log_directory()};
  ManifestKeeper manifest_{&store_, [](const absl::Status&) {}};
  BackgroundJobs jobs_{&world_.scheduler, &world_.counters, &world_.events};
  Sequences sequences_;
  Lifetime lifetime_{&world_.mutex, &jobs_};
  LiveViews views_{&store_, &world_.events, &world_.mutex, &jobs_, &lifetime_};
  StoreVerifier verifier_{{&store_, &context_, &manifest_, &logs_, &views_, &lifetime_,
                           &world_.counters, &world_.events},
                          &world_.mutex,
                          &jobs_,
                          &sequences_};
};

TEST_F(StoreVerifierTest, SoundStoresHaveNoProblems) {
  const absl::StatusOr<VerifyReport> report = verifier_.Verify({});
  ASSERT_OK(report);
  EXPECT_THAT(report->problems, IsEmpty());
  EXPECT_FALSE(report->records_left_out);
  EXPECT_THAT(verifier_.GetDamage(), IsEmpty());
}

TEST_F(StoreVerifierTest, ListsDamageOnce) {
  DamageManifest();
  for (int i = 0; i < 2; ++i) {
    const absl::StatusOr<VerifyReport> report = verifier_.Verify({});
    ASSERT_OK(report);
    EXPECT_THAT(report->problems, SizeIs(1));
  }
  EXPECT_THAT(verifier_.GetDamage(), SizeIs(1));
  EXPECT_EQ(world_.counters.SumOf(Counter::kDamageFound), 1u);
}

TEST_F(StoreVerifierTest, LeavesRecordsOutAfterAFailure) {
  DamageManifest();
  jobs_.AddFailure(FailureKind::kManifest, absl::UnavailableError("device"));
  const absl::StatusOr<VerifyReport> report = verifier_.Verify({});
  ASSERT_OK(report);
  EXPECT_TRUE(report->records_left_out);
  EXPECT_THAT(report->problems, IsEmpty());
}

TEST_F(StoreVerifierTest, ScrubbingTakesTableByTable) {
  Publish({12, 9, 30});
  ASSERT_TRUE(verifier_.StartScrubbing());
  world_.scheduler.Pause(0);  // runs a job
  ASSERT_THAT(verifier_.GetDamage(), SizeIs(1));
  EXPECT_THAT(verifier_.GetDamage()[0], HasSubstr("000009"));
  world_.scheduler.Pause(0);
  ASSERT_THAT(verifier_.GetDamage(), SizeIs(2));
  EXPECT_THAT(verifier_.GetDamage()[1], HasSubstr("000012"));
  EXPECT_EQ(world_.counters.SumOf(Counter::kScrubs), 0u);
  world_.scheduler.Pause(0);
  EXPECT_EQ(world_.counters.SumOf(Counter::kScrubs), 1u);
  EXPECT_THAT(verifier_.GetDamage(), SizeIs(2)) << "a table made since is the next round's";
}

TEST_F(StoreVerifierTest, ScrubbingFindsADamagedManifest) {
  DamageManifest();
  ASSERT_TRUE(verifier_.StartScrubbing());
  world_.scheduler.Pause(0);
  EXPECT_THAT(verifier_.GetDamage(), SizeIs(1));
}

TEST_F(StoreVerifierTest, ClosingEndsScrubbing) {
  ASSERT_TRUE(verifier_.StartScrubbing());
  EXPECT_TRUE(jobs_.HasAny());
  Close();
  EXPECT_FALSE(jobs_.HasAny());
  EXPECT_EQ(world_.scheduler.queued_count(), 0u);
  EXPECT_EQ(world_.counters.SumOf(Counter::kScrubs), 0u);
}

TEST_F(StoreVerifierTest, ComparesTheRunsOfEachTree) {
  sequences_.Start(100);
  maker_.directory = world_.files->OpenDirectory(kStorePath, /*create=*/false).value();
  std::array<OpenTables, kLevels> levels;
  const auto add = [&](KeyspaceId keyspace, size_t level, uint64_t number, const Entry& entry) {
    maker_.keyspace = keyspace;
    levels[level].push_back(maker_.Make(number, {entry}));
  };
  // The entries are in order.  Those in another tree may be newer.
  add(0, 0, 31, PutOf("a", 9));
  add(0, 1, 32, PutOf("a", 8));
  add(5, 0, 33, PutOf("a", 90));
  add(7, 0, 34, PutOf("b", 10));
  add(7, 1, 35, PutOf("b", 20));
  PublishLevels(std::move(levels));
  const absl::StatusOr<VerifyReport> report = verifier_.Verify({});
  ASSERT_OK(report);
  ASSERT_THAT(report->problems, SizeIs(1));
  EXPECT_THAT(report->problems[0], HasSubstr("000035.table is newer than the entry above it"));
}

}  // namespace
}  // namespace lsm
