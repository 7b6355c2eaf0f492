#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/statistics.h>
#include <rocksdb/system_clock.h>
#include <rocksdb/utilities/db_ttl.h>

#include <chrono>
#include <initializer_list>
#include <map>
#include <mutex>
#include <thread>

#include "bench/experiment/store_of_rocksdb.h"
#include "bench/expiry/store.h"
#include "bench/machine.h"
#include "lsm/bytes/status.h"

namespace bench::expiry {
namespace {

// Entries and tables have the virtual time.  Everything else uses the system's.
class VirtualSeconds : public rocksdb::SystemClockWrapper {
 public:
  explicit VirtualSeconds(VirtualClock* clock)
      : SystemClockWrapper(rocksdb::SystemClock::Default()), clock_(*clock) {}
  const char* Name() const override { return "VirtualSeconds"; }
  rocksdb::Status GetCurrentTime(int64_t* seconds) override {
    *seconds = static_cast<int64_t>(clock_.seconds());
    return rocksdb::Status::OK();
  }

 private:
  VirtualClock& clock_;
};

class VirtualEnv : public rocksdb::EnvWrapper {
 public:
  explicit VirtualEnv(VirtualClock* clock) : EnvWrapper(rocksdb::Env::Default()) {
    system_clock_ = std::make_shared<VirtualSeconds>(clock);
  }
  rocksdb::Status GetCurrentTime(int64_t* seconds) override {
    return system_clock_->GetCurrentTime(seconds);
  }
};

class RocksDbTables : public rocksdb::EventListener {
 public:
  void OnTableFileCreated(const rocksdb::TableFileCreationInfo& info) override {
    if (!info.status.ok()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    sizes_[info.file_path] = info.file_size;
    bytes.Add(info.file_size);
  }
  void OnTableFileDeleted(const rocksdb::TableFileDeletionInfo& info) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = sizes_.find(info.file_path);
    if (found == sizes_.end()) return;
    bytes.Remove(found->second);
    sizes_.erase(found);
  }

  TableBytes bytes;

 private:
  std::mutex mutex_;
  std::map<std::string, uint64_t> sizes_;
};

class RocksDbStore : public Store {
 public:
  explicit RocksDbStore(const StoreSettings& settings) : path_(settings.path) {
    options_ = OptionsOfRocksDb(settings.write_buffer_bytes, settings.block_cache_bytes);
    options_.listeners = {events_};
    if (settings.clock != nullptr) {
      options_.statistics = rocksdb::CreateDBStatistics();
      env_ = std::make_unique<VirtualEnv>(settings.clock);
      options_.env = env_.get();
    }
    if (settings.expiry == Expiry::kPeriodic) {
      options_.ttl = settings.window_seconds;
      options_.periodic_compaction_seconds = settings.window_seconds;
    }
    if (settings.expiry == Expiry::kFifo) {
      options_.compaction_style = rocksdb::kCompactionStyleFIFO;
      options_.compaction_options_fifo.max_table_files_size = UINT64_MAX;
      options_.ttl = settings.window_seconds;
    }
  }
  ~RocksDbStore() override {
    if (db_ != nullptr) db_->Close().PermitUncheckedError();
    db_.reset();
    rocksdb::DestroyDB(path_, options_).PermitUncheckedError();
  }

  absl::Status Open(const StoreSettings& settings) {
    TRELLIS_RETURN_IF_ERROR(FromRocksDb(rocksdb::DestroyDB(path_, options_)));
    rocksdb::DB* db = nullptr;
    if (settings.expiry == Expiry::kLimit || settings.expiry == Expiry::kPeriodic) {
      rocksdb::DBWithTTL* with_ttl = nullptr;
      TRELLIS_RETURN_IF_ERROR(FromRocksDb(rocksdb::DBWithTTL::Open(
          options_, path_, &with_ttl, static_cast<int32_t>(settings.window_seconds))));
      db = with_ttl;
    } else {
      TRELLIS_RETURN_IF_ERROR(FromRocksDb(rocksdb::DB::Open(options_, path_, &db)));
    }
    db_.reset(db);
    return absl::OkStatus();
  }

  absl::Status Write(const std::vector<Entry>& entries) override {
    rocksdb::WriteBatch batch;
    for (const Entry& entry : entries)
      TRELLIS_RETURN_IF_ERROR(FromRocksDb(batch.Put(entry.key, entry.value)));
    return FromRocksDb(db_->Write(rocksdb::WriteOptions(), &batch));
  }
  absl::StatusOr<bool> Get(const std::string& key, std::string* value) override {
    const rocksdb::Status status = db_->Get(read_options_, key, value);
    if (status.IsNotFound()) return false;
    if (!status.ok()) return FromRocksDb(status);
    return true;
  }
  // Each property may miss a job that starts just after it was read, so they must agree twice.  A
  // compaction that is pending, but does not begin, waits for the next flush: some tables that are
  // due by their time do.
  absl::Status Settle() override {
    constexpr int kQuietLooks = 2, kPendingLooks = 25;
    constexpr double kMostSeconds = 60;
    const auto begin = std::chrono::steady_clock::now();
    for (int looks = 1;; ++looks) {
      TRELLIS_ASSIGN_OR_RETURN(const uint64_t pending, SumOf({"rocksdb.compaction-pending"}));
      TRELLIS_ASSIGN_OR_RETURN(const uint64_t jobs, SumOf({"rocksdb.mem-table-flush-pending",
                                                           "rocksdb.num-running-flushes",
                                                           "rocksdb.num-running-compactions"}));
      if (jobs > 0) looks = 0;
      if (looks >= (pending > 0 ? kPendingLooks : kQuietLooks)) return absl::OkStatus();
      if (jobs == 0 && pending == 0) continue;
      if (SecondsSince(begin) > kMostSeconds)
        return absl::DeadlineExceededError("RocksDB: background work does not end");
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }
  absl::Status CompactAll() override {
    rocksdb::CompactRangeOptions options;
    options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
    return FromRocksDb(db_->CompactRange(options, nullptr, nullptr));
  }
  WorkDone Done() override {
    WorkDone done;
    if (options_.statistics == nullptr) return done;
    const rocksdb::Statistics& counts = *options_.statistics;
    done.log_bytes = counts.getTickerCount(rocksdb::WAL_FILE_BYTES);
    done.flush_bytes = counts.getTickerCount(rocksdb::FLUSH_WRITE_BYTES);
    done.compaction_bytes = counts.getTickerCount(rocksdb::COMPACT_WRITE_BYTES);
    done.entries_dropped = counts.getTickerCount(rocksdb::COMPACTION_KEY_DROP_USER);
    return done;
  }
  uint64_t TakeMostTableBytes() override { return events_->bytes.TakeMost(); }

 private:
  absl::StatusOr<uint64_t> SumOf(std::initializer_list<const char*> properties) {
    uint64_t sum = 0;
    for (const char* const name : properties) {
      uint64_t number = 0;
      if (!db_->GetIntProperty(name, &number))
        return absl::UnimplementedError(std::string("RocksDB: no property ") + name);
      sum += number;
    }
    return sum;
  }

  const std::string path_;
  const std::shared_ptr<RocksDbTables> events_ = std::make_shared<RocksDbTables>();
  const rocksdb::ReadOptions read_options_{};
  std::unique_ptr<rocksdb::Env> env_;
  rocksdb::Options options_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> MakeRocksDb(const StoreSettings& settings) {
  auto store = std::make_unique<RocksDbStore>(settings);
  TRELLIS_RETURN_IF_ERROR(store->Open(settings));
  return store;
}

bool HasRocksDb() { return true; }

}  // namespace bench::expiry
