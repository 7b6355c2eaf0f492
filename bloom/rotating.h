// A filter for a stream without an end: it remembers the last keys and forgets the older ones, in
// memory that never grows.
//
//   auto seen = bloom::RotatingFilter<>::Make(1'000'000, 0.001);  // a window of the last million
//   if (seen->AddIfAbsent(event_id)) Deliver(event);              // new, as far as it remembers
//
// It has g generations of room for c additions each.  Keys are added to the newest; when that has
// its c, the oldest is cleared and becomes the newest.  A key passes if it passes any generation.
// Hence, of any stream of additions:
//
//   - a key is remembered through at least the next (g - 1) * c additions after its own, which is
//     the window (`window()`), whatever keys those are;
//   - it is forgotten, up to the FPP, g * c additions after its own, at the latest.
//
// With f(n) the FPP of a generation of n keys, an absent key passes with
//
//     1 - (1 - f(c))^(g - 1) * (1 - f(keys of the newest))
//
// and generations are sized so that this meets the target where it is worst, with all g full.  A
// window of n keys takes g / (g - 1) times the bits of n keys at an FPP of about e / g.
//
// `Advance` turns to a new generation before the newest is full, for windows of time: called g - 1
// times an hour, it forgets keys after one hour at the earliest and g / (g - 1) hours at the
// latest, or earlier if more than c keys come between two calls.
//
// Rows are Filter<Blocked> or Filter<Standard>.  Thread-safe while no thread changes it. Movable,
// not copyable.
#ifndef TRELLIS_BLOOM_ROTATING_H_
#define TRELLIS_BLOOM_ROTATING_H_

#include <algorithm>
#include <cassert>
#include <cmath>
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
#include "bloom/filter.h"
#include "bloom/filters/parts.h"
#include "bloom/filters/rows.h"
#include "bloom/filters/siblings.h"
#include "bloom/hash.h"
#include "bloom/variants/blocked.h"

namespace bloom::inline TRELLIS_ABI {

// How large a generation is: (g - 1) of them hold the window, g of them meet the target.
struct RotatingPlan {
  uint64_t capacity = 0;  // c
  double target_fpp = 0;  // of a full generation
};
// InvalidArgument for a bad target, or a number of generations that is none.
absl::StatusOr<RotatingPlan> PlanRotating(uint64_t key_count, double target_fpp,
                                          uint32_t generations);
// The generations that a header's detail tells; 0 if it is none that such a filter has.
uint32_t GenerationsOf(uint64_t detail);
// Of two generations that cannot be merged.
absl::Status GenerationTooFull(uint32_t age, uint64_t mine, uint64_t theirs, uint64_t capacity);

// Its bytes: the header's size is c, its key count that of all additions ever; its detail has the
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

  // Remembers at least the last `key_count` additions.  InvalidArgument for a bad count or FPP,
  // ResourceExhausted without memory.
  static absl::StatusOr<RotatingFilter> Make(uint64_t key_count, double target_fpp,
                                             uint64_t seed = 0) {
    return MakeWithGenerations(key_count, target_fpp, kDefaultGenerations, seed);
  }
  // With another number of generations: 2 to 64.  More of them forget more evenly and ask longer.
  static absl::StatusOr<RotatingFilter> MakeWithGenerations(uint64_t key_count, double target_fpp,
                                                            uint32_t generations,
                                                            uint64_t seed = 0) {
    const absl::StatusOr<RotatingPlan> plan = PlanRotating(key_count, target_fpp, generations);
    if (!plan.ok()) return plan.status();
    absl::StatusOr<Row> row = Row::Make(plan->capacity, plan->target_fpp, seed);
    if (!row.ok()) return OfFirstRow(row.status());
    const Shape shape = {plan->capacity, row->shape().probes,
                         Row::kTag | uint64_t{generations} << 8};
    std::vector<Row> rows;
    rows.push_back(*std::move(row));
    while (rows.size() < generations) {
      row = Row::MakeOfShape(rows[0].shape(), plan->target_fpp, seed);
      if (!row.ok()) return row.status();
      rows.push_back(*std::move(row));
    }
    return RotatingFilter(HeaderFor<RotatingFilter>(shape, seed, target_fpp), std::move(rows));
  }

  // From the bytes of Serialize.  DataLoss if they are damaged, Unimplemented if their version is
  // unknown, InvalidArgument if they are a filter of another kind or with other rows.
  static absl::StatusOr<RotatingFilter> Load(std::string_view bytes) {
    const absl::StatusOr<ParsedFilter> parsed = ParseAs<RotatingFilter>(bytes);
    if (!parsed.ok()) return parsed.status();
    absl::StatusOr<std::vector<Row>> rows =
        LoadRows<Row>(parsed->header, ReadParts(parsed->payload).value());
    if (!rows.ok()) return rows.status();
    if (absl::Status status = CheckEqualRows(*rows); !status.ok()) return status;
    if (AddedTo(*rows) > parsed->header.key_count)
      return absl::DataLossError("filter: its generations have more keys than were ever added");
    const Row& row = rows->front();
    if (row.PredictedFpp(parsed->header.shape.size) > 1.01 * row.target_fpp() ||
        row.target_fpp() > parsed->header.target_fpp)
      return absl::DataLossError("filter: its generations are too small for what it says of them");
    return RotatingFilter(parsed->header, *std::move(rows));
  }

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, header_.seed); }

  // Adds a key to the newest generation, whether or not it is in already.
  void Add(std::string_view key) { AddDigest(DigestOf(key)); }
  void AddDigest(Digest digest) {
    if (newest().added_count() >= generation_capacity()) Advance();
    newest().AddDigest(digest);
    header_.CountKeys();
  }

  // True if the key does not pass, and then it is certainly not among the last window() additions.
  // Remembers it from now on: a key that does not pass the newest generation is added to that, be
  // it new or remembered by an older one alone.  So a key that comes again and again within the
  // window is never taken for new, and takes a share of one generation after the other.  (If a
  // key shall be new again once a window has passed since it first came, ask MayContain, then Add.)
  bool AddIfAbsent(std::string_view key) { return AddDigestIfAbsent(DigestOf(key)); }
  bool AddDigestIfAbsent(Digest digest) {
    siblings_.PrefetchIfFar(digest);
    return AddFetchedIfAbsent(digest);
  }
  // were_absent[i] = AddDigestIfAbsent(digests[i]) for one i after the other, with the cache misses
  // of many of them overlapped.  REQUIRES: were_absent.size() >= digests.size().
  void AddDigestsIfAbsent(std::span<const Digest> digests, std::span<bool> were_absent) {
    assert(were_absent.size() >= digests.size());
    // The fetched lines are right after a turn too: only the order of the generations changes.
    for (size_t i = 0; i < std::min(digests.size(), kAddsAhead); ++i)
      siblings_.PrefetchIfFar(digests[i]);
    for (size_t i = 0; i < digests.size(); ++i) {
      if (i + kAddsAhead < digests.size()) siblings_.PrefetchIfFar(digests[i + kAddsAhead]);
      were_absent[i] = AddFetchedIfAbsent(digests[i]);
    }
  }

  // False only if the key was not among the last window() additions, or generations that hold some
  // of them were dropped by Advance.
  bool MayContain(std::string_view key) const { return MayContainDigest(DigestOf(key)); }
  bool MayContainDigest(Digest digest) const { return siblings_.AnyMayContain(digest); }
  // Starts to load what MayContainDigest looks at first, in all generations.
  void Prefetch(Digest digest) const { siblings_.Prefetch(digest); }
  // results[i] = MayContainDigest(digests[i]), in less time.  REQUIRES: results.size() >=
  // digests.size().
  void MayContainBatch(std::span<const Digest> digests, std::span<bool> results) const {
    assert(results.size() >= digests.size());
    siblings_.AnyMayContainBatch(digests, results);
  }

  // Clears the oldest generation and makes it the newest.
  void Advance() {
    newest_ = (newest_ + generations() - 1) % generations();
    newest().Clear();
  }

  // Remembers what both do: each generation gets the keys of that of the same age, and goes with
  // it. InvalidArgument, naming the difference, unless parameters and seed agree, and also where a
  // generation would get more keys than it has room for: its FPP would then be far above the
  // target, and new keys be taken for old ones.  Ask both filters instead.  Nothing is changed
  // then.
  absl::Status Merge(const RotatingFilter& other) {
    if (generations() != other.generations())
      return CannotMerge("generations", std::to_string(generations()),
                         std::to_string(other.generations()));
    if (absl::Status status =
            CheckRowsMergeable(header_, other.header_, rows_[0].shape(), other.rows_[0].shape());
        !status.ok())
      return status;
    for (uint32_t age = 0; age < generations(); ++age) {
      const uint64_t mine = OfAge(age).added_count(), theirs = other.OfAge(age).added_count();
      if (mine > generation_capacity() || theirs > generation_capacity() - mine)
        return GenerationTooFull(age, mine, theirs, generation_capacity());
    }
    const uint64_t additions = other.header_.key_count;
    for (uint32_t age = 0; age < generations(); ++age) {
      if (absl::Status status = OfAge(age).Merge(other.OfAge(age)); !status.ok()) return status;
    }
    header_.CountKeys(additions);
    return absl::OkStatus();
  }

  // Forgets all keys and the number of additions.
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
  // c above.
  uint64_t generation_capacity() const { return header_.shape.size; }
  // How many of the last additions are remembered at least; at most one generation more are.
  uint64_t window() const {
    uint64_t keys = 0;
    return __builtin_mul_overflow(generation_capacity(), generations() - 1, &keys) ? UINT64_MAX
                                                                                   : keys;
  }
  // Additions to the generation of an age, 0 for the newest.  REQUIRES: age < generations().
  uint64_t added_count_of_age(uint32_t age) const { return OfAge(age).added_count(); }
  uint64_t seed() const { return header_.seed; }
  double target_fpp() const { return header_.target_fpp; }
  uint64_t size_bits() const { return SizeBitsOf(rows_); }
  // Additions ever, those that are forgotten included.
  uint64_t added_count() const { return header_.key_count; }
  // Additions to the generations that there are.
  uint64_t remembered_count() const { return AddedTo(rows_); }

  // FPP after `key_count` additions of different keys, by the formula above.  At its highest where
  // all generations are full, which is at g * c.
  double PredictedFpp(uint64_t key_count) const {
    if (key_count == 0) return 0;
    const uint64_t full = (key_count - 1) / generation_capacity();
    AnyPasses any;
    any.Add(rows_[0].PredictedFpp(generation_capacity()),
            std::min<uint64_t>(full, generations() - 1));
    any.Add(rows_[0].PredictedFpp(key_count - full * generation_capacity()));
    return any.Fpp();
  }
  // FPP of the bits as they are; the number of different keys that are remembered, judged by the
  // fill, where one that is in two generations counts twice.  Each reads all generations.
  double CurrentFpp() const { return CurrentFppOf(rows_); }
  double EstimatedKeyCount() const { return EstimatedKeyCountOf(rows_); }

  // What is wrong with a shape and payload from a file, the rows themselves apart; empty if
  // nothing.
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
  std::vector<Row> rows_;                        // ages ascend from newest_ on, round about
  Siblings<typename Row::LayoutType> siblings_;  // all of them, in the order of rows_
  uint32_t newest_ = 0;
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_ROTATING_H_
