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
//   BM_LogAppend/N                  a record of N entries of 130 bytes, written and not synced
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bench/workload.h"
#include "lsm/bytes/coding.h"
#include "lsm/environment.h"
#include "lsm/log/log_writer.h"
#include "lsm/memtable/memtable.h"

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
BENCHMARK(BM_LogAppend)->Arg(1)->Arg(16);

}  // namespace
}  // namespace lsm
