#include "bench/read_amp/stores.h"

#include <algorithm>
#include <cstdio>

#include "bench/table.h"
#include "bench/workload.h"
#include "lsm/bytes/readable.h"
#include "lsm/bytes/status.h"
#include "lsm/fs/seeded_random.h"

namespace bench {
namespace {

constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kEntriesPerBatch = 500;

lsm::Options OptionsOf(const StoreConfig& store, const StoreShape& shape) {
  lsm::Options options;
  options.filter_kind = store.filter_kind;
  if (store.target_fpp > 0) options.target_fpp = store.target_fpp;
  options.write_buffer_bytes = static_cast<size_t>(shape.write_buffer_bytes);
  options.table_bytes = shape.table_bytes;
  options.level1_bytes = shape.level1_bytes;
  return options;
}

}  // namespace

std::string StoreConfig::name() const {
  if (filter_kind == "none") return filter_kind;
  char text[32];
  std::snprintf(text, sizeof text, "%g", target_fpp);
  return filter_kind + "-" + text;
}

std::vector<StoreConfig> StoresOf(const Config& config) {
  std::vector<StoreConfig> stores = {{"none", 0}};
  for (const std::string& kind : config.filters) {
    for (const double target_fpp : config.target_fpps) stores.push_back({kind, target_fpp});
  }
  return stores;
}

uint64_t UserBytes(const KeySet& keys, const Config& config) {
  return keys.stored.key_bytes() + keys.stored.size() * config.value_bytes;
}

StoreShape ShapeFor(uint64_t entries, uint64_t user_bytes) {
  // A compaction takes four tables of level 0, so 4 n + 2 flushes leave two there.
  constexpr uint64_t kFlushesMin = 34;
  constexpr uint64_t kFlushBytesMax = 48 * kMiB;
  uint64_t flushes = std::max(kFlushesMin, user_bytes / kFlushBytesMax + 1);
  flushes = (flushes + 1) / 4 * 4 + 2;

  StoreShape shape;
  shape.flushes = std::min(flushes, std::max<uint64_t>(1, entries));
  shape.entries_per_flush = (entries + shape.flushes - 1) / shape.flushes;
  // Values compress to about half in the files.
  const uint64_t file_bytes = user_bytes * 6 / 10;
  shape.level1_bytes = std::clamp<uint64_t>(file_bytes / 30, 64 * kKiB, 256 * kMiB);
  shape.table_bytes = std::clamp<uint64_t>(file_bytes / 64, 64 * kKiB, 64 * kMiB);
  // Never reached, because Flush is called earlier.
  const uint64_t flush_bytes = user_bytes / shape.flushes + 128 * shape.entries_per_flush;
  shape.write_buffer_bytes = std::clamp<uint64_t>(2 * flush_bytes + kMiB, kMiB, 1024 * kMiB);
  return shape;
}

std::string StoreShape::Describe(const std::string& between) const {
  return lsm::Concat(
      "written in random order, ", flushes, " flushes of ", lsm::ReadableCount(entries_per_flush),
      " keys,", between, "each followed by the compactions due; tables of ",
      lsm::ReadableBytes(table_bytes), ", level 1 of ", lsm::ReadableBytes(level1_bytes));
}

absl::Status LoadStore(const std::string& directory, const StoreConfig& store,
                       const StoreShape& shape, const Config& config, const KeySet& keys,
                       const std::function<absl::Status(uint64_t)>& on_progress) {
  lsm::Options options = OptionsOf(store, shape);
  lsm::SeededRandom random(StoreSeed(config.seed, store.name()));
  options.environment.random = &random;
  TRELLIS_RETURN_IF_ERROR(lsm::DB::Destroy(directory, options));
  options.mode = lsm::OpenMode::kMustNotExist;
  TRELLIS_ASSIGN_OR_RETURN(const std::unique_ptr<lsm::DB> db, lsm::DB::Open(directory, options));
  const ValueMaker values(static_cast<size_t>(config.value_bytes));
  std::string value;
  lsm::WriteBatch batch;
  const uint64_t entries = keys.stored.size();
  for (uint64_t i = 0; i < entries; ++i) {
    const std::string_view key = keys.stored[static_cast<size_t>(i)];
    values.Make(key, &value);
    batch.Put(key, value);
    const bool part_ends = (i + 1) % shape.entries_per_flush == 0 || i + 1 == entries;
    if (batch.count() < kEntriesPerBatch && batch.size_bytes() < kMiB && !part_ends) continue;
    TRELLIS_RETURN_IF_ERROR(db->Write(batch));
    batch.Clear();
    if (!part_ends) continue;
    TRELLIS_RETURN_IF_ERROR(db->Flush());
    TRELLIS_RETURN_IF_ERROR(db->WaitForBackgroundWork());
    TRELLIS_RETURN_IF_ERROR(on_progress(i + 1));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<lsm::DB>> OpenStore(const std::string& directory,
                                                   const StoreConfig& store,
                                                   const StoreShape& shape,
                                                   uint64_t block_cache_bytes, bool direct_reads) {
  lsm::Options options = OptionsOf(store, shape);
  options.mode = lsm::OpenMode::kReadOnly;
  options.block_cache_bytes = static_cast<size_t>(block_cache_bytes);
  options.direct_reads = direct_reads;
  return lsm::DB::Open(directory, options);
}

}  // namespace bench
