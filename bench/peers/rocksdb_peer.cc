#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "bench/peers/peer.h"

namespace bench {
namespace {

absl::Status ToAbsl(const rocksdb::Status& status) {
  return status.ok() ? absl::OkStatus() : absl::UnknownError("RocksDB: " + status.ToString());
}

rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

class RocksDbPeer : public Peer {
 public:
  std::string name() const override {
    return "RocksDB " + std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR);
  }

  std::string details() const override {
    return "LZ4; full Bloom filter by bits a key, resident; Debian's package has no AVX2 code";
  }

  absl::Status Open(const std::string& directory, const PeerSettings& settings) override {
    rocksdb::Options options;
    const rocksdb::Status destroyed = rocksdb::DestroyDB(directory, options);
    if (!destroyed.ok()) return ToAbsl(destroyed);
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = rocksdb::NewLRUCache(settings.block_cache_bytes);
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(settings.bits_per_key));
    table.block_size = settings.block_bytes;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    options.create_if_missing = true;
    options.error_if_exists = true;
    options.write_buffer_size = settings.write_buffer_bytes;
    options.compression = rocksdb::kLZ4Compression;
    rocksdb::DB* db = nullptr;
    const rocksdb::Status status = rocksdb::DB::Open(options, directory, &db);
    db_.reset(db);
    return ToAbsl(status);
  }

  absl::Status Close() override {
    value_.Reset();
    const rocksdb::Status status = db_ == nullptr ? rocksdb::Status() : db_->Close();
    db_.reset();
    return ToAbsl(status);
  }

  absl::Status Put(std::string_view key, std::string_view value) override {
    return ToAbsl(db_->Put(write_options_, ToSlice(key), ToSlice(value)));
  }

  // This version has no call for it.  Each of these tells of a job until the next one does, but one
  // look at all four takes a while, so they are to agree several times.
  absl::Status WaitUntilQuiet() override {
    constexpr int kQuietLooks = 3;
    for (int quiet = 0; quiet < kQuietLooks; ++quiet) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      for (const char* const name :
           {"rocksdb.mem-table-flush-pending", "rocksdb.num-running-flushes",
            "rocksdb.compaction-pending", "rocksdb.num-running-compactions"}) {
        uint64_t jobs = 0;
        if (!db_->GetIntProperty(name, &jobs)) {
          return absl::UnimplementedError(std::string("RocksDB: no property ") + name);
        }
        if (jobs > 0) quiet = -1;
      }
    }
    return absl::OkStatus();
  }

  absl::Status CompactAll() override { return ToAbsl(db_->CompactRange({}, nullptr, nullptr)); }

  absl::Status Scan(uint64_t* entries) override {
    const std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator({}));
    *entries = 0;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) ++*entries;
    return ToAbsl(iterator->status());
  }

  Answer Get(std::string_view key, std::string_view* value) override {
    value_.Reset();
    const rocksdb::Status status =
        db_->Get(read_options_, db_->DefaultColumnFamily(), ToSlice(key), &value_);
    if (status.IsNotFound()) return Answer::kAbsent;
    if (!status.ok()) [[unlikely]] {
      error_ = ToAbsl(status);
      return Answer::kError;
    }
    *value = {value_.data(), value_.size()};
    return Answer::kFound;
  }

 private:
  const rocksdb::ReadOptions read_options_{};
  const rocksdb::WriteOptions write_options_{};
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::PinnableSlice value_;
};

}  // namespace

std::unique_ptr<Peer> NewRocksDbPeer() { return std::make_unique<RocksDbPeer>(); }

}  // namespace bench
