// A CachedFileSystem in memory.
#ifndef TRELLIS_TESTS_LSM_PIECES_CACHE_FIXTURE_H_
#define TRELLIS_TESTS_LSM_PIECES_CACHE_FIXTURE_H_

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/cached_file_system.h"
#include "lsm/file_system.h"
#include "lsm/memory_file_system.h"
#include "tests/lsm/pieces/table_bytes.h"
#include "tests/support/status_matchers.h"

namespace lsm {

class CacheFixture : public testing::Test {
 protected:
  static constexpr uint64_t kPiece = uint64_t{64} << 10;
  static constexpr char kTable[] = "000007.table";
  static constexpr char kCache[] = "/ssd";

  void SetUp() override {
    CountReadsBelow();
    Start();
  }
  void CountReadsBelow() {
    below_.SetFault([this](FileOperation operation, const std::string&, uint64_t) {
      if (operation == FileOperation::kReadAt) ++reads_below_;
      return absl::OkStatus();
    });
  }

  // As a new process does.
  void Start() { StartOn(&local_); }
  void StartOn(MemoryFileSystem* local) {
    directory_ = nullptr;
    cached_ = nullptr;
    cached_ = std::make_unique<CachedFileSystem>(
        &below_, CachedFileSystem::Config{kCache, cache_bytes_, local});
    ASSERT_OK_AND_ASSIGN(directory_, cached_->OpenDirectory("/store", /*create=*/true));
  }

  static void WriteTo(Directory& directory, std::string_view name, std::string_view bytes) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<AppendFile> file, directory.CreateExclusive(name));
    for (size_t at = 0; at < bytes.size(); at += 10'000)
      ASSERT_OK(file->Append(bytes.substr(at, 10'000)));
    ASSERT_OK(file->Sync());
    ASSERT_OK(file->Close());
  }
  void Write(std::string_view name, std::string_view bytes) { WriteTo(*directory_, name, bytes); }
  // Past the cache, as another machine does.
  void WriteBelow(std::string_view name, std::string_view bytes) {
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Directory> directory,
                         below_.OpenDirectory("/store", /*create=*/true));
    directory->Remove(name).IgnoreError();
    WriteTo(*directory, name, bytes);
  }

  std::unique_ptr<ReadFile> Open(std::string_view name, ReadMode mode = ReadMode::kBuffered) {
    absl::StatusOr<std::unique_ptr<ReadFile>> file = directory_->OpenRead(name, mode);
    EXPECT_OK(file);
    return file.ok() ? *std::move(file) : nullptr;
  }
  static std::string ReadFrom(const ReadFile& file, uint64_t offset, uint64_t bytes) {
    std::string buffer(bytes, '?');
    const absl::StatusOr<size_t> read = file.ReadAt(offset, {buffer.data(), buffer.size()});
    return read.ok() ? buffer.substr(0, *read) : read.status().ToString();
  }
  // Opens a table as a store does, the last 4 KiB first, and reads it in pieces.
  std::string ReadTable(std::string_view name, uint64_t at_once = 10'000) {
    const std::unique_ptr<ReadFile> file = Open(name);
    const uint64_t size = file->Size().value();
    const uint64_t end = size - std::min<uint64_t>(size, 4096);
    const std::string last = ReadFrom(*file, end, 4096);
    std::string bytes;
    while (bytes.size() < end)
      bytes += ReadFrom(*file, bytes.size(), std::min(at_once, end - bytes.size()));
    return bytes + last;
  }

  CachedFileSystem::Statistics statistics() const { return cached_->statistics(); }
  // Bytes of the cache's files.
  uint64_t BytesOnDisk() {
    const std::unique_ptr<Directory> directory = local_.OpenDirectory(kCache, true).value();
    uint64_t bytes = 0;
    const std::vector<std::string> names = directory->List().value();
    for (const std::string& name : names) bytes += directory->Stat(name)->size_bytes;
    return bytes;
  }

  uint64_t cache_bytes_ = uint64_t{64} << 20;
  std::atomic<uint64_t> reads_below_ = 0;
  MemoryFileSystem below_, local_;
  std::unique_ptr<CachedFileSystem> cached_;
  std::unique_ptr<Directory> directory_;
};

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_PIECES_CACHE_FIXTURE_H_
