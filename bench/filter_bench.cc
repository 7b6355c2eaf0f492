// Filters at the rates and sizes for which other libraries publish times.  Uses one thread; a
// 64-bit hash per key is given.
//
//   BM_Add/FILTER/n:N          makes a filter and adds keys one by one; time per key
//   BM_AddBatch                the same with all keys in one call
//   BM_Build                   a solved filter: all keys in one call
//   BM_Miss, BM_Hit            single independent queries; time per query
//   BM_BatchMiss, BM_BatchHit  queries in batches of 256
//
// N: 100,000 keys, whose filter stays in the second-level cache, and ten million.
// Counters: ns_per_item, bits_per_key, and the fpp measured over absent keys.
//
//   filter_bench --table        runs all of them nine times and prints the table of bench/README.md
//
// `floor` is one load per query, in a filter of 12 bits/key: the lower bound on this machine at the
// time of the run.  `inlined` is the cost of a single query without a call and a seed.
//
// filter_bench_v3 is the same program compiled for x86-64-v3 (CPUs with AVX2).  There blocked and
// split-block are inlined, as in any program compiled for such CPUs.
//
// Other libraries' filters are measured between them if CMake finds those libraries
// (bench/CMakeLists.txt): Boost.Bloom (Boost 1.89 and later), and the binary fuse filters of
// xor_singleheader.  Their code is fixed by the compiler's target; ours also chooses at run time.
#include <benchmark/benchmark.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bench/item_times.h"
#include "bench/machine.h"
#include "bloom/catalog.h"
#include "bloom/concurrent.h"
#include "bloom/filter.h"
#include "bloom/filter_policy.h"
#include "bloom/rotating.h"

#ifdef TRELLIS_HAVE_BOOST_BLOOM
#include <boost/bloom.hpp>
#endif
#ifdef TRELLIS_HAVE_XOR_SINGLEHEADER
#include <binaryfusefilter.h>
#endif

namespace {

using bloom::Digest;
using Digests = std::span<const Digest>;
using Answers = std::span<bool>;

constexpr uint64_t kSeed = 0x5eed;
constexpr size_t kBatch = 256;

// Number i.  A filter of n keys holds the first n; the others are absent.
Digest DigestOfKey(uint64_t i) { return bloom::Remix(i, 0x6b6579); }

std::vector<Digest> DigestsFrom(uint64_t from, size_t count) {
  std::vector<Digest> digests(count);
  for (size_t i = 0; i < count; ++i) digests[i] = DigestOfKey(from + i);
  return digests;
}

// Queries in random order over the filter; enough that none is cached merely because it was made
// before.
std::vector<Digest> Questions(uint64_t keys, bool present) {
  constexpr size_t kCount = size_t{1} << 21;
  std::vector<Digest> digests(kCount);
  for (size_t i = 0; i < kCount; ++i)
    digests[i] = DigestOfKey(present ? bloom::Remix(i, 1) % keys : keys + i);
  return digests;
}

// --- the compared filters: Make(n), then keys, then queries ---

template <class F>
concept TakesDigests = requires(F f, Digests digests) {
  f.AddDigests(digests);
};
template <class F>
concept AnswersBatches = requires(const F& f, Digests digests, Answers answers) {
  f.MayContainBatch(digests, answers);
};

// A filter with a target in millionths to which keys are added.
template <class Filter, int kPpm>
struct Added {
  static std::string Name() {
    return std::string(Filter::kName) + "/" + std::to_string(kPpm) + "ppm";
  }
  explicit Added(uint64_t keys) : filter(Filter::Make(keys, kPpm / 1e6, kSeed).value()) {}

  void Add(Digest digest) { filter.AddDigest(digest); }
  void AddAll(Digests digests) requires TakesDigests<Filter> { filter.AddDigests(digests); }
  bool MayContain(Digest digest) const { return filter.MayContainDigest(digest); }
  void MayContainBatch(Digests digests, Answers answers) const requires AnswersBatches<Filter> {
    filter.MayContainBatch(digests, answers);
  }
  uint64_t size_bits() const { return filter.size_bits(); }

  Filter filter;
};
template <bloom::BitLayout K, int kPpm>
using AddedKind = Added<bloom::Filter<K>, kPpm>;

// A kind that is solved for all its keys at once.
template <bloom::SolvedKind K, int kPpm>
struct Solved {
  static std::string Name() { return std::string(K::kName) + "/" + std::to_string(kPpm) + "ppm"; }
  explicit Solved(uint64_t keys) : shape(K::ShapeFor(keys, kPpm / 1e6).value()) {
    payload = bloom::AlignedBytes::Zeros(K::PayloadBytes(shape));
  }

  void AddAll(Digests digests) {
    const absl::Status status = K::Solve(payload.data(), shape, kSeed, digests);
    if (!status.ok()) {
      std::fprintf(stderr, "%s: %s\n", Name().c_str(), std::string(status.message()).c_str());
      std::exit(1);
    }
    functions = K::Functions(view());
  }
  bool MayContain(Digest digest) const { return functions.may_contain(view(), digest); }
  void MayContainBatch(Digests digests, Answers answers) const {
    functions.may_contain_batch(view(), digests.data(), digests.size(), answers.data());
  }
  bloom::FilterView view() const { return {payload.data(), shape, kSeed}; }
  uint64_t size_bits() const { return K::SizeBits(shape); }

  bloom::Shape shape;
  bloom::AlignedBytes payload;
  bloom::FilterFunctions functions;
};

// The alternative to a rotating filter if memory does not matter: a set of all digests.  Bits per
// key count nodes and buckets, without malloc's overhead.
struct HashSet {
  static std::string Name() { return "unordered_set"; }
  explicit HashSet(uint64_t keys) { set.reserve(keys); }

  void Add(Digest digest) { set.insert(digest); }
  bool MayContain(Digest digest) const { return set.contains(digest); }
  uint64_t size_bits() const { return 64 * (2 * set.size() + set.bucket_count()); }

  std::unordered_set<Digest> set;
};

// The least work that any query needs, inlined: one byte of the line that the hash selects, in a
// filter of the same size.
struct Floor {
  static std::string Name() { return "floor/one_load"; }
  explicit Floor(uint64_t keys)
      : lines(keys * 12 / bloom::kLineBits + 1),
        bits(bloom::AlignedBytes::Zeros(lines * bloom::kLineBits / 8)) {}

  void AddAll(Digests digests) {
    for (const Digest digest : digests) bits.data()[Place(digest)] = 1;
  }
  bool MayContain(Digest digest) const { return bits.data()[Place(digest)] != 0; }
  uint64_t Place(Digest digest) const { return bloom::ReduceRange(digest, lines) << 6; }
  uint64_t size_bits() const { return 8 * bits.size(); }

  uint64_t lines;
  bloom::AlignedBytes bits;
};

#if defined(__x86_64__)
// The speed of a header library that is compiled for this CPU and does not remix hashes: the eight
// probes of split-block in the caller's loop, without a call or a seed.
struct Inlined {
  static std::string Name() { return "inlined/eight_probes"; }
  explicit Inlined(uint64_t keys)
      : shape(bloom::SplitBlock::ShapeFor(keys, 0.00545).value()),
        bits(bloom::AlignedBytes::Zeros(bloom::SplitBlock::PayloadBytes(shape))) {}
  static bool RunsHere() { return bloom::BestSimd() == bloom::Simd::kAvx2; }

  __attribute__((target("avx2"))) static __m256i BitsOf(Digest digest) {
    const __m256i salts =
        _mm256_load_si256(reinterpret_cast<const __m256i*>(bloom::SplitBlock::kSalts.data()));
    const __m256i words = _mm256_mullo_epi32(_mm256_set1_epi32(static_cast<int>(digest)), salts);
    return _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(words, 27));
  }
  __m256i* LineOf(Digest digest) const {
    return reinterpret_cast<__m256i*>(const_cast<uint8_t*>(bits.data()) +
                                      bloom::SplitBlock::LineOffset(shape, digest));
  }
  __attribute__((target("avx2"))) void AddAll(Digests digests) {
    for (const Digest digest : digests) {
      __m256i* const line = LineOf(digest);
      _mm256_store_si256(line, _mm256_or_si256(_mm256_load_si256(line), BitsOf(digest)));
    }
  }
  __attribute__((target("avx2"))) uint64_t CountPassing(Digests digests) const {
    uint64_t passed = 0;
    for (const Digest digest : digests)
      passed += _mm256_testc_si256(_mm256_load_si256(LineOf(digest)), BitsOf(digest)) != 0;
    return passed;
  }
  bool MayContain(Digest digest) const { return CountPassing({&digest, 1}) != 0; }
  uint64_t size_bits() const { return 8 * bits.size(); }

  bloom::Shape shape;
  bloom::AlignedBytes bits;
};
#endif

#ifdef TRELLIS_HAVE_BOOST_BLOOM
struct DigestAsHash {
  using is_avalanching = std::true_type;
  size_t operator()(Digest digest) const { return digest; }
};

template <size_t kSubarrays, class Subfilter, int kBitsPerKey, const char* kName>
struct OfBoost {
  using Filter = boost::bloom::filter<Digest, kSubarrays, Subfilter, 0, DigestAsHash>;
  static std::string Name() { return kName; }
  explicit OfBoost(uint64_t keys) : filter(keys * kBitsPerKey) {}

  void Add(Digest digest) { filter.insert(digest); }
  bool MayContain(Digest digest) const { return filter.may_contain(digest); }
  uint64_t size_bits() const { return filter.capacity(); }

  Filter filter;
};

constexpr char kBoost32[] = "boost_fast_multiblock32_8";
constexpr char kBoost64[] = "boost_fast_multiblock64_8";
constexpr char kBoostClassic[] = "boost_classic_7";
#endif

#ifdef TRELLIS_HAVE_XOR_SINGLEHEADER
struct OfXorSingleheader {
  static std::string Name() { return "xor_singleheader_binary_fuse8"; }
  explicit OfXorSingleheader(uint64_t keys) {
    if (!binary_fuse8_allocate(static_cast<uint32_t>(keys), &filter)) std::exit(1);
  }
  ~OfXorSingleheader() { binary_fuse8_free(&filter); }
  OfXorSingleheader(const OfXorSingleheader&) = delete;
  OfXorSingleheader& operator=(const OfXorSingleheader&) = delete;

  void AddAll(Digests digests) {
    std::vector<uint64_t> keys(digests.begin(), digests.end());  // a copy, because it may sort them
    if (!binary_fuse8_populate(keys.data(), static_cast<uint32_t>(keys.size()), &filter))
      std::exit(1);
  }
  bool MayContain(Digest digest) const { return binary_fuse8_contain(digest, &filter); }
  uint64_t size_bits() const { return 8 * uint64_t{filter.ArrayLength}; }

  binary_fuse8_t filter{};
};
#endif

// Rates for which other libraries publish times: 0.82 % with 10 bits (classic), 0.94 % (their
// blocked, which has the layout of split-block), 0.545 % and 0.42 % with 12 bits (multiblock),
// 1/256 (fuse, ribbon).
template <class... Filters>
struct FilterTypes {};
using Compared =
    FilterTypes<Floor,
#if defined(__x86_64__)
                Inlined,
#endif
                AddedKind<bloom::Standard, 8200>, AddedKind<bloom::Blocked, 9400>,
                AddedKind<bloom::Blocked, 4200>, AddedKind<bloom::SplitBlock, 9400>,
                AddedKind<bloom::SplitBlock, 5450>, AddedKind<bloom::Shifting, 8200>,
                Added<bloom::ConcurrentFilter, 9400>, Added<bloom::RotatingFilter<>, 9400>, HashSet,
                Solved<bloom::Fuse3, 3907>, Solved<bloom::Fuse4, 3907>, Solved<bloom::Ribbon, 3907>
#ifdef TRELLIS_HAVE_BOOST_BLOOM
                ,
                OfBoost<1, boost::bloom::fast_multiblock32<8>, 12, kBoost32>,
                OfBoost<1, boost::bloom::fast_multiblock64<8>, 12, kBoost64>,
                OfBoost<7, boost::bloom::block<unsigned char, 1>, 10, kBoostClassic>
#endif
#ifdef TRELLIS_HAVE_XOR_SINGLEHEADER
                ,
                OfXorSingleheader
#endif
                >;
constexpr int64_t kSizes[] = {100'000, 10'000'000};

template <class F>
concept AddsOneByOne = requires(F f) {
  f.Add(Digest{});
};
template <class F>
concept AddsAll = requires(F f, Digests digests) {
  f.AddAll(digests);
};

// --- the benchmarks ---

template <class F, bool kOneByOne>
void Fill(F& filter, Digests digests) {
  if constexpr (kOneByOne) {
    for (const Digest digest : digests) filter.Add(digest);
  } else {
    filter.AddAll(digests);
  }
}

// The filter of n keys that is queried.  Only the last one is kept.
template <class F>
const F& FilledFilter(uint64_t keys) {
  static uint64_t its_keys = 0;
  static std::unique_ptr<F> filter;
  if (its_keys != keys) {
    filter.reset();
    filter = std::make_unique<F>(keys);
    Fill<F, !AddsAll<F>>(*filter, DigestsFrom(0, keys));
    its_keys = keys;
  }
  return *filter;
}

void Report(benchmark::State& state, uint64_t keys, uint64_t size_bits, uint64_t items) {
  state.SetItemsProcessed(static_cast<int64_t>(items));
  state.counters["ns_per_item"] = benchmark::Counter(
      static_cast<double>(items), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["bits_per_key"] = static_cast<double>(size_bits) / static_cast<double>(keys);
}

// The time includes making the filter, as in the published figures; it is small.
template <class F, bool kOneByOne>
void BM_Fill(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(0));
  const std::vector<Digest> digests = DigestsFrom(0, keys);
  uint64_t size_bits = 0;
  for (auto _ : state) {
    F filter(keys);
    Fill<F, kOneByOne>(filter, digests);
    size_bits = filter.size_bits();
    benchmark::DoNotOptimize(filter.MayContain(digests[0]));
    benchmark::ClobberMemory();
  }
  Report(state, keys, size_bits, state.iterations() * keys);
}

template <class F, bool kPresent>
void BM_Ask(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(0));
  const F& filter = FilledFilter<F>(keys);
  const std::vector<Digest> questions = Questions(keys, kPresent);
  uint64_t passed = 0, asked = 0;
  size_t at = 0;
  // Works in blocks of queries, so that the benchmark's own loop is not measured.
  for (auto _ : state) {
    if constexpr (requires { filter.CountPassing(Digests()); }) {
      passed += filter.CountPassing({&questions[at], kBatch});
    } else {
      for (size_t i = 0; i < kBatch; ++i) passed += filter.MayContain(questions[at + i]);
    }
    at = (at + kBatch) & (questions.size() - 1);
    asked += kBatch;
  }
  Report(state, keys, filter.size_bits(), asked);
  state.counters[kPresent ? "found" : "fpp"] =
      static_cast<double>(passed) / static_cast<double>(asked);
}

template <class F, bool kPresent>
void BM_AskBatch(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(0));
  const F& filter = FilledFilter<F>(keys);
  const std::vector<Digest> questions = Questions(keys, kPresent);
  bool answers[kBatch];
  uint64_t asked = 0;
  size_t at = 0;
  for (auto _ : state) {
    filter.MayContainBatch({&questions[at], kBatch}, answers);
    benchmark::DoNotOptimize(answers);
    benchmark::ClobberMemory();
    at = (at + kBatch) & (questions.size() - 1);
    asked += kBatch;
  }
  Report(state, keys, filter.size_bits(), asked);
}

template <class F>
void Register() {
  if constexpr (requires { F::RunsHere(); }) {
    if (!F::RunsHere()) return;
  }
  for (const int64_t keys : kSizes) {
    const auto add = [keys](const char* name, void (*body)(benchmark::State&)) {
      benchmark::RegisterBenchmark((std::string(name) + "/" + F::Name()).c_str(), body)
          ->ArgName("n")
          ->Arg(keys)
          ->Unit(keys > 1'000'000 ? benchmark::kMillisecond : benchmark::kMicrosecond);
    };
    if constexpr (AddsOneByOne<F>) {
      add("BM_Add", &BM_Fill<F, true>);
      if constexpr (AddsAll<F>) add("BM_AddBatch", &BM_Fill<F, false>);
    } else {
      add("BM_Build", &BM_Fill<F, false>);
    }
    add("BM_Miss", &BM_Ask<F, false>);
    add("BM_Hit", &BM_Ask<F, true>);
    if constexpr (AnswersBatches<F>) {
      add("BM_BatchMiss", &BM_AskBatch<F, false>);
      add("BM_BatchHit", &BM_AskBatch<F, true>);
    }
  }
}

// --- the table of bench/README.md ---

constexpr std::string_view kColumns[] = {"BM_AddBatch", "BM_Miss", "BM_Hit", "BM_BatchMiss",
                                         "BM_BatchHit"};

template <class F>
void PrintRows(const bench::ItemTimes& times) {
  for (const int64_t keys : kSizes) {
    const auto find = [&times, keys](std::string_view benchmark) {
      return times.Find(std::string(benchmark) + "/" + F::Name() + "/n:" + std::to_string(keys));
    };
    const auto print = [](const bench::ItemTimes::Item* item) {
      if (item == nullptr) return bench::PrintNoCell();
      bench::PrintNanosCell(item->median(), item->best());
    };
    const bench::ItemTimes::Item* const misses = find("BM_Miss");
    if (misses == nullptr) continue;
    std::printf("| %s | %s | %.2f | %.2f %% |", F::Name().c_str(),
                keys == kSizes[0] ? "100 thousand" : "10 million",
                misses->counters.at("bits_per_key"), 100 * misses->counters.at("fpp"));
    print(AddsOneByOne<F> ? find("BM_Add") : find("BM_Build"));
    for (const std::string_view column : kColumns) print(find(column));
    std::printf("\n");
  }
}

template <class... Filters>
void PrintTable(FilterTypes<Filters...>, const bench::ItemTimes& times) {
#if defined(__AVX2__)
  constexpr char kCompiledFor[] = ", compiled for CPUs with AVX2";
#else
  constexpr char kCompiledFor[] = "";
#endif
  std::printf("%s%s; nanoseconds, median / best of %ld:\n\n", bench::DescribeCpu().c_str(),
              kCompiledFor, static_cast<long>(times.repetitions()));
  std::printf(
      "| filter | keys | bits/key | FPP | add | add, batch | absent | present | absent, batch "
      "| present, batch |\n|---|---|---|---|---|---|---|---|---|---|\n");
  (PrintRows<Filters>(times), ...);
}

template <class... Filters>
void RegisterAll(FilterTypes<Filters...>) {
  (Register<Filters>(), ...);
}

}  // namespace

int main(int argc, char** argv) {
#if defined(__AVX2__)
  if (bloom::BestSimd() != bloom::Simd::kAvx2) {
    std::fprintf(stderr, "%s: compiled for CPUs with AVX2, which this one lacks\n", argv[0]);
    return 1;
  }
#endif
  // Runs in random order, so that other work on the machine affects all results alike.
  return bench::RunBenchmarks(
      argc, argv, {"--benchmark_repetitions=9", "--benchmark_enable_random_interleaving=true"},
      [] { RegisterAll(Compared()); },
      [](const bench::ItemTimes& times) { PrintTable(Compared(), times); });
}
