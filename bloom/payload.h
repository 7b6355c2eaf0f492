// The bits of a filter without its header of 64 bytes.  For protocols whose own header has the
// parameters, for example a packet with a filter as one of its fields.
//
//   // Both ends know that the field has 128 bits and 6 probes; the packet's number is the seed.
//   auto seen = bloom::PayloadFilter<bloom::Standard>::Over(field, {.size = 128, .probes = 6}, id);
//   if (seen.ok() && !seen->AddIfAbsent("router 7"))  // seen before, or a false positive
//
// These are the bits that follow the header of a complete filter (bloom/README.md, "The bytes").
// They do not describe themselves and have no checksum.  The protocol must supply kind, shape, seed
// and a checksum: with wrong parameters, or after one flipped bit, a filter denies keys that were
// added.
#ifndef TRELLIS_BLOOM_PAYLOAD_H_
#define TRELLIS_BLOOM_PAYLOAD_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/catalog.h"
#include "bloom/core/abi.h"
#include "bloom/core/bits.h"
#include "bloom/core/concepts.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/shape.h"
#include "bloom/core/status.h"
#include "bloom/hash.h"

namespace bloom::inline TRELLIS_ABI {

// The parameters of a filter that its header states, and its bits do not.
struct PayloadParameters {
  uint8_t kind = 0;  // tag; one of bloom/catalog.h
  Shape shape;
  uint64_t seed = 0;
  // These two do not influence answers.
  uint64_t key_count = 0;
  double target_fpp = 0.01;

  friend bool operator==(const PayloadParameters&, const PayloadParameters&) = default;
};

struct PayloadParts {
  PayloadParameters parameters;
  std::string_view payload;  // points into the bytes
};

// Splits `bytes` of Serialize or of a FilterBuilder.  DataLoss if they are damaged, Unimplemented
// if their kind or version is not one of bloom/catalog.h.
TRELLIS_API absl::StatusOr<PayloadParts> RemoveHeader(std::string_view bytes);

// Rebuilds the complete bytes, for FilterReader or Load: equal to those that the header was removed
// from.  Unimplemented for an unknown kind.  DataLoss if no filter has these parameters and this
// payload.  Other errors go unnoticed: with a wrong seed the filter denies its keys.
TRELLIS_API absl::StatusOr<std::string> AddHeader(const PayloadParameters& parameters,
                                                  std::string_view payload);

// A filter on bits in the caller's memory, which needs no alignment.  Allocates nothing.  A copy is
// another view of the same bits.  Thread-safe while no thread changes the bytes.
template <BitLayout Layout>
class PayloadFilter {
 public:
  // All zeros are a filter without keys.  `payload` must have Layout::PayloadBytes(shape) bytes and
  // outlive the filter.  DataLoss if no filter has this shape and this payload.
  static absl::StatusOr<PayloadFilter> Over(std::span<uint8_t> payload, const Shape& shape,
                                            uint64_t seed = 0) {
    TRELLIS_RETURN_IF_ERROR(CheckDetail<Layout>(shape));
    if (const std::string problem = Layout::Problem(shape, payload); !problem.empty())
      return absl::DataLossError("payload: " + problem);
    return PayloadFilter(payload, shape, seed);
  }

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, seed_); }

  void Add(std::string_view key) { AddDigest(DigestOf(key)); }
  void AddDigest(Digest digest) { Layout::Add(payload_.data(), shape_, Remix(digest, seed_)); }

  // Adds the key unless it passes.  Returns true if it did not pass; it is then certainly new.
  // Returns false if it passed; nothing changes then.
  bool AddIfAbsent(std::string_view key) { return AddDigestIfAbsent(DigestOf(key)); }
  bool AddDigestIfAbsent(Digest digest) {
    if (MayContainDigest(digest)) return false;
    AddDigest(digest);
    return true;
  }

  // False only if the key was never added.
  bool MayContain(std::string_view key) const { return MayContainDigest(DigestOf(key)); }
  bool MayContainDigest(Digest digest) const { return functions_.may_contain(view(), digest); }

  const Shape& shape() const { return shape_; }
  uint64_t seed() const { return seed_; }
  // FPP with `key_count` different keys.
  double PredictedFpp(uint64_t key_count) const { return Layout::PredictedFpp(shape_, key_count); }
  // FPP of the current bits, and number of ones.  Each reads all bits.
  double CurrentFpp() const { return Layout::CurrentFpp(view()); }
  uint64_t CountOnes() const { return bloom::CountOnes(payload_.data(), payload_.size()); }

 private:
  PayloadFilter(std::span<uint8_t> payload, const Shape& shape, uint64_t seed)
      : payload_(payload), shape_(shape), seed_(seed), functions_(Layout::Functions(view())) {}

  FilterView view() const { return {payload_.data(), shape_, seed_}; }

  std::span<uint8_t> payload_;
  Shape shape_;
  uint64_t seed_;
  FilterFunctions functions_;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_PAYLOAD_H_
