// The seam between those who use filters and those who make them.
//
//   FilterPolicy   what to build: chosen by the writing side
//   FilterBuilder  collects the key digests of one table, then yields the bytes of one filter
//   FilterReader   answers from those bytes: chosen by the tag in the bytes and by nothing else
//
// A policy never has a say in reading: a file written under one policy is read the same under any
// other.  Bytes that no reader of this library understands answer "maybe" and say so in `state()`.
//
// A filter speaks of digests (bloom/hash.h), not of keys: a lookup hashes its key once and
// asks as many filters as it likes.
#ifndef TRELLIS_BLOOM_FILTER_POLICY_H_
#define TRELLIS_BLOOM_FILTER_POLICY_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/filter_format.h"  // FilterState
#include "bloom/core/shape.h"
#include "bloom/core/sizing.h"  // CheckTargetFpp
#include "bloom/hash.h"

namespace bloom::inline TRELLIS_ABI {

struct KindEntry;

// What a policy may look at when a table is begun, and no more.
struct FilterContext {
  // Probability with which an absent key may pass; CheckTargetFpp says which are legal.
  double target_fpp = 0.01;
  // Remixes the digests for this filter, so that false positives of different files are
  // independent.
  uint64_t seed = 0;
};

// Collects digests, then builds.  Grammar: Add* Finish.  Not thread-safe.  Holds 8 to 16
// bytes a key, and 24 while it grows; what Solve takes besides, in Finish, the kind's header says.
class FilterBuilder {
 public:
  virtual ~FilterBuilder();

  // Equal digests may be added more than once; consecutive ones are counted once.
  virtual void Add(Digest digest) = 0;

  // Number of keys the filter would be sized from if finished now.
  virtual uint64_t key_count() const = 0;

  // Sizes the filter from the actual number of keys, sets its bits, probes it with every key that
  // was added, and returns its bytes (bloom/README.md draws them); no keys make the empty filter.
  // Where the kind would be no smaller than a standard filter, or finds no solution for these keys,
  // it is a standard filter.
  // InvalidArgument if the context's target_fpp is not legal.  ResourceExhausted if there is no
  // memory, or was none for a digest in Add.  Internal if a probe says "no": such a filter would
  // lose data and must not be written.
  virtual absl::StatusOr<std::string> Finish() = 0;
};

// Thread-safe: one policy serves any number of builders.
class FilterPolicy {
 public:
  virtual ~FilterPolicy();

  // The name by which PolicyFromName finds it, e.g. "blocked".  Lives as long as the program.
  virtual std::string_view name() const = 0;

  virtual std::unique_ptr<FilterBuilder> NewBuilder(const FilterContext& context) const = 0;
};

// "standard", "blocked" or another of KeyedKinds (bloom/catalog.h).  InvalidArgument, listing the
// names there are, for any other.
absl::StatusOr<std::shared_ptr<const FilterPolicy>> PolicyFromName(std::string_view name);

// What a filter would be, without building it.
struct FilterSize {
  uint64_t bytes = 0;        // of the whole filter, header included
  double predicted_fpp = 0;  // of this layout with so many keys; at most the target
};

// Of what the builder of the policy of that name makes from so many distinct keys: the standard
// filter where the kind would be no smaller, the kind's where its equations have a solution.
// InvalidArgument as PolicyFromName and ShapeFor, so for no keys too.
absl::StatusOr<FilterSize> SizeOfFilter(std::string_view name, uint64_t key_count,
                                        double target_fpp);

// What a filter says of itself.  Figures are 0 where the state is not kUsable.
struct FilterDescription {
  FilterState state = FilterState::kDamaged;
  std::string kind;          // "standard", "blocked", …, "empty", or "kind 77" where unknown
  std::string problem;       // why the state is not kUsable; empty otherwise
  uint32_t version = 0;      // of the kind's layout
  uint64_t key_count = 0;    // keys it was built from
  uint64_t size_bits = 0;    // m, without the header
  uint32_t probes = 0;       // k; of a kind that is solved, see its header
  uint64_t seed = 0;         // of the remix
  double target_fpp = 0;     // what was asked for
  double predicted_fpp = 0;  // of this layout with these m, k and n (not the textbook formula)
  double bits_per_key = 0;   // size_bits / key_count
  // Whether the share of ones tells anything.  Where keys are solved for, about half of the bits
  // are ones whatever the keys: there is no fill and no estimate then, and current_fpp is the
  // prediction.
  bool has_fill = false;
  uint64_t ones = 0;               // number of ones among the bits
  double fill = 0;                 // their share
  double current_fpp = 0;          // of the bits as they are, whatever n was
  double estimated_key_count = 0;  // keys that would set as many bits; infinity if all are set
};

// Answers from the bytes of one filter, which must outlive it.  Immutable and thread-safe.  Copies
// are cheap. Bytes need no alignment to be right; 64-byte aligned ones are read fastest.
class FilterReader {
 public:
  // An absent filter: answers "maybe"; state() is kDamaged until assigned from Open.
  FilterReader() = default;

  // Never fails: what cannot be used answers "maybe".  Checks the header, the geometry and the
  // checksum over all bytes, so that any change of any byte is noticed.
  static FilterReader Open(std::string_view bytes);

  FilterState state() const { return state_; }

  // False only if no key with this digest was added to a filter that state() calls usable.
  bool MayContain(Digest digest) const { return functions_.may_contain(view_, digest); }

  // Starts to load the cache line that MayContain(digest) reads first.  A hint, with no other
  // effect.
  void Prefetch(Digest digest) const { functions_.prefetch(view_, digest); }

  // results[i] = MayContain(digests[i]) for every i, with the cache misses of many digests
  // overlapped. REQUIRES: results.size() >= digests.size().
  void MayContainBatch(std::span<const Digest> digests, std::span<bool> results) const {
    assert(results.size() >= digests.size());
    functions_.may_contain_batch(view_, digests.data(), digests.size(), results.data());
  }

  // Reads the whole filter: for tools, not for the lookup path.
  FilterDescription Describe() const;

  // m; 0 unless the state is kUsable.
  uint64_t size_bits() const;

  // As in the description, without reading the filter again: "kind 77" where it is unknown; 0
  // unless the state is kUsable.
  std::string kind_name() const;
  double predicted_fpp() const;
  bool has_fill() const;
  // With which digests are mixed.  Keys are hashed under whatever seed their digests were made
  // with, which the bytes do not say; a Filter's under this one.
  uint64_t seed() const { return view_.seed; }

  // The bits, without the header; empty unless the state is kUsable.  bloom/inspect.h counts them.
  std::string_view payload() const;

 private:
  // Answers "maybe" to everything.
  static const FilterFunctions kMaybe;

  // What a query needs comes first and fits one cache line.
  FilterFunctions functions_ = kMaybe;
  FilterView view_;
  FilterState state_ = FilterState::kDamaged;
  uint8_t tag_ = 0;                  // of the kind, 0 where unreadable
  const KindEntry* kind_ = nullptr;  // null where the tag is unknown
  uint64_t key_count_ = 0;
  std::string_view bytes_;  // the whole filter, header included
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_FILTER_POLICY_H_
