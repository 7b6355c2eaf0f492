// DB::Close and the events of a listener at the same time as all other calls.  Also for
// ThreadSanitizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lsm/db.h"
#include "lsm/event_listener.h"
#include "tests/lsm/engine/full_disk.h"
#include "tests/lsm/engine/world.h"
#include "tests/support/scratch_dir.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::HasSubstr;
using testing_support::StatusIs;

// Uses the store in each callback.  Records whether two callbacks overlap or one follows OnClose.
class Reader final : public EventListener {
 public:
  void OnClose(const Closed&) override {
    Use();
    closed_ = true;
  }
  void OnFlushBegin(const FlushBegin&) override { Use(); }
  void OnFlushEnd(const FlushEnd&) override { Use(); }
  void OnCompactionEnd(const CompactionEnd&) override { Use(); }
  void OnStallBegin(const StallBegin&) override { Use(); }
  void OnStallEnd(const StallEnd&) override { Use(); }
  void OnFileCreated(const FileCreated&) override { Use(); }
  void OnFileRemoved(const FileRemoved&) override { Use(); }

  std::atomic<DB*> db{nullptr};
  std::atomic<int> violations{0};
  int calls = 0;  // callbacks do not overlap, so it needs no lock

 private:
  void Use() {
    if (inside_.exchange(true) || closed_) ++violations;
    ++calls;
    if (DB* const store = db.load(); store != nullptr) {
      (void)store->Get("key1");
      (void)store->GetStatistics();
      (void)store->GetFailure();
      if (!absl::IsFailedPrecondition(store->Put("key1", "v"))) ++violations;
      if (!absl::IsFailedPrecondition(store->Close())) ++violations;
    }
    inside_ = false;
  }

  std::atomic<bool> inside_{false};
  bool closed_ = false;
};

bool IsClosedOrOk(const absl::Status& status) {
  return status.ok() || absl::IsFailedPrecondition(status) || absl::IsCancelled(status);
}

// Blocks a compaction from its beginning until Close begins.
class HoldsUntilClose final : public EventListener {
 public:
  void OnCompactionBegin(const CompactionBegin&) override {
    has_begun = true;
    while (db.load()->GetFailure().ok()) std::this_thread::yield();
  }
  std::atomic<DB*> db{nullptr};
  std::atomic<bool> has_begun{false};
};

TEST(CloseBesideTest, RefusesInterruptedCompactions) {
  testing_support::ScratchDir scratch;
  const auto listener = std::make_shared<HoldsUntilClose>();
  Options options;
  options.listener = listener;
  auto db = DB::Open(scratch.path() + "/store", options);
  ASSERT_OK(db);
  listener->db = db->get();
  for (int i = 0; i < 3000; ++i) EXPECT_OK((*db)->Put(Concat("key", i), "v"));
  absl::Status compacted;
  std::thread compacting([&] { compacted = (*db)->CompactRange(); });
  while (!listener->has_begun) std::this_thread::yield();
  EXPECT_OK((*db)->Close());
  compacting.join();
  EXPECT_THAT(compacted, StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("closed")));
}

TEST(CloseBesideTest, WaitsForTheLastWrite) {
  World world;
  Options options = world.SmallOptions();
  options.environment.scheduler = nullptr;  // threads
  options.environment.clock = nullptr;
  auto db = DB::Open(kStorePath, options);
  ASSERT_OK(db);
  std::atomic<bool> is_writing{false};
  world.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    // GetFailure takes the lock under which Close begins, so by then Close waits.
    if (operation == FileOperation::kAppend && path.ends_with(".log") && !is_writing.exchange(true))
      while ((*db)->GetFailure().ok()) std::this_thread::yield();
    return absl::OkStatus();
  });
  absl::Status written;
  std::thread writing([&] { written = (*db)->Put("key", "v"); });
  while (!is_writing) std::this_thread::yield();
  EXPECT_OK((*db)->Close());
  writing.join();
  EXPECT_OK(written);
}

TEST(CloseBesideTest, MayComeBetweenCompactionSteps) {
  World world;
  Options options = world.SmallOptions();
  options.environment.scheduler = nullptr;  // threads
  options.environment.clock = nullptr;
  options.table_bytes = options.write_buffer_bytes = 64 << 10;
  options.level1_bytes = uint64_t{1} << 30;
  options.compression = Compression::kNone;
  options.reserve_bytes = uint64_t{1} << 20;
  constexpr int kKeys = 3000;
  const auto key_of = [](int i) { return Concat("key", 10'000 + i); };
  auto db = DB::Open(kStorePath, options);
  ASSERT_OK(db);
  for (int i = 0; i < kKeys; ++i) ASSERT_OK((*db)->Put(key_of(i), std::string(1000, 'v')));
  ASSERT_OK((*db)->CompactRange());
  for (int i = 0; i < kKeys; i += 40) ASSERT_OK((*db)->Put(key_of(i), std::string(1000, 'w')));
  ASSERT_OK((*db)->Flush());
  // The store is closed when a step removes the third table.
  std::atomic<int> tables_removed{0};
  world.files->SetFault([&, full = FullDisk(*world.files)](
                            FileOperation operation, const std::string& path, uint64_t at) mutable {
    if (operation == FileOperation::kRemove && path.ends_with(".table") && ++tables_removed == 3) {
      while ((*db)->GetFailure().ok()) std::this_thread::yield();
    }
    return full(operation, path, at);
  });
  absl::Status compacted;
  std::thread compacting([&] { compacted = (*db)->CompactRange(); });
  while (tables_removed < 3) std::this_thread::yield();
  EXPECT_OK((*db)->Close());
  compacting.join();
  EXPECT_THAT(compacted, StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("closed")));
  EXPECT_LT(tables_removed, 20) << "of about 50: it went on";
  world.files->SetFault(nullptr);
  db = DB::Open(kStorePath, options);
  ASSERT_OK(db);
  const auto verified = (*db)->Verify();
  ASSERT_OK(verified);
  EXPECT_EQ(verified->problems.size(), 0u);
  for (int i = 0; i < kKeys; ++i) {
    const auto value = (*db)->Get(key_of(i));
    ASSERT_OK(value);
    ASSERT_EQ(*value, std::string(1000, i % 40 == 0 ? 'w' : 'v')) << i;
  }
}

TEST(CloseBesideTest, MayComeAtAnyMoment) {
  for (int round = 0; round < 10; ++round) {
    testing_support::ScratchDir scratch;
    const auto listener = std::make_shared<Reader>();
    Options options;
    options.write_buffer_bytes = 64 << 10;
    options.table_bytes = 64 << 10;
    options.level1_bytes = 64 << 10;
    options.listener = listener;
    auto opened = DB::Open(scratch.path() + "/store", options);
    ASSERT_OK(opened);
    DB& db = **opened;
    listener->db = &db;
    const auto expect = [](const absl::Status& status) {
      EXPECT_TRUE(IsClosedOrOk(status)) << status;
      return status.ok();
    };
    std::atomic<uint64_t> acknowledged{0};
    std::vector<std::thread> threads;
    threads.emplace_back([&] {
      for (uint64_t i = 1; expect(db.Put(Concat("key", i), std::string(500, 'v'))); ++i)
        acknowledged = i;
    });
    threads.emplace_back([&] {
      while (expect(db.Get("key1").status())) {
        const std::unique_ptr<Iterator> iterator = db.NewIterator();
        iterator->SeekToFirst();
        if (!expect(iterator->status())) break;
        const std::vector<std::string_view> keys = {"key1", "key2"};
        if (!expect(db.MultiGet(keys)[1].status())) break;
        (void)db.GetStatistics();
        (void)db.ApproximateBytes();
        (void)db.GetSnapshot();
      }
    });
    threads.emplace_back([&] {
      while (expect(db.Flush()) && expect(db.CompactRange()) && expect(db.Verify().status()) &&
             expect(db.Resume()) && expect(db.WaitForBackgroundWork())) {
      }
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + 20 * round));
    std::thread other([&] { EXPECT_OK(db.Close()); });
    EXPECT_OK(db.Close());
    // No more callbacks occur, and all acknowledged writes exist.
    const int calls = listener->calls;
    options.listener = nullptr;
    {
      auto again = DB::Open(scratch.path() + "/store", options);
      ASSERT_OK(again);
      const auto value = (*again)->Get(Concat("key", acknowledged.load()));
      ASSERT_OK(value);
      EXPECT_TRUE(acknowledged == 0 || value->has_value());
    }
    for (std::thread& thread : threads) thread.join();
    other.join();
    EXPECT_EQ(listener->calls, calls);
    EXPECT_GT(listener->calls, 0);
    EXPECT_EQ(listener->violations, 0);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace lsm
