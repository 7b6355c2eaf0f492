// The stores that keyspaces_bench measures: Trellis and, if it is installed, RocksDB, whose column
// families stand for keyspaces.
#ifndef TRELLIS_BENCH_KEYSPACES_STORE_H_
#define TRELLIS_BENCH_KEYSPACES_STORE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/keyspaces/config.h"
#include "bench/workload.h"

namespace bench::keyspaces {

struct StoreSettings {
  StoreSettings(const Config& config, const std::string& name)
      : path(config.out + "/" + name), write_buffer_bytes(config.write_buffer_bytes) {}

  std::string path;
  uint64_t write_buffer_bytes;  // tables have its size, level 1 four times it
  uint64_t block_cache_bytes = uint64_t{64} << 20;
};

// The files of a store at some moment.
struct Files {
  uint64_t log_bytes = 0;
  uint64_t logs = 0;
  uint64_t tables = 0;
  uint64_t table_bytes = 0;
  uint64_t smallest_table_bytes = 0;  // 0 without tables
};

// The loops of the part speed.
enum Work : size_t { kGetPresent, kGetAbsent, kMultiGet, kSeek, kPut, kWorks };
inline constexpr size_t kKeysPerMultiGet = 64;
inline constexpr int kStepsPerSeek = 10;

absl::Status WrongAnswer(std::string_view key);

// Keyspaces have numbers, in the order in which they were opened.
inline constexpr size_t kDefault = SIZE_MAX;

// It begins empty.  The destructor removes its files.
class Store {
 public:
  explicit Store(const StoreSettings& settings) : settings_(settings) {}
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Opens it, again after a Close.  The first opening removes files of an earlier run.
  virtual absl::Status Open() = 0;
  // Forgets the numbers of keyspaces.
  virtual absl::Status Close() = 0;
  // Opens or creates `count` keyspaces, whose names begin with `prefix`.
  virtual absl::Status OpenKeyspaces(const std::string& prefix, uint64_t count) = 0;
  virtual absl::Status Drop(size_t keyspace) = 0;

  // Adds a put to the next batch.
  virtual absl::Status Add(size_t keyspace, std::string_view key, std::string_view value) = 0;
  // Writes the batch.
  virtual absl::Status Write() = 0;
  virtual absl::StatusOr<bool> Get(size_t keyspace, const std::string& key, std::string* value) = 0;
  // Does this with each key.  A put has `value`.
  virtual absl::Status Do(Work work, size_t keyspace, std::span<const std::string> keys,
                          const std::string& value) = 0;

  // Waits until nothing is due.
  virtual absl::Status WaitUntilQuiet() = 0;
  // Flushes, and waits until nothing is due.
  virtual absl::Status Settle() = 0;
  // Merges all entries of the keyspace into one run.
  virtual absl::Status Compact(size_t keyspace) = 0;

  // Bytes of tables.
  virtual uint64_t BytesOf(size_t keyspace) = 0;

  Files GetFiles() const;

 protected:
  const StoreSettings settings_;
};

std::unique_ptr<Store> MakeTrellis(const StoreSettings& settings);
// Null if this program was built without RocksDB.
std::unique_ptr<Store> MakeRocksDb(const StoreSettings& settings);
// Whether this program was built with RocksDB.
bool HasRocksDb();

// Writes entries in batches.
class Feeder {
 public:
  Feeder(const Config& config, Store* store, uint64_t value_bytes);

  // The key of this number, with a value that follows from it.
  absl::Status Put(size_t keyspace, uint64_t number);
  // Puts `key`, with a value that follows from it.
  absl::Status PutKey(size_t keyspace, const std::string& key);
  // Writes what is left of the last batch.
  absl::Status Finish();
  // Puts the keys from `first` on.
  absl::Status Fill(size_t keyspace, uint64_t first, uint64_t count);
  // An error unless the keyspace has the key of this number with its value.
  absl::Status Check(size_t keyspace, uint64_t number);

 private:
  static constexpr uint32_t kEntriesPerBatch = 100;

  const Config& config_;
  Store& store_;
  const ValueMaker values_;
  uint32_t entries_ = 0;  // of the batch
  std::string value_;
};

// As many as a store may have, and a note if these are fewer.
uint64_t Allowed(uint64_t keyspaces, std::vector<std::string>* notes);

}  // namespace bench::keyspaces

#endif  // TRELLIS_BENCH_KEYSPACES_STORE_H_
