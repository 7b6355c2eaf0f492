// A filter of the prefixes of keys: for scans that stay within one prefix, and so can leave out
// what holds no key with it.
//
//   auto filter = bloom::PrefixFilter::Make(10'000, 0.01, {.extractor = "delimiter:/"});
//   filter->Add("fruit/apple");
//   filter->MayContainPrefix("fruit/");              // true
//   filter->MayContainPrefix("nuts/");               // false, but for one prefix in a hundred
//   filter->MayMatchRange("nuts/a", "nuts/z");       // false with it
//
// What the prefix of a key is, an extractor says, whose name goes with the bytes:
//
//   fixed:N              the first N bytes; shorter keys have none
//   delimiter:C          up to and including the first byte C; keys without it have none
//   delimiter:C:COUNT    up to and including number COUNT of them
//
// C is one byte, any byte, as it is: "delimiter:::2" counts colons.  N and COUNT: 1 to 65535.
//
// A key without a prefix is out of the domain: it leaves nothing in the filter, and every question
// that it might be an answer to is answered "maybe".
//
// Bytes: EncodeWrapped of a Filter<Blocked> (bloom/core/wrapped.h); the tail is the extractor's
// name, detail is 1 if whole keys are in too, else 0.  Which prefixes exist can be found out by
// anyone who can time lookups, step by step from short ones: not for keys that are secret.
//
// Thread-safe while no thread changes it.  Movable, not copyable.
#ifndef TRELLIS_BLOOM_PREFIX_H_
#define TRELLIS_BLOOM_PREFIX_H_

#include <cstddef>
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
class PrefixExtractor {
 public:
  // InvalidArgument, with the name, if it is none of those above.
  static absl::StatusOr<PrefixExtractor> FromName(std::string_view name);

  // By which FromName makes the same one: "delimiter:/" for "delimiter:/:1" too.
  std::string name() const;

  // Of a key, or of whatever begins as a key does; nothing if that is out of the domain.  All
  // strings that begin with a prefix have that one.
  std::optional<std::string_view> PrefixOf(std::string_view key) const;

 private:
  enum class Rule : uint8_t { kFixed, kDelimiter };

  PrefixExtractor(Rule rule, char delimiter, uint32_t count)
      : rule_(rule), delimiter_(delimiter), count_(count) {}

  Rule rule_;
  char delimiter_;
  uint32_t count_;  // of bytes, or of delimiters
};

// What a filter holds besides prefixes.
enum class WholeKeys : uint8_t { kLeftOut, kToo };

// Whether the end of a range belongs to it.
enum class RangeEnd : uint8_t { kIncluded, kExcluded };

struct PrefixOptions {
  std::string_view extractor;  // its name
  uint64_t seed = 0;
  WholeKeys whole_keys = WholeKeys::kLeftOut;
};

class PrefixFilter {
 public:
  static constexpr std::string_view kName = "prefix";
  static constexpr uint8_t kTag = 75;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;
  static constexpr bool kHasDetail = true;  // 1: whole keys too

  // `key_count` is the number of different prefixes that will come, plus that of the keys if they
  // come whole too.  InvalidArgument for a bad extractor, count or FPP, ResourceExhausted without
  // memory.
  static absl::StatusOr<PrefixFilter> Make(uint64_t key_count, double target_fpp,
                                           const PrefixOptions& options);

  // From the bytes of Serialize.  DataLoss if they are damaged, Unimplemented if their version or
  // their extractor is unknown, InvalidArgument if they are a filter of another kind.
  static absl::StatusOr<PrefixFilter> Load(std::string_view bytes);

  // Adds the prefix, if the key has one, and the key itself if such are in.  What is the same as
  // the time before is not added again: keys that come in order add each prefix once.
  void Add(std::string_view key);

  // False only if no key was added that begins with `prefix`.  "Maybe" if that is too short to have
  // a full prefix; if it is longer than one, the full prefix is what is asked for.
  bool MayContainPrefix(std::string_view prefix) const;

  // False only if no key was added that lies in [low, high], or in [low, high) if the end is
  // excluded; keys are compared byte by byte, unsigned, shorter ones first.
  //
  // "No" is possible where all of the range has one full prefix: where both bounds have it, or,
  // the end excluded, where `low` has it and `high` is the first string after all that begin with
  // it ("user0" for "user/").  Any other range is "maybe", an empty one (low > high) too, unless
  // its bounds share a prefix that is absent.  An open lower bound is covered by what is said of
  // the closed one.
  bool MayMatchRange(std::string_view low, std::string_view high,
                     RangeEnd end = RangeEnd::kIncluded) const;

  // False only if the key was never added: by the key itself if such are in, else by its prefix.
  bool MayContain(std::string_view key) const;

  // Adds what is in `other`.  InvalidArgument, naming the difference, unless extractor, whole keys,
  // shape and seed agree; nothing is changed then.
  absl::Status Merge(const PrefixFilter& other);

  // Forgets all, keeps shape, seed and extractor.
  void Clear();

  std::string Serialize() const;

  std::string extractor_name() const { return extractor_.name(); }
  WholeKeys whole_keys() const { return whole_keys_; }
  const Shape& shape() const { return filter_.shape(); }
  uint64_t seed() const { return filter_.seed(); }
  double target_fpp() const { return filter_.target_fpp(); }
  uint64_t size_bits() const { return filter_.size_bits(); }
  // Prefixes and keys, each time that one was added.
  uint64_t added_count() const { return filter_.added_count(); }

  // Probability that a prefix passes which no key has (and, where whole keys are in, an absent key
  // that is not itself the prefix of another), with `key_count` different prefixes and keys in; and
  // with the bits as they are.
  double PredictedFpp(uint64_t key_count) const { return filter_.PredictedFpp(key_count); }
  double CurrentFpp() const { return filter_.CurrentFpp(); }
  // The number of different prefixes and keys that there is room for; the number of ones.
  uint64_t KeyCapacity() const { return filter_.KeyCapacity(); }
  uint64_t CountOnes() const { return filter_.CountOnes(); }
  // Number of different prefixes and keys, judged by the share of ones.
  double EstimatedKeyCount() const { return filter_.EstimatedKeyCount(); }

  // What is wrong with a shape and payload from a file; empty if nothing.
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload);

 private:
  PrefixFilter(PrefixExtractor extractor, WholeKeys whole_keys, Filter<Blocked> filter)
      : extractor_(extractor), whole_keys_(whole_keys), filter_(std::move(filter)) {}

  PrefixExtractor extractor_;
  WholeKeys whole_keys_;
  // Keys and prefixes need not be told apart: a key is equal to a full prefix only if that is its
  // own.
  Filter<Blocked> filter_;
  std::optional<Digest> last_prefix_;
  std::optional<Digest> last_key_;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_PREFIX_H_
