// A whole store, through its public API, one thread.
//
//   BM_Put                      one key a call, random order, log not synced
//   BM_WriteBatch/N             N keys a batch; time a key
//   BM_GetPresent/KIND          keys that are there, random order; KIND of the filters: none,
//   standard, BM_GetAbsent/KIND           blocked; keys that are not there, between those that are
//   BM_GetAbsent/blocked_1e-3   the same with a target FPP of 0.001
//   BM_MultiGet/present|absent  64 keys a call; time a key
//   BM_Seek                     to a random key, and ten entries on
//   BM_Scan/forward|backward    time an entry
//
// 500,000 keys "%016d" with values of 100 bytes that LZ4 halves, all in the block cache, in several
// runs of tables: flushed 18 times, each with the compactions that it calls for, so that all stores
// have the same shape.
// Counters: blocks a get, tables considered a get, the filters' bits a key, and their observed FPP.
// The stores lie in the system's folder for temporary files and are removed at the end.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/workload.h"
#include "lsm/db.h"

namespace {

constexpr uint64_t kKeys = 500'000;
constexpr uint64_t kFlushes = 18;  // 4 n + 2: two tables stay in level 0
constexpr size_t kValueBytes = 100;
constexpr size_t kStreamLength = 1 << 18;

void OrDie(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "db_bench: %s\n", status.ToString().c_str());
  std::abort();
}

template <typename Value>
Value OrDie(absl::StatusOr<Value> result) {
  OrDie(result.status());
  return *std::move(result);
}

// A folder of this process, removed when it ends.
class Scratch {
 public:
  Scratch()
      : path_(std::filesystem::temp_directory_path() /
              ("trellis_db_bench_" + std::to_string(::getpid()))) {}
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string PathOf(const std::string& name) const {
    std::filesystem::create_directories(path_);
    return (path_ / name).string();
  }

 private:
  const std::filesystem::path path_;
};

const Scratch& TheScratch() {
  static const Scratch scratch;
  return scratch;
}

lsm::Options OptionsOf(const std::string& filter_kind, double target_fpp) {
  lsm::Options options;
  options.filter_kind = filter_kind;
  options.target_fpp = target_fpp;
  options.table_bytes = uint64_t{4} << 20;
  options.level1_bytes = uint64_t{8} << 20;
  options.block_cache_bytes = size_t{256} << 20;
  return options;
}

// Even numbers are there, odd ones are not.
struct Keys {
  bench::KeyList present, absent;
};

const Keys& TheKeys() {
  static const Keys* const keys = [] {
    auto* made = new Keys;
    for (const uint64_t i : bench::Shuffled(kKeys, 1)) {
      made->present.Add(bench::DecimalKey(2 * i));
      made->absent.Add(bench::DecimalKey(2 * i + 1));
    }
    return made;
  }();
  return *keys;
}

// Loaded when it is first asked for, then kept.
lsm::DB* LoadedStore(const std::string& filter_kind, double target_fpp) {
  TheScratch();  // is to outlive the stores
  static std::map<std::string, std::unique_ptr<lsm::DB>> stores;
  std::unique_ptr<lsm::DB>& db = stores[filter_kind + std::to_string(target_fpp)];
  if (db != nullptr) return db.get();
  const std::string directory = TheScratch().PathOf(filter_kind + std::to_string(target_fpp));
  db = OrDie(lsm::DB::Open(directory, OptionsOf(filter_kind, target_fpp)));
  const bench::ValueMaker values(kValueBytes);
  std::string value;
  for (size_t i = 0; i < TheKeys().present.size(); ++i) {
    values.Make(TheKeys().present[i], &value);
    OrDie(db->Put(TheKeys().present[i], value));
    if ((i + 1) % (kKeys / kFlushes + 1) != 0 && i + 1 != kKeys) continue;
    OrDie(db->Flush());
    OrDie(db->WaitForBackgroundWork());
  }
  const std::unique_ptr<lsm::Iterator> iterator = db->NewIterator();
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
  }
  OrDie(iterator->status());
  return db.get();
}

bench::QueryStream StreamOf(bench::Workload workload) {
  return bench::QueryStream(workload, TheKeys().present, TheKeys().absent, 0.5, kStreamLength, 7);
}

// What the store counted since `before`, for each of `gets` lookups.
void SetCounters(benchmark::State& state, lsm::DB* db, const lsm::LevelStatistics& before,
                 double gets) {
  const lsm::LevelStatistics after = db->GetStatistics().total;
  const auto since = [&](uint64_t lsm::LevelStatistics::*field) {
    return static_cast<double>(after.*field - before.*field);
  };
  const double passed = since(&lsm::LevelStatistics::false_positives);
  const double asked = passed + since(&lsm::LevelStatistics::reads_avoided);
  state.counters["blocks/get"] = (since(&lsm::LevelStatistics::blocks_from_cache) +
                                  since(&lsm::LevelStatistics::blocks_from_file)) /
                                 gets;
  state.counters["tables/get"] = since(&lsm::LevelStatistics::tables_considered) / gets;
  state.counters["bits/key"] =
      8 * static_cast<double>(after.filter_bytes) / static_cast<double>(after.entries);
  state.counters["fpp"] = asked == 0 ? 0 : passed / asked;
}

void BM_Get(benchmark::State& state, bench::Workload workload, const std::string& filter_kind,
            double target_fpp) {
  lsm::DB* db = LoadedStore(filter_kind, target_fpp);
  bench::QueryStream stream = StreamOf(workload);
  const lsm::LevelStatistics before = db->GetStatistics().total;
  lsm::PinnedValue value;
  for (auto _ : state) {
    const bench::QueryStream::Query query = stream.Next();
    const absl::StatusOr<bool> found = db->Get(query.key, &value);
    if (!found.ok() || *found != query.present) [[unlikely]] {
      state.SkipWithError("wrong answer");
      break;
    }
  }
  SetCounters(state, db, before, static_cast<double>(state.iterations()));
}

void BM_MultiGet(benchmark::State& state, bench::Workload workload) {
  constexpr size_t kBatch = 64;
  lsm::DB* db = LoadedStore("blocked", 0.01);
  bench::QueryStream stream = StreamOf(workload);
  const lsm::LevelStatistics before = db->GetStatistics().total;
  std::vector<std::string_view> keys(kBatch);
  for (auto _ : state) {
    for (std::string_view& key : keys) key = stream.Next().key;
    for (const auto& answer : db->MultiGet(keys)) {
      if (answer.ok() && answer->has_value() == (workload == bench::Workload::kPresent)) continue;
      state.SkipWithError("wrong answer");
      break;
    }
  }
  const double gets = static_cast<double>(state.iterations()) * kBatch;
  SetCounters(state, db, before, gets);
  state.counters["s/key"] =
      benchmark::Counter(gets, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void BM_Seek(benchmark::State& state) {
  lsm::DB* db = LoadedStore("blocked", 0.01);
  bench::QueryStream stream = StreamOf(bench::Workload::kMixed);
  const std::unique_ptr<lsm::Iterator> iterator = db->NewIterator();
  for (auto _ : state) {
    iterator->Seek(stream.Next().key);
    for (int i = 0; i < 10 && iterator->Valid(); ++i) iterator->Next();
  }
  OrDie(iterator->status());
}

void BM_Scan(benchmark::State& state, bool forward) {
  lsm::DB* db = LoadedStore("blocked", 0.01);
  const std::unique_ptr<lsm::Iterator> iterator = db->NewIterator();
  for (auto _ : state) {
    if (!iterator->Valid()) forward ? iterator->SeekToFirst() : iterator->SeekToLast();
    benchmark::DoNotOptimize(iterator->value().data());
    forward ? iterator->Next() : iterator->Prev();
  }
  OrDie(iterator->status());
}

// Batches of so many entries; of one, plain puts.
void BM_Write(benchmark::State& state) {
  const int64_t batch_entries = state.range(0);
  const std::string directory = TheScratch().PathOf("write");
  lsm::Options options;  // with buffers as a user has them
  OrDie(lsm::DB::Destroy(directory, options));
  std::unique_ptr<lsm::DB> db = OrDie(lsm::DB::Open(directory, options));
  const bench::ValueMaker values(kValueBytes);
  bench::Random random(3);
  std::string value;
  lsm::WriteBatch batch;
  for (auto _ : state) {
    const std::string key = bench::DecimalKey(random.Below(uint64_t{1} << 40));
    values.Make(key, &value);
    if (batch_entries == 1) {
      OrDie(db->Put(key, value));
      continue;
    }
    batch.Put(key, value);
    if (batch.count() < batch_entries) continue;
    OrDie(db->Write(batch));
    batch.Clear();
  }
  const lsm::Statistics statistics = db->GetStatistics();
  state.counters["write_amp"] = statistics.write_amplification();
  state.counters["stall_ms"] = static_cast<double>(statistics.stall_nanos) / 1e6;
}

void RegisterAll() {
  using bench::Workload;
  struct Filter {
    const char* name;
    const char* kind;
    double target_fpp;
  };
  static constexpr Filter kFilters[] = {{"none", "none", 0.01},
                                        {"standard", "standard", 0.01},
                                        {"blocked", "blocked", 0.01},
                                        {"blocked_1e-3", "blocked", 0.001}};
  benchmark::RegisterBenchmark("BM_Put", BM_Write)->Arg(1)->Unit(benchmark::kMicrosecond);
  benchmark::RegisterBenchmark("BM_WriteBatch", BM_Write)
      ->Arg(10)
      ->Arg(100)
      ->Arg(1000)
      ->Unit(benchmark::kMicrosecond);
  for (const auto& [name, workload] : {std::pair("BM_GetPresent/", Workload::kPresent),
                                       std::pair("BM_GetAbsent/", Workload::kAbsent)}) {
    for (const Filter& filter : kFilters) {
      benchmark::RegisterBenchmark((std::string(name) + filter.name).c_str(), BM_Get, workload,
                                   std::string(filter.kind), filter.target_fpp);
    }
  }
  benchmark::RegisterBenchmark("BM_MultiGet/present", BM_MultiGet, Workload::kPresent);
  benchmark::RegisterBenchmark("BM_MultiGet/absent", BM_MultiGet, Workload::kAbsent);
  benchmark::RegisterBenchmark("BM_Seek", BM_Seek);
  benchmark::RegisterBenchmark("BM_Scan/forward", BM_Scan, true);
  benchmark::RegisterBenchmark("BM_Scan/backward", BM_Scan, false);
}

// Before main, which is Google Benchmark's.
const bool registered = [] {
  RegisterAll();
  return true;
}();

}  // namespace
