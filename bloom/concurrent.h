// A filter that any number of threads add to and ask at the same time, without locks.
//
//   auto filter = bloom::ConcurrentFilter::Make(1'000'000, 0.01);
//   if (filter->AddIfAbsent("apple")) Process("apple");  // in one thread alone
//
// Shape, probes and bytes are those of the blocked kind (bloom/variants/blocked.h): Serialize gives
// what Filter<Blocked> gives for the same keys, and each loads what the other saved.  All bits of a
// key lie in one line, which is eight words of 64 bits; a word is changed by one atomic "or", and
// only if it lacks bits, so that a key that is there already takes no line away from other cores.
//
// Is a key new?  The bits alone cannot tell.  Say A has set the first of two bits of a key and is
// delayed.  Another thread B with that key finds one bit missing, as if other keys had set the
// first, and must call the key new.  A then finds both set, and cannot know by which
// key: by B's, so that the key was called new already, or by others, so that it was not.  Hence a
// claim comes before the bits:
//
//     claims: | 1024 words of 64 bits |   hash = Remix(digest, seed)
//     word (hash & 1023):  | 54 high bits of the hash | state: 10 bits |
//                          state 1: its bits are being set, 2: they are set; all zeros: none yet
//
// Whoever finds bits missing puts its hash there by compare-and-swap, after it has set the bits of
// a claim that is still at 1, whose owner may be asleep, and has looked at its own bits once more.
// A claim goes only after the bits of its key are set, so none comes twice, and a swap that
// succeeds proves that no thread claimed anything there since the word was read.
//
// Thread-safe, but for Clear, moving and destruction, which need exclusive access.  Movable, not
// copyable.
#ifndef TRELLIS_BLOOM_CONCURRENT_H_
#define TRELLIS_BLOOM_CONCURRENT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/bits.h"
#include "bloom/core/capacity.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/shape.h"
#include "bloom/core/stored_bits.h"
#include "bloom/hash.h"
#include "bloom/variants/blocked.h"

namespace bloom::inline TRELLIS_ABI {

class ConcurrentFilter {
 public:
  static constexpr std::string_view kName = "concurrent";
  static constexpr uint8_t kTag = Blocked::kTag;  // in memory a filter of its own, in bytes none

  // Sized for `key_count` keys at `target_fpp`, as the blocked kind is; and 9 KiB for claims and
  // counts.  InvalidArgument for a bad count or FPP, ResourceExhausted without memory.
  static absl::StatusOr<ConcurrentFilter> Make(uint64_t key_count, double target_fpp,
                                               uint64_t seed = 0);

  // From the bytes of Serialize, of Filter<Blocked>, or of a FilterBuilder of that kind.  DataLoss
  // if they are damaged, Unimplemented if their version is unknown, InvalidArgument if they are a
  // filter of another kind.
  //
  // A filter that was built from digests must be asked by digests: Add and MayContain hash keys
  // under seed(), and would deny keys that its builder was given under another one.
  static absl::StatusOr<ConcurrentFilter> Load(std::string_view bytes);

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, header_.seed); }

  void Add(std::string_view key) { AddDigest(DigestOf(key)); }
  void AddDigest(Digest digest);

  // Adds the key, and tells whether it was new.  The key is in afterwards, whatever the answer.
  //
  // Of all calls with one key, in however many threads and at whatever times, at most one is told
  // true.  None is only where the bits of the key were set already: by Add, Merge or Load, or by
  // other keys, with the probability that an absent key passes.  "New" is told to the first call
  // that claims the key, which need not be the first that began.  No thread ever waits for another.
  bool AddIfAbsent(std::string_view key) { return AddDigestIfAbsent(DigestOf(key)); }
  bool AddDigestIfAbsent(Digest digest);

  // False only if the key was not added before the call began: "before" as by a lock, a join, or
  // any other hand-over between threads.  "Maybe" hands nothing over by itself: what a thread wrote
  // before it added a key is not thereby visible to one that finds the key.
  bool MayContain(std::string_view key) const { return MayContainDigest(DigestOf(key)); }
  bool MayContainDigest(Digest digest) const;

  // Adds all keys of `other`.  Those that are added to either in the meantime are in or not.
  // InvalidArgument, naming the difference, unless shape and seed agree; nothing is changed then.
  absl::Status Merge(const ConcurrentFilter& other);

  // Forgets all keys, keeps shape and seed.  REQUIRES: exclusive access.
  void Clear();

  // Holds all keys that were added before the call began; those that are added in the meantime are
  // in or not, or with some of their bits, and the key count may be off by as many.  Takes twice
  // the memory of the bytes for a while.
  std::string Serialize() const;

  const Shape& shape() const { return header_.shape; }
  uint64_t seed() const { return header_.seed; }
  double target_fpp() const { return header_.target_fpp; }
  uint64_t size_bits() const { return Blocked::SizeBits(header_.shape); }
  // Keys added, each time that Add was called and where AddIfAbsent was told "new", and those of
  // merged filters.  Exact when no thread adds.
  uint64_t added_count() const;

  // FPP once `key_count` different keys are in.
  double PredictedFpp(uint64_t key_count) const {
    return Blocked::PredictedFpp(header_.shape, key_count);
  }
  // The number of keys that the filter has room for: the most with PredictedFpp <= target_fpp().
  // That is the number that it was made for, or more where sizes are rounded up.
  uint64_t KeyCapacity() const {
    return MostKeysWithin(target_fpp(), [this](uint64_t n) { return PredictedFpp(n); });
  }
  // Number of ones; FPP of the bits as they are; the number of different keys, judged by the share
  // of ones.  Each reads all bits.
  uint64_t CountOnes() const;
  double CurrentFpp() const;
  double EstimatedKeyCount() const;

 private:
  // Which bits of a line a key has, as words of the line.
  struct LineMask;

  ConcurrentFilter(const FilterHeader& header, AlignedBytes bits, AlignedBytes claims,
                   AlignedBytes counts)
      : header_(header),
        bits_(std::move(bits)),
        claims_(std::move(claims)),
        counts_(std::move(counts)) {}
  static absl::StatusOr<ConcurrentFilter> MakeFrom(StoredBits stored);

  void SetBitsOf(uint64_t hash);
  bool HasBitsOf(uint64_t hash) const;
  bool Claim(uint64_t hash);
  void CountOne();
  void CountMany(uint64_t additions);
  // As they are at some moment of the call, each word on its own.
  void CopyWords(uint64_t first, uint64_t count, uint8_t* to) const;

  FilterHeader header_;  // without the key count
  AlignedBytes bits_;
  AlignedBytes claims_;
  // Of additions: a word in a line of its own for each group of threads, and one for those of
  // filters that were loaded or merged.
  AlignedBytes counts_;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CONCURRENT_H_
