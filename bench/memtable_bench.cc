// The costs of a write below the write queue: the memtable, and the log's framing and write to a
// file.
//
// Keys have 16 bytes.  "digits" are db_bench's (decimal, padded with zeros, so they share their
// first bytes); "binary" are random.  Values have 100 bytes.
//
//   BM_MemtableInsert/KEYS_ORDER/N  N entries into an empty memtable; the Time column is for all,
//                                   "per_entry" for one
//   BM_MemtableGet/KEYS_OUTCOME/N   one key of a memtable with N entries, random order
//   BM_MemtableScan/N               the Time column is per entry
//   BM_RangeAdd/N                   N disjoint range deletes in random order, each in a batch of
//                                   its own, into an empty memtable; "per_range" is for one
//   BM_RangeAddOver/N               a range delete over N others; "per_bound" is for each of their
//                                   bounds
//   BM_RangeSearch/N                the newest of N disjoint ranges at a key, random order
//   BM_RangeWalk/N                  the end of a cover of N adjacent ranges; "per_range" is for one
//   BM_LogAppend/N                  a record of N entries of 130 bytes, written and not synced
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/or_die.h"
#include "bench/workload.h"
#include "lsm/base/encoded_batch.h"
#include "lsm/base/internal_key.h"
#include "lsm/bytes/coding.h"
#include "lsm/environment.h"
#include "lsm/log/log_writer.h"
#include "lsm/memtable/memtable.h"
#include "lsm/memtable/range_list.h"
#include "lsm/write_batch.h"

namespace lsm {
namespace {

enum class Keys { kDigits, kBinary };
enum class Order { kRandom, kSequential };

constexpr size_t kValueBytes = 100;

// Key number `i`.  kDigits keys sort by their numbers.
std::string KeyOf(Keys keys, uint64_t i) {
  if (keys == Keys::kDigits) return bench::DecimalKey(i);
  bench::SplitMix random(i);
  std::string key;
  AppendFixed64(&key, random.Next());
  AppendFixed64(&key, random.Next());
  return key;
}

// The keys with numbers 0, 2, 4 …; odd numbers are absent and within range.
std::vector<std::string> StoredKeys(Keys keys, Order order, size_t count) {
  std::vector<uint64_t> numbers;
  if (order == Order::kRandom) {
    numbers = bench::Shuffled(count, 1);
  } else {
    for (uint64_t i = 0; i < count; ++i) numbers.push_back(i);
  }
  std::vector<std::string> stored;
  for (const uint64_t number : numbers) stored.push_back(KeyOf(keys, 2 * number));
  return stored;
}

void Fill(Memtable* memtable, const std::vector<std::string>& keys) {
  const std::string value(kValueBytes, 'v');
  Sequence sequence = 0;
  for (const std::string& key : keys) memtable->Add(++sequence, EntryKind::kPut, key, value);
}

// One iteration fills a whole memtable.
void BM_MemtableInsert(benchmark::State& state, Keys keys, Order order) {
  const std::vector<std::string> stored =
      StoredKeys(keys, order, static_cast<size_t>(state.range(0)));
  size_t memory_bytes = 0;
  for (auto _ : state) {
    auto memtable = std::make_unique<Memtable>();
    Fill(memtable.get(), stored);
    memory_bytes = memtable->memory_bytes();
    state.PauseTiming();
    memtable.reset();
    state.ResumeTiming();
  }
  const auto entries = static_cast<double>(stored.size());
  state.counters["per_entry"] = benchmark::Counter(
      entries, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["bytes_per_entry"] = static_cast<double>(memory_bytes) / entries;
}

void BM_MemtableGet(benchmark::State& state, Keys keys, bool hit) {
  const auto count = static_cast<size_t>(state.range(0));
  Memtable memtable;
  Fill(&memtable, StoredKeys(keys, Order::kRandom, count));
  std::vector<std::string> wanted;
  bench::SplitMix random(2);
  for (size_t i = 0; i < count; ++i) {
    wanted.push_back(KeyOf(keys, 2 * random.Below(count) + (hit ? 0 : 1)));
  }
  size_t at = 0;
  uint64_t found = 0;
  for (auto _ : state) {
    std::string_view value;
    const LookupKey key(wanted[at], kSequenceMax, 0);
    found += memtable.Get(key, &value) == MemtableAnswer::kFound;
    if (++at == wanted.size()) at = 0;
  }
  if (found != (hit ? static_cast<uint64_t>(state.iterations()) : 0)) {
    state.SkipWithError("wrong answers");
  }
}

void BM_MemtableScan(benchmark::State& state) {
  const auto count = static_cast<size_t>(state.range(0));
  Memtable memtable;
  Fill(&memtable, StoredKeys(Keys::kBinary, Order::kRandom, count));
  const std::unique_ptr<Iterator> iterator = memtable.NewIterator();
  iterator->SeekToFirst();
  for (auto _ : state) {
    benchmark::DoNotOptimize(iterator->key());
    iterator->Next();
    if (!iterator->Valid()) iterator->SeekToFirst();
  }
}

// Range i deletes the keys from 2 i up to 2 i + 1, or to 2 i + 2 if they are adjacent.
WriteBatch RangeBatch(uint64_t i, bool is_adjacent, Sequence sequence) {
  WriteBatch batch;
  batch.DeleteRange(KeyOf(Keys::kDigits, 2 * i),
                    KeyOf(Keys::kDigits, 2 * i + (is_adjacent ? 2 : 1)));
  EncodedBatch::SetFirstSequence(&batch, sequence);
  return batch;
}

void AddBatch(const WriteBatch& batch, Memtable* memtable) {
  bench::OrDie(memtable->PrepareBatch(EncodedBatch::Of(batch)));
  memtable->AddPrepared();
}

// Makes batches of `count` ranges, with sequences from 1 on.
std::vector<WriteBatch> RangeBatches(uint64_t count, bool is_adjacent) {
  std::vector<WriteBatch> batches;
  for (const uint64_t i : bench::Shuffled(count, 3))
    batches.push_back(RangeBatch(i, is_adjacent, batches.size() + 1));
  return batches;
}

benchmark::Counter TimePer(size_t parts_of_an_iteration) {
  return {static_cast<double>(parts_of_an_iteration),
          benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert};
}

void BM_RangeAdd(benchmark::State& state) {
  const auto count = static_cast<size_t>(state.range(0));
  const std::vector<WriteBatch> batches = RangeBatches(count, /*is_adjacent=*/false);
  size_t memory_bytes = 0;
  for (auto _ : state) {
    auto memtable = std::make_unique<Memtable>();
    for (const WriteBatch& batch : batches) AddBatch(batch, memtable.get());
    memory_bytes = memtable->memory_bytes();
    state.PauseTiming();
    memtable.reset();
    state.ResumeTiming();
  }
  state.counters["per_range"] = TimePer(count);
  state.counters["bytes_per_range"] =
      static_cast<double>(memory_bytes) / static_cast<double>(count);
}

void BM_RangeAddOver(benchmark::State& state) {
  const auto count = static_cast<size_t>(state.range(0));
  Memtable memtable;
  for (const WriteBatch& batch : RangeBatches(count, /*is_adjacent=*/false))
    AddBatch(batch, &memtable);
  WriteBatch over;
  over.DeleteRange(KeyOf(Keys::kDigits, 0), std::nullopt);
  Sequence sequence = count;
  for (auto _ : state) {
    EncodedBatch::SetFirstSequence(&over, ++sequence);
    AddBatch(over, &memtable);
  }
  state.counters["per_bound"] = TimePer(2 * count);
}

void BM_RangeSearch(benchmark::State& state) {
  const auto count = static_cast<uint64_t>(state.range(0));
  Memtable memtable;
  for (const WriteBatch& batch : RangeBatches(count, /*is_adjacent=*/false))
    AddBatch(batch, &memtable);
  constexpr size_t kSought = 4096;  // a power of two, so that wrapping around costs no division
  std::vector<std::string> sought;
  for (size_t i = 0; i < kSought; ++i) {
    std::string& key = sought.emplace_back(KeyOf(Keys::kDigits, bench::Mix(i) % (2 * count)));
    AppendFixed64(&key, 0);  // the suffix of an internal key
  }
  size_t i = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(
        memtable.ranges()->NewestAt(sought[i++ & (kSought - 1)], kSequenceMax));
}

void BM_RangeWalk(benchmark::State& state) {
  const auto count = static_cast<size_t>(state.range(0));
  Memtable memtable;
  for (const WriteBatch& batch : RangeBatches(count, /*is_adjacent=*/true))
    AddBatch(batch, &memtable);
  std::string first = KeyOf(Keys::kDigits, 0);
  AppendFixed64(&first, 0);
  uint64_t walked = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(memtable.ranges()->EndsOfCover(first, kSequenceMax, 0, &walked));
  if (walked != state.iterations() * count) state.SkipWithError("wrong walk");
  state.counters["per_range"] = TimePer(count);
}

// Records like those of a write.
void BM_LogAppend(benchmark::State& state) {
  constexpr uint64_t kFileBytesMax = uint64_t{256} << 20;
  const std::string payload(static_cast<size_t>(state.range(0)) * 130, 'p');
  std::string path = std::filesystem::temp_directory_path() / "trellis_bench_XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return state.SkipWithError("no scratch directory");
  {
    auto directory = PosixFileSystem().OpenDirectory(path, false).value();
    std::unique_ptr<LogWriter> writer;
    for (auto _ : state) {
      if (writer == nullptr || writer->size_bytes() > kFileBytesMax) {
        state.PauseTiming();
        if (writer != nullptr) directory->Remove("log").IgnoreError();
        writer =
            LogWriter::Create(directory->CreateExclusive("log").value(), LogKind::kWriteAhead, 1)
                .value();
        state.ResumeTiming();
      }
      if (!writer->Append(payload).ok()) state.SkipWithError("append failed");
    }
  }
  std::filesystem::remove_all(path);
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * payload.size()));
}

#define INSERT_BENCH(keys, order)                                                      \
  BENCHMARK_CAPTURE(BM_MemtableInsert, keys##_##order, Keys::k##keys, Order::k##order) \
      ->Arg(10'000)                                                                    \
      ->Arg(100'000)                                                                   \
      ->Arg(500'000)                                                                   \
      ->Unit(benchmark::kMillisecond)
INSERT_BENCH(Digits, Random);
INSERT_BENCH(Binary, Random);
INSERT_BENCH(Digits, Sequential);

#define GET_BENCH(keys, outcome, hit) \
  BENCHMARK_CAPTURE(BM_MemtableGet, keys##_##outcome, Keys::k##keys, hit)->Arg(10'000)->Arg(500'000)
GET_BENCH(Digits, Hit, true);
GET_BENCH(Digits, Miss, false);
GET_BENCH(Binary, Hit, true);
GET_BENCH(Binary, Miss, false);

BENCHMARK(BM_MemtableScan)->Arg(500'000);
BENCHMARK(BM_RangeAdd)->Arg(10'000)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_RangeAddOver)->Arg(10'000)->Iterations(100)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_RangeSearch)->Arg(100)->Arg(10'000);
BENCHMARK(BM_RangeWalk)->Arg(10'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_LogAppend)->Arg(1)->Arg(16);

}  // namespace
}  // namespace lsm
