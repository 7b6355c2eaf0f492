// Builds ribbon filters: Gaussian elimination, shard by shard.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/bits.h"
#include "bloom/core/concat.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/probe.h"
#include "bloom/core/status.h"
#include "bloom/variants/ribbon.h"
#include "bloom/variants/ribbon_equation.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace bloom::inline TRELLIS_ABI {
namespace {

using ribbon::BlockPlace;
using ribbon::BlocksOf;
using ribbon::Equation;
using ribbon::HashOf;
using ribbon::kWordBytes;
using ribbon::ShardOf;
using ribbon::ShardsLog2In;
using ribbon::ShardSlots;
using ribbon::StartsIn;
using ribbon::WordsOf;

// A counting sort: `to` gets value(item) of all items, ordered by bucket(value). ends[b] becomes
// the end of bucket b.
template <class Value, class Bucket>
void Distribute(std::span<const uint64_t> items, Value value, Bucket bucket, uint64_t* to,
                std::span<uint64_t> ends) {
  if (ends.size() == 1) {
    ends[0] = items.size();
    std::transform(items.begin(), items.end(), to, value);
    return;
  }
  std::fill(ends.begin(), ends.end(), 0);
  for (const uint64_t item : items) ++ends[bucket(value(item))];
  uint64_t begin = 0;
  for (uint64_t& end : ends) begin += std::exchange(end, begin);
  for (const uint64_t item : items) {
    const uint64_t v = value(item);
    to[ends[bucket(v)]++] = v;
  }
}

// An equation.  Its coefficients begin with the slot where it is kept; the first coefficient is
// one.  Half a cache line.
struct alignas(32) Row {
  uint64_t low, high;  // `low` is 0 if there is no equation
  uint64_t expected;   // one bit per column
};

// The equations of a shard in echelon form: at most one in each slot.
class Band {
 public:
  // ResourceExhausted without memory.
  static absl::StatusOr<Band> Make(uint64_t slots, uint64_t most_keys) {
    TRELLIS_ASSIGN_OR_RETURN(AlignedBytes rows, ZerosFor(slots * sizeof(Row)));
    TRELLIS_ASSIGN_OR_RETURN(AlignedBytes hashes, ZerosFor(std::max<uint64_t>(most_keys, 1) * 8));
    return Band(slots, std::move(rows), std::move(hashes));
  }

  // Adds the equations of the keys with these x, for one attempt; false if they contradict each
  // other.  Takes keys roughly in the order of their starts, so that the rows stay in the
  // first-level cache.
  bool Fill(std::span<const uint64_t> xs, uint64_t attempt, uint64_t all_columns) {
    const uint64_t starts = StartsIn(slots_);
    auto* const hashes = reinterpret_cast<uint64_t*>(hashes_.data());
    Distribute(
        xs, [attempt](uint64_t x) { return HashOf(x, attempt); },
        [starts, this](uint64_t hash) { return ReduceRange(hash, starts) >> bucket_log2_; }, hashes,
        bucket_ends_);
    std::fill_n(rows(), slots_, Row{});
    return std::all_of(hashes, hashes + xs.size(), [&](uint64_t hash) {
      return Add(ReduceRange(hash, starts), Equation(hash), all_columns);
    });
  }

  uint64_t slots() const { return slots_; }
  const Row& row(uint64_t slot) const { return rows()[slot]; }

 private:
  Band(uint64_t slots, AlignedBytes rows, AlignedBytes hashes)
      : slots_(slots),
        bucket_log2_(std::max(static_cast<uint32_t>(std::bit_width(slots)), 18u) - 11),
        bucket_ends_((slots >> bucket_log2_) + 1),
        rows_(std::move(rows)),
        hashes_(std::move(hashes)) {}

  Row* rows() { return reinterpret_cast<Row*>(rows_.data()); }
  const Row* rows() const { return reinterpret_cast<const Row*>(rows_.data()); }

  bool Add(uint64_t start, const Equation& equation, uint64_t all_columns) {
    const uint32_t offset = start % Ribbon::kBlockSlots;
    uint64_t low = equation.first >> offset | equation.second << 1 << (63 - offset) | 1;
    uint64_t high = equation.second >> offset | equation.first << 1 << (63 - offset);
    uint64_t expected = equation.expected & all_columns;
    Row* row = rows() + start;
    while (row->low != 0) {
      low ^= row->low;
      high ^= row->high;
      expected ^= row->expected;
      if (low == 0) [[unlikely]] {
        if (high == 0) return expected == 0;
        low = std::exchange(high, 0);
        row += 64;
      }
      const int zeros = std::countr_zero(low);
      low = low >> zeros | high << 1 << (63 - zeros);
      high >>= zeros;
      row += zeros;
    }
    *row = {low, high, expected};
    return true;
  }

  uint64_t slots_;
  uint32_t bucket_log2_;
  std::vector<uint64_t> bucket_ends_;
  AlignedBytes rows_;    // slots_
  AlignedBytes hashes_;  // of the keys, by bucket
};

// Solves for the slots from last to first, each from the 127 slots after it, and stores them from
// block `first_block` on.  Slots without an equation get zeros.
using BackSubstituteFn = void (*)(const Band& band, const Shape& shape, uint64_t first_block,
                                  uint8_t* payload);

void StoreBlock(const uint64_t* words, const Shape& shape, uint64_t block, uint8_t* payload) {
  const BlockPlace place(shape, block);
  for (uint32_t j = 0; j < place.columns; ++j) {
    Store64(payload + kWordBytes * (place.word + j), words[j]);
  }
}

void BackSubstitute(const Band& band, const Shape& shape, uint64_t first_block, uint8_t* payload) {
  uint64_t low[kMaxProbes] = {}, high[kMaxProbes] = {};  // of a column: bit i is slot + i
  for (uint64_t slot = band.slots(); slot-- > 0;) {
    const Row& row = band.row(slot);
    for (uint32_t j = 0; j < shape.probes; ++j) {
      high[j] = high[j] << 1 | low[j] >> 63;
      low[j] <<= 1;
      const uint64_t bits = (row.low & low[j]) ^ (row.high & high[j]);
      low[j] |= (static_cast<uint64_t>(__builtin_parityll(bits)) ^ row.expected >> j) & 1;
    }
    if (slot % Ribbon::kBlockSlots == 0) {
      StoreBlock(low, shape, first_block + slot / Ribbon::kBlockSlots, payload);
    }
  }
}

#if defined(__x86_64__)

TRELLIS_AVX2 inline __m256i Splat(uint64_t word) {
  return _mm256_set1_epi64x(static_cast<long long>(word));
}

// As above, with four columns in a vector.
template <uint32_t kVectors>
TRELLIS_AVX2 void BackSubstituteAvx2(const Band& band, const Shape& shape, uint64_t first_block,
                                     uint8_t* payload) {
  const __m256i nibble = _mm256_set1_epi8(15), one = Splat(1), four = Splat(4);
  const __m256i parity_of_nibble =
      _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0));
  __m256i low[kVectors], high[kVectors];
  for (uint32_t v = 0; v < kVectors; ++v) low[v] = high[v] = _mm256_setzero_si256();
  for (uint64_t slot = band.slots(); slot-- > 0;) {
    const Row& row = band.row(slot);
    const __m256i row_low = Splat(row.low), row_high = Splat(row.high);
    __m256i expected = _mm256_srlv_epi64(Splat(row.expected), _mm256_setr_epi64x(0, 1, 2, 3));
    for (uint32_t v = 0; v < kVectors; ++v) {
      high[v] = _mm256_or_si256(_mm256_slli_epi64(high[v], 1), _mm256_srli_epi64(low[v], 63));
      low[v] = _mm256_slli_epi64(low[v], 1);
      __m256i bits =
          _mm256_xor_si256(_mm256_and_si256(row_low, low[v]), _mm256_and_si256(row_high, high[v]));
      bits = _mm256_and_si256(_mm256_xor_si256(bits, _mm256_srli_epi64(bits, 4)), nibble);
      bits = _mm256_shuffle_epi8(parity_of_nibble, bits);
      bits = _mm256_sad_epu8(bits, _mm256_setzero_si256());  // sum of the bytes
      bits = _mm256_and_si256(_mm256_xor_si256(bits, expected), one);
      low[v] = _mm256_or_si256(low[v], bits);
      expected = _mm256_srlv_epi64(expected, four);
    }
    if (slot % Ribbon::kBlockSlots == 0) {
      alignas(32) uint64_t words[4 * kVectors];
      for (uint32_t v = 0; v < kVectors; ++v) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(words) + v, low[v]);
      }
      StoreBlock(words, shape, first_block + slot / Ribbon::kBlockSlots, payload);
    }
  }
}

#endif  // defined(__x86_64__)

BackSubstituteFn ChooseBackSubstitute(uint32_t columns, Simd simd) {
#if defined(__x86_64__)
  static constexpr BackSubstituteFn kByVectors[] = {&BackSubstituteAvx2<1>, &BackSubstituteAvx2<2>,
                                                    &BackSubstituteAvx2<3>, &BackSubstituteAvx2<4>,
                                                    &BackSubstituteAvx2<5>, &BackSubstituteAvx2<6>,
                                                    &BackSubstituteAvx2<7>, &BackSubstituteAvx2<8>};
  static_assert(4 * std::size(kByVectors) == kMaxProbes);
  if (simd == Simd::kAvx2) return kByVectors[(columns - 1) / 4];
#endif
  static_cast<void>(columns);
  static_cast<void>(simd);
  return &BackSubstitute;
}

uint64_t CountDifferent(std::span<const uint64_t> xs) {
  std::vector<uint64_t> sorted(xs.begin(), xs.end());
  std::sort(sorted.begin(), sorted.end());
  return static_cast<uint64_t>(std::unique(sorted.begin(), sorted.end()) - sorted.begin());
}

absl::Status NoSolution(uint64_t keys, uint64_t slots, uint32_t attempts) {
  return absl::AbortedError(
      Concat(keys, " keys in ", slots, " slots: no solution in ", attempts, " attempts"));
}

}  // namespace

absl::Status Ribbon::Solve(uint8_t* payload, Shape& shape, uint64_t seed,
                           std::span<const Digest> digests, Simd simd) {
  const uint32_t shards_log2 = ShardsLog2In(shape.detail);
  TRELLIS_ASSIGN_OR_RETURN(AlignedBytes x_bytes,
                           ZerosFor(std::max<uint64_t>(digests.size(), 1) * 8));
  auto* const xs = reinterpret_cast<uint64_t*>(x_bytes.data());
  std::vector<uint64_t> ends(uint64_t{1} << shards_log2);
  Distribute(
      digests, [seed](Digest digest) { return Remix(digest, seed); },
      [shards_log2](uint64_t x) { return ShardOf(x, shards_log2); }, xs, ends);
  uint64_t most_keys = ends[0];
  for (size_t i = 1; i < ends.size(); ++i) most_keys = std::max(most_keys, ends[i] - ends[i - 1]);
  TRELLIS_ASSIGN_OR_RETURN(Band band, Band::Make(ShardSlots(shape), most_keys));

  const BackSubstituteFn back_substitute = ChooseBackSubstitute(shape.probes, simd);
  const uint64_t all_columns = (uint64_t{1} << shape.probes) - 1;
  const uint64_t shard_blocks = BlocksOf(shape) >> shards_log2;
  uint64_t begin = 0;
  for (uint64_t shard = 0; shard < ends.size(); begin = ends[shard++]) {
    const std::span<const uint64_t> of_shard(xs + begin, ends[shard] - begin);
    // A shard with more keys than slots cannot be solved, and each attempt would take the time for
    // all its keys.
    if (of_shard.size() > band.slots() && CountDifferent(of_shard) > band.slots())
      return NoSolution(of_shard.size(), band.slots(), 0);
    uint32_t attempt = 0;
    while (attempt < kMaxAttempts && !band.Fill(of_shard, attempt, all_columns)) ++attempt;
    if (attempt == kMaxAttempts) {
      return NoSolution(of_shard.size(), band.slots(), attempt);
    }
    if (shards_log2 == 0) {
      shape.detail |= attempt;
    } else {
      payload[WordsOf(shape) * kWordBytes + shard] = static_cast<uint8_t>(attempt);
    }
    back_substitute(band, shape, shard * shard_blocks, payload);
  }
  return absl::OkStatus();
}

}  // namespace bloom
