// The bytes of a filter: a header of 64 bytes, then the payload of its kind.  bloom/README.md,
// section "The bytes", draws them.  The tags of kinds are in bloom/catalog.h, those of filter
// objects in bloom/family.h and the headers that it includes.
//
// The payload starts at byte 64, so it is aligned to cache lines if the whole filter is.
#ifndef TRELLIS_BLOOM_CORE_FILTER_FORMAT_H_
#define TRELLIS_BLOOM_CORE_FILTER_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/bits.h"
#include "bloom/core/concepts.h"
#include "bloom/core/shape.h"
#include "bloom/core/status.h"

namespace bloom::inline TRELLIS_ABI {

inline constexpr size_t kFilterHeaderBytes = 64;
inline constexpr size_t kFilterKindAt = 8;  // offset of the tag

// Identifiers of hashes.
inline constexpr uint8_t kHashXxh3Remixed = 1;

// Whether the bytes of a filter can be used.
enum class FilterState : uint8_t {
  kUsable,   // MayContain may answer "no"
  kDamaged,  // a checksum or the geometry is wrong; every answer is "maybe"
  kUnknown,  // sound, but of a kind or version that this library does not know; every
             // answer is "maybe"
};

struct FilterHeader {
  uint8_t kind = 0;
  uint8_t version = 0;
  uint8_t line_bytes_log2 = 0;
  uint8_t hash_id = kHashXxh3Remixed;
  Shape shape;
  uint64_t seed = 0;
  uint64_t key_count = 0;
  double target_fpp = 0;

  // Counts additions.  The count stops at its maximum.
  void CountKeys(uint64_t more = 1) { key_count = AddUpTo(UINT64_MAX, key_count, more); }
};

// The bytes of a filter, checked as far as possible without knowing the kind.
struct ParsedFilter {
  FilterState state = FilterState::kDamaged;
  std::string problem;  // empty if and only if the state is kUsable
  FilterHeader header;  // zeros if the header is unreadable
  std::span<const uint8_t> payload;
};

// Combines header and payload and adds the checksum.
TRELLIS_API std::string EncodeFilter(const FilterHeader& header, std::span<const uint8_t> payload);

// Parses any bytes. kUsable means: length, magic and checksum are right, the hash is one that this
// library computes, and the reserved bytes are zero.  The caller then looks at the kind and calls
// Judge.  The payload points into `bytes`.
TRELLIS_API ParsedFilter ParseFilter(std::string_view bytes);

// Further rules for kUsable bytes that have the tag of a kind.
struct KindRules {
  std::string_view name;
  uint8_t version;
  uint8_t line_bytes_log2;
  bool has_detail;
  std::string (*problem)(const Shape& shape, std::span<const uint8_t> payload);
};
// Rules of a kind, or of a filter object.
template <class K>
inline constexpr KindRules kRulesOf = {K::kName, K::kVersion, K::kLineBytesLog2, kHasDetail<K>,
                                       &K::Problem};

// Header of a filter of that kind, without keys.
template <class K>
FilterHeader HeaderFor(const Shape& shape, uint64_t seed, double target_fpp) {
  return {.kind = K::kTag,
          .version = K::kVersion,
          .line_bytes_log2 = K::kLineBytesLog2,
          .shape = shape,
          .seed = seed,
          .target_fpp = target_fpp};
}

// Describes what is wrong with the number of probes of a shape from a file; empty if nothing is.
std::string ProbesProblem(const Shape& shape);

// Lowers the state of a usable filter that breaks the rules of its kind: to kUnknown for another
// version, to kDamaged for an impossible geometry.
void Judge(const KindRules& rules, ParsedFilter& parsed);

// For callers that accept one kind only: DataLoss, Unimplemented or InvalidArgument (another kind),
// unless the filter is judged usable and has that tag.
TRELLIS_API absl::Status CheckIsKind(const KindRules& rules, uint8_t tag, ParsedFilter& parsed);

// As above, from the bytes.
template <class K>
absl::StatusOr<ParsedFilter> ParseAs(std::string_view bytes) {
  ParsedFilter parsed = ParseFilter(bytes);
  TRELLIS_RETURN_IF_ERROR(CheckIsKind(kRulesOf<K>, K::kTag, parsed));
  return parsed;
}

// InvalidArgument that names the difference between two filters which prevents a merge, and its two
// values.
TRELLIS_API absl::Status CannotMerge(std::string_view what, const std::string& a,
                                     const std::string& b);
// A number with enough digits to tell it from any other.
TRELLIS_API std::string Exactly(double number);

// InvalidArgument, naming the difference, unless the bits of two filters of one kind have the same
// meaning.  `detail_name` is the kind's name for its detail.
TRELLIS_API absl::Status CheckMergeable(const FilterHeader& a, const FilterHeader& b,
                                        std::string_view detail_name = "details");

// InvalidArgument if the caller's shape has a detail that filters of class F cannot have: Load
// would refuse their bytes.
template <class F>
absl::Status CheckDetail(const Shape& shape) {
  if (kHasDetail<F> || shape.detail == 0) return absl::OkStatus();
  return absl::InvalidArgumentError("shape.detail must be 0, is " + std::to_string(shape.detail));
}

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_FILTER_FORMAT_H_
