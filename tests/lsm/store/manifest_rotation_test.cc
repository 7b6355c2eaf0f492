// A manifest that has grown too long is replaced by a new one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "lsm/bytes/coding.h"
#include "lsm/limits.h"
#include "lsm/store/manifest_keeper.h"
#include "lsm/version/manifest.h"
#include "tests/lsm/engine/store_test.h"
#include "tests/support/status_matchers.h"

namespace lsm {
namespace {

using testing::ElementsAre;
using testing::Not;
using testing_support::IsOk;
using Unsynced = MemoryFileSystem::Unsynced;

constexpr uint64_t kLimitBytes = ManifestKeeper::kBytesMin;

class ManifestRotationTest : public StoreTest {
 protected:
  ManifestRotationTest() {
    options_.level0_compaction_tables = 1000;
    options_.level0_stop_tables = 1000;
    options_.write_buffer_bytes = 1 << 20;
    options_.filter_kind = "none";
    options_.log_directory = "/logs";
  }

  // The length of an edit depends on its keys.  With the longest keys about 500 flushes fill a
  // manifest.
  void FillManifest() {
    Open();
    while (ManifestBytes() + 6 * kKeyBytesMax < kLimitBytes) {
      FlushOne();
      if (flushed_ % 10 == 0) CompactAll();
    }
    while (ManifestBytes() + 2 * kKeyBytesMax + 200 < kLimitBytes) FlushOne();
  }
  void FlushOne() {
    Put(kLongKey, Concat(++flushed_));
    Flush();
  }
  std::string Manifest() {
    const std::vector<std::string> manifests = world_.FilesOf(FileKind::kManifest);
    EXPECT_EQ(manifests.size(), 1u);
    return manifests.back();
  }
  uint64_t ManifestBytes() {
    const std::string path = Manifest();
    const auto directory = world_.files->OpenDirectory(kStorePath, false);
    return (*directory)->Stat(path.substr(path.rfind('/') + 1))->size_bytes;
  }

  const std::string kLongKey = std::string(kKeyBytesMax, 'k');
  int flushed_ = 0;
};

TEST_F(ManifestRotationTest, ReplacesTheOldManifest) {
  FillManifest();
  const std::string before = Manifest();
  const uint64_t tables = db_->GetStatistics().total.tables;
  FlushOne();
  EXPECT_NE(Manifest(), before);
  EXPECT_LT(ManifestBytes(), kLimitBytes / 2);
  FlushOne();
  EXPECT_EQ(db_->GetStatistics().total.tables, tables + 2);
  Open();
  EXPECT_EQ(db_->GetStatistics().total.tables, tables + 2);
  EXPECT_EQ(Get(kLongKey), Concat(flushed_));
}

TEST_F(ManifestRotationTest, LongSnapshotsAreNotRewrittenPerEdit) {
  // The whole manifest is live: each table has one long key, which the manifest holds.
  options_.table_bytes = 64 << 10;
  options_.compression = Compression::kNone;
  Open();
  for (int i = 0; i < 600; ++i) Put(Concat(10000 + i, std::string(kKeyBytesMax - 5, 'k')), "v");
  ASSERT_EQ(Manifest(), "/store/000002.manifest");
  CompactAll();
  const std::string after = Manifest();
  EXPECT_NE(after, "/store/000002.manifest");
  EXPECT_GT(ManifestBytes(), kLimitBytes);
  FlushOne();
  FlushOne();
  EXPECT_EQ(Manifest(), after);
}

TEST_F(ManifestRotationTest, NoEditFollowsAHalfFailedRotation) {
  // A compaction rotates the manifest.  CURRENT is replaced, but the call fails, for example
  // because the directory cannot be synced.  A flush that ends then must not write to the old
  // manifest.  Otherwise its log would be removed, although the new manifest needs it.
  options_.environment.scheduler = nullptr;  // threads
  FillManifest();
  std::promise<void> rotating, flushing;
  const std::shared_future<void> rotates(rotating.get_future()), flushes(flushing.get_future());
  const auto comes = [](const std::shared_future<void>& event, int seconds) {
    return event.wait_for(std::chrono::seconds(seconds)) == std::future_status::ready;
  };
  world_.files->SetFault([&](FileOperation operation, const std::string& path, uint64_t) {
    if (operation == FileOperation::kAtomicReplace && !comes(rotates, 0)) {
      const std::string manifest = world_.FilesOf(FileKind::kManifest).back();
      const uint64_t number = ParseFileName(manifest.substr(manifest.rfind('/') + 1))->number;
      const uint64_t file_id = LoadFixed64(world_.files->FileBytes(manifest).data() + 12);
      world_.files->SetFileBytes(path, Current{number, file_id}.Encode());
      rotating.set_value();
      comes(flushes, 10);
      return absl::UnavailableError("cannot be synced");
    }
    if (operation == FileOperation::kSyncDirectory && path == "/logs" && comes(rotates, 0) &&
        !comes(flushes, 0)) {
      flushing.set_value();
    }
    return absl::OkStatus();
  });
  std::thread compacting([&] { EXPECT_THAT(db_->CompactRange(), Not(IsOk())); });
  EXPECT_TRUE(comes(rotates, 10));
  ASSERT_OK(db_->Put("acknowledged", "1"));
  EXPECT_THAT(db_->Flush(), Not(IsOk()));
  compacting.join();
  world_.files->SetFault(nullptr);
  Open();
  EXPECT_EQ(Get("acknowledged"), "1");
  EXPECT_EQ(Get(kLongKey), Concat(flushed_));
}

}  // namespace
}  // namespace lsm
