// The stores that expiry_bench compares.
#ifndef TRELLIS_BENCH_EXPIRY_STORE_H_
#define TRELLIS_BENCH_EXPIRY_STORE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lsm/environment.h"

namespace bench::expiry {

// Wall time is set.  Monotonic time adds the time of the system, so that waits end.
class VirtualClock : public lsm::Clock {
 public:
  uint64_t MonotonicNanos() override {
    return lsm::SystemClock().MonotonicNanos() + passed_.load() * 1'000'000'000;
  }
  uint64_t WallMicros() override { return seconds() * 1'000'000; }
  uint64_t seconds() const { return kBegin + passed_.load(); }
  void Pass(uint64_t seconds) { passed_.fetch_add(seconds); }

 private:
  static constexpr uint64_t kBegin = 1'700'000'000;  // in November 2023

  std::atomic<uint64_t> passed_ = 0;
};

enum class Expiry {
  kNone,
  kLimit,     // KeyspaceOptions::expire_after; RocksDB: DBWithTTL
  kPeriodic,  // RocksDB alone: also rewrites tables that are as old as the window
  kFifo,      // RocksDB alone: no DBWithTTL, but FIFO compaction, which drops tables by their age
};

struct StoreSettings {
  std::string path;
  Expiry expiry = Expiry::kNone;
  uint32_t window_seconds = 3600;
  uint64_t write_buffer_bytes = 0;  // tables have its size, level 1 four times it
  uint64_t block_cache_bytes = uint64_t{8} << 20;
  uint64_t seed = 0;
  VirtualClock* clock = nullptr;  // outlives the store; null: the system's
};

// The files of a store at some moment, by their sizes.
struct Files {
  uint64_t table_bytes = 0;
  uint64_t log_bytes = 0;

  uint64_t bytes() const { return table_bytes + log_bytes; }
};
Files FilesOf(const std::string& path);

// The tables of a store while jobs write and remove them.  Thread-safe.
class TableBytes {
 public:
  void Add(uint64_t bytes) {
    const uint64_t now = now_.fetch_add(bytes) + bytes;
    uint64_t most = most_.load();
    while (most < now && !most_.compare_exchange_weak(most, now)) {
    }
  }
  void Remove(uint64_t bytes) { now_.fetch_sub(bytes); }
  // The most since the last call.
  uint64_t TakeMost() { return most_.exchange(now_.load()); }

 private:
  std::atomic<uint64_t> now_ = 0;
  std::atomic<uint64_t> most_ = 0;
};

struct WorkDone {
  uint64_t log_bytes = 0;
  uint64_t flush_bytes = 0;
  uint64_t compaction_bytes = 0;
  uint64_t tables_dropped = 0;   // unread
  uint64_t entries_dropped = 0;  // by compactions that read them

  uint64_t bytes() const { return log_bytes + flush_bytes + compaction_bytes; }
};

struct Entry {
  std::string key;
  std::string value;
};

// It begins empty.  The destructor removes its files.
class Store {
 public:
  virtual ~Store() = default;

  virtual absl::Status Write(const std::vector<Entry>& entries) = 0;
  virtual absl::StatusOr<bool> Get(const std::string& key, std::string* value) = 0;
  // Lets the background look at the clock, and waits until nothing is due.
  virtual absl::Status Settle() = 0;
  // Merges all entries into one run.
  virtual absl::Status CompactAll() = 0;
  virtual WorkDone Done() = 0;
  // The most bytes of tables since the last call, also while jobs ran.
  virtual uint64_t TakeMostTableBytes() = 0;
};

absl::StatusOr<std::unique_ptr<Store>> MakeTrellis(const StoreSettings& settings);
// Unimplemented if this program was built without RocksDB.
absl::StatusOr<std::unique_ptr<Store>> MakeRocksDb(const StoreSettings& settings);
// Whether this program was built with RocksDB.
bool HasRocksDb();

}  // namespace bench::expiry

#endif  // TRELLIS_BENCH_EXPIRY_STORE_H_
