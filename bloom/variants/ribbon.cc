#include "bloom/variants/ribbon.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "bloom/core/bits.h"
#include "bloom/core/concat.h"
#include "bloom/core/fetch_ahead.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/probe.h"
#include "bloom/core/sizing.h"
#include "bloom/core/status.h"
#include "bloom/variants/ribbon_equation.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bloom::inline TRELLIS_ABI {
namespace {

using ribbon::AttemptIn;
using ribbon::BlockPlace;
using ribbon::Equation;
using ribbon::HashOf;
using ribbon::IsSound;
using ribbon::kLowerAt;
using ribbon::kShardsLog2At;
using ribbon::kWordBytes;
using ribbon::LowerIn;
using ribbon::ShardOf;
using ribbon::ShardsLog2In;
using ribbon::ShardSlots;
using ribbon::StartsIn;
using ribbon::WordsOf;

// --- shapes ---

// Slots of a shard for which 19 of 20 attempts succeed with n keys.  Fitted to measurements: the
// most keys for which that share succeeds in 192, 256, 384, 512, 768, ... 131072 slots, with 300 to
// 8000 attempts each. tests/bloom/variants/ribbon_test.cc measures the share again.
uint64_t SlotsFor(double n) {
  const double doublings = std::max(std::log2(n) - 9, 0.0);
  const double slots = n * (1.0195 + 0.00026 * doublings * doublings) + 1.5;
  const auto blocks = static_cast<uint64_t>(std::ceil(slots / Ribbon::kBlockSlots));
  return std::max(blocks * Ribbon::kBlockSlots, Ribbon::kWindowSlots + Ribbon::kBlockSlots);
}

// --- queries ---

struct Query {
  uint64_t hash;
  uint64_t block;   // where the window starts
  uint32_t offset;  // within it
};

Query QueryOf(const Shape& shape, uint64_t x, uint64_t attempt) {
  const uint32_t shards_log2 = ShardsLog2In(shape.detail);
  const uint64_t slots = ShardSlots(shape);
  const uint64_t hash = HashOf(x, attempt);
  const uint64_t start = ReduceRange(hash, StartsIn(slots));
  return {hash,
          ShardOf(x, shards_log2) * (slots / Ribbon::kBlockSlots) + start / Ribbon::kBlockSlots,
          static_cast<uint32_t>(start % Ribbon::kBlockSlots)};
}
[[gnu::noinline]] Query RareQueryOf(const Shape& shape, uint64_t x, uint64_t attempt) {
  return QueryOf(shape, x, attempt);
}

// Location of a shard's attempt.  REQUIRES: at least two shards.
const uint8_t* AttemptAt(const FilterView& view, uint64_t x) {
  return view.payload + WordsOf(view.shape) * kWordBytes +
         ShardOf(x, ShardsLog2In(view.shape.detail));
}

// The first attempt is nearly always the successful one.  Branching on that lets the CPU load the
// window without waiting for the attempt.
Query QueryOf(const FilterView& view, uint64_t x) {
  const uint64_t attempt =
      ShardsLog2In(view.shape.detail) == 0 ? AttemptIn(view.shape.detail) : *AttemptAt(view, x);
  if (attempt != 0) [[unlikely]]
    return RareQueryOf(view.shape, x, attempt);
  return QueryOf(view.shape, x, 0);
}

// The words of a window: one for each column in each of three blocks.
struct Window {
  Window(const FilterView& view, uint64_t block) {
    const BlockPlace place(view.shape, block);
    columns = place.columns;
    first = view.payload + kWordBytes * place.word;
    second = first + kWordBytes * columns;
    // The last block with one column fewer is followed by a larger one.
    third = second + kWordBytes * (columns + (block + 1 == LowerIn(view.shape.detail)));
  }

  const uint8_t *first, *second, *third;
  uint32_t columns;
};

// The bits of those words that count.
struct Masks {
  Masks(const Equation& equation, uint32_t offset) {
    const uint64_t from_start = ~uint64_t{0} << offset;
    first = (equation.first & from_start) | uint64_t{1} << offset;
    second = equation.second;
    third = equation.first & ~from_start;
  }

  uint64_t first, second, third;
};

// Always inlined: GCC 12 drops calls to functions that only prefetch.
[[gnu::always_inline]] inline void Fetch(const FilterView& view, const Query& query) {
  const Window window(view, query.block);
  const uint8_t* const end = window.third + kWordBytes * window.columns;
  for (const uint8_t* at = window.first; at < end; at += 64) __builtin_prefetch(at);
  if (window.columns != 0) __builtin_prefetch(end - 1);
}

void Prefetch(const FilterView& view, Digest digest) {
  const uint64_t x = Remix(digest, view.seed);
  const bool is_sharded = ShardsLog2In(view.shape.detail) != 0;
  if (is_sharded) __builtin_prefetch(AttemptAt(view, x));
  Fetch(view, QueryOf(view.shape, x, is_sharded ? 0 : AttemptIn(view.shape.detail)));
}

// A path is a struct with
//   MayContain(view, digest)
//   TestGroup(view, group, results)   the same for many hashes (bloom/core/fetch_ahead.h)
// It has these small functions because code for another CPU does not inline into this.
template <class Path>
void MayContainBatch(const FilterView& view, const Digest* digests, size_t count, bool* results) {
  TakeInGroups<kBatchGroup>(
      {digests, count}, view.seed, Ribbon::PayloadBytes(view.shape),
      [&](uint64_t x) __attribute__((always_inline)) { Fetch(view, QueryOf(view, x)); },
      [&](const HashGroup& group) { Path::TestGroup(view, group, results + group.begin); });
}

struct Portable {
  static bool Test(const FilterView& view, const Query& query) {
    const Equation equation(query.hash);
    const Masks masks(equation, query.offset);
    const Window window(view, query.block);
    uint32_t expected = equation.expected;
    for (uint32_t j = 0; j < window.columns; ++j, expected >>= 1) {
      const uint64_t bits = (Load64(window.first + kWordBytes * j) & masks.first) ^
                            (Load64(window.second + kWordBytes * j) & masks.second) ^
                            (Load64(window.third + kWordBytes * j) & masks.third);
      if (((static_cast<uint32_t>(__builtin_parityll(bits)) ^ expected) & 1) != 0) return false;
    }
    return true;
  }

  static bool MayContain(const FilterView& view, Digest digest) {
    return Test(view, QueryOf(view, Remix(digest, view.seed)));
  }

  static void TestGroup(FilterView view, const HashGroup& group, bool* results) {
    for (size_t i = 0; i < group.hashes.size(); ++i) {
      if (i < group.next.size()) Fetch(view, QueryOf(view, group.next[i]));
      results[i] = Test(view, QueryOf(view, group.hashes[i]));
    }
  }
};

template <class Path>
constexpr FilterFunctions kFunctions = {&Path::MayContain, &Prefetch, &MayContainBatch<Path>};

#if defined(__x86_64__)

TRELLIS_AVX2 inline __m256i Splat(uint64_t word) {
  return _mm256_set1_epi64x(static_cast<long long>(word));
}

TRELLIS_AVX2 inline __m256i FourWords(const uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

// The top bit of each 32-bit lane: whether the lane has an odd number of ones.
TRELLIS_AVX2 inline __m256i ParityOnTop(__m256i bits) {
  bits = _mm256_xor_si256(bits, _mm256_slli_epi32(bits, 16));
  bits = _mm256_xor_si256(bits, _mm256_slli_epi32(bits, 8));
  bits = _mm256_xor_si256(bits, _mm256_slli_epi32(bits, 4));
  bits = _mm256_xor_si256(bits, _mm256_slli_epi32(bits, 2));
  return _mm256_xor_si256(bits, _mm256_slli_epi32(bits, 1));
}

// The masks, repeated in all lanes.
struct WideMasks {
  TRELLIS_AVX2 explicit WideMasks(const Masks& masks)
      : first(Splat(masks.first)), second(Splat(masks.second)), third(Splat(masks.third)) {}

  // The bits that count in four columns, with all three blocks xored.
  TRELLIS_AVX2 __m256i Bits(__m256i in_first, __m256i in_second, __m256i in_third) const {
    return _mm256_xor_si256(
        _mm256_xor_si256(_mm256_and_si256(first, in_first), _mm256_and_si256(second, in_second)),
        _mm256_and_si256(third, in_third));
  }

  __m256i first, second, third;
};

// Up to four columns.  Does not read the words after the last column, which belong to others.
struct FewColumns {
  TRELLIS_AVX2 static bool Test(const FilterView& view, const Query& query) {
    const Window window(view, query.block);
    const Equation equation(query.hash);
    const WideMasks masks(Masks(equation, query.offset));
    const __m256i is_there =
        _mm256_cmpgt_epi64(Splat(window.columns), _mm256_setr_epi64x(0, 1, 2, 3));
    __m256i bits = masks.Bits(Words(window.first, is_there), Words(window.second, is_there),
                              Words(window.third, is_there));
    bits = ParityOnTop(_mm256_xor_si256(bits, _mm256_slli_epi64(bits, 32)));
    const auto parities = static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(bits)));
    return parities == (equation.expected & ((1u << window.columns) - 1));
  }

  TRELLIS_AVX2 static __m256i Words(const uint8_t* block, __m256i is_there) {
    return _mm256_maskload_epi64(reinterpret_cast<const long long*>(block), is_there);
  }
};

// Up to 8 * kEights columns, eight at a time in two vectors of four.  A vector that would extend
// beyond the last column starts earlier, and repeats some columns.  So every block, also one with a
// column fewer, must have at least four columns.
template <uint32_t kEights>
struct ManyColumns {
  TRELLIS_AVX2 static bool Test(const FilterView& view, const Query& query) {
    const Window window(view, query.block);
    const Equation equation(query.hash);
    const WideMasks masks(Masks(equation, query.offset));
    for (uint32_t i = 0; i < kEights; ++i) {
      const uint32_t column = std::min(8 * i, window.columns - 4);
      const uint32_t other = std::min(8 * i + 4, window.columns - 4);
      const __m256 bits = Bits(masks, window, column), other_bits = Bits(masks, window, other);
      // Both halves of each word, of columns 0, 1, other 0, 1, columns 2, 3, other 2, 3.
      const __m256i halves = _mm256_castps_si256(_mm256_xor_ps(
          _mm256_shuffle_ps(bits, other_bits, 0x88), _mm256_shuffle_ps(bits, other_bits, 0xdd)));
      const auto parities =
          static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(ParityOnTop(halves))));
      const uint32_t e = equation.expected >> column, f = equation.expected >> other;
      if (parities != ((e & 3) | (f & 3) << 2 | (e & 12) << 2 | (f & 12) << 4)) return false;
    }
    return true;
  }

  TRELLIS_AVX2 static __m256 Bits(const WideMasks& masks, const Window& window, uint32_t column) {
    const size_t at = kWordBytes * column;
    return _mm256_castsi256_ps(masks.Bits(
        FourWords(window.first + at), FourWords(window.second + at), FourWords(window.third + at)));
  }
};

template <class Columns>
struct Avx2 {
  TRELLIS_AVX2 static bool MayContain(const FilterView& view, Digest digest) {
    return Columns::Test(view, QueryOf(view, Remix(digest, view.seed)));
  }

  TRELLIS_AVX2 static void TestGroup(FilterView view, const HashGroup& group, bool* results) {
    for (size_t i = 0; i < group.hashes.size(); ++i) {
      if (i < group.next.size()) Fetch(view, QueryOf(view, group.next[i]));
      results[i] = Columns::Test(view, QueryOf(view, group.hashes[i]));
    }
  }
};

FilterFunctions Avx2Functions(uint32_t columns) {
  if (columns <= 4) return kFunctions<Avx2<FewColumns>>;
  if (columns <= 8) return kFunctions<Avx2<ManyColumns<1>>>;
  if (columns <= 16) return kFunctions<Avx2<ManyColumns<2>>>;
  return kFunctions<Avx2<ManyColumns<4>>>;
}

#endif  // defined(__x86_64__)

}  // namespace

absl::StatusOr<Shape> Ribbon::ShapeFor(uint64_t key_count, double target_fpp) {
  // Checks the arguments.
  TRELLIS_RETURN_IF_ERROR(StandardShapeFor(key_count, target_fpp).status());
  uint32_t shards_log2 = 0;
  while (key_count >> shards_log2 > kMaxShardKeys) ++shards_log2;
  const auto scale = static_cast<int>(shards_log2);
  const uint64_t slots = SlotsFor(std::ldexp(static_cast<double>(key_count), -scale));
  Shape shape{.size = slots << shards_log2, .probes = 1};
  while (std::ldexp(target_fpp, static_cast<int>(shape.probes)) < 1) ++shape.probes;

  // The FPP is (1 + the share of windows that start in lower blocks) / 2^probes.
  const double share = std::ldexp(target_fpp, static_cast<int>(shape.probes)) - 1;
  const double lower_shards = std::ldexp(share, scale);
  const double whole_shards = std::floor(lower_shards);
  const double blocks = std::floor((lower_shards - whole_shards) *
                                   static_cast<double>(StartsIn(slots) / kBlockSlots));
  const uint64_t lower =
      static_cast<uint64_t>(whole_shards) * (slots / kBlockSlots) + static_cast<uint64_t>(blocks);
  shape.detail = lower << kLowerAt | uint64_t{shards_log2} << kShardsLog2At;
  if (SizeBits(shape) <= kMaxSizeBits) return shape;
  return absl::InvalidArgumentError(
      Concat("key_count ", key_count, " at target_fpp ", target_fpp,
             " needs more than the 2^56 bits that a filter may have"));
}

double Ribbon::PredictedFpp(const Shape& shape, uint64_t) {
  const uint64_t slots = ShardSlots(shape), starts = StartsIn(slots);
  const uint64_t lower = LowerIn(shape.detail) * kBlockSlots;
  const double lower_shards =
      static_cast<double>(lower / slots) +
      static_cast<double>(std::min(lower % slots, starts)) / static_cast<double>(starts);
  const double share = std::ldexp(lower_shards, -static_cast<int>(ShardsLog2In(shape.detail)));
  return std::ldexp(1 + share, -static_cast<int>(shape.probes));
}

uint64_t Ribbon::SizeBits(const Shape& shape) {
  if (shape.probes > kMaxProbes || !IsSound(shape)) return UINT64_MAX;
  const uint32_t shards_log2 = ShardsLog2In(shape.detail);
  return 8 * (WordsOf(shape) * kWordBytes + (shards_log2 == 0 ? 0 : uint64_t{1} << shards_log2));
}

std::string Ribbon::Problem(const Shape& shape, std::span<const uint8_t> payload) {
  if (std::string problem = ProbesProblem(shape); !problem.empty()) return problem;
  if (SizeBits(shape) > kMaxSizeBits || PayloadBytes(shape) != payload.size()) {
    return Concat("has ", payload.size(), " bytes for ", shape.size, " slots, of which ",
                  LowerIn(shape.detail), " blocks are lower, in 2^", ShardsLog2In(shape.detail),
                  " shards");
  }
  return "";
}

FilterFunctions Ribbon::Functions([[maybe_unused]] const FilterView& view, Simd simd) {
#if defined(__x86_64__)
  if (simd == Simd::kAvx2) return Avx2Functions(view.shape.probes);
#endif
  static_cast<void>(simd);
  return kFunctions<Portable>;
}

}  // namespace bloom
