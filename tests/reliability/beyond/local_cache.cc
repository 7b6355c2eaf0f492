#include "tests/reliability/beyond/local_cache.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/cached_file_system.h"
#include "lsm/file_system.h"
#include "lsm/memory_file_system.h"
#include "tests/lsm/pieces/table_bytes.h"
#include "tests/support/dice.h"

namespace reliability {
namespace {

using lsm::Concat;
using lsm::FileOperation;
using lsm::MemoryFileSystem;
using testing_support::Dice;

constexpr char kStore[] = "/store";
constexpr char kCache[] = "/ssd";
constexpr size_t kNames = 5;
constexpr size_t kStepsPerTrial = 120;
constexpr uint64_t kTableBytesMax = 300'000;

std::string NameOf(size_t number) { return Concat("00000", number + 1, ".table"); }

class Trial {
 public:
  Trial(uint64_t seed, LocalCacheReport* report) : dice_(seed), report_(*report) {}

  void Run() {
    // A local disk that loses what it stored may also lose that a name was removed.  So copies of a
    // table of which one is damaged (lsm/design/local_cache.md) come with a sound disk only.
    has_sound_disk_ = dice_.OneIn(2);
    cache_bytes_ = uint64_t{1 + dice_.Roll(3)} << 20;
    Restart();
    for (size_t i = 0; i < kStepsPerTrial && report_.finding.empty(); ++i) Step();
    Stop();
  }

 private:
  struct Handle {
    std::unique_ptr<lsm::ReadFile> file;
    std::string bytes;  // of its file
  };

  void Find(const std::string& text) {
    if (report_.finding.empty()) report_.finding = text;
  }
  void Must(const absl::Status& status, const char* call) {
    if (!status.ok()) Find(Concat(call, " fails: ", lsm::MessageOf(status)));
  }

  void Step() {
    switch (dice_.Roll(12)) {
      case 0:
      case 1:
        WriteTable(NewTable());
        break;
      case 2:
        WriteBelow();
        break;
      case 3:
        Remove(dice_.Roll(kNames));
        break;
      case 4:
        has_sound_disk_ ? WriteDamagedCopy() : DamageDisk();
        break;
      case 5:
        if (!has_sound_disk_) FailDisk();
        break;
      case 6:
        if (dice_.OneIn(3)) Restart();
        break;
      case 7:
        if (!has_sound_disk_ && dice_.OneIn(3)) CrashMachine();
        break;
      default:
        ReadSome();
    }
    CheckBound();
  }

  std::string NewTable() { return lsm::TableBytes(++last_id_, 200 + dice_.Roll(kTableBytesMax)); }

  // Writes a table under a random name, unless Sync fails or is never called.
  void WriteTable(const std::string& bytes) {
    const size_t number = dice_.Roll(kNames);
    Remove(number);
    absl::StatusOr<std::unique_ptr<lsm::AppendFile>> file =
        directory_->CreateExclusive(NameOf(number));
    Must(file.status(), "CreateExclusive");
    if (!file.ok()) return;
    const size_t step = 1 + dice_.Roll(100'000);
    for (size_t at = 0; at < bytes.size(); at += step)
      Must((*file)->Append(std::string_view(bytes).substr(at, step)), "Append");
    tables_[number] = bytes;
    if (dice_.OneIn(4)) CheckNotFoundYet(number);
    if (dice_.OneIn(6)) {
      if (dice_.OneIn(2)) FailSync(file->get());
      *file = nullptr;
      return Remove(number);
    }
    Must((*file)->Sync(), "Sync");
    Must((*file)->Close(), "Close");
  }

  // The table has all its bytes, and was not synced.  The cache must have none of them.
  void CheckNotFoundYet(size_t number) {
    const uint64_t hits = statistics().hits;
    const std::unique_ptr<lsm::ReadFile> file = Open(number);
    if (file != nullptr) ReadAndCompare({{file.get(), &tables_.at(number)}}, kTableBytesMax);
    if (statistics().hits > hits) Find("pieces of a table were found before its Sync");
  }
  void FailSync(lsm::AppendFile* file) {
    const uint64_t pieces = statistics().pieces;
    below_.SetFault([](FileOperation, const std::string&, uint64_t) {
      return absl::UnavailableError("the seeded fault");
    });
    if (file->Sync().ok()) Find("Sync hides an error");
    below_.SetFault(nullptr);
    if (statistics().pieces > pieces) Find("a table whose Sync failed has pieces");
  }

  // Another machine replaces a table by one of the same size; or it restores one that was removed,
  // from a copy with another byte.
  void WriteBelow() {
    const size_t number = dice_.Roll(kNames);
    const auto found = tables_.find(number);
    const auto removed = removed_.find(number);
    const std::string bytes =
        found != tables_.end() ? lsm::TableBytes(++last_id_, found->second.size())
        : has_sound_disk_ && removed != removed_.end() ? DamagedCopy(removed->second)
                                                       : NewTable();
    auto directory = below_.OpenDirectory(kStore, /*create=*/true);
    Must(directory.status(), "OpenDirectory below");
    (*directory)->Remove(NameOf(number)).IgnoreError();
    auto file = (*directory)->CreateExclusive(NameOf(number));
    Must(file.status(), "CreateExclusive below");
    Must((*file)->Append(bytes), "Append below");
    Must((*file)->Sync(), "Sync below");
    tables_[number] = bytes;
  }

  // A copy of a table that has the same identity and another byte.
  std::string DamagedCopy(std::string bytes) {
    const size_t offset = 24 + dice_.Roll(bytes.size() - 24 - 150);
    bytes[offset] = static_cast<char>(bytes[offset] ^ 1);
    return bytes;
  }
  void WriteDamagedCopy() {
    if (!tables_.empty()) WriteTable(DamagedCopy(tables_.begin()->second));
  }

  void Remove(size_t number) {
    const auto found = tables_.find(number);
    if (found == tables_.end()) return;
    removed_[number] = found->second;
    tables_.erase(found);
    Must(directory_->Remove(NameOf(number)), "Remove");
  }

  std::unique_ptr<lsm::ReadFile> Open(size_t number) {
    auto file = directory_->OpenRead(NameOf(number), lsm::ReadMode::kBuffered);
    Must(file.status(), "OpenRead");
    return file.ok() ? *std::move(file) : nullptr;
  }

  void ReadSome() {
    if (tables_.empty()) return;
    auto table = tables_.begin();
    std::advance(table, dice_.Roll(tables_.size()));
    std::unique_ptr<lsm::ReadFile> file = Open(table->first);
    if (file == nullptr) return;
    handles_.push_back({std::move(file), table->second});
    // A handle learns from its first read which table its file is.
    ReadAndCompare({{handles_.back().file.get(), &handles_.back().bytes}}, 6000);
    if (handles_.size() > 6) handles_.erase(handles_.begin() + dice_.Roll(handles_.size()));
    for (int i = 0; i < 4 && report_.finding.empty(); ++i) {
      std::vector<std::pair<const lsm::ReadFile*, const std::string*>> files;
      const size_t count = dice_.OneIn(2) ? 1 : 1 + dice_.Roll(4);
      for (size_t j = 0; j < count; ++j) {
        const Handle& handle = handles_[dice_.Roll(handles_.size())];
        files.emplace_back(handle.file.get(), &handle.bytes);
      }
      ReadAndCompare(files, dice_.OneIn(3) ? kTableBytesMax : 6000);
    }
  }

  void ReadAndCompare(const std::vector<std::pair<const lsm::ReadFile*, const std::string*>>& files,
                      uint64_t bytes_max) {
    std::vector<std::string> buffers(files.size());
    std::vector<lsm::ReadRequest> requests;
    for (size_t i = 0; i < files.size(); ++i) {
      buffers[i].resize(1 + dice_.Roll(bytes_max), '?');
      const uint64_t offset = dice_.Roll(files[i].second->size());
      requests.push_back({files[i].first, offset, buffers[i], {}, 0});
    }
    if (files.size() == 1) {
      lsm::ReadAlone(&requests[0]);
    } else {
      cached_->ReadMany(requests);
    }
    for (size_t i = 0; i < files.size(); ++i) {
      ++report_.reads;
      Must(requests[i].status, "a read");
      const std::string_view expected =
          std::string_view(*files[i].second).substr(requests[i].offset, buffers[i].size());
      if (std::string_view(buffers[i]).substr(0, requests[i].bytes_read) != expected)
        Find(Concat("a read of ", buffers[i].size(), " bytes at ", requests[i].offset, " of ",
                    files[i].first->path(), " returns something else than the file below has"));
    }
  }

  std::vector<std::string> CacheFiles() {
    const auto directory = local_.OpenDirectory(kCache, /*create=*/true);
    if (!directory.ok()) return {};
    std::vector<std::string> names = (*directory)->List().value();
    std::erase(names, "LOCK");
    std::sort(names.begin(), names.end());
    return names;
  }

  // Flips a bit of one of the cache's files, or cuts it.
  void DamageDisk() {
    const std::vector<std::string> names = CacheFiles();
    if (names.empty()) return;
    const std::string path = Concat(kCache, "/", names[dice_.Roll(names.size())]);
    std::string bytes = local_.FileBytes(path);
    if (bytes.empty()) return;
    const size_t offset = dice_.Roll(bytes.size());
    if (dice_.OneIn(4)) {
      bytes.resize(offset);
    } else {
      bytes[offset] = static_cast<char>(bytes[offset] ^ (1 << dice_.Roll(8)));
    }
    local_.SetFileBytes(path, std::move(bytes));
    if (dice_.OneIn(2)) Restart();
  }

  // Some of the next calls to the local disk fail.
  void FailDisk() {
    const uint64_t first = dice_.Roll(20), count = 1 + dice_.Roll(30);
    local_.ResetCounts();
    local_.SetFault([=](FileOperation, const std::string&, uint64_t number) {
      return number >= first && number < first + count ? absl::ResourceExhaustedError("full")
                                                       : absl::OkStatus();
    });
    WriteTable(NewTable());
    for (int i = 0; i < 3; ++i) ReadSome();
    local_.SetFault(nullptr);
  }

  void CrashMachine() {
    local_.ResetCounts();
    local_.CrashAt(dice_.Roll(60));
    WriteTable(NewTable());
    for (int i = 0; i < 3; ++i) ReadSome();
    Stop();
    local_.Restart(dice_.OneIn(2) ? MemoryFileSystem::Unsynced::kLost
                                  : MemoryFileSystem::Unsynced::kKept);
    Restart();
  }

  void Stop() {
    handles_.clear();
    directory_ = nullptr;
    if (cached_ == nullptr) return;
    const lsm::CachedFileSystem::Statistics last = statistics();
    report_.hits += last.hits;
    report_.bad_pieces += last.bad_pieces;
    report_.evicted += last.evicted;
    cached_ = nullptr;
  }
  // As a new process does.
  void Restart() {
    Stop();
    ++report_.restarts;
    const lsm::CachedFileSystem::Config config{kCache, cache_bytes_, &local_};
    cached_ = std::make_unique<lsm::CachedFileSystem>(&below_, config);
    Must(cached_->status(), "opening the cache");
    auto directory = cached_->OpenDirectory(kStore, /*create=*/true);
    Must(directory.status(), "OpenDirectory");
    directory_ = *std::move(directory);
  }

  void CheckBound() {
    uint64_t bytes = 0;
    for (const std::string& name : CacheFiles())
      bytes += local_.FileBytes(Concat(kCache, "/", name)).size();
    if (bytes > cache_bytes_)
      Find(Concat("the cache has ", bytes, " bytes, more than ", cache_bytes_));
  }
  lsm::CachedFileSystem::Statistics statistics() const { return cached_->statistics(); }

  Dice dice_;
  LocalCacheReport& report_;
  bool has_sound_disk_ = true;
  uint64_t cache_bytes_ = 0;
  uint64_t last_id_ = 0;
  MemoryFileSystem below_, local_;
  std::unique_ptr<lsm::CachedFileSystem> cached_;
  std::unique_ptr<lsm::Directory> directory_;
  std::map<size_t, std::string> tables_;  // what the files below have
  std::map<size_t, std::string> removed_;
  std::vector<Handle> handles_;
};

}  // namespace

LocalCacheReport UseLocalCacheAtRandom(uint64_t seed, uint64_t reads_min) {
  LocalCacheReport report;
  for (uint64_t trial = 0; report.reads < reads_min && report.finding.empty(); ++trial) {
    Trial(seed + trial, &report).Run();
    if (!report.finding.empty()) report.finding += Concat(" (seed ", seed + trial, ")");
  }
  return report;
}

}  // namespace reliability
