// A filter of key prefixes: a scan within one prefix can skip files that have no key with it.
//
//   auto filter = bloom::PrefixFilter::Make(10'000, 0.01, {.extractor = "delimiter:/"});
//   filter->Add("fruit/apple");
//   filter->MayContainPrefix("fruit/");              // true
//   filter->MayContainPrefix("nuts/");               // false, except for one prefix in a hundred
//   filter->MayMatchRange("nuts/a", "nuts/z");       // likewise
//
// An extractor defines the prefix of a key.  Its name is stored in the filter's bytes.
//
//   fixed:N              the first N bytes; shorter keys have no prefix
//   delimiter:C          up to and including the first byte C; keys without C have no prefix
//   delimiter:C:COUNT    up to and including byte C number COUNT
//
// C is any one byte, unescaped: "delimiter:::2" counts colons.  N and COUNT: 1 to 65535.
//
// A key without a prefix is out of the domain: it adds no prefix to the filter, and every query by
// prefix or range that it could match is answered "maybe".  If whole keys are added too, the key
// itself is added.
//
// Bytes: EncodeWrapped of a Filter<Blocked> (bloom/core/wrapped.h).  The tail is the extractor's
// name; detail is 1 if whole keys are added too, else 0.
//
// Do not use it for secret keys: a caller that can time lookups can find the existing prefixes step
// by step, starting from short ones.
//
// Thread-safe while no thread changes it.  Movable, not copyable.
#ifndef TRELLIS_BLOOM_PREFIX_H_
#define TRELLIS_BLOOM_PREFIX_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/shape.h"
#include "bloom/filter.h"
#include "bloom/hash.h"
#include "bloom/variants/blocked.h"

namespace bloom::inline TRELLIS_ABI {

// Thread-safe, copyable.
class TRELLIS_API PrefixExtractor {
 public:
  // InvalidArgument, with the name, if it is none of those above.
  static absl::StatusOr<PrefixExtractor> FromName(std::string_view name);

  // The canonical name for FromName: "delimiter:/" also for "delimiter:/:1".
  std::string name() const;

  // The prefix of a key, or of a string that a key begins with; nullopt if it has none.  All
  // strings that begin with a prefix have that prefix.
  std::optional<std::string_view> PrefixOf(std::string_view key) const;

 private:
  enum class Rule : uint8_t { kFixed, kDelimiter };

  PrefixExtractor(Rule rule, char delimiter, uint32_t count)
      : rule_(rule), delimiter_(delimiter), count_(count) {}

  Rule rule_;
  char delimiter_;
  uint32_t count_;  // number of bytes, or of delimiters
};

// Whether a filter holds whole keys in addition to prefixes.
enum class WholeKeys : uint8_t { kLeftOut, kToo };

// Whether a range includes its end.
enum class RangeEnd : uint8_t { kIncluded, kExcluded };

struct PrefixOptions {
  std::string_view extractor;  // its name
  uint64_t seed = 0;
  WholeKeys whole_keys = WholeKeys::kLeftOut;
};

class TRELLIS_API PrefixFilter {
 public:
  static constexpr std::string_view kName = "prefix";
  static constexpr uint8_t kTag = 75;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;
  static constexpr bool kHasDetail = true;  // 1: whole keys too

  // Makes a filter.  `key_count` is the number of different prefixes, plus the number of keys if
  // whole keys are added too.  InvalidArgument for a bad extractor, count or FPP, ResourceExhausted
  // without memory.
  static absl::StatusOr<PrefixFilter> Make(uint64_t key_count, double target_fpp,
                                           const PrefixOptions& options);

  // Loads the bytes of Serialize.  DataLoss if they are damaged, Unimplemented if their version or
  // their extractor is unknown, InvalidArgument if they are a filter of another kind.
  // ResourceExhausted without memory.
  static absl::StatusOr<PrefixFilter> Load(std::string_view bytes);

  // Adds the prefix of the key, if it has one, and the key itself if whole keys are added too.
  // Skips a prefix or key equal to the last one, so sorted keys add each prefix once.
  void Add(std::string_view key);

  // False only if no added key begins with `prefix`.  "Maybe" if it is too short to have a full
  // prefix.  If it is longer than one, only its full prefix is looked up.
  bool MayContainPrefix(std::string_view prefix) const;

  // False only if no added key is in [low, high], or in [low, high) if the end is excluded.  Keys
  // are compared byte by byte, unsigned, shorter ones first.
  //
  // "No" is possible if the whole range has one full prefix:
  //
  // - if both bounds have it; or
  // - with the end excluded, if `low` has it and `high` is the first string after all strings with
  //   it ("user0" for "user/").
  //
  // Any other range is "maybe".  So is an empty one (low > high), unless its bounds share an absent
  // prefix.  For a range with an open lower bound, use the answer for the closed one.
  bool MayMatchRange(std::string_view low, std::string_view high,
                     RangeEnd end = RangeEnd::kIncluded) const;

  // False only if the key was never added.  Looks up the key itself if whole keys are added,
  // otherwise its prefix.
  bool MayContain(std::string_view key) const;

  // Adds the content of `other`.  InvalidArgument, naming the difference, unless extractor, whole
  // keys, shape and seed agree; then nothing changes.
  absl::Status Merge(const PrefixFilter& other);

  // Removes everything; keeps shape, seed and extractor.
  void Clear();

  std::string Serialize() const;

  std::string extractor_name() const { return extractor_.name(); }
  WholeKeys whole_keys() const { return whole_keys_; }
  const Shape& shape() const { return filter_.shape(); }
  uint64_t seed() const { return filter_.seed(); }
  double target_fpp() const { return filter_.target_fpp(); }
  uint64_t size_bits() const { return filter_.size_bits(); }
  // Number of additions of prefixes and keys.
  uint64_t added_count() const { return filter_.added_count(); }

  // FPP for a prefix that no key has (and, with whole keys, for an absent key that is not itself
  // the prefix of another): with `key_count` different prefixes and keys, and with the current
  // bits.
  double PredictedFpp(uint64_t key_count) const { return filter_.PredictedFpp(key_count); }
  double CurrentFpp() const { return filter_.CurrentFpp(); }
  // Capacity in different prefixes and keys; number of ones.
  uint64_t KeyCapacity() const { return filter_.KeyCapacity(); }
  uint64_t CountOnes() const { return filter_.CountOnes(); }
  // Number of different prefixes and keys, estimated from the share of ones.
  double EstimatedKeyCount() const { return filter_.EstimatedKeyCount(); }

  // Describes what is wrong with a shape and payload from a file; empty if nothing is.
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload);

 private:
  PrefixFilter(PrefixExtractor extractor, WholeKeys whole_keys, Filter<Blocked> filter)
      : extractor_(extractor), whole_keys_(whole_keys), filter_(std::move(filter)) {}

  PrefixExtractor extractor_;
  WholeKeys whole_keys_;
  // Holds keys and prefixes in one space.  A key can equal only its own full prefix, so they do not
  // collide.
  Filter<Blocked> filter_;
  std::optional<Digest> last_prefix_;
  std::optional<Digest> last_key_;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_PREFIX_H_
