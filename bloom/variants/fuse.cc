#include "bloom/variants/fuse.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <utility>

#include "bloom/core/bits.h"
#include "bloom/core/concat.h"
#include "bloom/core/fetch_ahead.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/packed.h"
#include "bloom/core/probe.h"
#include "bloom/core/sizing.h"
#include "bloom/core/status.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ULL;
constexpr uint32_t kOffsetBits = 18;  // width of a field of g

// Zeros after the last number, so that eight bytes can be loaded at the start of any number.
constexpr uint64_t kFuseSlackBytes = 7;

// Salt of the remix.  The attempt is in the highest byte of the detail, so that attempts differ
// even for consecutive digests.
uint64_t FuseSalt(uint64_t seed, const Shape& shape) { return seed + shape.detail; }

uint64_t FuseRemainder(uint64_t hash, uint32_t bits) {
  return hash * 0xd1342543de82ef95ULL >> (64 - bits);
}

// Locates the slots of a key.
template <uint32_t kArity>
class FuseSlots {
 public:
  explicit FuseSlots(const Shape& shape)
      : segment_(uint64_t{1} << FuseDetail::Of(shape.detail).segment_log2),
        starts_(shape.size - (kArity - 1) * segment_) {}

  [[gnu::always_inline]] std::array<uint64_t, kArity> Of(uint64_t hash) const {
    const uint64_t offsets = hash * kGolden;
    std::array<uint64_t, kArity> slots;
    slots[0] = ReduceRange(hash, starts_);
#pragma GCC unroll 4
    for (uint32_t i = 1; i < kArity; ++i) {
      slots[i] = (slots[0] + i * segment_) ^ (offsets >> (64 - kOffsetBits * i) & (segment_ - 1));
    }
    return slots;
  }

 private:
  uint64_t segment_;
  uint64_t starts_;  // slots that may be a key's first one
};

// --- queries ---

// The shortest word that holds any number of this width, at any bit of its first byte.  A longer
// word would span two cache lines more often.
template <uint32_t kWidth>
constexpr auto FuseWordFor() {
  constexpr uint32_t kBits = kWidth + 8 - std::gcd(kWidth, 8u);
  if constexpr (kWidth == 0 || kBits > 32) {
    return uint64_t{};
  } else if constexpr (kBits > 16) {
    return uint32_t{};
  } else if constexpr (kBits > 8) {
    return uint16_t{};
  } else {
    return uint8_t{};
  }
}

// Queries numbers of kWidth bits. kWidth = 0: of the width in the view.
template <uint32_t kArity, uint32_t kWidth>
class FuseQuery {
 public:
  static bool MayContain(const FilterView& view, Digest digest) {
    const FuseQuery query(view);
    return query.Passes(query.Locate(Remix(digest, query.salt_)));
  }

  static void Prefetch(const FilterView& view, Digest digest) {
    const FuseQuery query(view);
    query.Fetch(query.Locate(Remix(digest, query.salt_)));
  }

  static void MayContainBatch(const FilterView& view, const Digest* digests, size_t count,
                              bool* results) {
    const FuseQuery query(view);
    TakeOneByOne<kBatchGroup>(
        {digests, count}, query.salt_, Fuse<kArity>::PayloadBytes(view.shape),
        [&](uint64_t hash) __attribute__((always_inline)) { query.Fetch(query.Locate(hash)); },
        [&](size_t i, uint64_t hash) { results[i] = query.Passes(query.Locate(hash)); });
  }

 private:
  // A hash and the location of its slots.
  struct Located {
    std::array<uint64_t, kArity> slots;
    uint64_t remainder;
  };

  explicit FuseQuery(const FilterView& view)
      : payload_(view.payload),
        slots_(view.shape),
        salt_(FuseSalt(view.seed, view.shape)),
        width_(kWidth != 0 ? kWidth : FuseDetail::Of(view.shape.detail).remainder_bits) {}

  [[gnu::always_inline]] Located Locate(uint64_t hash) const {
    return {slots_.Of(hash), FuseRemainder(hash, width_)};
  }

  [[gnu::always_inline]] bool Passes(const Located& located) const {
    uint64_t sum = located.remainder;
#pragma GCC unroll 4
    for (const uint64_t slot : located.slots) sum ^= Load(slot);
    return sum << (64 - width_) == 0;
  }

  // Always inlined, also because GCC 12 drops calls to functions that only prefetch.
  [[gnu::always_inline]] void Fetch(const Located& located) const {
#pragma GCC unroll 4
    for (const uint64_t slot : located.slots) __builtin_prefetch(payload_ + ByteOf(slot));
  }

  static constexpr bool kWholeBytes = kWidth != 0 && kWidth % 8 == 0;

  uint64_t ByteOf(uint64_t slot) const {
    return kWholeBytes ? slot * (kWidth / 8) : slot * width_ >> 3;
  }
  // The number of a slot, with the following bits above it.
  uint64_t Load(uint64_t slot) const {
    const uint64_t bit = kWholeBytes ? 0 : slot * width_ & 7;
    if constexpr (std::endian::native == std::endian::big) {
      return Load64(payload_ + ByteOf(slot)) >> bit;
    } else {
      auto word = FuseWordFor<kWidth>();
      std::memcpy(&word, payload_ + ByteOf(slot), sizeof word);
      return uint64_t{word} >> bit;
    }
  }

  const uint8_t* const payload_;
  const FuseSlots<kArity> slots_;
  const uint64_t salt_;
  const uint32_t width_;
};

template <uint32_t kArity, uint32_t... kWidths>
constexpr auto FuseFunctionTable(std::integer_sequence<uint32_t, kWidths...>) {
  return std::array{FilterFunctions{&FuseQuery<kArity, kWidths>::MayContain,
                                    &FuseQuery<kArity, 0>::Prefetch,
                                    &FuseQuery<kArity, kWidths>::MayContainBatch}...};
}
// By width up to 16 (an FPP of 2^-16).  Entry 0 serves all other widths.
template <uint32_t kArity>
constexpr auto kFuseFunctions =
    FuseFunctionTable<kArity>(std::make_integer_sequence<uint32_t, 17>{});

// --- solving ---

template <class T>
using Temporary = std::unique_ptr<T[]>;
// Uninitialized memory; null if memory has run out.
template <class T>
Temporary<T> MakeTemporary(uint64_t count) {
  if (count > PTRDIFF_MAX / sizeof(T)) return nullptr;
  return Temporary<T>(new (std::nothrow) T[count]);
}

// Slots in order of insertion.
struct SlotList {
  // Empties the list.  False without memory.
  bool Reserve(uint64_t count) {
    size = 0;
    if (count <= room) return true;
    room = 2 * count;
    slots = MakeTemporary<uint64_t>(room);
    return slots != nullptr;
  }

  Temporary<uint64_t> slots;
  uint64_t size = 0;
  uint64_t room = 0;
};

absl::Status NoMemoryToSolve(uint64_t keys) {
  return absl::ResourceExhaustedError(Concat("no memory to solve a filter of ", keys, " keys"));
}

absl::Status NoSolution(uint64_t keys) {
  return absl::AbortedError(Concat("no solution for a filter of ", keys, " keys"));
}

// Solves by peeling.  If a key is the only one in a slot, that slot can always be set so that the
// key's sum is its remainder, whatever the key's other slots hold.  So the key can be taken away
// and solved last.  That leaves other keys alone in a slot.  When all keys are peeled, the numbers
// are written in reverse order.
//
// For each slot it keeps the number of remaining keys, the xor of their hashes, and the xor of
// their places (which of a key's slots this one is).  If one key is left, the two xors are its hash
// and its place.
template <uint32_t kArity>
class FuseSolver {
 public:
  FuseSolver(const Shape& shape, std::span<const Digest> digests)
      : shape_(shape), slots_(shape), digests_(digests) {
    const uint64_t segments = shape.size >> FuseDetail::Of(shape.detail).segment_log2;
    group_bits_ = std::clamp(static_cast<int>(std::bit_width(segments)), 1, 13);
  }

  absl::Status Allocate() {
    order_ = MakeTemporary<uint64_t>(digests_.size());
    place_ = MakeTemporary<uint8_t>(digests_.size());
    groups_ = MakeTemporary<uint64_t>(uint64_t{1} << group_bits_);
    xors_ = MakeTemporary<uint64_t>(shape_.size);
    counts_ = MakeTemporary<uint8_t>(shape_.size);
    const bool has_all = order_ && place_ && groups_ && xors_ && counts_;
    return has_all ? absl::OkStatus() : NoMemoryToSolve(digests_.size());
  }

  // Aborted if the graph of the keys under the salt cannot be peeled.  With equal digests that
  // never succeeds; `distinct` removes duplicates, at the cost of sorting.
  absl::Status Peel(uint64_t salt, bool distinct) {
    if (distinct) {
      SortDistinct(salt);
    } else {
      GroupBySegment(salt);
    }
    if (!CountKeys()) return NoSolution(keys_);
    if (!TakeAll()) return NoMemoryToSolve(keys_);
    return taken_ == keys_ ? absl::OkStatus() : NoSolution(keys_);
  }

  // REQUIRES: all keys are peeled.
  void Write(uint8_t* payload) const {
    const uint32_t width = FuseDetail::Of(shape_.detail).remainder_bits;
    const uint64_t mask = (uint64_t{1} << width) - 1;
    for (uint64_t i = keys_; i-- > 0;) {
      const std::array<uint64_t, kArity> slots = slots_.Of(order_[i]);
      uint64_t sum = FuseRemainder(order_[i], width);
#pragma GCC unroll 4
      for (const uint64_t slot : slots) {
        const uint64_t bit = slot * width;
        sum ^= Load64(payload + (bit >> 3)) >> (bit & 7);
      }
      const uint64_t bit = slots[place_[i]] * width;
      uint8_t* const at = payload + (bit >> 3);
      Store64(at, Load64(at) ^ (sum & mask) << (bit & 7));
    }
  }

 private:
  static constexpr uint64_t kScan = 64;      // slots that are scanned before those found are used
  static constexpr uint32_t kPlaceBits = 2;  // within a count's byte, below the number of keys
  static constexpr uint8_t kOneKey = 1 << kPlaceBits;
  static constexpr uint8_t kTooMany = 0x80;  // 32 keys in one slot: there are equal digests

  static bool IsSingle(uint8_t count) { return count >> kPlaceBits == 1; }

  void SortDistinct(uint64_t salt) {
    for (uint64_t i = 0; i < digests_.size(); ++i) order_[i] = Remix(digests_[i], salt);
    std::sort(&order_[0], &order_[0] + digests_.size());
    keys_ =
        static_cast<uint64_t>(std::unique(&order_[0], &order_[0] + digests_.size()) - &order_[0]);
  }

  // Groups hashes by their top bits, in about as many groups as segments.  Consecutive keys then
  // have nearby slots.
  void GroupBySegment(uint64_t salt) {
    const int shift = 64 - group_bits_;
    const std::span<uint64_t> starts(groups_.get(), size_t{1} << group_bits_);
    std::fill(starts.begin(), starts.end(), 0);
    for (const Digest digest : digests_) ++starts[Remix(digest, salt) >> shift];
    std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), uint64_t{0});
    uint64_t* const order = order_.get();
    for (const Digest digest : digests_) {
      const uint64_t hash = Remix(digest, salt);
      order[starts[hash >> shift]++] = hash;
    }
    keys_ = digests_.size();
  }

  // The loops below keep their state in local variables: for the compiler, a written byte may alias
  // any member.

  // False if a slot has too many keys to count.
  bool CountKeys() {
    const FuseSlots<kArity> slots_of = slots_;
    uint64_t* const xors = xors_.get();
    uint8_t* const counts = counts_.get();
    std::fill_n(xors, shape_.size, 0);
    std::fill_n(counts, shape_.size, 0);
    uint8_t seen = 0;
    for (const uint64_t hash : std::span<const uint64_t>(order_.get(), keys_)) {
      const std::array<uint64_t, kArity> slots = slots_of.Of(hash);
#pragma GCC unroll 4
      for (uint32_t place = 0; place < kArity; ++place) {
        const uint64_t slot = slots[place];
        counts[slot] = static_cast<uint8_t>((counts[slot] + kOneKey) ^ place);
        xors[slot] ^= hash;
        seen |= counts[slot];
      }
    }
    return seen < kTooMany;
  }

  // Peels all keys that can be peeled, from the last slot on.  Both ends of the filter have few
  // keys per slot, and peeling them frees more and more of the middle.  False without memory.
  bool TakeAll() {
    taken_ = 0;
    for (uint64_t end = shape_.size; end > 0;) {
      if (!free_.Reserve(kScan)) return false;
      for (const uint64_t begin = end - std::min(end, kScan); end > begin;) {
        free_.slots[free_.size] = --end;
        free_.size += IsSingle(counts_[end]);
      }
      while (free_.size != 0) {
        if (!TakeFree()) return false;
      }
    }
    return true;
  }

  // Peels the keys of the slots in `free_`, and collects the slots that this frees.  Consecutive
  // keys are mostly independent, so the CPU works on several at a time.
  bool TakeFree() {
    if (!freed_.Reserve(kArity * free_.size)) return false;
    const FuseSlots<kArity> slots_of = slots_;
    uint64_t* const xors = xors_.get();
    uint8_t* const counts = counts_.get();
    uint64_t* const order = order_.get();
    uint8_t* const places = place_.get();
    uint64_t* const freed = freed_.slots.get();
    uint64_t freed_size = 0;
    uint64_t taken = taken_;
    for (const uint64_t slot : std::span<const uint64_t>(free_.slots.get(), free_.size)) {
      if (!IsSingle(counts[slot])) continue;  // its key was peeled by another slot
      const uint64_t hash = xors[slot];
      places[taken] = counts[slot] % kOneKey;
      order[taken++] = hash;
      const std::array<uint64_t, kArity> slots = slots_of.Of(hash);
#pragma GCC unroll 4
      for (uint32_t place = 0; place < kArity; ++place) {
        const uint64_t other = slots[place];
        const auto count = static_cast<uint8_t>((counts[other] - kOneKey) ^ place);
        counts[other] = count;
        xors[other] ^= hash;
        freed[freed_size] = other;
        freed_size += IsSingle(count);
      }
    }
    taken_ = taken;
    freed_.size = freed_size;
    std::swap(free_, freed_);
    return true;
  }

  const Shape shape_;
  const FuseSlots<kArity> slots_;
  const std::span<const Digest> digests_;
  int group_bits_;
  uint64_t keys_ = 0;           // number of different digests
  uint64_t taken_ = 0;          // number of peeled ones
  Temporary<uint64_t> groups_;  // position of the next hash of each group
  Temporary<uint64_t> order_;   // hashes: grouped, then in the order of peeling
  Temporary<uint8_t> place_;    // by key, in that order: in which of its slots it was alone
  Temporary<uint64_t> xors_;    // by slot: xor of the hashes of its keys
  Temporary<uint8_t> counts_;   // by slot: number of keys, and xor of their places
  SlotList free_, freed_;       // slots with one key: now, and next
};

// log2 of the published segment length.
template <uint32_t kArity>
uint32_t SegmentLog2For(double keys) {
  const double log2 =
      kArity == 3 ? std::log(keys) / std::log(3.33) + 2.25 : std::log(keys) / std::log(2.91) - 0.5;
  return static_cast<uint32_t>(
      std::clamp<double>(std::floor(log2), 1, Fuse<kArity>::kMaxSegmentLog2));
}

// Slots per key, as published.
template <uint32_t kArity>
double SizeFactorFor(double keys) {
  return kArity == 3 ? std::max(1.125, 0.875 + 0.25 * std::log(1e6) / std::log(keys))
                     : std::max(1.075, 0.77 + 0.305 * std::log(6e5) / std::log(keys));
}

// Fewest segments for which most graphs with three slots per key can be peeled: measured for nine
// attempts in ten, for segments of 256 and 1024 slots.
//
// Peeling begins at both ends.  A few segments can thus be filled to 0.73 keys per slot; with many,
// those in which keys may begin can be filled to 0.9.  The published length doubles at about twelve
// segments, and the published size is then too small, unless rounding up happens to help: at n =
// 11,500, 98 in 100 graphs cannot be peeled.
double FewestSegments(double keys, double segment) {
  return std::min(std::ceil(keys / (0.73 * segment)), std::ceil(keys / (0.9 * segment)) + 2);
}

}  // namespace

template <uint32_t kArity>
absl::StatusOr<Shape> Fuse<kArity>::ShapeFor(uint64_t key_count, double target_fpp) {
  // Checks the arguments.
  TRELLIS_RETURN_IF_ERROR(StandardShapeFor(key_count, target_fpp).status());
  const double keys = std::max<double>(static_cast<double>(key_count), 2);
  FuseDetail detail;
  detail.segment_log2 = SegmentLog2For<kArity>(keys);
  detail.remainder_bits = 1;
  while (std::ldexp(1, -static_cast<int>(detail.remainder_bits)) > target_fpp)
    ++detail.remainder_bits;
  const double segment = std::ldexp(1, static_cast<int>(detail.segment_log2));
  double segments =
      std::max<double>(std::ceil(keys * SizeFactorFor<kArity>(keys) / segment), kArity);
  if (kArity == 3) segments = std::max(segments, FewestSegments(keys, segment));
  if (segments * segment > static_cast<double>(kMaxSizeBits))
    return TooLarge(key_count, target_fpp);
  const Shape shape{static_cast<uint64_t>(segments * segment), kArity, detail.Packed()};
  if (SizeBits(shape) > kMaxSizeBits) {
    return TooLarge(key_count, target_fpp);
  }
  return shape;
}

template <uint32_t kArity>
double Fuse<kArity>::PredictedFpp(const Shape& shape, uint64_t) {
  return std::ldexp(1, -static_cast<int>(FuseDetail::Of(shape.detail).remainder_bits));
}

template <uint32_t kArity>
uint64_t Fuse<kArity>::PayloadBytes(const Shape& shape) {
  const uint64_t bytes = PackedBytes(shape.size, FuseDetail::Of(shape.detail).remainder_bits);
  return bytes == UINT64_MAX ? bytes : bytes + kFuseSlackBytes;
}

template <uint32_t kArity>
uint64_t Fuse<kArity>::SizeBits(const Shape& shape) {
  const uint64_t bytes = PayloadBytes(shape);
  return bytes == UINT64_MAX ? bytes : 8 * bytes;
}

template <uint32_t kArity>
std::string Fuse<kArity>::Problem(const Shape& shape, std::span<const uint8_t> payload) {
  const FuseDetail detail = FuseDetail::Of(shape.detail);
  if (shape.probes != kArity) return Concat("has ", shape.probes, " probes, not ", kArity);
  if (shape.detail != detail.Packed()) return "has ones in unused bits of its detail";
  if (detail.segment_log2 > kMaxSegmentLog2) {
    return Concat("has segments of 2^", detail.segment_log2, " slots");
  }
  if (detail.remainder_bits < 1 || detail.remainder_bits > kMaxRemainderBits) {
    return Concat("has remainders of ", detail.remainder_bits, " bits, not 1 to ",
                  kMaxRemainderBits);
  }
  const uint64_t segments = shape.size >> detail.segment_log2;
  if (segments < kArity || segments << detail.segment_log2 != shape.size) {
    return Concat("has ", shape.size, " slots in segments of 2^", detail.segment_log2);
  }
  if (payload.size() < kFuseSlackBytes) return "has no bytes";
  const std::span<const uint8_t> slack = payload.last(kFuseSlackBytes);
  if (std::any_of(slack.begin(), slack.end(), [](uint8_t byte) { return byte != 0; })) {
    return "has ones after its last number";
  }
  return PackedProblem(shape.size, detail.remainder_bits,
                       payload.first(payload.size() - kFuseSlackBytes));
}

template <uint32_t kArity>
absl::Status Fuse<kArity>::Solve(uint8_t* payload, Shape& shape, uint64_t seed,
                                 std::span<const Digest> digests) {
  FuseSolver<kArity> solver(shape, digests);
  TRELLIS_RETURN_IF_ERROR(solver.Allocate());
  FuseDetail detail = FuseDetail::Of(shape.detail);
  for (detail.attempt = 0; detail.attempt < kAttempts; ++detail.attempt) {
    shape.detail = detail.Packed();
    // Equal digests are rare, so they are looked for only after a failure.
    const absl::Status status = solver.Peel(FuseSalt(seed, shape), /*distinct=*/detail.attempt > 0);
    if (status.ok()) solver.Write(payload);
    if (!absl::IsAborted(status)) return status;
  }
  return NoSolution(digests.size());
}

template <uint32_t kArity>
FilterFunctions Fuse<kArity>::Functions(const FilterView& view) {
  const uint32_t width = FuseDetail::Of(view.shape.detail).remainder_bits;
  return kFuseFunctions<kArity>[width < kFuseFunctions<kArity>.size() ? width : 0];
}

template struct Fuse<3>;
template struct Fuse<4>;

}  // namespace bloom
