// Trellis, with the figures that only its parts need.
#ifndef TRELLIS_BENCH_KEYSPACES_TRELLIS_STORE_H_
#define TRELLIS_BENCH_KEYSPACES_TRELLIS_STORE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/keyspaces/store.h"
#include "lsm/db.h"
#include "lsm/event_listener.h"
#include "lsm/keyspace.h"
#include "lsm/write_batch.h"

namespace bench::keyspaces {

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

class TrellisStore : public Store {
 public:
  explicit TrellisStore(const StoreSettings& settings);
  ~TrellisStore() override;

  absl::Status Open() override;
  absl::Status Close() override;
  absl::Status OpenKeyspaces(const std::string& prefix, uint64_t count) override;
  absl::Status Drop(size_t keyspace) override;
  absl::Status Add(size_t keyspace, std::string_view key, std::string_view value) override;
  absl::Status Write() override;
  absl::StatusOr<bool> Get(size_t keyspace, const std::string& key, std::string* value) override;
  absl::Status Do(Work work, size_t keyspace, std::span<const std::string> keys,
                  const std::string& value) override;
  absl::Status WaitUntilQuiet() override { return db_->WaitForBackgroundWork(); }
  absl::Status Settle() override;
  absl::Status Compact(size_t keyspace) override;
  uint64_t BytesOf(size_t keyspace) override {
    return keyspaces_[keyspace].GetStatistics().table_bytes;
  }

  bool HasOwnTree(size_t keyspace) const {
    return keyspace == kDefault || keyspaces_[keyspace].GetStatistics().has_own_tree;
  }
  // REQUIRES: it is open.
  lsm::DB& db() { return *db_; }
  const std::string& NameOf(size_t keyspace) const { return keyspaces_[keyspace].name(); }
  size_t keyspaces() const { return keyspaces_.size(); }
  uint64_t flushed_tables() const { return flushed_tables_->tables(); }

 private:
  const std::shared_ptr<FlushedTables> flushed_tables_ = std::make_shared<FlushedTables>();
  lsm::Options options_;
  std::unique_ptr<lsm::DB> db_;
  std::vector<lsm::Keyspace> keyspaces_;
  lsm::WriteBatch batch_;
  bool was_open_ = false;
};

// Puts keys from 0 on until the keyspace has a tree of its own, and returns their number.
absl::StatusOr<uint64_t> GiveOwnTree(const Config& config, TrellisStore* store, size_t keyspace);

}  // namespace bench::keyspaces

#endif  // TRELLIS_BENCH_KEYSPACES_TRELLIS_STORE_H_
