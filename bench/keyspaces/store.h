// A store of keyspaces_bench.
#ifndef TRELLIS_BENCH_KEYSPACES_STORE_H_
#define TRELLIS_BENCH_KEYSPACES_STORE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/keyspaces/config.h"
#include "bench/workload.h"
#include "lsm/db.h"
#include "lsm/event_listener.h"
#include "lsm/keyspace.h"
#include "lsm/write_batch.h"

namespace bench::keyspaces {

// The files of a store at some moment.
struct Files {
  uint64_t log_bytes = 0;
  uint64_t logs = 0;
  uint64_t tables = 0;
  uint64_t table_bytes = 0;
  uint64_t smallest_table_bytes = 0;  // 0 without tables
};

// Counts the tables that flushes write.
class FlushedTables : public lsm::EventListener {
 public:
  void OnFlushEnd(const lsm::FlushEnd& event) override {
    // Relaxed: counts that publish nothing.
    if (event.status.ok()) tables_.fetch_add(event.outputs.size(), std::memory_order_relaxed);
  }
  uint64_t tables() const { return tables_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> tables_ = 0;
};

// It begins empty.  The destructor removes its files.
class Store {
 public:
  Store(const Config& config, const std::string& name);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  lsm::Options& options() { return options_; }

  // Opens it, again after a Close.  The first opening removes files of an earlier run.
  absl::Status Open();
  absl::Status Close();
  // REQUIRES: it is open.
  lsm::DB& db() { return *db_; }
  Files GetFiles() const;
  uint64_t flushed_tables() const { return flushed_tables_->tables(); }

  // Flushes, and waits until nothing is due.
  absl::Status Settle();
  // Opens or creates `count` keyspaces, whose names begin with `prefix`.
  absl::StatusOr<std::vector<lsm::Keyspace>> OpenKeyspaces(const std::string& prefix,
                                                           uint64_t count);

 private:
  const std::string path_;
  const std::shared_ptr<FlushedTables> flushed_tables_ = std::make_shared<FlushedTables>();
  lsm::Options options_;
  std::unique_ptr<lsm::DB> db_;
  bool was_open_ = false;
};

// Writes entries in batches.  Null is "default".
class Feeder {
 public:
  Feeder(const Config& config, lsm::DB* db, uint64_t value_bytes);

  // The key of this number, with a value that follows from it.
  absl::Status Put(const lsm::Keyspace* keyspace, uint64_t number);
  // Writes what is left of the last batch.
  absl::Status Finish();
  // Puts the keys from `first` on.
  absl::Status Fill(const lsm::Keyspace* keyspace, uint64_t first, uint64_t count);

 private:
  const Config& config_;
  lsm::DB& db_;
  const ValueMaker values_;
  lsm::WriteBatch batch_;
  std::string value_;
};

// Puts keys from 0 on until the keyspace has a tree of its own, and returns their number.
absl::StatusOr<uint64_t> GiveOwnTree(const Config& config, Store* store,
                                     const lsm::Keyspace& keyspace);

// As many as a store may have, and a note if these are fewer.
uint64_t Allowed(uint64_t keyspaces, std::vector<std::string>* notes);

}  // namespace bench::keyspaces

#endif  // TRELLIS_BENCH_KEYSPACES_STORE_H_
