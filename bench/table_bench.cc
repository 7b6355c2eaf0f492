// One table by itself, everything in memory: the cost of a lookup once filter, index and blocks are
// loaded.
//
//   BM_FenceSearch      finds the block of a key among 64k blocks
//   BM_RangeSearch/N    the newest of N disjoint range deletes of a table at a key
//   BM_BlockSearch/R    finds a key in a data block of 4 KiB with restart interval R; block and
//                       keys stay in the first-level cache
//   BM_GetPresent/KIND  Table::Get of a present key, in random order
//   BM_GetAbsent/KIND   Table::Get of an absent key within the table's range
//   BM_GetUncached      BM_GetPresent/blocked without a block cache: the block is read from the
//                       file (in memory), verified and expanded each time
//   BM_Scan/HOW         forward, backward, or forward with readahead; the Time column is per entry
//   BM_Build/KIND       a table of 200,000 entries; "s/entry" is per entry
//   BM_CreateTree/R     a tree of 2,000 tables: without ranges, or below one table whose 20,000
//                       ranges cover none of them, or all, each by ten; "per_table" is for one
//   BM_EpochGuard       entering and leaving a guard, as each lookup does once
//   BM_Digest/HASH/N    the digest of a key of N bytes, by xxh3 or siphash
//
// KIND of the filter: none, standard, blocked.
//
// 2 million keys "%016d", values of 100 bytes that LZ4 halves.  A lookup does here what a store
// does per table: hash the key, enter a guard, ask the filter, search the index and the block.
// Keys come in random order, so most memory accesses go to DRAM.  Each lookup's outcome is checked.
// Counters: blocks per lookup, the filter's bits per key, and the measured fpp.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/or_die.h"
#include "bench/workload.h"
#include "lsm/base/fences.h"
#include "lsm/base/range_map.h"
#include "lsm/block/block.h"
#include "lsm/fs/file_names.h"
#include "lsm/limits.h"
#include "lsm/memory_file_system.h"
#include "lsm/table/block_cache.h"
#include "lsm/table/table.h"
#include "lsm/table/table_builder.h"
#include "lsm/threads/epoch.h"
#include "lsm/version/tree.h"

namespace {

constexpr uint64_t kKeys = 2'000'000;
constexpr size_t kValueBytes = 100;
constexpr uint64_t kDigestSeed = 0x5eed;
constexpr lsm::Sequence kSequence = 1;

// Present key i; the keys in between are absent.
std::string PresentKey(uint64_t i) { return bench::DecimalKey(2 * i); }
std::string AbsentKey(uint64_t i) { return bench::DecimalKey(2 * i + 1); }

using bench::OrDie;

lsm::TableSummary BuildTable(lsm::Directory* directory, const std::string& name,
                             const std::string& filter_kind, uint64_t keys) {
  lsm::TableBuildOptions options;
  options.digest_seed = kDigestSeed;
  options.file_id = 42;
  if (filter_kind != "none") options.filter_policy = OrDie(bloom::PolicyFromName(filter_kind));
  lsm::TableBuilder builder(options, OrDie(directory->CreateExclusive(name)));
  const bench::ValueMaker values(kValueBytes);
  std::string internal_key;
  std::string value;
  for (uint64_t i = 0; i < keys; ++i) {
    const std::string key = PresentKey(i);
    values.Make(key, &value);
    internal_key.clear();
    lsm::AppendInternalKey(&internal_key, key, kSequence, lsm::EntryKind::kPut);
    builder.Add(internal_key, value);
  }
  return OrDie(builder.Finish());
}

// A table with all its blocks in the cache.
class Subject {
 public:
  explicit Subject(const std::string& filter_kind) : cache_(size_t{1} << 30) {
    std::unique_ptr<lsm::Directory> directory = OrDie(files_.OpenDirectory("/bench", true));
    summary_ = BuildTable(directory.get(), "1.table", filter_kind, kKeys);
    lsm::TableContext context;
    context.block_cache = &cache_;
    context.digest_seed = kDigestSeed;
    table_ = OrDie(
        lsm::Table::Open(OrDie(directory->OpenRead("1.table", lsm::ReadMode::kBuffered)), context));
    // Random order, as in the memory of a store that has been read for a while.
    for (const uint64_t i : bench::Shuffled(kKeys, 7)) Lookup(PresentKey(i));
  }

  // The size of the value; 0 if the key is absent.
  size_t Lookup(std::string_view user_key) {
    const lsm::LookupKey key(user_key, lsm::kSequenceMax, kDigestSeed);
    const lsm::EpochGuard guard;
    if (!table_->MayContain(key.digest())) return 0;
    lsm::TableHit hit;
    const auto answer = table_->Get({.key = key, .counts = &counts_}, &hit);
    if (!answer.ok()) std::abort();
    if (*answer != lsm::TableAnswer::kFound) return 0;
    benchmark::DoNotOptimize(hit.value[0]);
    return hit.value.size();
  }

  // Opens the same table without a cache.
  std::unique_ptr<lsm::Table> OpenUncached() {
    std::unique_ptr<lsm::Directory> directory = OrDie(files_.OpenDirectory("/bench", false));
    return OrDie(
        lsm::Table::Open(OrDie(directory->OpenRead("1.table", lsm::ReadMode::kBuffered)), {}));
  }

  const lsm::Table& table() const { return *table_; }
  const lsm::TableSummary& summary() const { return summary_; }
  // Blocks touched since the last call.
  double TakeBlocks() {
    const uint64_t blocks =
        counts_[lsm::LevelCounts::kBlocksFromCache] + counts_[lsm::LevelCounts::kBlocksFromFile];
    counts_ = {};
    return static_cast<double>(blocks);
  }

 private:
  lsm::MemoryFileSystem files_;
  lsm::BlockCache cache_;
  lsm::TableSummary summary_;
  std::unique_ptr<lsm::Table> table_;
  lsm::LevelCounts counts_;
};

Subject& SubjectOf(const std::string& filter_kind) {
  // Only one at a time, to fit into small machines.
  static std::unique_ptr<Subject> subject;
  static std::string kind_of_subject;
  if (subject == nullptr || kind_of_subject != filter_kind) {
    subject.reset();
    subject = std::make_unique<Subject>(filter_kind);
    kind_of_subject = filter_kind;
  }
  return *subject;
}

const bench::KeyList& Keys(bool present) {
  const auto make = [](bool p) {
    bench::KeyList keys;
    for (const uint64_t i : bench::Shuffled(kKeys, 99)) keys.Add(p ? PresentKey(i) : AbsentKey(i));
    return keys;
  };
  static const bench::KeyList present_keys = make(true);
  static const bench::KeyList absent_keys = make(false);
  return present ? present_keys : absent_keys;
}

void GetBench(benchmark::State& state, const std::string& filter_kind, bool present) {
  Subject& subject = SubjectOf(filter_kind);
  const bench::KeyList& keys = Keys(present);
  subject.TakeBlocks();
  size_t i = 0;
  uint64_t found = 0;
  for (auto _ : state) {
    found += subject.Lookup(keys[i]) != 0;
    if (++i == keys.size()) i = 0;
  }
  const auto lookups = static_cast<double>(state.iterations());
  if (static_cast<double>(found) != (present ? lookups : 0)) state.SkipWithError("wrong answers");
  const double blocks = subject.TakeBlocks();
  state.counters["blocks_per_lookup"] = blocks / lookups;
  state.counters["bits_per_key"] =
      static_cast<double>(subject.summary().properties.filter_bytes) * 8 / kKeys;
  if (!present) state.counters["fpp"] = blocks / lookups;
}

void BM_GetPresent(benchmark::State& state, const std::string& kind) {
  GetBench(state, kind, true);
}
void BM_GetAbsent(benchmark::State& state, const std::string& kind) {
  GetBench(state, kind, false);
}
BENCHMARK_CAPTURE(BM_GetPresent, none, "none");
BENCHMARK_CAPTURE(BM_GetAbsent, none, "none");
BENCHMARK_CAPTURE(BM_GetPresent, standard, "standard");
BENCHMARK_CAPTURE(BM_GetAbsent, standard, "standard");
BENCHMARK_CAPTURE(BM_GetPresent, blocked, "blocked");
BENCHMARK_CAPTURE(BM_GetAbsent, blocked, "blocked");

// Reads a block from the file (in memory), verifies, expands and parses it for each lookup.
void BM_GetUncached(benchmark::State& state) {
  Subject& subject = SubjectOf("blocked");
  const bench::KeyList& keys = Keys(true);
  const std::unique_ptr<lsm::Table> table = subject.OpenUncached();
  size_t i = 0;
  for (auto _ : state) {
    const lsm::LookupKey key(keys[i], lsm::kSequenceMax, kDigestSeed);
    const lsm::EpochGuard guard;
    lsm::TableHit hit;
    const auto answer = table->Get({key}, &hit);
    if (!answer.ok() || *answer != lsm::TableAnswer::kFound) state.SkipWithError("wrong answer");
    if (++i == keys.size()) i = 0;
  }
}
BENCHMARK(BM_GetUncached);

enum class ScanKind { kForward, kBackward, kReadahead };

void BM_Scan(benchmark::State& state, ScanKind kind) {
  const Subject& subject = SubjectOf("blocked");
  auto iterator = subject.table().NewIterator(
      {.fill_cache = true,
       .readahead_bytes = kind == ScanKind::kReadahead ? size_t{256} << 10 : 0});
  const bool backward = kind == ScanKind::kBackward;
  for (auto _ : state) {
    if (!iterator->Valid()) backward ? iterator->SeekToLast() : iterator->SeekToFirst();
    benchmark::DoNotOptimize(iterator->value());
    backward ? iterator->Prev() : iterator->Next();
  }
  if (!iterator->status().ok()) state.SkipWithError("damaged");
}
BENCHMARK_CAPTURE(BM_Scan, forward, ScanKind::kForward);
BENCHMARK_CAPTURE(BM_Scan, backward, ScanKind::kBackward);
BENCHMARK_CAPTURE(BM_Scan, readahead, ScanKind::kReadahead);

void BM_FenceSearch(benchmark::State& state) {
  constexpr uint64_t kFences = 65'536;
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < kFences; ++i) keys.push_back(bench::DecimalKey(64 * i));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const lsm::Fences fences(views);
  constexpr size_t kSought = 4096;  // a power of two, so that wrapping around costs no division
  std::vector<std::string> sought;
  for (uint64_t i = 0; i < kSought; ++i)
    sought.push_back(bench::DecimalKey(bench::Mix(i) % (64 * kFences)));
  size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(fences.LowerBound(sought[i++ & (kSought - 1)]));
}
BENCHMARK(BM_FenceSearch);

void BM_RangeSearch(benchmark::State& state) {
  const auto count = static_cast<uint64_t>(state.range(0));
  std::vector<std::string> bounds;
  for (uint64_t i = 0; i < 2 * count; ++i) bounds.push_back(bench::DecimalKey(i));
  std::vector<lsm::RangeDelete> ranges;
  for (uint64_t i = 0; i < count; ++i) ranges.push_back({bounds[2 * i], bounds[2 * i + 1], i + 1});
  const auto map = lsm::RangeMap::Of(ranges);
  constexpr size_t kSought = 4096;  // as above
  std::vector<std::string> sought;
  for (uint64_t i = 0; i < kSought; ++i)
    sought.push_back(bench::DecimalKey(bench::Mix(i) % (2 * count)));
  size_t i = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(map.NewestAt(sought[i++ & (kSought - 1)], lsm::kSequenceMax));
}
BENCHMARK(BM_RangeSearch)->Arg(100)->Arg(10'000);

void BM_BlockSearch(benchmark::State& state) {
  lsm::BlockBuilder builder(static_cast<int>(state.range(0)));
  const bench::ValueMaker values(kValueBytes);
  std::string internal_key;
  std::string value;
  uint64_t count = 0;
  for (; builder.size_bytes_estimate() < 4096; ++count) {
    internal_key.clear();
    lsm::AppendInternalKey(&internal_key, PresentKey(count), kSequence, lsm::EntryKind::kPut);
    values.Make(internal_key, &value);
    builder.Add(internal_key, value);
  }
  const std::string bytes(builder.Finish());
  lsm::Block block;
  if (!block.Init(bytes)) std::abort();
  constexpr size_t kSought = 64;  // some 12 KiB: keys and block fit into the first-level cache
  std::vector<std::unique_ptr<lsm::LookupKey>> sought;
  for (uint64_t i = 0; i < kSought; ++i) {
    sought.push_back(
        std::make_unique<lsm::LookupKey>(PresentKey(bench::Mix(i) % count), lsm::kSequenceMax, 0));
  }
  size_t i = 0;
  lsm::Block::Hit hit;
  for (auto _ : state) {
    if (block.Find(*sought[i++ & (kSought - 1)], &hit) != lsm::Block::Answer::kFound)
      state.SkipWithError("not found");
  }
}
BENCHMARK(BM_BlockSearch)->ArgName("restart_interval")->Arg(1)->Arg(4)->Arg(16)->Arg(64);

void BM_Build(benchmark::State& state, const std::string& filter_kind) {
  constexpr uint64_t kBuildKeys = 200'000;
  for (auto _ : state) {
    lsm::MemoryFileSystem files;
    std::unique_ptr<lsm::Directory> directory = OrDie(files.OpenDirectory("/bench", true));
    const auto summary = BuildTable(directory.get(), "1.table", filter_kind, kBuildKeys);
    state.counters["file_bytes_per_key"] = static_cast<double>(summary.file_bytes) / kBuildKeys;
  }
  state.counters["s/entry"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kBuildKeys,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(BM_Build, none, "none");
BENCHMARK_CAPTURE(BM_Build, standard, "standard");
BENCHMARK_CAPTURE(BM_Build, blocked, "blocked");

// Opens a new table of these keys and ranges.
std::shared_ptr<const lsm::OpenTable> MakeTable(lsm::Directory* directory, uint64_t number,
                                                const std::vector<std::string>& keys,
                                                const lsm::RangeMap& ranges) {
  lsm::TableBuildOptions options;
  options.file_id = number;
  const std::string name = lsm::TableFileName(number);
  lsm::TableBuilder builder(options, OrDie(directory->CreateExclusive(name)));
  for (const std::string& key : keys) {
    std::string internal_key;
    lsm::AppendInternalKey(&internal_key, key, kSequence, lsm::EntryKind::kPut);
    builder.Add(internal_key, "value");
  }
  std::vector<lsm::Sequence> sequences;
  for (size_t i = 0; i < ranges.size(); ++i) {
    ranges.ListSequences(i, &sequences);
    builder.AddRange(ranges.boundary(i), sequences);
  }
  lsm::TableSummary summary = OrDie(builder.Finish());
  lsm::TableMeta meta;
  meta.number = number;
  meta.file_id = summary.file_id;
  meta.file_bytes = summary.file_bytes;
  meta.entries = summary.properties.entries;
  meta.smallest = summary.smallest;
  meta.largest = summary.largest;
  meta.dead = summary.properties.dead_entries();
  meta.ranges = summary.ranges;
  return OrDie(lsm::OpenTableFile(*directory, meta, lsm::ReadMode::kBuffered, {}));
}

enum class RangesAbove { kNone, kBeside, kOver };

void BM_CreateTree(benchmark::State& state, RangesAbove above) {
  constexpr uint64_t kTables = 2000, kRangesPerTable = 10;
  lsm::MemoryFileSystem files;
  const std::unique_ptr<lsm::Directory> directory = OrDie(files.OpenDirectory("/bench", true));
  std::array<lsm::OpenTables, lsm::kLevels> levels;
  std::vector<std::string> bounds;
  for (uint64_t i = 0; i < kTables; ++i) {
    const uint64_t first = 100 * i;
    const std::vector<std::string> keys = {bench::DecimalKey(first), bench::DecimalKey(first + 95)};
    levels[1].push_back(MakeTable(directory.get(), 1 + i, keys, {}));
    for (uint64_t j = 0; j < kRangesPerTable; ++j)
      bounds.push_back(bench::DecimalKey(first + 10 * j));
  }
  bounds.push_back(bench::DecimalKey(100 * kTables));
  std::vector<lsm::RangeDelete> ranges;
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    // Each second range has a lower sequence, so that they do not become one.
    const lsm::Sequence sequence = kSequence + 1 + i % 2;
    const bool is_left_out = above == RangesAbove::kBeside && i % kRangesPerTable == 0;
    if (!is_left_out) ranges.push_back({bounds[i], bounds[i + 1], sequence});
  }
  if (above != RangesAbove::kNone)
    levels[0].push_back(MakeTable(directory.get(), 1 + kTables, {}, lsm::RangeMap::Of(ranges)));
  size_t needless = 0;
  for (auto _ : state)
    needless = OrDie(lsm::Tree::Create(levels, lsm::kDefaultKeyspace))->needless().size();
  if (needless != (above == RangesAbove::kOver ? kTables : 0))
    state.SkipWithError("wrong tables are needless");
  state.counters["per_table"] = benchmark::Counter(
      kTables, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(BM_CreateTree, none, RangesAbove::kNone)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_CreateTree, beside, RangesAbove::kBeside)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_CreateTree, over, RangesAbove::kOver)->Unit(benchmark::kMicrosecond);

void BM_EpochGuard(benchmark::State& state) {
  for (auto _ : state) {
    const lsm::EpochGuard guard;
    benchmark::DoNotOptimize(&guard);
  }
}
BENCHMARK(BM_EpochGuard);

// Each digest depends on the previous one: shows what a digest adds to a lookup.
void BM_Digest(benchmark::State& state, bloom::DigestHash hash) {
  const bloom::DigestSeed seed(hash, 42, hash == bloom::DigestHash::kXxh3 ? 0 : 43);
  std::string key(static_cast<size_t>(state.range(0)), 'k');
  for (auto _ : state) {
    const bloom::Digest digest = bloom::DigestOf(key, seed);
    key[0] = static_cast<char>(digest);
  }
}
BENCHMARK_CAPTURE(BM_Digest, xxh3, bloom::DigestHash::kXxh3)->Arg(16)->Arg(64);
BENCHMARK_CAPTURE(BM_Digest, siphash, bloom::DigestHash::kSipHash)->Arg(16)->Arg(64);

}  // namespace
