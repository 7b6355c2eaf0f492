#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>

#include <atomic>
#include <charconv>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "bench/peers/peer.h"
#include "bench/peers/stores/slice_cursor.h"
#include "lsm/threads/mutex.h"

namespace bench::peers {
namespace {

absl::Status FromLevelDb(const leveldb::Status& status) {
  return status.ok() ? absl::OkStatus() : absl::UnknownError("LevelDB: " + status.ToString());
}

leveldb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

// The system's environment, with counters that LevelDB lacks: scheduled jobs, and reads of tables.
// LevelDB does not report that it is idle.  But a job that finds more to do schedules the next one
// before it ends, so no jobs means that nothing is due.
class CountingEnv : public leveldb::EnvWrapper {
 public:
  CountingEnv() : leveldb::EnvWrapper(leveldb::Env::Default()) {}

  void Schedule(void (*function)(void*), void* argument) override {
    {
      lsm::MutexLock lock(&mutex_);
      ++jobs_;
    }
    target()->Schedule(&RunJob, new Job{this, function, argument});
  }

  leveldb::Status NewRandomAccessFile(const std::string& name,
                                      leveldb::RandomAccessFile** file) override {
    const leveldb::Status status = target()->NewRandomAccessFile(name, file);
    if (status.ok() && counts_reads) *file = new CountingFile(*file, &reads);
    return status;
  }

  void WaitUntilIdle() {
    lsm::MutexLock lock(&mutex_);
    while (jobs_ > 0) idle_.Wait(&mutex_);
  }

  bool counts_reads = false;
  std::atomic<uint64_t> reads{0};

 private:
  struct Job {
    CountingEnv* env;
    void (*function)(void*);
    void* argument;
  };

  class CountingFile : public leveldb::RandomAccessFile {
   public:
    CountingFile(leveldb::RandomAccessFile* file, std::atomic<uint64_t>* reads)
        : file_(file), reads_(*reads) {}
    leveldb::Status Read(uint64_t offset, size_t bytes, leveldb::Slice* result,
                         char* scratch) const override {
      reads_.fetch_add(1, std::memory_order_relaxed);  // a counter; orders nothing
      return file_->Read(offset, bytes, result, scratch);
    }

   private:
    const std::unique_ptr<leveldb::RandomAccessFile> file_;
    std::atomic<uint64_t>& reads_;
  };

  static void RunJob(void* argument) {
    const std::unique_ptr<Job> job(static_cast<Job*>(argument));
    job->function(job->argument);
    lsm::MutexLock lock(&job->env->mutex_);
    if (--job->env->jobs_ == 0) job->env->idle_.SignalAll();
  }

  lsm::Mutex mutex_;
  lsm::CondVar idle_;
  int jobs_ ABSL_GUARDED_BY(mutex_) = 0;
};

using LevelDbCursor = SliceCursor<leveldb::Iterator, &FromLevelDb>;

class LevelDbReader : public Reader {
 public:
  explicit LevelDbReader(leveldb::DB* db) : db_(*db) {}

  Answer Get(std::string_view key, std::string_view* value) override {
    const leveldb::Status status = db_.Get(read_options_, ToSlice(key), &value_);
    if (status.IsNotFound()) return Answer::kAbsent;
    if (!status.ok()) [[unlikely]] {
      error_ = FromLevelDb(status);
      return Answer::kError;
    }
    *value = value_;
    return Answer::kFound;
  }

  absl::Status MultiGet(std::span<const std::string_view>,
                        std::vector<std::optional<std::string_view>>*) override {
    return absl::UnimplementedError("LevelDB: MultiGet");
  }

  std::unique_ptr<Cursor> NewCursor() override {
    return std::make_unique<LevelDbCursor>(db_.NewIterator(read_options_));
  }

 private:
  const leveldb::ReadOptions read_options_{};
  leveldb::DB& db_;
  std::string value_;
};

class LevelDbPeer : public Peer {
 public:
  ~LevelDbPeer() override { (void)Close(); }

  std::string name() const override {
    return "LevelDB " + std::to_string(leveldb::kMajorVersion) + "." +
           std::to_string(leveldb::kMinorVersion);
  }

  std::string details() const override {
    return "Snappy; Bloom filter set in bits per key; tables of 2 MiB (its default); a filter for "
           "each 2 KiB, asked after the index; tables are opened when first read, and closed when "
           "990 others are open";
  }

  bool has_direct_reads() const override { return false; }
  bool has_multi_get() const override { return false; }

  absl::Status Open(const std::string& directory, const PeerSettings& settings,
                    Begin begin) override {
    leveldb::Options options;
    if (begin == Begin::kAnew) {
      const leveldb::Status destroyed = leveldb::DestroyDB(directory, options);
      if (!destroyed.ok()) return FromLevelDb(destroyed);
    }
    cache_.reset(leveldb::NewLRUCache(settings.block_cache_bytes));
    filter_.reset(leveldb::NewBloomFilterPolicy(settings.bits_per_key));
    env_.counts_reads = settings.counts_reads;
    options.env = &env_;
    options.create_if_missing = begin == Begin::kAnew;
    options.error_if_exists = begin == Begin::kAnew;
    options.write_buffer_size = settings.write_buffer_bytes;
    if (settings.table_bytes > 0) options.max_file_size = settings.table_bytes;  // at least 1 MiB
    options.block_size = settings.block_bytes;
    options.block_cache = cache_.get();
    options.filter_policy = filter_.get();
    options.compression = leveldb::kSnappyCompression;
    leveldb::DB* db = nullptr;
    const leveldb::Status status = leveldb::DB::Open(options, directory, &db);
    db_.reset(db);
    return FromLevelDb(status);
  }

  absl::Status Close() override {
    db_.reset();
    env_.WaitUntilIdle();  // its last job is done, but may not be counted yet
    cache_.reset();
    filter_.reset();
    return absl::OkStatus();
  }

  absl::Status Put(std::string_view key, std::string_view value) override {
    return FromLevelDb(db_->Put({}, ToSlice(key), ToSlice(value)));
  }
  absl::Status Delete(std::string_view key) override {
    return FromLevelDb(db_->Delete({}, ToSlice(key)));
  }

  absl::Status WaitUntilQuiet() override {
    env_.WaitUntilIdle();
    return absl::OkStatus();
  }

  absl::Status CompactAll() override {
    db_->CompactRange(nullptr, nullptr);
    return absl::OkStatus();
  }

  std::unique_ptr<Reader> NewReader() override {
    return std::make_unique<LevelDbReader>(db_.get());
  }
  std::shared_ptr<const void> TakeSnapshot() override {
    return {db_->GetSnapshot(),
            [db = db_.get()](const leveldb::Snapshot* snapshot) { db->ReleaseSnapshot(snapshot); }};
  }

  std::optional<uint64_t> data_block_reads() override {
    if (!env_.counts_reads) return std::nullopt;
    return env_.reads.load(std::memory_order_relaxed);
  }

  absl::StatusOr<PeerFigures> Figures() override {
    PeerFigures figures;
    figures.sorted_runs = 0;
    figures.tables = 0;
    for (int level = 0; level < 7; ++level) {
      std::string text;
      const std::string property = "leveldb.num-files-at-level" + std::to_string(level);
      uint64_t files = 0;
      if (!db_->GetProperty(property, &text) ||
          std::from_chars(text.data(), text.data() + text.size(), files).ec != std::errc())
        return absl::UnimplementedError("LevelDB: no property " + property);
      *figures.tables += files;
      *figures.sorted_runs += level == 0 ? files : files > 0 ? 1 : 0;
    }
    uint64_t bytes = 0;
    const std::string beyond(32, '\xff');
    const leveldb::Range all("", beyond);
    db_->GetApproximateSizes(&all, 1, &bytes);
    figures.table_bytes = bytes;
    return figures;
  }

 private:
  CountingEnv env_;
  std::unique_ptr<leveldb::Cache> cache_;
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  std::unique_ptr<leveldb::DB> db_;
};

}  // namespace

std::unique_ptr<Peer> NewLevelDbPeer() { return std::make_unique<LevelDbPeer>(); }

}  // namespace bench::peers
