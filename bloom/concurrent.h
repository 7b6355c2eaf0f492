// A Bloom filter that any number of threads can add to and query at the same time, without locks.
//
//   auto filter = bloom::ConcurrentFilter::Make(1'000'000, 0.01);
//   if (filter->AddIfAbsent("apple")) Process("apple");  // true in one thread only
//
// Shape, probes and bytes are those of the blocked kind (bloom/variants/blocked.h).  For the same
// keys Serialize gives the bytes of Filter<Blocked>, and each loads what the other saved.  All bits
// of a key lie in one cache line of eight 64-bit words.  An atomic "or" changes a word, and only if
// the word lacks bits, so adding a present key does not take the line away from other cores.
//
// AddIfAbsent.  The bits alone cannot tell which thread was first.  Example: thread A sets the
// first of a key's two bits and is delayed.  Thread B adds the same key, finds one bit missing, and
// must call the key new.  A continues and finds both bits set.  A cannot know whether B set them
// (the key has been called new) or other keys did (it has not).  Therefore a thread claims a key
// before it sets the key's bits:
//
//     claims: | 1024 words of 64 bits |   hash = Remix(digest, seed)
//     word (hash & 1023):  | 54 high bits of the hash | state: 10 bits |
//                          state 1: the bits are being set, 2: they are set; a zero word: no claim
//
// A thread that finds bits missing
//
//   1. sets the bits of the claim in its word, if that claim is in state 1 (its thread may sleep);
//   2. looks at the bits of its own key again;
//   3. writes its claim by compare-and-swap.
//
// A claim is replaced only after all bits of its key are set, so no claim occurs twice.  A
// successful swap proves that no thread claimed anything in that word since it was read.
//
// Thread-safe, except Clear, moving and destruction, which need exclusive access.  Movable, not
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

class TRELLIS_API ConcurrentFilter {
 public:
  static constexpr std::string_view kName = "concurrent";
  static constexpr uint8_t kTag = Blocked::kTag;  // the bytes are those of a blocked filter

  // Makes a filter for `key_count` keys at `target_fpp`, with the size of the blocked kind plus 9
  // KiB for claims and counts.  InvalidArgument for a bad count or FPP, ResourceExhausted without
  // memory.
  static absl::StatusOr<ConcurrentFilter> Make(uint64_t key_count, double target_fpp,
                                               uint64_t seed = 0);

  // Loads the bytes of Serialize, of Filter<Blocked>, or of a FilterBuilder of that kind.  DataLoss
  // if they are damaged, Unimplemented if their version is unknown, InvalidArgument if they are a
  // filter of another kind.  ResourceExhausted without memory.
  //
  // If a filter was built from digests, query it by digests.  Add and MayContain hash keys under
  // seed(), and would deny keys whose digests were made under another one.
  static absl::StatusOr<ConcurrentFilter> Load(std::string_view bytes);

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, header_.seed); }

  void Add(std::string_view key) { AddDigest(DigestOf(key)); }
  void AddDigest(Digest digest);

  // Adds the key, and returns whether it was new.  Afterwards the filter contains the key in any
  // case.
  //
  // At most one of all calls with the same key, in any threads and at any times, returns true.
  // None does if the key's bits were already set: by Add, Merge or Load, or by other keys (with the
  // probability of a false positive).  The call that claims the key first returns true; it need not
  // be the call that began first.  No thread ever waits for another.
  bool AddIfAbsent(std::string_view key) { return AddDigestIfAbsent(DigestOf(key)); }
  bool AddDigestIfAbsent(Digest digest);

  // False only if the key was not added before the call began, where "before" is established by a
  // lock, a join, or any other synchronization.  A "maybe" does not synchronize: it does not make
  // visible what another thread wrote before it added the key.
  bool MayContain(std::string_view key) const { return MayContainDigest(DigestOf(key)); }
  bool MayContainDigest(Digest digest) const;

  // Adds all keys of `other`.  Keys that are added to either filter during the call may or may not
  // be included.  InvalidArgument, naming the difference, unless shape and seed agree; then nothing
  // changes.
  absl::Status Merge(const ConcurrentFilter& other);

  // Removes all keys; keeps shape and seed.  REQUIRES: exclusive access.
  void Clear();

  // The bytes contain all keys added before the call began.  A key added during the call may be
  // included fully, partly or not at all, and the key count may be off accordingly.  Needs twice
  // the memory of the bytes for a while.
  std::string Serialize() const;

  const Shape& shape() const { return header_.shape; }
  uint64_t seed() const { return header_.seed; }
  double target_fpp() const { return header_.target_fpp; }
  uint64_t size_bits() const { return Blocked::SizeBits(header_.shape); }
  // Number of additions: calls of Add, calls of AddIfAbsent that returned true, and those of merged
  // filters.  Exact while no thread adds.
  uint64_t added_count() const;

  // FPP with `key_count` different keys.
  double PredictedFpp(uint64_t key_count) const {
    return Blocked::PredictedFpp(header_.shape, key_count);
  }
  // Capacity in keys: the most with PredictedFpp <= target_fpp().  At least the number that the
  // filter was made for; more if its size was rounded up.
  uint64_t KeyCapacity() const {
    return MostKeysWithin(target_fpp(), [this](uint64_t n) { return PredictedFpp(n); });
  }
  // Number of ones; FPP of the current bits; number of different keys, estimated from the share of
  // ones.  Each reads all bits.
  uint64_t CountOnes() const;
  double CurrentFpp() const;
  double EstimatedKeyCount() const;

 private:
  // The bits of one key, as words of its line.
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
  // Copies words.  Each is as it was at some moment of the call.
  void CopyWords(uint64_t first, uint64_t count, uint8_t* to) const;

  FilterHeader header_;  // its key count is not used
  AlignedBytes bits_;
  AlignedBytes claims_;
  // Counts of additions: a word on its own cache line for each group of threads, and one for loaded
  // and merged filters.
  AlignedBytes counts_;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CONCURRENT_H_
