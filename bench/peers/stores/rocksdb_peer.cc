#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/metadata.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>
#include <rocksdb/version.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "bench/experiment/store_of_rocksdb.h"
#include "bench/peers/peer.h"
#include "bench/peers/stores/slice_cursor.h"

namespace bench::peers {
namespace {

rocksdb::Slice ToRocksDbSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

// Counts reads of tables; each block of a MultiRead counts as one.
class CountingFile : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  CountingFile(std::unique_ptr<rocksdb::FSRandomAccessFile>&& file, std::atomic<uint64_t>* reads)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), reads_(*reads) {}

  rocksdb::IOStatus Read(uint64_t offset, size_t bytes, const rocksdb::IOOptions& options,
                         rocksdb::Slice* result, char* scratch,
                         rocksdb::IODebugContext* context) const override {
    reads_.fetch_add(1, std::memory_order_relaxed);  // a counter; orders nothing
    return FSRandomAccessFileOwnerWrapper::Read(offset, bytes, options, result, scratch, context);
  }
  rocksdb::IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count,
                              const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* context) override {
    reads_.fetch_add(count, std::memory_order_relaxed);
    return FSRandomAccessFileOwnerWrapper::MultiRead(requests, count, options, context);
  }

 private:
  std::atomic<uint64_t>& reads_;
};

class CountingFileSystem : public rocksdb::FileSystemWrapper {
 public:
  CountingFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  static const char* kClassName() { return "CountingFileSystem"; }
  const char* Name() const override { return kClassName(); }

  rocksdb::IOStatus NewRandomAccessFile(const std::string& name,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* context) override {
    const rocksdb::IOStatus status = target()->NewRandomAccessFile(name, options, file, context);
    if (status.ok()) *file = std::make_unique<CountingFile>(std::move(*file), &reads);
    return status;
  }

  std::atomic<uint64_t> reads{0};
};

using RocksDbCursor = SliceCursor<rocksdb::Iterator, &FromRocksDb>;

class RocksDbReader : public Reader {
 public:
  explicit RocksDbReader(rocksdb::DB* db) : db_(*db) {}

  Answer Get(std::string_view key, std::string_view* value) override {
    value_.Reset();
    const rocksdb::Status status =
        db_.Get(read_options_, db_.DefaultColumnFamily(), ToRocksDbSlice(key), &value_);
    if (status.IsNotFound()) return Answer::kAbsent;
    if (!status.ok()) [[unlikely]] {
      error_ = FromRocksDb(status);
      return Answer::kError;
    }
    *value = ToView(value_);
    return Answer::kFound;
  }

  absl::Status MultiGet(std::span<const std::string_view> keys,
                        std::vector<std::optional<std::string_view>>* values) override {
    slices_.clear();
    for (const std::string_view key : keys) slices_.push_back(ToRocksDbSlice(key));
    statuses_.resize(keys.size());
    if (values_.size() < keys.size()) values_ = std::vector<rocksdb::PinnableSlice>(keys.size());
    for (rocksdb::PinnableSlice& value : values_) value.Reset();
    db_.MultiGet(read_options_, db_.DefaultColumnFamily(), keys.size(), slices_.data(),
                 values_.data(), statuses_.data(), /*sorted_input=*/false);
    values->assign(keys.size(), std::nullopt);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (statuses_[i].ok()) {
        (*values)[i] = ToView(values_[i]);
      } else if (!statuses_[i].IsNotFound()) {
        return FromRocksDb(statuses_[i]);
      }
    }
    return absl::OkStatus();
  }

  std::unique_ptr<Cursor> NewCursor() override {
    return std::make_unique<RocksDbCursor>(db_.NewIterator(read_options_));
  }

 private:
  const rocksdb::ReadOptions read_options_{};
  rocksdb::DB& db_;
  rocksdb::PinnableSlice value_;
  std::vector<rocksdb::Slice> slices_;
  std::vector<rocksdb::PinnableSlice> values_;
  std::vector<rocksdb::Status> statuses_;
};

class RocksDbPeer : public Peer {
 public:
  std::string name() const override {
    return "RocksDB " + std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR);
  }

  std::string details() const override {
    return "LZ4; full Bloom filter set in bits per key, resident; keeps all tables open "
           "(max_open_files -1); Debian's package has no AVX2 code";
  }

  bool has_direct_reads() const override { return true; }
  bool has_multi_get() const override { return true; }
  bool has_delete_range() const override { return true; }

  absl::Status Open(const std::string& directory, const PeerSettings& settings,
                    Begin begin) override {
    rocksdb::Options options;
    if (begin == Begin::kAnew) {
      const rocksdb::Status destroyed = rocksdb::DestroyDB(directory, options);
      if (!destroyed.ok()) return FromRocksDb(destroyed);
    }
    rocksdb::BlockBasedTableOptions table;
    if (settings.block_cache_bytes == 0) {
      table.no_block_cache = true;
    } else {
      table.block_cache = rocksdb::NewLRUCache(settings.block_cache_bytes);
    }
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(settings.bits_per_key));
    table.block_size = settings.block_bytes;
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    options.create_if_missing = begin == Begin::kAnew;
    options.error_if_exists = begin == Begin::kAnew;
    options.write_buffer_size = settings.write_buffer_bytes;
    if (settings.table_bytes > 0) options.target_file_size_base = settings.table_bytes;
    options.compression = rocksdb::kLZ4Compression;
    options.use_direct_reads = settings.direct_reads;
    if (settings.counts_reads) {
      files_ = std::make_shared<CountingFileSystem>();
      env_ = rocksdb::NewCompositeEnv(files_);
      options.env = env_.get();
    }
    rocksdb::DB* db = nullptr;
    const rocksdb::Status status = rocksdb::DB::Open(options, directory, &db);
    db_.reset(db);
    return FromRocksDb(status);
  }

  absl::Status Close() override {
    const rocksdb::Status status = db_ == nullptr ? rocksdb::Status() : db_->Close();
    db_.reset();
    env_.reset();
    files_.reset();
    return FromRocksDb(status);
  }

  absl::Status Put(std::string_view key, std::string_view value) override {
    return FromRocksDb(db_->Put(write_options_, ToRocksDbSlice(key), ToRocksDbSlice(value)));
  }
  absl::Status Delete(std::string_view key) override {
    return FromRocksDb(db_->Delete(write_options_, ToRocksDbSlice(key)));
  }
  absl::Status DeleteRange(std::string_view from, std::string_view to) override {
    return FromRocksDb(db_->DeleteRange(write_options_, db_->DefaultColumnFamily(),
                                        ToRocksDbSlice(from), ToRocksDbSlice(to)));
  }

  // This version has no call for it.  Each property may miss a job that starts just after it was
  // read.  Reading all four takes a while, so they must agree several times.
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

  // Rewrites the last level too, like the other stores, so that no obsolete data stays.
  absl::Status CompactAll() override {
    rocksdb::CompactRangeOptions options;
    options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
    return FromRocksDb(db_->CompactRange(options, nullptr, nullptr));
  }

  std::unique_ptr<Reader> NewReader() override {
    return std::make_unique<RocksDbReader>(db_.get());
  }
  std::shared_ptr<const void> TakeSnapshot() override {
    return {db_->GetSnapshot(),
            [db = db_.get()](const rocksdb::Snapshot* snapshot) { db->ReleaseSnapshot(snapshot); }};
  }

  std::optional<uint64_t> data_block_reads() override {
    if (files_ == nullptr) return std::nullopt;
    return files_->reads.load(std::memory_order_relaxed);
  }

  absl::StatusOr<PeerFigures> Figures() override {
    PeerFigures figures;
    rocksdb::ColumnFamilyMetaData meta;
    db_->GetColumnFamilyMetaData(&meta);
    figures.sorted_runs = 0;
    figures.table_bytes = meta.size;
    figures.tables = meta.file_count;
    for (const rocksdb::LevelMetaData& level : meta.levels) {
      const uint64_t files = level.files.size();
      *figures.sorted_runs += level.level == 0 ? files : files > 0 ? 1 : 0;
    }
    rocksdb::TablePropertiesCollection tables;
    const rocksdb::Status status = db_->GetPropertiesOfAllTables(&tables);
    if (!status.ok()) return FromRocksDb(status);
    figures.filter_bytes = 0;
    for (const auto& [name, properties] : tables) *figures.filter_bytes += properties->filter_size;
    return figures;
  }

 private:
  const rocksdb::WriteOptions write_options_{};
  std::shared_ptr<CountingFileSystem> files_;
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace

std::unique_ptr<Peer> NewRocksDbPeer() { return std::make_unique<RocksDbPeer>(); }

}  // namespace bench::peers
