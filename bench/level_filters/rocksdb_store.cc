// Compiled only in builds with RocksDB; no_rocksdb.cc replaces it elsewhere.
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/metadata.h>
#include <rocksdb/options.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>
#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <thread>
#include <utility>

#include "bench/level_filters/store.h"
#include "lsm/bytes/status.h"

namespace bench::level_filters {
namespace {

absl::Status ToAbsl(const rocksdb::Status& status) {
  return status.ok() ? absl::OkStatus() : absl::UnknownError("RocksDB: " + status.ToString());
}
rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

// Without a block cache every lookup of a block reads it, so RocksDB's thread-local counters count
// reads of data blocks.  Filters and indexes are resident.
class RocksDbStore : public Store {
 public:
  absl::Status Open(const std::string& directory, const ComparedStore& config,
                    const StoreShape& shape) {
    rocksdb::Options options;
    TRELLIS_RETURN_IF_ERROR(ToAbsl(rocksdb::DestroyDB(directory, options)));
    rocksdb::BlockBasedTableOptions table;
    table.no_block_cache = true;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(config.bits_per_key));
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    options.create_if_missing = true;
    options.error_if_exists = true;
    options.compression = rocksdb::kLZ4Compression;
    options.write_buffer_size = shape.write_buffer_bytes;
    options.target_file_size_base = shape.table_bytes;
    options.max_bytes_for_level_base = shape.level1_bytes;
    rocksdb::DB* db = nullptr;
    const rocksdb::Status status = rocksdb::DB::Open(options, directory, &db);
    db_.reset(db);
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
    rocksdb::get_perf_context()->EnablePerLevelPerfContext();
    return ToAbsl(status);
  }

  absl::Status Write(std::string_view key, std::string_view value) override {
    return ToAbsl(db_->Put({}, ToSlice(key), ToSlice(value)));
  }

  // Each property may miss a job that starts just after it was read.  Reading all takes a while, so
  // they must agree several times.
  absl::Status Settle() override {
    TRELLIS_RETURN_IF_ERROR(ToAbsl(db_->Flush({})));
    constexpr int kQuietLooks = 3;
    for (int quiet = 0; quiet < kQuietLooks; ++quiet) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      for (const char* const name :
           {"rocksdb.compaction-pending", "rocksdb.num-running-compactions"}) {
        uint64_t jobs = 0;
        if (!db_->GetIntProperty(name, &jobs))
          return absl::UnimplementedError(std::string("RocksDB: no property ") + name);
        if (jobs > 0) quiet = -1;
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<bool> Get(std::string_view key, std::string* value) override {
    const uint64_t before = rocksdb::get_perf_context()->block_read_count;
    const rocksdb::Status status = db_->Get({}, ToSlice(key), value);
    const uint64_t reads = rocksdb::get_perf_context()->block_read_count - before;
    if (!status.ok() && !status.IsNotFound()) return ToAbsl(status);
    wasted_reads_ += reads - (status.ok() ? 1 : 0);
    return status.ok();
  }

  uint64_t wasted_reads() override { return wasted_reads_; }

  absl::StatusOr<std::optional<int>> LevelOf(std::string_view key) override {
    // PerfContext::Reset does not reset these counters.
    const auto answers_by_level = [] {
      std::map<uint32_t, uint64_t> answers;
      const auto* levels = rocksdb::get_perf_context()->level_to_perf_context;
      if (levels == nullptr) return answers;
      for (const auto& [level, counts] : *levels) answers[level] = counts.user_key_return_count;
      return answers;
    };
    std::map<uint32_t, uint64_t> before = answers_by_level();
    std::string value;
    const rocksdb::Status status = db_->Get({}, ToSlice(key), &value);
    if (status.IsNotFound()) return std::nullopt;
    if (!status.ok()) return ToAbsl(status);
    for (const auto& [level, answers] : answers_by_level()) {
      if (answers > before[level]) return static_cast<int>(level);
    }
    return absl::InternalError("RocksDB does not say which level has a key");
  }

  absl::StatusOr<std::vector<LevelRow>> Levels() override {
    rocksdb::TablePropertiesCollection tables;
    TRELLIS_RETURN_IF_ERROR(ToAbsl(db_->GetPropertiesOfAllTables(&tables)));
    std::map<std::string, const rocksdb::TableProperties*> by_name;
    for (const auto& [path, properties] : tables)
      by_name[std::filesystem::path(path).filename().string()] = properties.get();
    rocksdb::ColumnFamilyMetaData meta;
    db_->GetColumnFamilyMetaData(&meta);
    std::vector<LevelRow> rows;
    for (const rocksdb::LevelMetaData& level : meta.levels) {
      if (level.files.empty()) continue;
      LevelRow row;
      row.level = level.level;
      row.kind = "RocksDB's";
      for (const rocksdb::SstFileMetaData& file : level.files) {
        const auto found = by_name.find(std::filesystem::path(file.name).filename().string());
        if (found == by_name.end()) return absl::InternalError("RocksDB: no table " + file.name);
        row.tables += 1;
        row.keys += found->second->num_entries;
        row.filter_bytes += found->second->filter_size;
      }
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  uint64_t wasted_reads_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Store>> MakeRocksDb(const std::string& directory,
                                                   const ComparedStore& config,
                                                   const StoreShape& shape) {
  auto store = std::make_unique<RocksDbStore>();
  TRELLIS_RETURN_IF_ERROR(store->Open(directory, config, shape));
  return store;
}

bool HasRocksDb() { return true; }

}  // namespace bench::level_filters
