// RocksDB, as experiments measure it beside Trellis.
#ifndef TRELLIS_BENCH_EXPERIMENT_STORE_OF_ROCKSDB_H_
#define TRELLIS_BENCH_EXPERIMENT_STORE_OF_ROCKSDB_H_

#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/status.h>
#include <rocksdb/table.h>

#include <cstdint>

#include "absl/status/status.h"

namespace bench {

inline absl::Status FromRocksDb(const rocksdb::Status& status) {
  return status.ok() ? absl::OkStatus() : absl::UnknownError("RocksDB: " + status.ToString());
}

// The same sizes as in OptionsOfTrellis, and filters of 10 bits a key.
inline rocksdb::Options OptionsOfRocksDb(uint64_t write_buffer_bytes, uint64_t block_cache_bytes) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(block_cache_bytes);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  rocksdb::Options options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.create_if_missing = true;
  options.write_buffer_size = write_buffer_bytes;
  options.target_file_size_base = write_buffer_bytes;
  options.max_bytes_for_level_base = 4 * write_buffer_bytes;
  options.compression = rocksdb::kNoCompression;
  return options;
}

}  // namespace bench

#endif  // TRELLIS_BENCH_EXPERIMENT_STORE_OF_ROCKSDB_H_
