#include <utility>

#include "bench/experiment/store_of_trellis.h"
#include "bench/expiry/store.h"
#include "bench/workload.h"
#include "lsm/bytes/status.h"
#include "lsm/db.h"
#include "lsm/event_listener.h"
#include "lsm/fs/file_names.h"
#include "lsm/fs/seeded_random.h"
#include "lsm/keyspace.h"
#include "lsm/write_batch.h"

namespace bench::expiry {
namespace {

constexpr char kKeyspace[] = "entries";

bool IsTable(const std::string& path) {
  return lsm::IsTableFileName(path.substr(path.rfind('/') + 1));
}

class TableEvents : public lsm::EventListener {
 public:
  void OnFileCreated(const lsm::FileCreated& event) override {
    if (IsTable(event.path)) bytes.Add(event.bytes);
  }
  void OnFileRemoved(const lsm::FileRemoved& event) override {
    if (IsTable(event.path)) bytes.Remove(event.bytes);
  }
  void OnCompactionEnd(const lsm::CompactionEnd& event) override {
    entries_dropped.fetch_add(event.entries_dropped);
  }

  TableBytes bytes;
  std::atomic<uint64_t> entries_dropped = 0;
};

class TrellisStore : public Store {
 public:
  explicit TrellisStore(const StoreSettings& settings)
      : path_(settings.path), random_(StoreSeed(settings.seed, "expiry")) {
    options_ = OptionsOfTrellis(settings.write_buffer_bytes, settings.block_cache_bytes);
    options_.listener = events_;
    options_.environment.clock = settings.clock;
    options_.environment.random = &random_;
  }
  ~TrellisStore() override {
    keyspace_ = {};
    db_.reset();
    lsm::DB::Destroy(path_, options_).IgnoreError();
  }

  absl::Status Open(const StoreSettings& settings) {
    TRELLIS_RETURN_IF_ERROR(lsm::DB::Destroy(path_, options_));
    TRELLIS_ASSIGN_OR_RETURN(db_, lsm::DB::Open(path_, options_));
    lsm::KeyspaceOptions options;
    if (settings.expiry != Expiry::kNone) options.expire_after = settings.window_seconds;
    TRELLIS_ASSIGN_OR_RETURN(keyspace_, db_->OpenKeyspace(kKeyspace, options));
    return absl::OkStatus();
  }

  absl::Status Write(const std::vector<Entry>& entries) override {
    batch_.Clear();
    for (const Entry& entry : entries) batch_.Put(keyspace_, entry.key, entry.value);
    return db_->Write(batch_);
  }
  absl::StatusOr<bool> Get(const std::string& key, std::string* value) override {
    return std::as_const(keyspace_).Get(key, value);
  }
  absl::Status Settle() override { return db_->WaitForBackgroundWork(); }
  absl::Status CompactAll() override {
    TRELLIS_RETURN_IF_ERROR(db_->Flush());
    TRELLIS_RETURN_IF_ERROR(keyspace_.CompactRange());
    return Settle();
  }
  WorkDone Done() override {
    const lsm::Statistics statistics = db_->GetStatistics();
    WorkDone done;
    done.log_bytes = statistics.log_bytes_written;
    done.flush_bytes = statistics.flush_bytes_written;
    done.compaction_bytes = statistics.compaction_bytes_written;
    done.tables_dropped = statistics.tables_dropped_unread;
    done.entries_dropped = events_->entries_dropped.load();
    return done;
  }
  uint64_t TakeMostTableBytes() override { return events_->bytes.TakeMost(); }

 private:
  const std::string path_;
  const std::shared_ptr<TableEvents> events_ = std::make_shared<TableEvents>();
  lsm::SeededRandom random_;
  lsm::Options options_;
  std::unique_ptr<lsm::DB> db_;
  lsm::Keyspace keyspace_;
  lsm::WriteBatch batch_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> MakeTrellis(const StoreSettings& settings) {
  auto store = std::make_unique<TrellisStore>(settings);
  TRELLIS_RETURN_IF_ERROR(store->Open(settings));
  return store;
}

}  // namespace bench::expiry
