// A whole store through its public API, one thread.
//
//   BM_Put                      one key per call, random order, log not synced
//   BM_WriteBatch/N             N keys per batch; the Time column is per key
//   BM_GetPresent/KIND          present keys, random order
//   BM_GetAbsent/KIND           absent keys between present ones
//   BM_MultiGet/present|absent  64 keys per call; the Time column is per call, "s/key" per key
//   BM_Seek                     seek to a present or absent key, then ten entries further
//   BM_Scan/forward|backward    the Time column is per entry
//   BM_QueuePop/N               a queue with N keys alive: new iterator, SeekToFirst, read, Delete
//   BM_QueuePopKept/N           the same with one iterator per 16 pops, which steps by Next
//   BM_QueueDelete/N            only the Delete, of the front key
//   BM_QueueGet/N               a Get of a present key of the queue
//   BM_SeekPastDeletes/PLACE    seeks into a million deleted keys, to the live key after them
//   BM_SeekBesideDeletes/PLACE  seeks to live keys of the same store
//   BM_GetWithRanges/PLACE/KEY  gets beside 10,000 range deletes of ten keys each
//   BM_Loop/present|absent      the overhead of BM_Get…: choosing the key and checking the answer
//
// KIND of the filters: none, standard, blocked (target FPP 0.01 both), blocked_1e-3 (0.001).
//
// PLACE of the tombstones: memtable, tables (a snapshot holds them there).  "first ms" is the first
// seek into them.  Each queue has lost its first 100,000 keys; the Time column is per pop or get.
//
// PLACE of the ranges: none (without ranges), memtable, level0 (a table of ranges over one run of
// entries), tables (one run; a snapshot holds the ranges there).  KEY: present and absent ones are
// those between two ranges; deleted ones are within a range.
//
// The other stores have 500,000 keys "%016d" with values of 100 bytes that LZ4 halves, all in the
// block cache, in several runs of tables.  The load flushes 18 times and waits for compactions each
// time, so all stores get the same shape, except for a table or two.
//
// Checks:
//
// - every answer of a get, with its value;
// - the position of every seek, at once and ten entries later (both within the measured time);
// - all keys and values of a scan before it is timed, and the number of its entries while it is.
//
// Counters: blocks per get, tables considered per get, filter bits per key, and the observed FPP
// for the keys asked.  Keys, values and order follow from fixed seeds.  Stores draw their own
// seeds, so the FPP varies a little between runs.
//
// The stores are in the system's directory for temporary files and are removed at the end.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine.h"
#include "bench/or_die.h"
#include "bench/workload.h"
#include "lsm/db.h"
#include "lsm/snapshot.h"

namespace {

constexpr uint64_t kKeys = 500'000;
constexpr uint64_t kFlushes = 18;  // 4 n + 2: two tables stay in level 0
constexpr size_t kValueBytes = 100;
constexpr size_t kStreamLength = 1 << 18;

using bench::OrDie;

// A directory of this process, removed when the process ends.
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

// Even numbers are present, odd ones absent.
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

const bench::ValueMaker& TheValues() {
  static const bench::ValueMaker values(kValueBytes);
  return values;
}

// True if a scan returns every key with its value, in order.
bool ScanIsRight(lsm::DB* db, bool forward) {
  const std::unique_ptr<lsm::Iterator> iterator = db->NewIterator();
  forward ? iterator->SeekToFirst() : iterator->SeekToLast();
  uint64_t count = 0;
  for (; iterator->Valid(); forward ? iterator->Next() : iterator->Prev()) {
    if (count == kKeys) return false;
    const std::string key = bench::DecimalKey(2 * (forward ? count : kKeys - 1 - count));
    if (iterator->key() != key || !TheValues().Matches(key, iterator->value())) return false;
    ++count;
  }
  OrDie(iterator->status());
  return count == kKeys;
}

// Loads the store on first use and keeps it.
lsm::DB* LoadedStore(const std::string& filter_kind, double target_fpp) {
  TheScratch();  // must outlive the stores
  static std::map<std::string, std::unique_ptr<lsm::DB>> stores;
  std::unique_ptr<lsm::DB>& db = stores[filter_kind + std::to_string(target_fpp)];
  if (db != nullptr) return db.get();
  const std::string directory = TheScratch().PathOf(filter_kind + std::to_string(target_fpp));
  db = OrDie(lsm::DB::Open(directory, OptionsOf(filter_kind, target_fpp)));
  std::string value;
  for (size_t i = 0; i < TheKeys().present.size(); ++i) {
    TheValues().Make(TheKeys().present[i], &value);
    OrDie(db->Put(TheKeys().present[i], value));
    if ((i + 1) % (kKeys / kFlushes + 1) != 0 && i + 1 != kKeys) continue;
    OrDie(db->Flush());
    OrDie(db->WaitForBackgroundWork());
  }
  // Read-only, so reads cannot change its shape.
  lsm::Options options = OptionsOf(filter_kind, target_fpp);
  options.mode = lsm::OpenMode::kReadOnly;
  db = nullptr;
  db = OrDie(lsm::DB::Open(directory, options));
  // Also brings every block into the cache.
  if (!ScanIsRight(db.get(), true)) OrDie(absl::InternalError("a scan after loading is wrong"));
  return db.get();
}

bench::QueryStream StreamOf(bench::Workload workload) {
  return bench::QueryStream(workload, TheKeys().present, TheKeys().absent, 0.5, kStreamLength, 7);
}

// Sets counters from the store's statistics since `before`, per lookup.
void SetCounters(benchmark::State& state, lsm::DB* db, const lsm::LevelStatistics& before,
                 double gets) {
  const lsm::LevelStatistics since = db->GetStatistics().total.Since(before);
  const auto passed = static_cast<double>(since.false_positives);
  const double asked = passed + static_cast<double>(since.reads_avoided);
  state.counters["blocks/get"] =
      static_cast<double>(since.blocks_from_cache + since.blocks_from_file) / gets;
  state.counters["tables/get"] = static_cast<double>(since.tables_considered) / gets;
  state.counters["bits/key"] =
      8 * static_cast<double>(since.filter_bytes) / static_cast<double>(since.entries);
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
    if (!found.ok() || *found != query.present ||
        (query.present && !TheValues().Matches(query.key, value.view()))) [[unlikely]] {
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
  const bool present = workload == bench::Workload::kPresent;
  std::vector<std::string_view> keys(kBatch);
  for (auto _ : state) {
    for (std::string_view& key : keys) key = stream.Next().key;
    const auto answers = db->MultiGet(keys);
    bool right = answers.size() == kBatch;
    for (size_t i = 0; i < kBatch && right; ++i) {
      right = answers[i].ok() && answers[i]->has_value() == present &&
              (!present || TheValues().Matches(keys[i], **answers[i]));
    }
    if (!right) [[unlikely]] {
      state.SkipWithError("wrong answer");
      break;
    }
  }
  const double gets = static_cast<double>(state.iterations()) * kBatch;
  SetCounters(state, db, before, gets);
  state.counters["s/key"] =
      benchmark::Counter(gets, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// True if the iterator is at the key with this number, or at the end if no such key exists.
bool IsAt(const lsm::Iterator& iterator, uint64_t number) {
  if (number >= 2 * kKeys) return !iterator.Valid();
  return iterator.Valid() && iterator.key() == bench::DecimalKey(number);
}

void BM_Seek(benchmark::State& state) {
  constexpr int kEntriesOn = 10;
  lsm::DB* db = LoadedStore("blocked", 0.01);
  bench::QueryStream stream = StreamOf(bench::Workload::kMixed);
  const std::unique_ptr<lsm::Iterator> iterator = db->NewIterator();
  for (auto _ : state) {
    const std::string_view sought = stream.Next().key;
    uint64_t number = 0;
    std::from_chars(sought.data(), sought.data() + sought.size(), number);
    number += number % 2;  // the smallest present number that is not less
    iterator->Seek(sought);
    const bool found = IsAt(*iterator, number);
    for (int i = 0; i < kEntriesOn && iterator->Valid(); ++i) iterator->Next();
    if (!found || !IsAt(*iterator, number + 2 * kEntriesOn)) [[unlikely]] {
      state.SkipWithError("wrong answer");
      break;
    }
  }
  OrDie(iterator->status());
}

void BM_Scan(benchmark::State& state, bool forward) {
  lsm::DB* db = LoadedStore("blocked", 0.01);
  if (!ScanIsRight(db, forward)) return state.SkipWithError("wrong answer");
  const std::unique_ptr<lsm::Iterator> iterator = db->NewIterator();
  uint64_t count = kKeys;
  for (auto _ : state) {
    if (!iterator->Valid()) {
      if (count != kKeys) [[unlikely]] {
        state.SkipWithError("an entry is missing or repeated");
        break;
      }
      count = 0;
      forward ? iterator->SeekToFirst() : iterator->SeekToLast();
    }
    benchmark::DoNotOptimize(iterator->value().data());
    ++count;
    forward ? iterator->Next() : iterator->Prev();
  }
  OrDie(iterator->status());
}

// The values are in the processor's cache, like one that a store has just returned.
void BM_Loop(benchmark::State& state, bench::Workload workload) {
  constexpr size_t kValues = 256;
  bench::QueryStream stream = StreamOf(workload);
  std::vector<std::string> values(kValues);
  stream.Restart(1);
  for (std::string& value : values) TheValues().Make(stream.Next().key, &value);
  size_t at = kValues;
  for (auto _ : state) {
    if (at == kValues) {
      at = 0;
      stream.Restart(1);
    }
    const bench::QueryStream::Query query = stream.Next();
    benchmark::DoNotOptimize(query);
    if (query.present && !TheValues().Matches(query.key, values[at])) [[unlikely]] {
      state.SkipWithError("wrong answer");
      break;
    }
    ++at;
  }
}

// Batches of this many entries; plain puts if it is one.
void BM_Write(benchmark::State& state) {
  const int64_t batch_entries = state.range(0);
  const std::string directory = TheScratch().PathOf("write");
  lsm::Options options;  // with the default write buffers
  OrDie(lsm::DB::Destroy(directory, options));
  std::unique_ptr<lsm::DB> db = OrDie(lsm::DB::Open(directory, options));
  bench::SplitMix random(3);
  std::string value;
  lsm::WriteBatch batch;
  for (auto _ : state) {
    const std::string key = bench::DecimalKey(random.Below(uint64_t{1} << 40));
    TheValues().Make(key, &value);
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

// A store in which the keys [front, end) are alive.
struct Queue {
  explicit Queue(uint64_t alive) {
    const std::string directory = TheScratch().PathOf("queue");
    OrDie(lsm::DB::Destroy(directory, {}));
    db = OrDie(lsm::DB::Open(directory, {}));
    while (end < alive) Push();
  }
  void Push() {
    const std::string key = bench::DecimalKey(end++);
    TheValues().Make(key, &value);
    OrDie(db->Put(key, value));
  }

  std::unique_ptr<lsm::DB> db;
  uint64_t front = 0, end = 0;
  std::string value;
};

enum class QueueCall { kPop, kPopKept, kDelete, kGet };

// Batches of calls are timed; the pushes between them are not.
void BM_Queue(benchmark::State& state, QueueCall call) {
  constexpr uint64_t kBatch = 16;
  constexpr uint64_t kLost = 100'000;
  Queue queue(static_cast<uint64_t>(state.range(0)));
  for (uint64_t i = 0; i < kLost; ++i) {
    OrDie(queue.db->Delete(bench::DecimalKey(queue.front++)));
    queue.Push();
  }
  bench::SplitMix random(5);
  bool right = true;
  std::unique_ptr<lsm::Iterator> iterator;
  const auto pop = [&] {
    if (call != QueueCall::kPopKept || iterator == nullptr) {
      iterator = queue.db->NewIterator();
      iterator->SeekToFirst();
    }
    right = right && iterator->Valid() && iterator->key() == bench::DecimalKey(queue.front);
    OrDie(queue.db->Delete(bench::DecimalKey(queue.front++)));
    call == QueueCall::kPopKept ? iterator->Next() : iterator.reset();
  };
  const auto get = [&] {
    const std::string key = bench::DecimalKey(queue.front + random.Below(queue.end - queue.front));
    right =
        right && OrDie(queue.db->Get(key, &queue.value)) && TheValues().Matches(key, queue.value);
  };
  pop();  // walks over all keys that were lost
  for (auto _ : state) {
    const auto from = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < kBatch; ++i) {
      if (call == QueueCall::kGet) {
        get();
      } else if (call == QueueCall::kDelete) {
        OrDie(queue.db->Delete(bench::DecimalKey(queue.front++)));
      } else {
        pop();
      }
    }
    iterator.reset();
    state.SetIterationTime(bench::SecondsSince(from) / kBatch);
    while (queue.end < queue.front + static_cast<uint64_t>(state.range(0))) queue.Push();
  }
  if (!right) state.SkipWithError("wrong answer");
}

constexpr uint64_t kDeleted = 1'000'000;
constexpr uint64_t kAround = 10'000;  // live keys before and after the deleted ones

// The values have ten bytes instead of a hundred, so that the memtable can hold all.
struct DeletedStore {
  explicit DeletedStore(bool in_tables) {
    const std::string directory = TheScratch().PathOf("deleted");
    lsm::Options options;
    options.write_buffer_bytes = in_tables ? options.write_buffer_bytes : uint64_t{1} << 30;
    OrDie(lsm::DB::Destroy(directory, options));
    db = OrDie(lsm::DB::Open(directory, options));
    for (uint64_t i = 0; i < kDeleted + 2 * kAround; ++i)
      OrDie(db->Put(bench::DecimalKey(i), "ten bytes."));
    if (in_tables) {
      OrDie(db->CompactRange());
      snapshot = db->GetSnapshot();
    }
    for (uint64_t i = 0; i < kDeleted; ++i) OrDie(db->Delete(bench::DecimalKey(kAround + i)));
    if (in_tables) OrDie(db->CompactRange());
  }

  std::unique_ptr<lsm::DB> db;
  std::unique_ptr<const lsm::Snapshot> snapshot;
};

void BM_SeekDeleted(benchmark::State& state, bool in_tables, bool past) {
  const DeletedStore store(in_tables);
  bench::SplitMix random(6);
  bool right = true;
  const auto seek = [&] {
    const uint64_t key = past ? kAround + random.Below(kDeleted) : random.Below(kAround);
    const uint64_t expected = past ? kAround + kDeleted : key;
    const std::unique_ptr<lsm::Iterator> iterator = store.db->NewIterator();
    iterator->Seek(bench::DecimalKey(key));
    right = right && iterator->Valid() && iterator->key() == bench::DecimalKey(expected);
  };
  const auto from = std::chrono::steady_clock::now();
  {
    const std::unique_ptr<lsm::Iterator> iterator = store.db->NewIterator();
    iterator->Seek(bench::DecimalKey(past ? kAround : 0));
    right = iterator->Valid();
  }
  state.counters["first ms"] = 1000 * bench::SecondsSince(from);
  for (auto _ : state) seek();
  if (!right) state.SkipWithError("wrong answer");
}

enum class RangePlace { kNone, kMemtable, kLevel0, kTables };
enum class RangeKey { kPresent, kAbsent, kCovered };

constexpr uint64_t kRanges = 10'000;
constexpr uint64_t kDeletedPerRange = 10;
constexpr uint64_t kKeysPerRange = kKeys / kRanges;

// The keys of the other stores, in one run, and ranges that delete the first ones of each
// `kKeysPerRange`.
struct StoreWithRanges {
  explicit StoreWithRanges(RangePlace place) {
    const std::string directory =
        TheScratch().PathOf("ranges" + std::to_string(static_cast<int>(place)));
    db = OrDie(lsm::DB::Open(directory, OptionsOf("blocked", 0.01)));
    std::string value;
    for (size_t i = 0; i < TheKeys().present.size(); ++i) {
      TheValues().Make(TheKeys().present[i], &value);
      OrDie(db->Put(TheKeys().present[i], value));
    }
    OrDie(db->CompactRange());
    if (place == RangePlace::kTables) snapshot = db->GetSnapshot();
    for (uint64_t i = 0; i < kRanges && place != RangePlace::kNone; ++i) {
      const uint64_t from = 2 * i * kKeysPerRange;
      OrDie(
          db->DeleteRange(bench::DecimalKey(from), bench::DecimalKey(from + 2 * kDeletedPerRange)));
    }
    if (place == RangePlace::kTables) OrDie(db->CompactRange());
    if (place != RangePlace::kLevel0) return;
    OrDie(db->Flush());
    // Read-only, so that no compaction takes the ranges to their entries.
    lsm::Options options = OptionsOf("blocked", 0.01);
    options.mode = lsm::OpenMode::kReadOnly;
    db = nullptr;
    db = OrDie(lsm::DB::Open(directory, options));
  }

  std::unique_ptr<lsm::DB> db;
  std::unique_ptr<const lsm::Snapshot> snapshot;
};

bench::KeyList RangeKeysOf(RangeKey kind) {
  bench::SplitMix random(8);
  bench::KeyList keys;
  for (size_t i = 0; i < kStreamLength; ++i) {
    const uint64_t range = random.Below(kRanges);
    const uint64_t key = kind == RangeKey::kCovered
                             ? random.Below(kDeletedPerRange)
                             : kDeletedPerRange + random.Below(kKeysPerRange - kDeletedPerRange);
    keys.Add(bench::DecimalKey(2 * (range * kKeysPerRange + key) + (kind == RangeKey::kAbsent)));
  }
  return keys;
}

void BM_GetWithRanges(benchmark::State& state, RangePlace place, RangeKey kind) {
  TheScratch();  // must outlive the stores
  static std::map<RangePlace, std::unique_ptr<StoreWithRanges>> stores;
  std::unique_ptr<StoreWithRanges>& store = stores[place];
  if (store == nullptr) store = std::make_unique<StoreWithRanges>(place);
  const bench::KeyList keys = RangeKeysOf(kind);
  const bool is_present =
      kind == RangeKey::kPresent || (kind == RangeKey::kCovered && place == RangePlace::kNone);
  const lsm::LevelStatistics before = store->db->GetStatistics().total;
  lsm::PinnedValue value;
  // The first time around fills the block cache.
  size_t at = 0;
  const auto get = [&] {
    const std::string_view key = keys[at];
    at = at + 1 < keys.size() ? at + 1 : 0;
    const absl::StatusOr<bool> found = store->db->Get(key, &value);
    return found.ok() && *found == is_present &&
           (!is_present || TheValues().Matches(key, value.view()));
  };
  bool right = true;
  for (size_t i = 0; i < keys.size(); ++i) right = get() && right;
  for (auto _ : state) right = get() && right;
  if (!right) state.SkipWithError("wrong answer");
  SetCounters(state, store->db.get(), before,
              static_cast<double>(state.iterations()) + static_cast<double>(keys.size()));
}

void RegisterRanges() {
  for (const auto& [place, place_name] :
       {std::pair(RangePlace::kNone, "none"), std::pair(RangePlace::kMemtable, "memtable"),
        std::pair(RangePlace::kLevel0, "level0"), std::pair(RangePlace::kTables, "tables")}) {
    for (const auto& [kind, kind_name] :
         {std::pair(RangeKey::kPresent, "present"), std::pair(RangeKey::kAbsent, "absent"),
          std::pair(RangeKey::kCovered, "deleted")}) {
      benchmark::RegisterBenchmark(
          ("BM_GetWithRanges/" + std::string(place_name) + "/" + kind_name).c_str(),
          BM_GetWithRanges, place, kind);
    }
  }
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
  for (const auto& [name, call] : {std::pair("BM_QueuePop", QueueCall::kPop),
                                   std::pair("BM_QueuePopKept", QueueCall::kPopKept),
                                   std::pair("BM_QueueDelete", QueueCall::kDelete),
                                   std::pair("BM_QueueGet", QueueCall::kGet)}) {
    benchmark::RegisterBenchmark(name, BM_Queue, call)
        ->Arg(1000)
        ->Arg(1'000'000)
        ->UseManualTime()
        ->Iterations(call == QueueCall::kPop ? 64 : 2048);
  }
  for (const auto& [place, in_tables] : {std::pair("memtable", false), std::pair("tables", true)}) {
    benchmark::RegisterBenchmark((std::string("BM_SeekPastDeletes/") + place).c_str(),
                                 BM_SeekDeleted, in_tables, true);
    benchmark::RegisterBenchmark((std::string("BM_SeekBesideDeletes/") + place).c_str(),
                                 BM_SeekDeleted, in_tables, false);
  }
  RegisterRanges();
  benchmark::RegisterBenchmark("BM_Loop/present", BM_Loop, Workload::kPresent);
  benchmark::RegisterBenchmark("BM_Loop/absent", BM_Loop, Workload::kAbsent);
}

// Runs before main, which is Google Benchmark's.
const bool registered = [] {
  RegisterAll();
  return true;
}();

}  // namespace
