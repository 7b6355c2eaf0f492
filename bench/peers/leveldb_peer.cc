#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>

#include <memory>
#include <string>

#include "absl/synchronization/mutex.h"
#include "bench/peers/peer.h"

namespace bench {
namespace {

absl::Status ToAbsl(const leveldb::Status& status) {
  return status.ok() ? absl::OkStatus() : absl::UnknownError("LevelDB: " + status.ToString());
}

leveldb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

// The system's, with the jobs counted that the store has given it.  LevelDB tells nobody when it is
// done; but a job that finds more to do schedules the next one before it ends, so that there are
// none only when nothing is due.
class CountingEnv : public leveldb::EnvWrapper {
 public:
  CountingEnv() : leveldb::EnvWrapper(leveldb::Env::Default()) {}

  void Schedule(void (*function)(void*), void* argument) override {
    {
      absl::MutexLock lock(&mutex_);
      ++jobs_;
    }
    target()->Schedule(&RunJob, new Job{this, function, argument});
  }

  void WaitUntilIdle() {
    const auto idle = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return jobs_ == 0; };
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&idle));
  }

 private:
  struct Job {
    CountingEnv* env;
    void (*function)(void*);
    void* argument;
  };

  static void RunJob(void* argument) {
    const std::unique_ptr<Job> job(static_cast<Job*>(argument));
    job->function(job->argument);
    absl::MutexLock lock(&job->env->mutex_);
    --job->env->jobs_;
  }

  absl::Mutex mutex_;
  int jobs_ ABSL_GUARDED_BY(mutex_) = 0;
};

class LevelDbPeer : public Peer {
 public:
  ~LevelDbPeer() override { (void)Close(); }

  std::string name() const override {
    return "LevelDB " + std::to_string(leveldb::kMajorVersion) + "." +
           std::to_string(leveldb::kMinorVersion);
  }

  std::string details() const override {
    return "Snappy; Bloom filter by bits a key; tables of 2 MiB (its default); a filter for each "
           "2 KiB, asked after the index";
  }

  absl::Status Open(const std::string& directory, const PeerSettings& settings) override {
    leveldb::Options options;
    const leveldb::Status destroyed = leveldb::DestroyDB(directory, options);
    if (!destroyed.ok()) return ToAbsl(destroyed);
    cache_.reset(leveldb::NewLRUCache(settings.block_cache_bytes));
    filter_.reset(leveldb::NewBloomFilterPolicy(settings.bits_per_key));
    options.env = &env_;
    options.create_if_missing = true;
    options.error_if_exists = true;
    options.write_buffer_size = settings.write_buffer_bytes;
    options.block_size = settings.block_bytes;
    options.block_cache = cache_.get();
    options.filter_policy = filter_.get();
    options.compression = leveldb::kSnappyCompression;
    leveldb::DB* db = nullptr;
    const leveldb::Status status = leveldb::DB::Open(options, directory, &db);
    db_.reset(db);
    return ToAbsl(status);
  }

  absl::Status Close() override {
    db_.reset();
    env_.WaitUntilIdle();  // its last job is done, but may not have been counted yet
    cache_.reset();
    filter_.reset();
    return absl::OkStatus();
  }

  absl::Status Put(std::string_view key, std::string_view value) override {
    return ToAbsl(db_->Put({}, ToSlice(key), ToSlice(value)));
  }

  absl::Status WaitUntilQuiet() override {
    env_.WaitUntilIdle();
    return absl::OkStatus();
  }

  absl::Status CompactAll() override {
    db_->CompactRange(nullptr, nullptr);
    return absl::OkStatus();
  }

  absl::Status Scan(uint64_t* entries) override {
    const std::unique_ptr<leveldb::Iterator> iterator(db_->NewIterator({}));
    *entries = 0;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) ++*entries;
    return ToAbsl(iterator->status());
  }

  Answer Get(std::string_view key, std::string_view* value) override {
    const leveldb::Status status = db_->Get(read_options_, ToSlice(key), &value_);
    if (status.IsNotFound()) return Answer::kAbsent;
    if (!status.ok()) [[unlikely]] {
      error_ = ToAbsl(status);
      return Answer::kError;
    }
    *value = value_;
    return Answer::kFound;
  }

 private:
  const leveldb::ReadOptions read_options_{};
  CountingEnv env_;
  std::unique_ptr<leveldb::Cache> cache_;
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  std::unique_ptr<leveldb::DB> db_;
  std::string value_;
};

}  // namespace

std::unique_ptr<Peer> NewLevelDbPeer() { return std::make_unique<LevelDbPeer>(); }

}  // namespace bench
