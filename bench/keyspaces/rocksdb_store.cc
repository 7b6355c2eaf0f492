#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "bench/experiment/store_of_rocksdb.h"
#include "bench/keyspaces/store.h"
#include "bench/machine.h"
#include "lsm/bytes/status.h"

namespace bench::keyspaces {
namespace {

class RocksDbStore : public Store {
 public:
  explicit RocksDbStore(const StoreSettings& settings) : Store(settings) {
    options_ = OptionsOfRocksDb(settings.write_buffer_bytes, settings.block_cache_bytes);
    options_.arena_block_size = 8 << 10;  // by default a list with one entry takes 1 MiB
    options_.max_open_files = 512;        // so that an opening does not open all tables
  }
  ~RocksDbStore() override {
    if (db_ != nullptr) Close().IgnoreError();
    if (was_open_) rocksdb::DestroyDB(settings_.path, options_).PermitUncheckedError();
  }

  absl::Status Open() override {
    if (!std::exchange(was_open_, true)) {
      TRELLIS_RETURN_IF_ERROR(FromRocksDb(rocksdb::DestroyDB(settings_.path, options_)));
    }
    // All families must be opened, so their names must be known first.
    std::vector<std::string> names;
    if (!rocksdb::DB::ListColumnFamilies(options_, settings_.path, &names).ok())
      names = {rocksdb::kDefaultColumnFamilyName};  // the store is new
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    families.reserve(names.size());
    for (const std::string& name : names) families.emplace_back(name, options_);
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* db = nullptr;
    TRELLIS_RETURN_IF_ERROR(
        FromRocksDb(rocksdb::DB::Open(options_, settings_.path, families, &handles, &db)));
    db_.reset(db);
    for (size_t i = 0; i < names.size(); ++i) handles_[names[i]] = handles[i];
    return absl::OkStatus();
  }
  absl::Status Close() override {
    keyspaces_.clear();
    for (const auto& [name, handle] : handles_)
      db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    handles_.clear();
    const rocksdb::Status status = db_->Close();
    db_.reset();
    return FromRocksDb(status);
  }
  absl::Status OpenKeyspaces(const std::string& prefix, uint64_t count) override {
    std::vector<std::string> names, new_names;
    for (uint64_t i = 0; i < count; ++i) {
      names.push_back(lsm::Concat(prefix, i));
      if (!handles_.contains(names.back())) new_names.push_back(names.back());
    }
    // One by one, each creation would write the options of all families.
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    const rocksdb::Status status = db_->CreateColumnFamilies(options_, new_names, &handles);
    for (size_t i = 0; i < handles.size(); ++i) handles_[new_names[i]] = handles[i];
    TRELLIS_RETURN_IF_ERROR(FromRocksDb(status));
    for (const std::string& name : names) keyspaces_.push_back(handles_[name]);
    return absl::OkStatus();
  }
  // The files go with the handle, not with the call that drops.
  absl::Status Drop(size_t keyspace) override {
    rocksdb::ColumnFamilyHandle* const handle = keyspaces_[keyspace];
    TRELLIS_RETURN_IF_ERROR(FromRocksDb(db_->DropColumnFamily(handle)));
    handles_.erase(handle->GetName());
    return FromRocksDb(db_->DestroyColumnFamilyHandle(handle));
  }

  absl::Status Add(size_t keyspace, std::string_view key, std::string_view value) override {
    return FromRocksDb(batch_.Put(Family(keyspace), key, value));
  }
  absl::Status Write() override {
    TRELLIS_RETURN_IF_ERROR(FromRocksDb(db_->Write(rocksdb::WriteOptions(), &batch_)));
    batch_.Clear();
    return absl::OkStatus();
  }
  absl::StatusOr<bool> Get(size_t keyspace, const std::string& key, std::string* value) override {
    const rocksdb::Status status = db_->Get(read_options_, Family(keyspace), key, value);
    if (status.IsNotFound()) return false;
    if (!status.ok()) return FromRocksDb(status);
    return true;
  }
  absl::Status Do(Work work, size_t keyspace, std::span<const std::string> keys,
                  const std::string& value) override {
    switch (work) {
      case kGetPresent:
      case kGetAbsent:
        return GetEach(keyspace, keys, work == kGetPresent);
      case kMultiGet:
        return MultiGetEach(keyspace, keys);
      case kSeek:
        return SeekEach(keyspace, keys);
      default:
        for (const std::string& key : keys)
          TRELLIS_RETURN_IF_ERROR(
              FromRocksDb(db_->Put(rocksdb::WriteOptions(), Family(keyspace), key, value)));
        return absl::OkStatus();
    }
  }

  // The properties may miss a job that starts just after they were read, so they must agree twice.
  absl::Status WaitUntilQuiet() override {
    constexpr int kQuietLooks = 2;
    constexpr double kMostSeconds = 600;
    const auto begin = std::chrono::steady_clock::now();
    for (int looks = 0; looks < kQuietLooks;) {
      uint64_t due = 0, flushes = 0, compactions = 0, pending = 0;
      if (!db_->GetAggregatedIntProperty("rocksdb.mem-table-flush-pending", &due) ||
          !db_->GetAggregatedIntProperty("rocksdb.compaction-pending", &pending) ||
          !db_->GetIntProperty("rocksdb.num-running-flushes", &flushes) ||
          !db_->GetIntProperty("rocksdb.num-running-compactions", &compactions))
        return absl::UnimplementedError("RocksDB: it lacks a property");
      looks = due + pending + flushes + compactions == 0 ? looks + 1 : 0;
      if (looks > 0) continue;
      if (SecondsSince(begin) > kMostSeconds)
        return absl::DeadlineExceededError("RocksDB: background work does not end");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return absl::OkStatus();
  }
  absl::Status Settle() override {
    std::vector<rocksdb::ColumnFamilyHandle*> all;
    for (const auto& [name, handle] : handles_) all.push_back(handle);
    TRELLIS_RETURN_IF_ERROR(FromRocksDb(db_->Flush(rocksdb::FlushOptions(), all)));
    return WaitUntilQuiet();
  }
  absl::Status Compact(size_t keyspace) override {
    return FromRocksDb(db_->CompactRange({}, Family(keyspace), nullptr, nullptr));
  }
  uint64_t BytesOf(size_t keyspace) override {
    uint64_t bytes = 0;
    db_->GetIntProperty(Family(keyspace), "rocksdb.total-sst-files-size", &bytes);
    return bytes;
  }

 private:
  rocksdb::ColumnFamilyHandle* Family(size_t keyspace) {
    return keyspace == kDefault ? db_->DefaultColumnFamily() : keyspaces_[keyspace];
  }

  absl::Status GetEach(size_t keyspace, std::span<const std::string> keys, bool are_present) {
    rocksdb::ColumnFamilyHandle* const family = Family(keyspace);
    std::string value;
    for (const std::string& key : keys) {
      const rocksdb::Status status = db_->Get(read_options_, family, key, &value);
      if (!status.ok() && !status.IsNotFound()) return FromRocksDb(status);
      if (status.ok() != are_present) return WrongAnswer(key);
    }
    return absl::OkStatus();
  }
  absl::Status MultiGetEach(size_t keyspace, std::span<const std::string> keys) {
    std::array<rocksdb::Slice, kKeysPerMultiGet> some;
    std::array<rocksdb::PinnableSlice, kKeysPerMultiGet> values;
    std::array<rocksdb::Status, kKeysPerMultiGet> statuses;
    for (size_t i = 0, count = 0; i < keys.size(); i += count) {
      count = std::min(some.size(), keys.size() - i);
      std::copy_n(keys.begin() + static_cast<std::ptrdiff_t>(i), count, some.begin());
      db_->MultiGet(read_options_, Family(keyspace), count, some.data(), values.data(),
                    statuses.data());
      for (size_t j = 0; j < count; ++j) {
        if (statuses[j].IsNotFound()) return WrongAnswer(keys[i + j]);
        TRELLIS_RETURN_IF_ERROR(FromRocksDb(statuses[j]));
        values[j].Reset();
      }
    }
    return absl::OkStatus();
  }
  absl::Status SeekEach(size_t keyspace, std::span<const std::string> keys) {
    const std::unique_ptr<rocksdb::Iterator> iterator(
        db_->NewIterator(read_options_, Family(keyspace)));
    for (const std::string& key : keys) {
      iterator->Seek(key);
      if (!iterator->Valid() || iterator->key() != rocksdb::Slice(key)) return WrongAnswer(key);
      for (int i = 0; i < kStepsPerSeek && iterator->Valid(); ++i) iterator->Next();
    }
    return FromRocksDb(iterator->status());
  }

  const rocksdb::ReadOptions read_options_{};
  rocksdb::Options options_;
  std::unique_ptr<rocksdb::DB> db_;
  std::map<std::string, rocksdb::ColumnFamilyHandle*> handles_;  // by name
  std::vector<rocksdb::ColumnFamilyHandle*> keyspaces_;          // by number
  rocksdb::WriteBatch batch_;
  bool was_open_ = false;
};

}  // namespace

std::unique_ptr<Store> MakeRocksDb(const StoreSettings& settings) {
  return std::make_unique<RocksDbStore>(settings);
}

bool HasRocksDb() { return true; }

}  // namespace bench::keyspaces
