// A filter of a fixed set of keys, in memory.  It can have any kind that a file may hold, also the
// smaller ones that are solved for all keys at once (fuse, ribbon).
//
//   const std::vector<std::string_view> keys = {"apple", "cherry"};
//   auto filter = bloom::StaticFilter::OfKeys("ribbon", keys, 0.01);
//   filter->MayContain("banana");
//
// Thread-safe.  Movable, not copyable.
#ifndef TRELLIS_BLOOM_STATIC_FILTER_H_
#define TRELLIS_BLOOM_STATIC_FILTER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/bits.h"
#include "bloom/filter_policy.h"
#include "bloom/hash.h"

namespace bloom::inline TRELLIS_ABI {

class TRELLIS_API StaticFilter {
 public:
  // Makes a filter of the given keys.  `kind` is one of KeyedKinds (bloom/catalog.h).  The result
  // is a standard filter if the kind would be no smaller or finds no solution, and an empty one
  // without keys: kind_name() tells.
  //
  // Keys may repeat.  If more than about 2 % are duplicates, the filter is sized for the distinct
  // ones, which requires sorting.  Filters with different `seed`s have different false positives.
  // InvalidArgument for an unknown kind or a bad FPP, ResourceExhausted without memory.
  static absl::StatusOr<StaticFilter> OfKeys(std::string_view kind,
                                             std::span<const std::string_view> keys,
                                             double target_fpp, uint64_t seed = 0);
  // As OfKeys, from digests that the caller made under any seed.  Query it by digests.
  static absl::StatusOr<StaticFilter> OfDigests(std::string_view kind,
                                                std::span<const Digest> digests, double target_fpp,
                                                uint64_t seed = 0);

  // Loads the bytes of Serialize, or of a FilterBuilder.  DataLoss if they are damaged,
  // Unimplemented if their kind or version is unknown.  ResourceExhausted without memory.
  //
  // If a filter was built from digests, query it by digests.  MayContain(key) hashes the key under
  // seed(), and would deny keys whose digests were made under another one.
  static absl::StatusOr<StaticFilter> Load(std::string_view bytes);

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, reader_.seed()); }

  // False only if the key was not among those given (see Load for filters made of digests).
  bool MayContain(std::string_view key) const { return MayContainDigest(DigestOf(key)); }
  bool MayContainDigest(Digest digest) const { return reader_.MayContain(digest); }
  // results[i] = MayContainDigest(digests[i]).  REQUIRES: results.size() >= digests.size().
  void MayContainBatch(std::span<const Digest> digests, std::span<bool> results) const {
    reader_.MayContainBatch(digests, results);
  }
  // Starts loading the memory that MayContainDigest reads first.
  void Prefetch(Digest digest) const { reader_.Prefetch(digest); }

  std::string Serialize() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }

  std::string kind_name() const { return reader_.kind_name(); }
  uint64_t seed() const { return reader_.seed(); }
  uint64_t size_bits() const { return reader_.size_bits(); }
  double PredictedFpp() const { return reader_.predicted_fpp(); }
  // Everything that the filter says about itself.  Reads all of it.
  FilterDescription Describe() const { return reader_.Describe(); }

 private:
  explicit StaticFilter(AlignedBytes bytes)
      : bytes_(std::move(bytes)),
        reader_(FilterReader::Open({reinterpret_cast<const char*>(bytes_.data()), bytes_.size()})) {
  }

  AlignedBytes bytes_;   // the filter, header included
  FilterReader reader_;  // of them
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_STATIC_FILTER_H_
