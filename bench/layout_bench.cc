// Filters by themselves: time to build and to ask, for every kind of the catalog.
//
//   BM_Build/KIND/n:KEYS/fpp_ppm:F   FilterBuilder from Add to Finish; time per key
//   BM_Miss, BM_Hit                  independent queries of absent, present keys; time per query
//   BM_ChainedMiss, BM_ChainedHit    each query waits for the answer to the last
//   BM_BatchMiss, BM_BatchHit        MayContainBatch, 256 digests a call; time per digest
//
// n = 100,000 keys make a filter that stays in the second-level cache, n = 56,000,000 at an FPP of
// 0.01 one of 64 MiB and more, which no cache here holds.  Counters: keys, bits_per_key, MiB, and
// fpp as measured over absent keys beside the predicted one.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bloom/catalog.h"
#include "bloom/core/bits.h"
#include "bloom/filter_policy.h"

namespace {

using bloom::Digest;

constexpr uint64_t kSeed = 0x5eed;
constexpr int64_t kInCache = 100'000;
constexpr int64_t kOutOfCache = 56'000'000;

// Digest of key i: the first n are in a filter of n keys, others are not.
Digest DigestOfKey(uint64_t i) { return bloom::Remix(i, 0x6b6579); }

// A filter of n keys, aligned as the store aligns it.
struct Subject {
  bloom::AlignedBytes bytes;
  bloom::FilterReader reader;
  bloom::FilterDescription description;
  double measured_fpp = 0;
};

double MeasureFpp(const bloom::FilterReader& reader, uint64_t keys) {
  constexpr uint64_t kQueries = 2'000'000;
  uint64_t passed = 0;
  for (uint64_t i = 0; i < kQueries; ++i) passed += reader.MayContain(DigestOfKey(keys + i));
  return static_cast<double>(passed) / kQueries;
}

template <bloom::BitLayout K>
std::unique_ptr<Subject> MakeSubject(uint64_t keys, double fpp) {
  // Not by way of a builder: its digests would take 8 bytes a key.
  const bloom::Shape shape = K::ShapeFor(keys, fpp).value();
  bloom::AlignedBytes payload = bloom::AlignedBytes::Zeros(K::PayloadBytes(shape));
  std::vector<Digest> digests;
  for (uint64_t i = 0; i < keys;) {
    digests.clear();
    for (; i < keys && digests.size() < 4096; ++i) digests.push_back(DigestOfKey(i));
    K::Build(payload.data(), shape, kSeed, digests);
  }
  const std::string encoded = bloom::EncodeFilter({.kind = K::kTag,
                                                   .version = K::kVersion,
                                                   .line_bytes_log2 = K::kLineBytesLog2,
                                                   .shape = shape,
                                                   .seed = kSeed,
                                                   .key_count = keys,
                                                   .target_fpp = fpp},
                                                  payload.span());
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

// Made once for all benchmarks of one kind and size; the last one only, since the large ones are
// large.
template <bloom::BitLayout K>
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
  state.counters["bits_per_key"] = subject.description.bits_per_key;
  state.counters["fpp"] = subject.measured_fpp;
  state.counters["fpp_predicted"] = subject.description.predicted_fpp;
  state.counters["MiB"] = static_cast<double>(subject.description.size_bits) / 8 / (1 << 20);
}

// Digests to ask for, in random order over the filter: enough of them that the lines they touch are
// not in cache merely because they were touched a moment ago.
std::vector<Digest> Questions(uint64_t keys, bool present) {
  const uint64_t count = std::min<uint64_t>(4 << 20, std::bit_ceil(keys));
  std::vector<Digest> digests(count);
  for (uint64_t i = 0; i < count; ++i) {
    digests[i] = DigestOfKey(present ? bloom::Remix(i, 1) % keys : keys + i);
  }
  return digests;
}

template <bloom::BitLayout K>
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

// kChained: the next question is known only when the last is answered.
template <bloom::BitLayout K, bool kPresent, bool kChained>
void BM_Query(benchmark::State& state) {
  const Subject& subject = SubjectFor<K>(state);
  const std::vector<Digest> questions = Questions(subject.description.key_count, kPresent);
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
      at += wait & 2;  // adds nothing, but the CPU has to wait to know
    }
  }
  benchmark::DoNotOptimize(passed);
  Report(state, subject, static_cast<int64_t>(state.iterations()));
}

template <bloom::BitLayout K, bool kPresent>
void BM_Batch(benchmark::State& state) {
  constexpr size_t kBatch = 256;
  const Subject& subject = SubjectFor<K>(state);
  const std::vector<Digest> questions = Questions(subject.description.key_count, kPresent);
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

// Size by size, since the filters of one size are kept only until the next is asked for.
template <bloom::BitLayout K>
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
  add_all(kOutOfCache, 10'000);
}

const bool registered = [] {
  bloom::KeyedKinds::ForEach([]<bloom::StaticKind K>(K) { RegisterKind<K>(); });
  return true;
}();

}  // namespace
