// A filter for an unbounded stream.  It remembers recent keys and forgets older ones, in constant
// memory.
//
//   auto seen = bloom::RotatingFilter<>::Make(1'000'000, 0.001);  // a window of the last million
//   if (seen->AddIfAbsent(event_id)) Deliver(event);              // new, as far as it remembers
//
// It has g generations of c additions each.  Keys are added to the newest generation.  When that is
// full, the oldest is cleared and becomes the newest.  A key passes if it passes any generation.
// Hence, for any stream of additions:
//
//   - a key is remembered during at least the next (g - 1) * c additions, whatever keys those are;
//     this number is the window (`window()`);
//   - it is forgotten, except for false positives, after g * c additions at the latest.
//
// With f(n) the FPP of a generation of n keys, an absent key passes with probability
//
//     1 - (1 - f(c))^(g - 1) * (1 - f(keys of the newest))
//
// Generations are sized to meet the target in the worst case, with all g full.  A window of n keys
// takes g / (g - 1) times the bits of n keys at an FPP of about e / g, with e the target.
//
// For a window of time, `Advance` begins a new generation before the newest is full.  If it is
// called g - 1 times an hour, the filter forgets a key after one hour at the earliest, and after
// g / (g - 1) hours at the latest.  If more than c keys come between two calls, it forgets earlier.
//
// Rows are Filter<Blocked> or Filter<Standard>.  Thread-safe while no thread changes it.  Movable,
// not copyable.
#ifndef TRELLIS_BLOOM_ROTATING_H_
#define TRELLIS_BLOOM_ROTATING_H_

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/bits.h"
#include "bloom/core/fetch_ahead.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/shape.h"
#include "bloom/core/status.h"
#include "bloom/filter.h"
#include "bloom/filters/parts.h"
#include "bloom/filters/rows.h"
#include "bloom/filters/siblings.h"
#include "bloom/hash.h"
#include "bloom/variants/blocked.h"

namespace bloom::inline TRELLIS_ABI {

// Size of a generation: g - 1 of them hold the window, and g of them meet the target.
struct RotatingPlan {
  uint64_t capacity = 0;  // c
  double target_fpp = 0;  // of a full generation
};
// InvalidArgument for a bad target or number of generations.
TRELLIS_API absl::StatusOr<RotatingPlan> PlanRotating(uint64_t key_count, double target_fpp,
                                                      uint32_t generations);
// The number of generations in a header's detail; 0 if it is not a valid one.
TRELLIS_API uint32_t GenerationsOf(uint64_t detail);
// The error of merging two generations that have too many keys together.
TRELLIS_API absl::Status GenerationTooFull(uint32_t age, uint64_t mine, uint64_t theirs,
                                           uint64_t capacity);

// Bytes: the header's size is c, its key count is that of all additions ever.  Its detail has the
// tag of the rows in bits 0 to 7 and g in bits 8 to 15.  The parts are the generations, the newest
// first.
template <RowFilter Row = Filter<Blocked>>
class RotatingFilter {
  static constexpr auto kNameChars = NameWithRows<Row>("rotating");

 public:
  static constexpr std::string_view kName{kNameChars.data(), kNameChars.size()};
  static constexpr uint8_t kTag = 74;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;
  static constexpr bool kHasDetail = true;  // rows and generations

  static constexpr uint32_t kDefaultGenerations = 4;

  // Makes a filter that remembers at least the last `key_count` additions.  InvalidArgument for a
  // bad count or FPP, ResourceExhausted without memory.
  static absl::StatusOr<RotatingFilter> Make(uint64_t key_count, double target_fpp,
                                             uint64_t seed = 0) {
    return MakeWithGenerations(key_count, target_fpp, kDefaultGenerations, seed);
  }
  // As Make, with 2 to 64 generations.  More generations forget more evenly, but make queries
  // slower.
  static absl::StatusOr<RotatingFilter> MakeWithGenerations(uint64_t key_count, double target_fpp,
                                                            uint32_t generations,
                                                            uint64_t seed = 0) {
    TRELLIS_ASSIGN_OR_RETURN(const RotatingPlan plan,
                             PlanRotating(key_count, target_fpp, generations));
    absl::StatusOr<Row> row = Row::Make(plan.capacity, plan.target_fpp, seed);
    if (!row.ok()) return OfFirstRow(row.status());
    const Shape shape = {plan.capacity, row->shape().probes,
                         Row::kTag | uint64_t{generations} << 8};
    std::vector<Row> rows;
    rows.push_back(*std::move(row));
    while (rows.size() < generations) {
      TRELLIS_ASSIGN_OR_RETURN(Row next, Row::MakeOfShape(rows[0].shape(), plan.target_fpp, seed));
      rows.push_back(std::move(next));
    }
    return RotatingFilter(HeaderFor<RotatingFilter>(shape, seed, target_fpp), std::move(rows));
  }

  // Loads the bytes of Serialize.  DataLoss if they are damaged, Unimplemented if their version is
  // unknown, InvalidArgument if they are a filter of another kind or with other rows.
  // ResourceExhausted without memory.
  static absl::StatusOr<RotatingFilter> Load(std::string_view bytes) {
    TRELLIS_ASSIGN_OR_RETURN(const ParsedFilter parsed, ParseAs<RotatingFilter>(bytes));
    TRELLIS_ASSIGN_OR_RETURN(std::vector<Row> rows,
                             LoadRows<Row>(parsed.header, ReadParts(parsed.payload).value()));
    TRELLIS_RETURN_IF_ERROR(CheckEqualRows(rows));
    if (AddedTo(rows) > parsed.header.key_count)
      return absl::DataLossError("filter: its generations have more keys than were ever added");
    const Row& row = rows.front();
    if (row.PredictedFpp(parsed.header.shape.size) > 1.01 * row.target_fpp() ||
        row.target_fpp() > parsed.header.target_fpp)
      return absl::DataLossError(
          "filter: its generations are too small for its capacity and target");
    return RotatingFilter(parsed.header, std::move(rows));
  }

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, header_.seed); }

  // Adds a key to the newest generation, even if an older one has it.
  void Add(std::string_view key) { AddDigest(DigestOf(key)); }
  void AddDigest(Digest digest) {
    if (newest().added_count() >= generation_capacity()) Advance();
    newest().AddDigest(digest);
    header_.CountKeys();
  }

  // Returns true if the key does not pass; it is then certainly not among the last window()
  // additions.  Adds the key unless the newest generation already has it, even if an older one
  // does.  So a key that recurs within the window is never reported as new again, and takes room in
  // one generation after the other.  (To report a key as new once a window has passed since its
  // first occurrence, call MayContain, then Add.)
  bool AddIfAbsent(std::string_view key) { return AddDigestIfAbsent(DigestOf(key)); }
  bool AddDigestIfAbsent(Digest digest) {
    siblings_.PrefetchIfFar(digest);
    return AddFetchedIfAbsent(digest);
  }
  // were_absent[i] = AddDigestIfAbsent(digests[i]), in order of i, with the cache misses of many
  // digests overlapped.  REQUIRES: were_absent.size() >= digests.size().
  void AddDigestsIfAbsent(std::span<const Digest> digests, std::span<bool> were_absent) {
    assert(were_absent.size() >= digests.size());
    // The fetched lines stay the right ones after a rotation, which changes only the order of
    // generations.
    for (size_t i = 0; i < std::min(digests.size(), kAddsAhead); ++i)
      siblings_.PrefetchIfFar(digests[i]);
    for (size_t i = 0; i < digests.size(); ++i) {
      if (i + kAddsAhead < digests.size()) siblings_.PrefetchIfFar(digests[i + kAddsAhead]);
      were_absent[i] = AddFetchedIfAbsent(digests[i]);
    }
  }

  // False only if the key is not among the last window() additions, or Advance has dropped
  // generations that hold some of these.
  bool MayContain(std::string_view key) const { return MayContainDigest(DigestOf(key)); }
  bool MayContainDigest(Digest digest) const { return siblings_.AnyMayContain(digest); }
  // Starts loading the memory that MayContainDigest reads first, in all generations.
  void Prefetch(Digest digest) const { siblings_.Prefetch(digest); }
  // results[i] = MayContainDigest(digests[i]), faster than single calls.  REQUIRES: results.size()
  // >= digests.size().
  void MayContainBatch(std::span<const Digest> digests, std::span<bool> results) const {
    assert(results.size() >= digests.size());
    siblings_.AnyMayContainBatch(digests, results);
  }

  // Clears the oldest generation and makes it the newest.
  void Advance() {
    newest_ = (newest_ + generations() - 1) % generations();
    newest().Clear();
  }

  // Adds the keys that `other` remembers: each generation gets the keys of the same age, and they
  // are forgotten together.  On an error nothing changes.  InvalidArgument, naming the difference,
  // unless parameters and seed agree, and also if a generation would exceed its capacity.  (Its FPP
  // would then be far above the target, and new keys would be taken for old ones.  Query both
  // filters instead.)
  absl::Status Merge(const RotatingFilter& other) {
    if (generations() != other.generations())
      return CannotMerge("generations", std::to_string(generations()),
                         std::to_string(other.generations()));
    TRELLIS_RETURN_IF_ERROR(
        CheckRowsMergeable(header_, other.header_, rows_[0].shape(), other.rows_[0].shape()));
    for (uint32_t age = 0; age < generations(); ++age) {
      const uint64_t mine = OfAge(age).added_count(), theirs = other.OfAge(age).added_count();
      if (mine > generation_capacity() || theirs > generation_capacity() - mine)
        return GenerationTooFull(age, mine, theirs, generation_capacity());
    }
    const uint64_t additions = other.header_.key_count;
    for (uint32_t age = 0; age < generations(); ++age) {
      TRELLIS_RETURN_IF_ERROR(OfAge(age).Merge(other.OfAge(age)));
    }
    header_.CountKeys(additions);
    return absl::OkStatus();
  }

  // Forgets all keys, and the number of additions.
  void Clear() {
    for (Row& row : rows_) row.Clear();
    header_.key_count = 0;
  }

  std::string Serialize() const {
    std::string payload;
    for (uint32_t age = 0; age < generations(); ++age) AppendPart(OfAge(age).Serialize(), payload);
    return EncodeFilter(header_, BytesOf(payload));
  }

  uint32_t generations() const { return static_cast<uint32_t>(rows_.size()); }
  // The c above.
  uint64_t generation_capacity() const { return header_.shape.size; }
  // Number of last additions that are certainly remembered.  Up to one more generation may be.
  uint64_t window() const {
    uint64_t keys = 0;
    return __builtin_mul_overflow(generation_capacity(), generations() - 1, &keys) ? UINT64_MAX
                                                                                   : keys;
  }
  // Additions to the generation of an age; the newest has age 0.  REQUIRES: age < generations().
  uint64_t added_count_of_age(uint32_t age) const { return OfAge(age).added_count(); }
  uint64_t seed() const { return header_.seed; }
  double target_fpp() const { return header_.target_fpp; }
  uint64_t size_bits() const { return SizeBitsOf(rows_); }
  // All additions ever, including forgotten ones.
  uint64_t added_count() const { return header_.key_count; }
  // Additions to the current generations.
  uint64_t remembered_count() const { return AddedTo(rows_); }

  // FPP after `key_count` additions of different keys, by the formula above.  Highest at g * c
  // additions, when all generations are full.
  double PredictedFpp(uint64_t key_count) const {
    if (key_count == 0) return 0;
    const uint64_t full = (key_count - 1) / generation_capacity();
    AnyPasses any;
    any.Add(rows_[0].PredictedFpp(generation_capacity()),
            std::min<uint64_t>(full, generations() - 1));
    any.Add(rows_[0].PredictedFpp(key_count - full * generation_capacity()));
    return any.Fpp();
  }
  // FPP of the current bits; number of different remembered keys, estimated from the fill (a key in
  // two generations counts twice).  Each reads all generations.
  double CurrentFpp() const { return CurrentFppOf(rows_); }
  double EstimatedKeyCount() const { return EstimatedKeyCountOf(rows_); }

  // Describes what is wrong with a shape and payload from a file, except in the rows themselves;
  // empty if nothing is.
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload) {
    const uint32_t generations = GenerationsOf(shape.detail);
    if (generations == 0) return "has a number of generations that no such filter has";
    return RowsProblem(shape, payload, generations, generations);
  }

 private:
  RotatingFilter(const FilterHeader& header, std::vector<Row> rows)
      : header_(header), rows_(std::move(rows)), siblings_(rows_) {}

  Row& newest() { return rows_[newest_]; }
  const Row& OfAge(size_t age) const { return rows_[RowOfAge(age)]; }
  Row& OfAge(size_t age) { return rows_[RowOfAge(age)]; }
  // REQUIRES: age < generations().
  size_t RowOfAge(size_t age) const {
    const size_t row = newest_ + age;
    return row < rows_.size() ? row : row - rows_.size();
  }

  bool AddFetchedIfAbsent(Digest digest) {
    if (newest().MayContainDigest(digest)) return false;
    const bool is_new = !siblings_.AnyMayContain(digest);
    AddDigest(digest);
    return is_new;
  }

  FilterHeader header_;
  std::vector<Row> rows_;                        // ages ascend from newest_ on, cyclically
  Siblings<typename Row::LayoutType> siblings_;  // all rows, in the order of rows_
  uint32_t newest_ = 0;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_ROTATING_H_
