// Several reads that are submitted together, and the contract of file_system.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lsm/environment.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/lsm/fs/file_system_contract.h"
#include "tests/lsm/objects/pool_client.h"
#include "tests/lsm/pieces/cache_fixture.h"
#include "tests/support/scratch_dir.h"

namespace lsm {
namespace {

using testing::ElementsAre;

// Records the numbers of reads that were submitted together.
class RecordingFileSystem final : public FileSystem {
 public:
  explicit RecordingFileSystem(FileSystem* files) : files_(*files) {}
  absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(const std::string& path,
                                                           bool create) override {
    return files_.OpenDirectory(path, create);
  }
  absl::Status RemoveDirectory(const std::string& path) override {
    return files_.RemoveDirectory(path);
  }
  void ReadMany(std::span<ReadRequest> requests, const std::function<void(size_t)>& done) override {
    together.push_back(requests.size());
    files_.ReadMany(requests, done);
  }

  std::vector<size_t> together;

 private:
  FileSystem& files_;
};

class CacheReadsTest : public CacheFixture {
 protected:
  void SetUp() override {
    cached_ = std::make_unique<CachedFileSystem>(
        &recorded_below_, CachedFileSystem::Config{kCache, cache_bytes_, &recorded_local_});
    ASSERT_OK_AND_ASSIGN(directory_, cached_->OpenDirectory("/store", /*create=*/true));
  }

  RecordingFileSystem recorded_below_{&below_}, recorded_local_{&local_};
};

TEST_F(CacheReadsTest, HitsGoTogetherAndMissesGoTogether) {
  const std::string stored = TableBytes(1, 10 * kPiece), missing = TableBytes(2, 10 * kPiece);
  Write("000001.table", stored);
  WriteBelow("000002.table", missing);
  Write("000003.log", "a log");
  const std::unique_ptr<ReadFile> a = Open("000001.table"), b = Open("000002.table"),
                                  log = Open("000003.log");
  std::string ends[2] = {std::string(4096, '?'), std::string(4096, '?')};
  std::vector<ReadRequest> opening = {{a.get(), 10 * kPiece - 4096, ends[0], {}, 0},
                                      {b.get(), 10 * kPiece - 4096, ends[1], {}, 0}};
  cached_->ReadMany(opening);
  EXPECT_EQ(ends[0], stored.substr(10 * kPiece - 4096));
  EXPECT_EQ(ends[1], missing.substr(10 * kPiece - 4096));
  EXPECT_THAT(recorded_below_.together, ElementsAre(2));  // one read for each table
  recorded_below_.together.clear();

  struct Range {
    const ReadFile* file;
    uint64_t offset, bytes;
    std::string expected;
  };
  const Range ranges[] = {
      {a.get(), 100, 5000, stored.substr(100, 5000)},
      {b.get(), kPiece, 10, missing.substr(kPiece, 10)},
      {a.get(), 2 * kPiece - 10, 20, stored.substr(2 * kPiece - 10, 20)},
      {log.get(), 2, 100, "log"},
      {b.get(), 5 * kPiece - 1, kPiece, missing.substr(5 * kPiece - 1, kPiece)},
      {a.get(), 11 * kPiece, 10, ""},
      {a.get(), 10 * kPiece - 5, 100, stored.substr(10 * kPiece - 5)},
      {b.get(), 0, 0, ""},
  };
  std::vector<std::string> buffers;
  std::vector<ReadRequest> requests;
  for (const Range& range : ranges) buffers.emplace_back(range.bytes, '?');
  for (size_t i = 0; i < std::size(ranges); ++i)
    requests.push_back({ranges[i].file, ranges[i].offset, buffers[i], {}, 0});
  std::vector<size_t> told;
  cached_->ReadMany(requests, [&](size_t i) { told.push_back(i); });
  for (size_t i = 0; i < std::size(ranges); ++i) {
    EXPECT_OK(requests[i].status);
    EXPECT_EQ(buffers[i].substr(0, requests[i].bytes_read), ranges[i].expected) << i;
  }
  EXPECT_EQ(told.size(), std::size(ranges));
  EXPECT_THAT(std::vector<size_t>(told.begin(), told.begin() + 3),
              testing::UnorderedElementsAre(0, 2, 6));  // hits do not wait for misses
  EXPECT_THAT(recorded_local_.together, ElementsAre(4));
  // The log, the end of the file, the empty read, and two runs of pieces.
  EXPECT_THAT(recorded_below_.together, ElementsAre(5));
  EXPECT_EQ(statistics().misses, 3u);
}

TEST_F(CacheReadsTest, EachReadHasItsOwnError) {
  const std::string bytes = TableBytes(1, 4 * kPiece);
  WriteBelow("000001.table", bytes);
  WriteBelow("000002.table", TableBytes(2, 4 * kPiece));
  const std::unique_ptr<ReadFile> a = Open("000001.table"), b = Open("000002.table");
  for (const ReadFile* file : {a.get(), b.get()}) ReadFrom(*file, 4 * kPiece - 4096, 4096);
  below_.SetFault([](FileOperation, const std::string& path, uint64_t) {
    return path.ends_with("2.table") ? absl::UnavailableError("gone") : absl::OkStatus();
  });
  std::string buffers[2] = {std::string(10, '?'), std::string(10, '?')};
  std::vector<ReadRequest> requests = {{b.get(), 5, buffers[0], {}, 0},
                                       {a.get(), 5, buffers[1], {}, 0}};
  size_t told = 0;
  cached_->ReadMany(requests, [&](size_t) { ++told; });
  EXPECT_EQ(told, 2u);
  EXPECT_FALSE(requests[0].status.ok());
  EXPECT_OK(requests[1].status);
  EXPECT_EQ(buffers[1], bytes.substr(5, 10));
}

// --- the contract ---

class CachedBackend : public Backend {
 public:
  FileSystem& file_system() override { return *cached_; }
  absl::Status status() const override { return cached_->status(); }

 protected:
  void Wrap(FileSystem* below, CachedFileSystem::Config config) {
    cached_ = std::make_unique<CachedFileSystem>(below, config);
  }

 private:
  std::unique_ptr<CachedFileSystem> cached_;
};

class CachedPosix final : public CachedBackend {
 public:
  CachedPosix() { Wrap(&PosixFileSystem(), {scratch_.path() + "/cache", 4 << 20}); }
  std::string root() const override { return scratch_.path(); }

 private:
  testing_support::ScratchDir scratch_;
};

class CachedMemory final : public CachedBackend {
 public:
  CachedMemory() {
    EXPECT_OK(files_.OpenDirectory(root(), /*create=*/true));
    Wrap(&files_, {"/cache", 1 << 20, &files_});
  }
  std::string root() const override { return "/memory"; }

 private:
  MemoryFileSystem files_;
};

class CachedObjects final : public CachedBackend {
 public:
  CachedObjects()
      : client_(std::make_shared<MemoryObjects>(), "test", 1, PoolClientOptions{1 << 20, 1 << 20}) {
    Wrap(&client_.files, {"/cache", 1 << 20, &local_});
  }
  std::string root() const override { return "/objects"; }
  bool has_all_locks() const override { return false; }
  bool needs_sync() const override { return true; }
  bool allocates() const override { return false; }

 private:
  PoolClient client_;
  MemoryFileSystem local_;
};

INSTANTIATE_TEST_SUITE_P(
    Cached, FileSystemContractTest,
    testing::Values(BackendFactory{"Posix", [] { return std::make_unique<CachedPosix>(); }},
                    BackendFactory{"Memory", [] { return std::make_unique<CachedMemory>(); }},
                    BackendFactory{"Objects", [] { return std::make_unique<CachedObjects>(); }}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace lsm
