// The local cache (lsm/cached_file_system.h): random point reads of one store,
//
//   local        on the working directory's file system
//   cached       in an object store, with a cache there that was written through
//   restarted    the same, by a new process
//   cold         the same, with an empty cache
//   cluster      in the same object store, without a cache
//
// The object store is in memory, and a read takes 0.5 ms more.  Reads that are submitted together
// wait once.  With rados://POOL/STORE it is the pool of a Ceph cluster instead, for new stores of
// that name, which are removed at the end.  The block cache has 0 bytes, so each read reads a block
// from a file.  Files of the working directory are in the page cache: the figures show the cost of
// the cache's work, not of a disk.
//
// The order of the readings of a round alternates.  The first rounds compare the first two.  The
// others open the store again for each reading; their time is that of the reads alone, which open
// the tables.  `cold` reads 20,000 keys, `cluster` 500, the others 100,000.  The first table has
// the medians over the rounds.  The second has the bytes that are read from the object store again,
// with those of openings.  The last rows are of a cache that has 1.5 times the bytes of the tables,
// once all keys were written again twice.  Last, the time to open a full cache of 10 GiB, whose
// index is in the page cache.
//
//   cache_bench [KEYS] [ROUNDS] [rados://POOL/STORE]
#include <unistd.h>

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
#include "lsm/rados.h"
#include "lsm/write_batch.h"

namespace {

using bench::OrDie;

constexpr size_t kValueBytes = 100;
constexpr uint32_t kKeysPerBatch = 100;
constexpr uint64_t kReadsPerRound = 100'000;
constexpr uint64_t kColdReadsPerRound = 20'000;
constexpr uint64_t kClusterReadsPerRound = 500;  // each takes 0.5 ms or more
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

#ifdef TRELLIS_HAVE_RADOS
lsm::RadosPlace PlaceOf(const std::string& uri) { return OrDie(lsm::ParseRadosUri(uri)); }
std::unique_ptr<lsm::FileSystem> OpenPool(const lsm::RadosPlace& place) {
  return OrDie(lsm::OpenRados({.pool = place.pool, .user = place.user}));
}
#else
lsm::RadosPlace PlaceOf(const std::string& uri) {
  std::cerr << uri << ": this cache_bench was built without TRELLIS_BUILD_RADOS\n";
  std::exit(2);
}
std::unique_ptr<lsm::FileSystem> OpenPool(const lsm::RadosPlace& /*place*/) { return nullptr; }
#endif

// The object store: in memory, or a pool in a cluster.
class Cluster {
 public:
  explicit Cluster(const std::optional<lsm::RadosPlace>& place)
      : place_(place), objects_(std::make_shared<lsm::MemoryObjects>()) {}

  std::string StorePath() const { return place_ ? place_->path : "/store"; }

  // A client, as each process has one.
  class Client {
   public:
    explicit Client(const Cluster& cluster) {
      if (cluster.place_) {
        rados_ = OpenPool(*cluster.place_);
        return;
      }
      pool_.emplace(cluster.objects_);
      files_.emplace(&*pool_, &lsm::SystemRandom(),
                     lsm::ObjectFileSystem::Config{.holder = "cache_bench"});
    }
    lsm::FileSystem* files() { return rados_ != nullptr ? rados_.get() : &*files_; }
    void Delay() {
      if (pool_) pool_->Delay();
    }

   private:
    std::unique_ptr<lsm::FileSystem> rados_;
    std::optional<SlowPool> pool_;
    std::optional<lsm::ObjectFileSystem> files_;
  };

 private:
  const std::optional<lsm::RadosPlace> place_;
  const std::shared_ptr<lsm::MemoryObjects> objects_;
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

// A process with a store in the object store; with a cache if `cache` is not empty.
class ObjectProcess {
 public:
  ObjectProcess(const Cluster& cluster, const std::string& path, const std::string& cache,
                uint64_t cache_bytes = kCacheBytes)
      : client_(cluster) {
    if (!cache.empty()) {
      cached_.emplace(client_.files(), lsm::CachedFileSystem::Config{cache, cache_bytes});
      OrDie(cached_->status());
    }
    process_ = std::make_unique<Process>(path, cached_ ? &*cached_ : client_.files());
    client_.Delay();
  }
  ~ObjectProcess() { OrDie(db().Close()); }
  lsm::DB& db() { return process_->db(); }
  lsm::CachedFileSystem& cached() { return *cached_; }

 private:
  Cluster::Client client_;
  std::optional<lsm::CachedFileSystem> cached_;
  std::unique_ptr<Process> process_;
};

void Destroy(const Cluster& cluster, const std::string& path) {
  Cluster::Client client(cluster);
  lsm::Options options;
  options.environment.file_system = client.files();
  OrDie(lsm::DB::Destroy(path, options));
}

void Load(lsm::DB* db, uint64_t keys) {
  const bench::ValueMaker maker(kValueBytes);
  std::string value;
  lsm::WriteBatch batch;  // a write of a cluster takes a millisecond
  for (const uint64_t number : bench::Shuffled(keys, 1)) {
    maker.Make(bench::HexKey(number), &value);
    batch.Put(bench::HexKey(number), value);
    if (batch.count() < kKeysPerBatch) continue;
    OrDie(db->Write(batch));
    batch.Clear();
  }
  OrDie(db->Write(batch));
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
void ReadWithTightCache(const Cluster& cluster, const std::string& cache, uint64_t keys,
                        uint64_t table_bytes, bench::Table* table) {
  const std::string path = cluster.StorePath() + "-tight";
  {
    ObjectProcess process(cluster, path, cache, table_bytes * 3 / 2);
    for (int i = 0; i < 3; ++i) Load(&process.db(), keys);
    for (const char* name : {"tight cache, written 3 times", "tight cache, then read again"}) {
      const auto read = [&] { Read(&process.db(), keys, kReadsPerRound, 0); };
      table->rows.push_back(RowOf(name, CountsOf(process.cached(), read), table_bytes));
    }
  }
  Destroy(cluster, path);
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

// The times of one kind of reading, and the counts of the last one.
struct Reading {
  const char* name;
  std::vector<double> times = {};
  lsm::CachedFileSystem::Statistics counts = {};
};

void PrintTimes(const std::vector<Reading>& readings) {
  bench::Table table;
  table.columns = {{"reads", "", false}, {"µs", "", true}, {"least", "", true}, {"most", "", true}};
  for (const Reading& reading : readings) {
    const bench::Spread spread = bench::SpreadOf(reading.times);
    table.rows.push_back({reading.name, lsm::ReadableNumber(spread.median),
                          lsm::ReadableNumber(spread.min), lsm::ReadableNumber(spread.max)});
  }
  std::cout << bench::ToText(table);
}

// The median of the ratios of the rounds.
void PrintRatio(const Reading& reading, const Reading& local) {
  std::vector<double> ratios;
  for (size_t i = 0; i < reading.times.size(); ++i)
    ratios.push_back(reading.times[i] / local.times[i]);
  std::cout << reading.name << " / local: " << lsm::ReadableNumber(bench::SpreadOf(ratios).median)
            << "\n";
}

void Run(const Cluster& cluster, const std::filesystem::path& folder, uint64_t keys,
         uint64_t rounds) {
  const std::string cache = (folder / "cache").string(), empty = (folder / "empty").string();
  const std::string path = cluster.StorePath();
  Process local_process((folder / "store").string(), nullptr);
  lsm::DB& local_db = local_process.db();
  Load(&local_db, keys);
  auto process = std::make_unique<ObjectProcess>(cluster, path, cache);
  Load(&process->db(), keys);
  const uint64_t table_bytes = TableBytes(&process->db());

  Reading local_first{"local, first rounds"}, cached{"cached"};
  cached.counts = CountsOf(process->cached(), [&] {
    for (uint64_t round = 0; round < rounds; ++round) {
      for (const uint64_t turn : {round % 2, 1 - round % 2}) {
        Reading& reading = turn == 0 ? local_first : cached;
        reading.times.push_back(
            Read(turn == 0 ? &local_db : &process->db(), keys, kReadsPerRound, round));
      }
    }
  });
  process.reset();

  Reading local{"local"}, restarted{"restarted"}, cold{"cold"}, alone{"cluster"};
  const auto read_with = [&](const std::string& directory, uint64_t reads, uint64_t seed,
                             Reading* reading) {
    ObjectProcess now(cluster, path, directory);
    reading->times.push_back(Read(&now.db(), keys, reads, seed));
    if (!directory.empty()) reading->counts = now.cached().statistics();
  };
  for (uint64_t round = 0; round < rounds; ++round) {
    for (uint64_t i = 0; i < 4; ++i) {
      switch ((i + round) % 4) {
        case 0:
          local.times.push_back(Read(&local_db, keys, kReadsPerRound, round));
          break;
        case 1:
          read_with(cache, kReadsPerRound, round, &restarted);
          break;
        case 2:
          std::filesystem::remove_all(empty);
          read_with(empty, kColdReadsPerRound, round, &cold);
          break;
        default:
          read_with("", kClusterReadsPerRound, round, &alone);
      }
    }
  }
  Destroy(cluster, path);

  bench::Table again;
  again.columns = {{"", "", false}, {"hits, %", "", true}, {"read again, %", "", true}};
  for (const Reading* reading : {&cached, &restarted, &cold})
    again.rows.push_back(RowOf(reading->name, reading->counts, table_bytes));
  ReadWithTightCache(cluster, (folder / "tight").string(), keys, table_bytes, &again);
  PrintTimes({local_first, cached, local, restarted, cold, alone});
  PrintRatio(cached, local_first);
  PrintRatio(restarted, local);
  std::cout << "\n"
            << lsm::ReadableBytes(table_bytes) << " of tables\n"
            << bench::ToText(again) << "\n";
  std::cout << lsm::ReadableNumber(OpenFullCache(folder / "full")) << " ms to open it\n";
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t keys = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000'000;
  const uint64_t rounds = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 11;
  std::optional<lsm::RadosPlace> place;
  if (argc > 3) place = PlaceOf(argv[3]);
  if (argc > 4 || keys == 0 || rounds == 0) {
    std::cerr << "usage: cache_bench [KEYS] [ROUNDS] [rados://POOL/STORE]\n";
    return 2;
  }
  const std::filesystem::path folder = "cache_bench_" + std::to_string(::getpid());
  std::cout << bench::FileSystemOf(".") << ", " << bench::DescribeCpu() << ", " << keys << " keys, "
            << rounds << " rounds, " << (place ? "a Ceph cluster" : "an object store in memory")
            << "\n";
  Run(Cluster(place), folder, keys, rounds);
  std::filesystem::remove_all(folder);
  return 0;
}
