// A filter that grows without bound and keeps its FPP (Almeida, Baquero, Preguica, Hutchison 2007).
// Each further row takes more keys than the one before, at a lower FPP.
//
//   auto filter = bloom::ScalableFilter<>::Make(1000, 0.01);  // initial capacity, FPP for ever
//   if (filter->AddIfAbsent("apple")) ...                     // it is new
//
// With e the target, s the growth and r the tightening, row i takes
//
//     n0 * s^i keys at an FPP of e * (1 - r) * r^i
//
// The targets of all rows sum up to e.  So an absent key passes with probability at most e, however
// many keys there are; exactly, 1 - product over the rows of (1 - FPP of the row).  (Row targets
// end at kMinTargetFpp, which raises the sum by less than 2^-26.)
//
// With s = 2 and r = 1/2, a filter of n keys has about log2(n / n0) rows.  Compared with a filter
// planned for n keys, its last row takes 1.44 bits/key more for each of these rows.  In the worst
// case that row, half of all bits, is still unused.
//
// Rows are Filter<Blocked> or Filter<Standard>.  Thread-safe while no thread changes it.  Movable,
// not copyable.
#ifndef TRELLIS_BLOOM_SCALABLE_H_
#define TRELLIS_BLOOM_SCALABLE_H_

#include <algorithm>
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
#include "bloom/core/filter_format.h"
#include "bloom/core/shape.h"
#include "bloom/core/status.h"
#include "bloom/filter.h"
#include "bloom/filters/parts.h"
#include "bloom/filters/rows.h"
#include "bloom/hash.h"
#include "bloom/variants/blocked.h"

namespace bloom::inline TRELLIS_ABI {

struct ScalableGrowth {
  uint32_t factor = 2;      // s: 2 to 64
  float tightening = 0.5f;  // r: 0.1 to 0.9
};

// Sizes of the rows.
class TRELLIS_API ScalablePlan {
 public:
  // InvalidArgument for a bad target or growth, or a target so low that even the first row would be
  // below kMinTargetFpp.
  static absl::StatusOr<ScalablePlan> Make(uint64_t first_capacity, double target_fpp,
                                           const ScalableGrowth& growth);
  // REQUIRES: Problem found nothing wrong with the header.
  static ScalablePlan Of(const FilterHeader& header);
  // Describes what is wrong with the growth in a header's detail; empty if nothing is.
  static std::string Problem(uint64_t detail);

  // The header's detail: the tag of the rows in bits 0 to 7, the growth factor in bits 8 to 15, the
  // tightening as IEEE 754 binary32 in bits 32 to 63.
  uint64_t Detail(uint8_t row_tag) const;

  // Capacity and target of the rows of a level.  Levels count from 0.  Capacity: at most 2^62 keys.
  uint64_t CapacityOf(uint32_t level) const;
  double TargetOf(uint32_t level) const;
  const ScalableGrowth& growth() const { return growth_; }

 private:
  ScalablePlan(uint64_t first_capacity, double target_fpp, const ScalableGrowth& growth)
      : first_capacity_(first_capacity), target_fpp_(target_fpp), growth_(growth) {}

  uint64_t first_capacity_;
  double target_fpp_;
  ScalableGrowth growth_;
};

// Describes what is wrong with the levels of the rows of a file, a byte each; empty if nothing is.
// There must be one for each row, ascending from 0, with none left out.
TRELLIS_API std::string LevelsProblem(std::string_view levels, size_t rows);

// Bytes: the header's size is n0, its detail that of ScalablePlan.  The first part has the level of
// each row, a byte each.  The other parts are the rows, by ascending level.
template <RowFilter Row = Filter<Blocked>>
class ScalableFilter {
  static constexpr auto kNameChars = NameWithRows<Row>("scalable");

 public:
  static constexpr std::string_view kName{kNameChars.data(), kNameChars.size()};
  static constexpr uint8_t kTag = 72;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;
  static constexpr bool kHasDetail = true;  // rows and growth

  // Makes a filter whose first row takes `key_count` keys.  InvalidArgument for a bad count or FPP,
  // ResourceExhausted without memory.
  static absl::StatusOr<ScalableFilter> Make(uint64_t key_count, double target_fpp,
                                             uint64_t seed = 0) {
    return MakeWithGrowth(key_count, target_fpp, {}, seed);
  }
  static absl::StatusOr<ScalableFilter> MakeWithGrowth(uint64_t key_count, double target_fpp,
                                                       const ScalableGrowth& growth,
                                                       uint64_t seed = 0) {
    TRELLIS_ASSIGN_OR_RETURN(const ScalablePlan plan,
                             ScalablePlan::Make(key_count, target_fpp, growth));
    absl::StatusOr<Row> row = Row::Make(key_count, plan.TargetOf(0), seed);
    if (!row.ok()) return OfFirstRow(row.status());
    const Shape shape = {key_count, row->shape().probes, plan.Detail(Row::kTag)};
    std::vector<Row> rows;
    rows.push_back(*std::move(row));
    return ScalableFilter(HeaderFor<ScalableFilter>(shape, seed, target_fpp), std::move(rows),
                          std::string(1, '\0'));
  }

  // Loads the bytes of Serialize.  DataLoss if they are damaged, Unimplemented if their version is
  // unknown, InvalidArgument if they are a filter of another kind or with other rows.
  // ResourceExhausted without memory.
  static absl::StatusOr<ScalableFilter> Load(std::string_view bytes) {
    TRELLIS_ASSIGN_OR_RETURN(const ParsedFilter parsed, ParseAs<ScalableFilter>(bytes));
    const std::vector<std::string_view> parts = ReadParts(parsed.payload).value();
    TRELLIS_ASSIGN_OR_RETURN(std::vector<Row> rows,
                             LoadRows<Row>(parsed.header, std::span(parts).subspan(1)));
    TRELLIS_RETURN_IF_ERROR(CheckKeyCount(parsed.header, rows));
    ScalableFilter filter(parsed.header, std::move(rows), std::string(parts[0]));
    TRELLIS_RETURN_IF_ERROR(filter.CheckRows());
    return filter;
  }

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, header_.seed); }

  // Adds a key.  Repeated additions of one key use up room each time; AddIfAbsent avoids that.  If
  // there is no memory for a further row, the last one is overfilled, and the FPP rises.
  void Add(std::string_view key) { AddDigest(DigestOf(key)); }
  void AddDigest(Digest digest) { RowWithRoom().AddDigest(digest); }

  // Adds the key unless it passes.  Returns true if it did not pass; it is then certainly new.
  bool AddIfAbsent(std::string_view key) { return AddDigestIfAbsent(DigestOf(key)); }
  bool AddDigestIfAbsent(Digest digest) {
    if (MayContainDigest(digest)) return false;
    AddDigest(digest);
    return true;
  }

  // False only if the key was never added.
  bool MayContain(std::string_view key) const { return MayContainDigest(DigestOf(key)); }
  bool MayContainDigest(Digest digest) const { return AnyMayContain(rows_, digest); }

  // Adds all keys of `other`.  Each of its rows is merged into the first row of its level here that
  // has room for all its keys, or is kept beside it.  No row is overfilled.  If rows are kept, the
  // FPP is bounded by the sum of the two filters' FPPs, no longer by the target.  InvalidArgument,
  // naming the difference, unless parameters and seed agree; ResourceExhausted without memory.  On
  // an error nothing changes.
  absl::Status Merge(const ScalableFilter& other) {
    TRELLIS_RETURN_IF_ERROR(CheckMerge(other));
    TRELLIS_ASSIGN_OR_RETURN(std::vector<Row> copies, CopyRows(other.rows_));
    const std::string levels = other.levels_;
    for (size_t i = 0; i < levels.size(); ++i) {
      Row& row = copies[i];
      const uint32_t level = static_cast<uint8_t>(levels[i]);
      const size_t end = LevelEnd(level);
      const size_t begin = level == 0 ? 0 : LevelEnd(level - 1);
      const size_t at = FindRoom(rows_, begin, end, row.added_count(), plan_.CapacityOf(level));
      if (at == end) {
        rows_.insert(rows_.begin() + static_cast<std::ptrdiff_t>(end), std::move(row));
        levels_.insert(end, 1, levels[i]);
      } else if (absl::Status status = rows_[at].Merge(row); !status.ok()) {
        return status;
      }
    }
    with_room_ = 0;
    return absl::OkStatus();
  }

  // Removes all keys, and all rows but the first.
  void Clear() {
    rows_.erase(rows_.begin() + 1, rows_.end());
    levels_.resize(1);
    rows_[0].Clear();
    with_room_ = 0;
  }

  std::string Serialize() const {
    FilterHeader header = header_;
    header.key_count = added_count();
    std::string payload;
    AppendPart(levels_, payload);
    for (const Row& row : rows_) AppendPart(row.Serialize(), payload);
    return EncodeFilter(header, BytesOf(payload));
  }

  size_t row_count() const { return rows_.size(); }
  // REQUIRES: i < row_count().
  const Row& row(size_t i) const { return rows_[i]; }
  // Capacity of row i in keys.
  uint64_t row_capacity(size_t i) const { return plan_.CapacityOf(LevelOf(i)); }
  uint64_t seed() const { return header_.seed; }
  // FPP of the whole filter, however many keys there are.
  double target_fpp() const { return header_.target_fpp; }
  uint64_t size_bits() const { return SizeBitsOf(rows_); }
  uint64_t added_count() const { return AddedTo(rows_); }

  // FPP with `key_count` different keys and no merged rows.  A row that does not exist yet counts
  // with its target, as if full.
  double PredictedFpp(uint64_t key_count) const {
    AnyPasses any;
    size_t next = 0;
    for (uint32_t level = 0; key_count > 0; ++level) {
      const uint64_t keys = std::min(key_count, plan_.CapacityOf(level));
      key_count -= keys;
      any.Add(next < rows_.size() ? rows_[next].PredictedFpp(keys) : plan_.TargetOf(level));
      next = LevelEnd(level);
    }
    return any.Fpp();
  }
  // FPP of the current bits; number of different keys, estimated from the fill of the rows (a key
  // in two rows counts twice).  Each reads all rows.
  double CurrentFpp() const { return CurrentFppOf(rows_); }
  double EstimatedKeyCount() const { return EstimatedKeyCountOf(rows_); }

  // Describes what is wrong with a shape and payload from a file, except in the rows themselves;
  // empty if nothing is.
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload) {
    if (std::string problem = ScalablePlan::Problem(shape.detail); !problem.empty()) return problem;
    if (std::string problem = RowsProblem(shape, payload, 2, UINT64_MAX); !problem.empty())
      return problem;
    const std::vector<std::string_view> parts = ReadParts(payload).value();
    return LevelsProblem(parts[0], parts.size() - 1);
  }

 private:
  ScalableFilter(const FilterHeader& header, std::vector<Row> rows, std::string levels)
      : header_(header),
        plan_(ScalablePlan::Of(header)),
        rows_(std::move(rows)),
        levels_(std::move(levels)) {
    header_.key_count = 0;  // each row has its own count
  }

  uint32_t LevelOf(size_t i) const { return static_cast<uint8_t>(levels_[i]); }
  // The first row after those of a level.
  size_t LevelEnd(uint32_t level) const {
    size_t end = 0;
    while (end < levels_.size() && LevelOf(end) <= level) ++end;
    return end;
  }

  // DataLoss unless each row of a file has a target and a shape that its level may have.  Otherwise
  // a small row in a level would make the next row far larger than the file.
  absl::Status CheckRows() const {
    size_t first = 0;  // of its level
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (levels_[i] != levels_[first]) first = i;
      const double target = plan_.TargetOf(LevelOf(i));
      if (rows_[i].target_fpp() != target) return RowLoss(i, "has another target than its level");
      if (rows_[i].shape() != rows_[first].shape())
        return RowLoss(i, "has another shape than the first of its level");
      if (i == first && rows_[i].PredictedFpp(row_capacity(i)) > 1.01 * target)
        return RowLoss(i, "is too small for its level");
    }
    return absl::OkStatus();
  }

  absl::Status CheckMerge(const ScalableFilter& other) const {
    const ScalableGrowth &growth = plan_.growth(), &others = other.plan_.growth();
    if (growth.factor != others.factor) {
      return CannotMerge("growth factors", std::to_string(growth.factor),
                         std::to_string(others.factor));
    }
    if (growth.tightening != others.tightening)
      return CannotMerge("tightenings", Exactly(growth.tightening), Exactly(others.tightening));
    for (size_t mine = 0, theirs = 0; mine < rows_.size() && theirs < other.rows_.size();) {
      TRELLIS_RETURN_IF_ERROR(CheckRowsMergeable(header_, other.header_, rows_[mine].shape(),
                                                 other.rows_[theirs].shape()));
      const uint32_t level = LevelOf(mine);
      mine = LevelEnd(level);
      theirs = other.LevelEnd(level);
    }
    return absl::OkStatus();
  }

  Row& RowWithRoom() {
    while (with_room_ < rows_.size() && rows_[with_room_].added_count() >= row_capacity(with_room_))
      ++with_room_;
    if (with_room_ == rows_.size()) {
      const uint32_t level = LevelOf(with_room_ - 1) + 1;
      absl::StatusOr<Row> row = Row::Make(plan_.CapacityOf(level), plan_.TargetOf(level), seed());
      if (!row.ok()) return rows_[--with_room_];
      rows_.push_back(*std::move(row));
      levels_.push_back(static_cast<char>(level));
    }
    return rows_[with_room_];
  }

  FilterHeader header_;
  ScalablePlan plan_;
  std::vector<Row> rows_;  // at least one
  std::string levels_;     // of the rows, ascending, none left out
  size_t with_room_ = 0;   // rows before it have no room
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_SCALABLE_H_
