// The interface between code that uses filters in files and code that makes them.
//
//   FilterPolicy   chooses what to build; used by the writing side only
//   FilterBuilder  collects the key digests of one table, then returns the bytes of one filter
//   FilterReader   answers from those bytes; the tag in the bytes alone selects the code
//
// A policy has no influence on reading: a file is read the same whatever policy is set.  If this
// library does not understand a filter's bytes, the reader answers "maybe", and `state()` says so.
//
// Filters take digests (bloom/hash.h), not keys: a lookup hashes its key once and queries any
// number of filters.
#ifndef TRELLIS_BLOOM_FILTER_POLICY_H_
#define TRELLIS_BLOOM_FILTER_POLICY_H_

#include <cassert>
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

// All that a policy may consider when a table is begun.
struct FilterContext {
  // Target probability that an absent key passes.  CheckTargetFpp defines the valid values.
  double target_fpp = 0.01;
  // Salt for the digests of this filter, so that false positives of different files are
  // independent.
  uint64_t seed = 0;
};

// Collects digests, then builds one filter: any number of Add, then Finish.  Not thread-safe.
// Takes 8 to 16 bytes/key, and 24 while it grows.  Finish takes additional memory for kinds that
// are solved; see `Solve` in the kind's header.
class TRELLIS_API FilterBuilder {
 public:
  virtual ~FilterBuilder();

  // Equal digests may be added repeatedly.  Consecutive ones count once.
  virtual void Add(Digest digest) = 0;

  // Number of keys that Finish would size the filter for.
  virtual uint64_t key_count() const = 0;

  // Sizes the filter for the actual number of keys, sets its bits, queries it for every key, and
  // returns its bytes (drawn in bloom/README.md).  Without keys the result is the empty filter.  It
  // is a standard filter if the kind would be no smaller, or finds no solution for these keys.
  //
  //   InvalidArgument    the context's target_fpp is not valid
  //   ResourceExhausted  memory has run out, here or in Add
  //   Internal           a query denied an added key: such a filter would lose data and must not be
  //                      written
  virtual absl::StatusOr<std::string> Finish() = 0;
};

// Thread-safe: one policy serves any number of builders.
class TRELLIS_API FilterPolicy {
 public:
  virtual ~FilterPolicy();

  // The name for PolicyFromName, e.g. "blocked".  Lives as long as the program.
  virtual std::string_view name() const = 0;

  virtual std::unique_ptr<FilterBuilder> NewBuilder(const FilterContext& context) const = 0;
};

// `name` is "standard", "blocked" or another of KeyedKinds (bloom/catalog.h).  Any other returns
// InvalidArgument, which lists the names.
TRELLIS_API absl::StatusOr<std::shared_ptr<const FilterPolicy>> PolicyFromName(
    std::string_view name);

// Size of a filter, computed without building it.
struct FilterSize {
  uint64_t bytes = 0;        // of the whole filter, header included
  double predicted_fpp = 0;  // with that many keys; at most the target
};

// Size of the filter that the named policy's builder makes from that many distinct keys: a standard
// filter if the kind would be no smaller, otherwise the kind's (assuming that its equations have a
// solution).  InvalidArgument as for PolicyFromName and ShapeFor, so also for 0 keys.
TRELLIS_API absl::StatusOr<FilterSize> SizeOfFilter(std::string_view name, uint64_t key_count,
                                                    double target_fpp);

// A description of a filter, from its bytes.  Figures are 0 unless the state is kUsable.
struct FilterDescription {
  FilterState state = FilterState::kDamaged;
  std::string kind;          // "standard", "blocked", …, "empty", or "kind 77" if unknown
  std::string problem;       // why the state is not kUsable; empty otherwise
  uint32_t version = 0;      // of the kind's layout
  uint64_t key_count = 0;    // keys it was built from
  uint64_t size_bits = 0;    // m, without the header
  uint32_t probes = 0;       // k; for a kind that is solved, see its header
  uint64_t seed = 0;         // salt of the digests
  double target_fpp = 0;     // requested when it was built
  double predicted_fpp = 0;  // for these m, k and n in this layout (not the textbook formula)
  double bits_per_key = 0;   // size_bits / key_count
  // Whether the share of ones carries information.  In kinds that are solved, about half of the
  // bits are ones, whatever the keys are.  These kinds have no fill and no key estimate, and
  // current_fpp is the prediction.
  bool has_fill = false;
  uint64_t ones = 0;               // number of ones among the bits
  double fill = 0;                 // their share
  double current_fpp = 0;          // of the current bits, whatever n was
  double estimated_key_count = 0;  // number that sets as many bits; infinity if all are set
};

// Answers from the bytes of one filter, which must outlive it.  Immutable, thread-safe, cheap to
// copy.  The bytes need no alignment; 64-byte alignment is fastest.
class TRELLIS_API FilterReader {
 public:
  // Answers "maybe" to everything; state() is kDamaged until it is assigned from Open.
  FilterReader() = default;

  // Never fails: a filter that cannot be used answers "maybe".  Checks the header, the geometry and
  // a checksum over all bytes, so it notices any changed byte.
  static FilterReader Open(std::string_view bytes);

  FilterState state() const { return state_; }

  // False only if state() is kUsable and no key with this digest was added.
  bool MayContain(Digest digest) const { return functions_.may_contain(view_, digest); }

  // A hint: starts loading the cache line that MayContain(digest) reads first.
  void Prefetch(Digest digest) const { functions_.prefetch(view_, digest); }

  // results[i] = MayContain(digests[i]), with the cache misses of many digests overlapped.
  // REQUIRES: results.size() >= digests.size().
  void MayContainBatch(std::span<const Digest> digests, std::span<bool> results) const {
    assert(results.size() >= digests.size());
    functions_.may_contain_batch(view_, digests.data(), digests.size(), results.data());
  }

  // Reads the whole filter.  For tools, not for the lookup path.
  FilterDescription Describe() const;

  // m; 0 unless the state is kUsable.
  uint64_t size_bits() const;

  // As in the description, but without reading the filter: "kind 77" if unknown; 0 unless the state
  // is kUsable.
  std::string kind_name() const;
  double predicted_fpp() const;
  bool has_fill() const;
  // The salt of the digests.  The bytes do not say under which seed the digests themselves were
  // made; a Filter makes them under this one.
  uint64_t seed() const { return view_.seed; }

  // The bits, without the header; empty unless the state is kUsable. bloom/inspect.h counts them.
  std::string_view payload() const;

 private:
  // Answers "maybe" to everything.
  static const FilterFunctions kMaybe;

  // Members that a query reads come first, in one cache line.
  FilterFunctions functions_ = kMaybe;
  FilterView view_;
  FilterState state_ = FilterState::kDamaged;
  uint8_t tag_ = 0;                  // of the kind; 0 if unreadable
  const KindEntry* kind_ = nullptr;  // null if the tag is unknown
  uint64_t key_count_ = 0;
  std::string_view bytes_;  // the whole filter, header included
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_FILTER_POLICY_H_
