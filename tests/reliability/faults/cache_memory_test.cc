// A local cache (lsm/cached_file_system.h) while memory runs out.  Reads, appends, syncs and
// removals go to the file system below then, so they succeed.  Only calls that make a handle may
// fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/cached_file_system.h"
#include "lsm/db.h"
#include "lsm/memory_file_system.h"
#include "tests/lsm/engine/world.h"
#include "tests/lsm/pieces/table_bytes.h"
#include "tests/reliability/faults/short_memory.h"
#include "tests/reliability/faults/spared_files.h"
#include "tests/support/status_matchers.h"

namespace reliability {
namespace {

using lsm::Concat;
using testing::Gt;
using testing::Le;

constexpr uint64_t kCacheBytes = lsm::CachedFileSystem::kBytesMin;  // four segments
constexpr char kCache[] = "/ssd";

// Made once, as they take long.
const std::string& TableOf(uint64_t id, uint64_t bytes) {
  static std::map<uint64_t, std::string> tables;
  std::string& table = tables[id];
  if (table.size() != bytes) table = lsm::TableBytes(id, bytes);
  return table;
}

ShortMemory& Memory() { return ShortMemory::OfThisThread(); }

uint64_t BytesOnDisk(lsm::MemoryFileSystem& local) {
  const std::unique_ptr<lsm::Directory> directory = local.OpenDirectory(kCache, true).value();
  uint64_t bytes = 0;
  const std::vector<std::string> names = directory->List().value();
  for (const std::string& name : names) bytes += directory->Stat(name)->size_bytes;
  return bytes;
}

// Uses a cache while the allocation of a number fails and, if `lasts`, all later ones.
class CacheTrial {
 public:
  CacheTrial() {
    Start();
    for (int number = 1; number <= 3; ++number) WriteTable(number, 150'000);
    for (int number = 1; number <= 3; ++number) ReadTable(number);
  }
  ~CacheTrial() { Stop(); }

  void Run(uint64_t number, bool lasts) {
    Memory().failed = 0;
    lasts ? Memory().FailForever(number) : Memory().FailOnce(number);
    ReadTable(1);
    ReadTogether();
    WriteTable(4, 200'000);
    ReadTable(4);
    ReplaceByCopy(2);
    WriteBelow(5, TableOf(5, 300'000));  // more than there is room for
    ReadTable(5);
    WriteTable(6, 150'000);
    ReadTogether();
    CheckBound();
    Restart();
    ReadTable(6);
    ReadTable(1);
    Memory().Stop();
    CheckBound();
    CheckLater();
  }

 private:
  // Errors of CreateExclusive are excused.
  void WriteTable(uint64_t number, uint64_t bytes) {
    const std::string& table = TableOf(number, bytes);
    const std::unique_ptr<lsm::AppendFile> file =
        Made([&] { return directory_->CreateExclusive(NameOf(number)); });
    if (file == nullptr) return WriteBelow(number, table);
    try {
      for (size_t at = 0; at < table.size(); at += 40'000)
        EXPECT_OK(
            InStore([&] { return file->Append(std::string_view(table).substr(at, 40'000)); }));
      EXPECT_OK(InStore([&] { return file->Sync(); }));
      EXPECT_OK(InStore([&] { return file->Close(); }));
    } catch (const std::bad_alloc&) {
      ADD_FAILURE() << "a write throws";
    }
    tables_[number] = table;
  }
  // Past the cache, as another machine does.
  void WriteBelow(uint64_t number, const std::string& bytes) {
    const std::unique_ptr<lsm::Directory> directory = below_.OpenDirectory("/store", true).value();
    directory->Remove(NameOf(number)).IgnoreError();
    const auto file = directory->CreateExclusive(NameOf(number)).value();
    EXPECT_OK(file->Append(bytes));
    tables_[number] = bytes;
  }
  // The copy has the identity of the table, and another byte.
  void ReplaceByCopy(uint64_t number) {
    std::string copy = tables_.at(number);
    copy[70'000] = static_cast<char>(copy[70'000] ^ 1);
    try {
      EXPECT_OK(InStore([&] { return directory_->Remove(NameOf(number)); }));
    } catch (const std::bad_alloc&) {
      ADD_FAILURE() << "a removal throws";
    }
    WriteBelow(number, copy);
    ReadTable(number);
    // A restart may not know of a removal if there was no memory to note it.
    WriteBelow(number, TableOf(10 + number, 150'000));
  }

  void ReadTable(uint64_t number) {
    if (directory_ == nullptr) return;
    const std::unique_ptr<lsm::ReadFile> file = OpenTable(number);
    if (file == nullptr) return;
    const uint64_t size = tables_.at(number).size();
    Read({{file.get(), number, size - 4096, 4096}});  // as a store does
    for (uint64_t at = 0; at < size; at += 50'000) Read({{file.get(), number, at, 3000}});
    Read({{file.get(), number, 0, size + 1}});
  }
  void ReadTogether() {
    const std::unique_ptr<lsm::ReadFile> first = OpenTable(1), third = OpenTable(3);
    if (first == nullptr || third == nullptr) return;
    Read({{first.get(), 1, 60'000, 90'000}, {third.get(), 3, 10, 100}, {first.get(), 1, 9, 9}});
    Read({{third.get(), 3, 0, 150'000}, {first.get(), 1, 149'000, 1000}});
  }
  struct Wanted {
    const lsm::ReadFile* file;
    uint64_t number, offset, bytes;
  };
  // Each read succeeds, and is told once.
  void Read(const std::vector<Wanted>& wanted) {
    std::vector<std::string> buffers;
    std::vector<lsm::ReadRequest> requests;
    buffers.reserve(wanted.size());
    for (const Wanted& one : wanted) {
      std::string& buffer = buffers.emplace_back(one.bytes, '?');
      requests.push_back({one.file, one.offset, buffer, absl::OkStatus(), 0});
    }
    uint64_t told = 0;
    try {
      if (wanted.size() == 1) {
        lsm::ReadRequest& request = requests.front();
        const auto read =
            InStore([&] { return request.file->ReadAt(request.offset, request.buffer); });
        request.status = read.status();
        request.bytes_read = read.ok() ? *read : 0;
      } else {
        const std::function<void(size_t)> done = [&told](size_t) { ++told; };
        InStore([&] { cached_->ReadMany(requests, done); });
        EXPECT_EQ(told, requests.size());
      }
    } catch (const std::bad_alloc&) {
      ADD_FAILURE() << "a read throws";
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_OK(requests[i].status);
      EXPECT_TRUE(std::string_view(tables_.at(wanted[i].number))
                      .substr(wanted[i].offset, wanted[i].bytes) ==
                  std::string_view(buffers[i]).substr(0, requests[i].bytes_read))
          << "a wrong answer";
    }
  }

  // Null if memory ran out.
  template <typename Call>
  auto Made(const Call& call) -> typename decltype(call())::value_type {
    try {
      auto made = InStore(call);
      if (made.ok()) return *std::move(made);
      EXPECT_TRUE(absl::IsResourceExhausted(made.status())) << made.status();
    } catch (const std::bad_alloc&) {
    }
    EXPECT_THAT(Memory().failed, Gt(0u));
    return nullptr;
  }
  std::unique_ptr<lsm::ReadFile> OpenTable(uint64_t number) {
    if (directory_ == nullptr) return nullptr;
    return Made([&] { return directory_->OpenRead(NameOf(number), lsm::ReadMode::kBuffered); });
  }

  // As a new process does.  Null without memory.
  void Restart() {
    Stop();
    try {
      Start();
    } catch (const std::bad_alloc&) {
    }
  }
  void Start() {
    const lsm::CachedFileSystem::Config config{kCache, kCacheBytes, &spared_local_};
    InStore([&] { cached_ = std::make_unique<lsm::CachedFileSystem>(&spared_below_, config); });
    const absl::Status status = cached_->status();
    EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
    directory_ = Made([&] { return cached_->OpenDirectory("/store", true); });
  }
  void Stop() {
    InStore([&] {
      directory_ = nullptr;
      cached_ = nullptr;
    });
  }

  void CheckBound() {
    const Spared spared;
    if (cached_ == nullptr || !cached_->status().ok()) return;
    EXPECT_THAT(BytesOnDisk(local_), Le(cached_->statistics().bytes));
    EXPECT_THAT(cached_->statistics().bytes, Le(kCacheBytes));
    EXPECT_EQ(cached_->statistics().bad_pieces, 0u);
  }
  // There is enough memory again.
  void CheckLater() {
    Restart();
    ASSERT_OK(cached_->status());
    for (const auto& [number, table] : tables_) ReadTable(number);
    WriteTable(7, 150'000);
    const uint64_t hits = cached_->statistics().hits;
    ReadTable(7);
    EXPECT_THAT(cached_->statistics().hits, Gt(hits));
    EXPECT_EQ(cached_->statistics().errors, 0u);
    CheckBound();
  }

  static std::string NameOf(uint64_t number) { return Concat("00000", number, ".table"); }

  lsm::MemoryFileSystem below_, local_;
  SparedFiles spared_below_{&below_, SparedCalls::kAreSound}, spared_local_{&local_};
  std::unique_ptr<lsm::CachedFileSystem> cached_;
  std::unique_ptr<lsm::Directory> directory_;
  std::map<uint64_t, std::string> tables_;  // the bytes that the files below have
};

TEST(CacheMemoryTest, NoCallFailsForLackOfTheCachesMemory) {
  CacheTrial().Run(1'000'000, false);  // makes the tables
  for (const bool lasts : {false, true}) {
    uint64_t number = 0;
    for (; !testing::Test::HasFailure(); ++number) {
      SCOPED_TRACE(Concat("allocation ", number, lasts ? " and all later ones" : ""));
      const int64_t live = Memory().live;
      CacheTrial().Run(number, lasts);
      EXPECT_EQ(Memory().live, live) << "memory was not freed";
      if (Memory().failed == 0) break;  // all were tried
    }
    EXPECT_THAT(number, Gt(300u));
  }
}

std::string KeyOf(int i) { return Concat("key", 1000 + i); }
std::string ValueOf(int i) { return std::string(300, static_cast<char>('a' + i % 26)); }

// Also the file system below may run out of memory here.
TEST(CacheMemoryTest, AStoreReturnsRightAnswersOrResourceExhausted) {
  constexpr int kKeys = 400;
  uint64_t number = 0;
  for (; !testing::Test::HasFailure(); ++number) {
    SCOPED_TRACE(Concat("allocation ", number));
    lsm::World world;
    lsm::MemoryFileSystem local;
    SparedFiles below(world.files.get()), spared_local(&local);
    lsm::CachedFileSystem cached(&below, {kCache, kCacheBytes, &spared_local});
    lsm::Options options = world.SmallOptions();
    options.block_cache_bytes = 0;
    options.environment.file_system = &cached;
    const std::unique_ptr<lsm::DB> db = lsm::DB::Open(lsm::kStorePath, options).value();
    for (int i = 0; i < kKeys; ++i) ASSERT_OK(db->Put(KeyOf(i), ValueOf(i)));

    Memory().failed = 0;
    Memory().FailOnce(number);
    const absl::Status flushed = InStore([&] { return db->Flush(); });
    // Aborted: an earlier job failed for lack of memory.
    EXPECT_TRUE(flushed.ok() || absl::IsResourceExhausted(flushed) || absl::IsAborted(flushed))
        << flushed;
    for (int i = 0; i < kKeys; i += 40) {
      const auto value = InStore([&] { return db->Get(KeyOf(i)); });
      EXPECT_TRUE(value.ok() ? *value == ValueOf(i) : absl::IsResourceExhausted(value.status()))
          << value.status();
    }
    Memory().Stop();
    if (!db->GetFailure().ok()) {
      EXPECT_OK(db->Resume());
    }
    for (int i = 0; i < kKeys; ++i) EXPECT_EQ(db->Get(KeyOf(i)).value(), ValueOf(i));
    EXPECT_EQ(cached.statistics().bad_pieces, 0u);
    if (Memory().failed == 0) break;  // all were tried
  }
  EXPECT_THAT(number, Gt(300u));
}

}  // namespace
}  // namespace reliability
