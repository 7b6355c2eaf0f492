// Filters by themselves: build and query times of every kind in the catalog.
//
//   BM_Build/KIND/n:KEYS/fpp_ppm:F   FilterBuilder from Add to Finish; time per key
//   BM_Miss, BM_Hit                  independent queries of absent, present keys, with many in
//                                    flight: throughput; time per query
//   BM_ChainedMiss, BM_ChainedHit    each query depends on the previous answer: latency.  If a kind
//                                    answers by a branch, the CPU predicts instead of waiting
//   BM_BatchMiss, BM_BatchHit        MayContainBatch, 256 digests per call; time per digest
//
// The filter of n = 100,000 keys stays in the second-level cache.  The other n, at an FPP of 0.01,
// makes a standard filter outside of any cache: at least 512 MiB and four times the last-level
// cache.  Solved kinds are smaller, and get fewer keys there if memory is short: as many as half of
// it can solve.  Counters: keys, probes, bits_per_key, MiB, the fpp measured over absent keys, and
// the predicted one.
//
//   layout_bench --table             runs all five times and prints the tables of bloom/README.md,
//                                    with the best time of the five
#include <benchmark/benchmark.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/item_times.h"
#include "bench/machine.h"
#include "bloom/catalog.h"
#include "bloom/core/bits.h"
#include "bloom/core/sizing.h"
#include "bloom/filter_policy.h"

namespace {

using bloom::Digest;

constexpr uint64_t kSeed = 0x5eed;
constexpr int64_t kInCache = 100'000;
constexpr int64_t kOutOfCachePpm = 10'000;

uint64_t OutOfCacheBytes() {
  return std::max(uint64_t{512} << 20, 4 * bench::LastLevelCacheBytes());
}

// The number of keys at which a standard filter is that large.  All kinds but the solved ones are
// at least as large.
int64_t OutOfCacheKeys() {
  constexpr uint64_t kMany = 1'000'000;
  const double bits_per_key =
      static_cast<double>(bloom::StandardShapeFor(kMany, kOutOfCachePpm / 1e6).value().size) /
      static_cast<double>(kMany);
  const double keys = 8 * static_cast<double>(OutOfCacheBytes()) / bits_per_key;
  return static_cast<int64_t>(std::ceil(keys / kMany)) * static_cast<int64_t>(kMany);
}

// Bytes per key that a solved kind takes during the build: its digests, the filter twice, and
// Solve's working memory.
constexpr uint64_t kSolvingBytesPerKey = 40;

// The same number of keys, or fewer if a kind needs all digests at once and memory is short.
template <bloom::StaticKind K>
int64_t OutOfCacheKeysOf() {
  if constexpr (bloom::SolvedKind<K>) {
    constexpr int64_t kMillion = 1'000'000;
    const auto most = static_cast<int64_t>(bench::MemoryBytes() / 2 / kSolvingBytesPerKey);
    return std::clamp(most / kMillion * kMillion, kMillion, OutOfCacheKeys());
  } else {
    return OutOfCacheKeys();
  }
}

// Digest of key i.  A filter of n keys holds the first n; the others are absent.
Digest DigestOfKey(uint64_t i) { return bloom::Remix(i, 0x6b6579); }

// A filter of n keys, aligned at least as in a store.
struct Subject {
  bloom::AlignedBytes bytes;
  bloom::FilterReader reader;
  bloom::FilterDescription description;
  double measured_fpp = 0;
};

double MeasureFpp(const bloom::FilterReader& reader, uint64_t keys) {
  constexpr uint64_t kQueries = 10'000'000;
  uint64_t passed = 0;
  for (uint64_t i = 0; i < kQueries; ++i) passed += reader.MayContain(DigestOfKey(keys + i));
  return static_cast<double>(passed) / kQueries;
}

template <bloom::BitLayout K>
void FillPayload(uint8_t* payload, const bloom::Shape& shape, uint64_t keys) {
  // Not built by FilterBuilder, whose digests would take 8 bytes per key.
  std::vector<Digest> digests;
  for (uint64_t i = 0; i < keys;) {
    digests.clear();
    for (; i < keys && digests.size() < 4096; ++i) digests.push_back(DigestOfKey(i));
    K::Build(payload, shape, kSeed, digests);
  }
}
template <bloom::SolvedKind K>
void FillPayload(uint8_t* payload, bloom::Shape& shape, uint64_t keys) {
  std::vector<Digest> digests(keys);
  for (uint64_t i = 0; i < keys; ++i) digests[i] = DigestOfKey(i);
  const absl::Status status = K::Solve(payload, shape, kSeed, digests);
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  std::exit(1);
}

template <bloom::StaticKind K>
std::unique_ptr<Subject> MakeSubject(uint64_t keys, double fpp) {
  bloom::Shape shape = K::ShapeFor(keys, fpp).value();
  bloom::AlignedBytes payload = bloom::AlignedBytes::Zeros(K::PayloadBytes(shape));
  FillPayload<K>(payload.data(), shape, keys);
  bloom::FilterHeader header = bloom::HeaderFor<K>(shape, kSeed, fpp);
  header.key_count = keys;
  const std::string encoded = bloom::EncodeFilter(header, payload.span());
  payload = bloom::AlignedBytes();  // frees the third copy of a large filter
  auto subject = std::make_unique<Subject>();
  subject->bytes = bloom::AlignedBytes::Zeros(encoded.size());
  std::copy(encoded.begin(), encoded.end(), subject->bytes.data());
  subject->reader = bloom::FilterReader::Open(
      {reinterpret_cast<const char*>(subject->bytes.data()), subject->bytes.size()});
  subject->description = subject->reader.Describe();
  subject->measured_fpp = MeasureFpp(subject->reader, keys);
  return subject;
}

double FppOf(const benchmark::State& state) { return static_cast<double>(state.range(1)) / 1e6; }

// Made once for all benchmarks of one kind and size.  Only the last one is kept, because the large
// ones are large.
template <bloom::StaticKind K>
const Subject& SubjectFor(const benchmark::State& state) {
  static std::map<std::pair<int64_t, int64_t>, std::unique_ptr<Subject>> subjects;
  const std::pair<int64_t, int64_t> key(state.range(0), state.range(1));
  if (!subjects.contains(key)) {
    subjects.clear();
    subjects[key] = MakeSubject<K>(static_cast<uint64_t>(key.first), FppOf(state));
  }
  return *subjects[key];
}

void Report(benchmark::State& state, const Subject& subject, int64_t items) {
  state.SetItemsProcessed(items);
  state.counters["ns_per_item"] = benchmark::Counter(
      static_cast<double>(items), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["keys"] = static_cast<double>(subject.description.key_count);
  state.counters["probes"] = subject.description.probes;
  state.counters["bits_per_key"] = subject.description.bits_per_key;
  state.counters["fpp"] = subject.measured_fpp;
  state.counters["fpp_predicted"] = subject.description.predicted_fpp;
  state.counters["MiB"] = static_cast<double>(subject.description.size_bits) / 8 / (1 << 20);
}

// Queries in random order over the filter.  As many as it has 64-byte lines, so that a query's
// lines are not cached merely because of the previous round.
std::vector<Digest> Questions(const Subject& subject, bool present) {
  const uint64_t keys = subject.description.key_count;
  const uint64_t count =
      std::bit_ceil(std::max(uint64_t{1} << 17, subject.description.size_bits / 512));
  std::vector<Digest> digests(count);
  for (uint64_t i = 0; i < count; ++i) {
    digests[i] = DigestOfKey(present ? bloom::Remix(i, 1) % keys : keys + i);
  }
  return digests;
}

template <bloom::StaticKind K>
void BM_Build(benchmark::State& state) {
  const Subject& subject = SubjectFor<K>(state);
  const auto policy = bloom::PolicyFromName(K::kName).value();
  for (auto _ : state) {
    const auto builder = policy->NewBuilder({.target_fpp = FppOf(state), .seed = kSeed});
    for (int64_t i = 0; i < state.range(0); ++i)
      builder->Add(DigestOfKey(static_cast<uint64_t>(i)));
    benchmark::DoNotOptimize(builder->Finish().value().data());
  }
  Report(state, subject, static_cast<int64_t>(state.iterations()) * state.range(0));
}

// kChained: the next query depends on the previous answer.
template <bloom::StaticKind K, bool kPresent, bool kChained>
void BM_Query(benchmark::State& state) {
  const Subject& subject = SubjectFor<K>(state);
  const std::vector<Digest> questions = Questions(subject, kPresent);
  const bloom::FilterReader reader = subject.reader;
  uint64_t at = 0;
  uint64_t passed = 0;
  for (auto _ : state) {
    const bool answer = reader.MayContain(questions[at & (questions.size() - 1)]);
    passed += answer;
    ++at;
    if constexpr (kChained) {
      uint64_t wait = answer;
      asm volatile("" : "+r"(wait));
      at += wait & 2;  // adds 0, but the CPU has to wait for the answer
    }
  }
  benchmark::DoNotOptimize(passed);
  Report(state, subject, static_cast<int64_t>(state.iterations()));
}

template <bloom::StaticKind K, bool kPresent>
void BM_Batch(benchmark::State& state) {
  constexpr size_t kBatch = 256;
  const Subject& subject = SubjectFor<K>(state);
  const std::vector<Digest> questions = Questions(subject, kPresent);
  bool answers[kBatch];
  size_t at = 0;
  for (auto _ : state) {
    subject.reader.MayContainBatch({&questions[at], kBatch}, answers);
    benchmark::DoNotOptimize(answers);
    benchmark::ClobberMemory();
    at = (at + kBatch) & (questions.size() - 1);
  }
  Report(state, subject, static_cast<int64_t>(state.iterations() * kBatch));
}

// Size by size, because a filter is kept only until the next size is needed.
template <bloom::StaticKind K>
void RegisterKind() {
  const auto add = [](const std::string& name, void (*body)(benchmark::State&), int64_t keys,
                      int64_t ppm) {
    benchmark::RegisterBenchmark((name + "/" + std::string(K::kName)).c_str(), body)
        ->ArgNames({"n", "fpp_ppm"})
        ->Args({keys, ppm});
  };
  const auto add_all = [&add](int64_t keys, int64_t ppm) {
    if (keys == kInCache) add("BM_Build", &BM_Build<K>, keys, ppm);
    add("BM_Miss", &BM_Query<K, false, false>, keys, ppm);
    add("BM_Hit", &BM_Query<K, true, false>, keys, ppm);
    add("BM_ChainedMiss", &BM_Query<K, false, true>, keys, ppm);
    add("BM_ChainedHit", &BM_Query<K, true, true>, keys, ppm);
    add("BM_BatchMiss", &BM_Batch<K, false>, keys, ppm);
    add("BM_BatchHit", &BM_Batch<K, true>, keys, ppm);
  };
  for (const int64_t ppm : {100'000, 10'000, 1'000}) add_all(kInCache, ppm);
  add_all(OutOfCacheKeysOf<K>(), kOutOfCachePpm);
}

// --- the tables of bloom/README.md ---

constexpr std::string_view kTimes[] = {"BM_Miss",       "BM_Hit",       "BM_ChainedMiss",
                                       "BM_ChainedHit", "BM_BatchMiss", "BM_BatchHit"};
constexpr char kTimeHeads[] =
    " absent | present | absent, chained | present, chained | absent, in batches | present, in "
    "batches |\n";

// The time of a benchmark for one kind and size.
template <bloom::StaticKind K>
std::string NameOf(std::string_view benchmark, int64_t keys, int64_t ppm) {
  return std::string(benchmark) + "/" + std::string(K::kName) + "/n:" + std::to_string(keys) +
         "/fpp_ppm:" + std::to_string(ppm);
}

void PrintTime(const bench::ItemTimes::Item* item) {
  if (item == nullptr) return bench::PrintNoCell();
  bench::PrintNanosCell(item->best());
}

template <bloom::StaticKind K>
void PrintInCacheRow(const bench::ItemTimes& times, int64_t ppm) {
  const double fpp = static_cast<double>(ppm) / 1e6;
  const bloom::Shape shape = K::ShapeFor(kInCache, fpp).value();
  const int digits = 3 - static_cast<int>(std::floor(std::log10(fpp)));
  std::printf("| %s | %u | %g | %u | %.2f | %.*f |", std::string(K::kName).c_str(), K::kTag, fpp,
              shape.probes, static_cast<double>(K::SizeBits(shape)) / static_cast<double>(kInCache),
              digits, K::PredictedFpp(shape, kInCache));
  const bench::ItemTimes::Item* const build = times.Find(NameOf<K>("BM_Build", kInCache, ppm));
  if (build == nullptr) {
    bench::PrintNoCell();
  } else {
    std::printf(" %.*f |", digits, build->counters.at("fpp"));
  }
  PrintTime(build);
  for (const std::string_view name : kTimes) PrintTime(times.Find(NameOf<K>(name, kInCache, ppm)));
  std::printf("\n");
}

void PrintTables(const bench::ItemTimes& times) {
  std::printf("%s; times in nanoseconds, best of %ld:\n\n", bench::DescribeCpu().c_str(),
              times.repetitions());
  std::printf("| kind | tag | target FPP | probes | bits/key | predicted | measured | build |%s",
              kTimeHeads);
  std::printf("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  bloom::KeyedKinds::ForEach([&times]<bloom::StaticKind K>(K) {
    for (const int64_t ppm : {100'000, 10'000, 1'000}) PrintInCacheRow<K>(times, ppm);
  });
  std::printf(
      "\nThe same at an FPP of 0.01 with %ld million keys. The filter has %ld MiB or more, which\n"
      "is at least four times the last-level cache. A solved kind has only as many of these keys\n"
      "as half of %ld GiB of memory can solve:\n\n",
      OutOfCacheKeys() / 1'000'000, static_cast<long>(OutOfCacheBytes() >> 20),
      static_cast<long>(bench::MemoryBytes() >> 30));
  std::printf("| kind | million keys | MiB |%s|---|---|---|---|---|---|---|---|---|\n", kTimeHeads);
  bloom::KeyedKinds::ForEach([&times]<bloom::StaticKind K>(K) {
    const int64_t keys = OutOfCacheKeysOf<K>();
    const bloom::Shape shape =
        K::ShapeFor(static_cast<uint64_t>(keys), kOutOfCachePpm / 1e6).value();
    std::printf("| %s | %ld | %.0f |", std::string(K::kName).c_str(), keys / 1'000'000,
                static_cast<double>(K::PayloadBytes(shape)) / (1 << 20));
    for (const std::string_view name : kTimes)
      PrintTime(times.Find(NameOf<K>(name, keys, kOutOfCachePpm)));
    std::printf("\n");
  });
}

}  // namespace

int main(int argc, char** argv) {
  const auto register_all = [] {
    benchmark::AddCustomContext("filter out of cache",
                                std::to_string(OutOfCacheBytes() >> 20) + " MiB or more");
    bloom::KeyedKinds::ForEach([]<bloom::StaticKind K>(K) { RegisterKind<K>(); });
  };
  // In sequence: a large filter takes minutes to build, and is queried in all ways before the next
  // one takes its memory.
  return bench::RunBenchmarks(argc, argv, {"--benchmark_repetitions=5"}, register_all, PrintTables);
}
