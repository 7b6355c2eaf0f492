// The local cache (lsm/cached_file_system.h): random point reads of one store,
//
//   local     on the working directory's file system
//   cached    in an object store, with a cache there
//   cluster   in the same object store, without a cache
//
// The object store is in memory; a read takes 0.5 ms more, as in a cluster.  Reads that are
// submitted together wait once.  The block cache has 0 bytes, so each read reads a block from a
// file.  Files of the working directory are in the page cache: the figures show the cost of the
// cache's work, not of a disk.
//
// A round reads the same keys in each store; the order alternates.  The first table has the medians
// over the rounds.  The second has what is read from the object store again: by the rounds, after a
// restart, and on a machine whose cache was empty.  The last rows are of a cache that has 1.5 times
// the bytes of the tables, once all keys were written again twice.  Last, the time to open a full
// cache of 10 GiB, whose index is in the page cache.
//
//   cache_bench [KEYS] [ROUNDS]
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/machine.h"
#include "bench/or_die.h"
#include "bench/spread.h"
#include "bench/table.h"
#include "bench/workload.h"
#include "lsm/bytes/readable.h"
#include "lsm/cached_file_system.h"
#include "lsm/db.h"
#include "lsm/environment.h"
#include "lsm/object_file_system.h"
#include "lsm/objects/forwarding_pool.h"
#include "lsm/objects/memory_object_pool.h"
#include "lsm/pieces/piece.h"

namespace {

using bench::OrDie;

constexpr size_t kValueBytes = 100;
constexpr uint64_t kReadsPerRound = 20'000;
constexpr uint64_t kClusterReadsPerRound = 500;  // each takes 0.5 ms
constexpr uint64_t kCacheBytes = uint64_t{1} << 30;

// A pool in memory whose reads take longer once Delay was called.
class SlowPool final : public lsm::ForwardingPool {
 public:
  explicit SlowPool(std::shared_ptr<lsm::MemoryObjects> objects)
      : ForwardingPool(&memory_), memory_(std::move(objects)) {}

  void Delay() { is_slow_ = true; }

  absl::StatusOr<lsm::ObjectContents> Read(const std::string& object,
                                           const lsm::ObjectRead& read) override {
    Wait();
    return ForwardingPool::Read(object, read);
  }
  void ReadMany(std::span<lsm::ObjectReadRequest> requests) override {
    Wait();
    pool().ReadMany(requests);
  }

 private:
  void Wait() const {
    if (is_slow_) std::this_thread::sleep_for(std::chrono::microseconds(500));
  }

  lsm::MemoryObjectPool memory_;
  bool is_slow_ = false;
};

// A process with the store.
class Process {
 public:
  Process(const std::string& path, lsm::FileSystem* files) {
    lsm::Options options;
    options.block_cache_bytes = 0;
    options.environment.file_system = files;
    db_ = OrDie(lsm::DB::Open(path, options));
  }
  lsm::DB& db() { return *db_; }

 private:
  std::unique_ptr<lsm::DB> db_;
};

// A process with the store in the object store; with a cache if `cache` is not empty.
class ObjectProcess {
 public:
  ObjectProcess(const std::shared_ptr<lsm::MemoryObjects>& objects, const std::string& cache,
                uint64_t cache_bytes = kCacheBytes)
      : pool_(objects), files_(&pool_, &lsm::SystemRandom(), {.holder = "cache_bench"}) {
    if (!cache.empty()) {
      cached_.emplace(&files_, lsm::CachedFileSystem::Config{cache, cache_bytes});
      OrDie(cached_->status());
    }
    process_.emplace("/store", cached_ ? static_cast<lsm::FileSystem*>(&*cached_) : &files_);
    pool_.Delay();
  }
  ~ObjectProcess() {
    OrDie(db().Close());
    process_.reset();
  }
  lsm::DB& db() { return process_->db(); }
  lsm::CachedFileSystem& cached() { return *cached_; }

 private:
  SlowPool pool_;
  lsm::ObjectFileSystem files_;
  std::optional<lsm::CachedFileSystem> cached_;
  std::optional<Process> process_;
};

void Load(lsm::DB* db, uint64_t keys) {
  const bench::ValueMaker maker(kValueBytes);
  std::string value;
  for (const uint64_t number : bench::Shuffled(keys, 1)) {
    const std::string key = bench::HexKey(number);
    maker.Make(key, &value);
    OrDie(db->Put(key, value));
  }
  OrDie(db->CompactRange());
}

// Microseconds per read.
double Read(lsm::DB* db, uint64_t keys, uint64_t reads, uint64_t seed) {
  bench::SplitMix random(seed);
  std::string value;
  const auto from = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < reads; ++i) {
    if (!OrDie(db->Get(bench::HexKey(random.Below(keys)), &value))) std::abort();
  }
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - from;
  return time.count() / static_cast<double>(reads);
}

uint64_t TableBytes(lsm::DB* db) {
  uint64_t bytes = 0;
  for (const lsm::LevelStatistics& level : db->GetStatistics().levels) bytes += level.table_bytes;
  return bytes;
}

std::vector<std::string> RowOf(const char* name,
                               const lsm::CachedFileSystem::Statistics& statistics,
                               uint64_t table_bytes) {
  const auto per_cent = [](uint64_t part, uint64_t all) {
    return lsm::ReadableNumber(100 * static_cast<double>(part) / static_cast<double>(all));
  };
  return {name, per_cent(statistics.hits, statistics.hits + statistics.misses),
          per_cent(statistics.bytes_below, table_bytes)};
}

// The counts that `work` adds.
template <typename Work>
lsm::CachedFileSystem::Statistics CountsOf(const lsm::CachedFileSystem& cached, const Work& work) {
  const lsm::CachedFileSystem::Statistics before = cached.statistics();
  work();
  lsm::CachedFileSystem::Statistics counts = cached.statistics();
  counts.hits -= before.hits;
  counts.misses -= before.misses;
  counts.bytes_below -= before.bytes_below;
  return counts;
}

// Adds the rows of a cache that is hardly larger than the tables.
void ReadWithTightCache(const std::string& cache, uint64_t keys, uint64_t table_bytes,
                        bench::Table* table) {
  std::filesystem::remove_all(cache);
  ObjectProcess process(std::make_shared<lsm::MemoryObjects>(), cache, table_bytes * 3 / 2);
  for (int i = 0; i < 3; ++i) Load(&process.db(), keys);
  for (const char* name : {"tight cache, written 3 times", "tight cache, then read again"}) {
    const auto read = [&] { Read(&process.db(), keys, kReadsPerRound, 0); };
    table->rows.push_back(RowOf(name, CountsOf(process.cached(), read), table_bytes));
  }
}

// Milliseconds.
double OpenFullCache(const std::filesystem::path& directory) {
  constexpr uint64_t kSegments = 64, kPieces = (uint64_t{10} << 30) / lsm::kPieceBytes / kSegments;
  std::filesystem::create_directories(directory);
  bench::SplitMix random(1);
  for (uint64_t segment = 100; segment < 100 + kSegments; ++segment) {
    std::string index;
    for (uint64_t i = 0; i < kPieces; ++i) {
      lsm::PieceEntry entry;
      entry.table = {segment * 100 + i / 1000, 1, 1};
      entry.number = static_cast<uint32_t>(i % 1000);
      entry.offset = i * lsm::kPieceBytes;
      entry.length = lsm::kPieceBytes;
      for (uint32_t& checksum : entry.checksums) checksum = static_cast<uint32_t>(random.Next());
      index += entry.Encode(segment, index.size());
    }
    const std::string name = (directory / ("000" + std::to_string(segment))).string();
    std::ofstream(name + ".index") << index;
    std::ofstream(name + ".pieces") << "";
    std::filesystem::resize_file(name + ".pieces", kPieces * lsm::kPieceBytes);  // sparse
  }
  const auto from = std::chrono::steady_clock::now();
  const lsm::CachedFileSystem cached(&lsm::PosixFileSystem(),
                                     {directory.string(), uint64_t{11} << 30});
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - from;
  OrDie(cached.status());
  std::cout << cached.statistics().pieces << " pieces in the index: ";
  return time.count();
}

void Run(const std::filesystem::path& folder, uint64_t keys, uint64_t rounds) {
  const std::string cache = (folder / "cache").string();
  const auto objects = std::make_shared<lsm::MemoryObjects>();
  Process local((folder / "store").string(), nullptr);
  Load(&local.db(), keys);
  auto cached = std::make_unique<ObjectProcess>(objects, cache);
  Load(&cached->db(), keys);
  const uint64_t table_bytes = TableBytes(&cached->db());

  std::array<std::vector<double>, 3> times;
  std::vector<double> ratios;
  const auto read_rounds = [&] {
    for (uint64_t round = 0; round < rounds; ++round) {
      for (const uint64_t turn : {round % 2, 1 - round % 2})
        times[turn].push_back(
            Read(turn == 0 ? &local.db() : &cached->db(), keys, kReadsPerRound, round));
      ratios.push_back(times[1].back() / times[0].back());
    }
  };
  bench::Table again;
  again.columns = {{"", "", false}, {"hits, %", "", true}, {"read again, %", "", true}};
  again.rows.push_back(
      RowOf("written through", CountsOf(cached->cached(), read_rounds), table_bytes));
  for (const char* name : {"after a restart", "empty cache", "after another restart"}) {
    cached.reset();
    if (name == std::string_view("empty cache")) std::filesystem::remove_all(cache);
    cached = std::make_unique<ObjectProcess>(objects, cache);
    Read(&cached->db(), keys, kReadsPerRound, 0);
    again.rows.push_back(RowOf(name, cached->cached().statistics(), table_bytes));
  }
  cached.reset();
  ReadWithTightCache(cache, keys, table_bytes, &again);
  {
    ObjectProcess cluster(objects, "");
    for (uint64_t round = 0; round < rounds; ++round)
      times[2].push_back(Read(&cluster.db(), keys, kClusterReadsPerRound, round));
  }
  bench::Table reads;
  reads.columns = {{"reads", "", false}, {"µs", "", true}, {"least", "", true}, {"most", "", true}};
  for (size_t i = 0; i < 3; ++i) {
    const bench::Spread spread = bench::SpreadOf(times[i]);
    constexpr std::array<const char*, 3> kNames = {"local", "cached", "cluster"};
    reads.rows.push_back({kNames[i], lsm::ReadableNumber(spread.median),
                          lsm::ReadableNumber(spread.min), lsm::ReadableNumber(spread.max)});
  }
  std::cout << bench::ToText(reads)
            << "cached / local: " << lsm::ReadableNumber(bench::SpreadOf(ratios).median) << "\n\n"
            << lsm::ReadableBytes(table_bytes) << " of tables\n"
            << bench::ToText(again) << "\n";
  std::cout << lsm::ReadableNumber(OpenFullCache(folder / "full")) << " ms to open it\n";
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t keys = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const uint64_t rounds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 11;
  if (argc > 3 || keys == 0 || rounds == 0) {
    std::cerr << "usage: cache_bench [KEYS] [ROUNDS]\n";
    return 2;
  }
  const std::filesystem::path folder = "cache_bench_" + std::to_string(::getpid());
  std::cout << bench::FileSystemOf(".") << ", " << bench::DescribeCpu() << ", " << keys << " keys, "
            << rounds << " rounds\n";
  Run(folder, keys, rounds);
  std::filesystem::remove_all(folder);
  return 0;
}
