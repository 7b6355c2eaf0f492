// A filter that grows by rows of equal shape (Guo, Wu, Chen, Yuan, Luo 2010).  When all rows are
// full, it adds another one.
//
//   auto filter = bloom::DynamicFilter<>::Make(100'000, 0.001);  // keys per row, FPP of a full row
//   filter->Add("apple");                                        // as often as you like
//   filter->MayContain("pear");
//
// A row takes c additions.  A key goes into the first row that has room, and passes if it passes
// any row.  With f(n) the FPP of a row of n keys, the FPP of the whole is
//
//     1 - (1 - f(c))^floor(n / c) * (1 - f(n mod c))
//
// It grows with the number of rows, about n / c * f(c).  For unbounded streams use
// bloom/scalable.h. A query of an absent key looks into every row.
//
// A row is any RowFilter, such as Filter<Blocked> or Filter<Standard>; with CountingFilter keys can
// be removed.
//
// There is no Intersect: a key may lie in the first row of one filter and in the second of the
// other, so an intersection row by row would deny it.
//
// Thread-safe while no thread changes it.  Movable, not copyable.
#ifndef TRELLIS_BLOOM_DYNAMIC_H_
#define TRELLIS_BLOOM_DYNAMIC_H_

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

// Bytes: the header's size is c, its detail is the tag of the rows.  The parts are the rows in
// order, at least one.
template <RowFilter Row = Filter<Blocked>>
class DynamicFilter {
  static constexpr auto kNameChars = NameWithRows<Row>("dynamic");

 public:
  static constexpr std::string_view kName{kNameChars.data(), kNameChars.size()};
  static constexpr uint8_t kTag = 71;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;
  static constexpr bool kHasDetail = true;  // tag of the rows

  // Makes a filter whose rows are made for `row_capacity` keys at `target_fpp` each.  Errors as for
  // Row::Make.
  static absl::StatusOr<DynamicFilter> Make(uint64_t row_capacity, double target_fpp,
                                            uint64_t seed = 0) {
    if (row_capacity == 0) return absl::InvalidArgumentError("row_capacity must be at least 1");
    return From(row_capacity, Row::Make(row_capacity, target_fpp, seed));
  }
  // Makes a filter with rows of a given shape.
  static absl::StatusOr<DynamicFilter> MakeOfShape(uint64_t row_capacity, const Shape& row_shape,
                                                   double target_fpp, uint64_t seed = 0) {
    if (row_capacity == 0) return absl::InvalidArgumentError("row_capacity must be at least 1");
    return From(row_capacity, Row::MakeOfShape(row_shape, target_fpp, seed));
  }

  // Loads the bytes of Serialize.  DataLoss if they are damaged, Unimplemented if their version is
  // unknown, InvalidArgument if they are a filter of another kind or with other rows.
  // ResourceExhausted without memory.
  static absl::StatusOr<DynamicFilter> Load(std::string_view bytes) {
    TRELLIS_ASSIGN_OR_RETURN(const ParsedFilter parsed, ParseAs<DynamicFilter>(bytes));
    TRELLIS_ASSIGN_OR_RETURN(std::vector<Row> rows,
                             LoadRows<Row>(parsed.header, ReadParts(parsed.payload).value()));
    TRELLIS_RETURN_IF_ERROR(CheckEqualRows(rows));
    TRELLIS_RETURN_IF_ERROR(CheckKeyCount(parsed.header, rows));
    if (rows.front().target_fpp() != parsed.header.target_fpp)
      return RowLoss(0, "has another target than its filter");
    return DynamicFilter(parsed.header, std::move(rows));
  }

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, header_.seed); }

  // Adds a key.  Repeated additions of one key use up room each time, and make further rows;
  // AddIfAbsent avoids that.  If there is no memory for a further row, the last one is overfilled.
  void Add(std::string_view key) { AddDigest(DigestOf(key)); }
  void AddDigest(Digest digest) { RowWithRoom().AddDigest(digest); }

  // Adds the key unless it passes.  Returns true if it did not pass; it is then certainly new.
  bool AddIfAbsent(std::string_view key) { return AddDigestIfAbsent(DigestOf(key)); }
  bool AddDigestIfAbsent(Digest digest) {
    if (MayContainDigest(digest)) return false;
    AddDigest(digest);
    return true;
  }

  // Undoes one addition, if exactly one row lets the key pass.  Otherwise returns false and changes
  // nothing: no row has the key, or more than one row lets it pass.  The latter is so for keys that
  // were added in two rows, and for a share of 1 - (1 - f)^(rows - 1) of the others.  Do not remove
  // a key that was never added: if it passes, removing it damages the filter, which may then deny
  // other keys.
  bool Remove(std::string_view key) requires RemovableRow<Row> {
    return RemoveDigest(DigestOf(key));
  }
  bool RemoveDigest(Digest digest) requires RemovableRow<Row> {
    size_t found = rows_.size();
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (!rows_[i].MayContainDigest(digest)) continue;
      if (found < rows_.size()) return false;
      found = i;
    }
    if (found == rows_.size() || !rows_[found].RemoveDigest(digest)) return false;
    with_room_ = std::min(with_room_, found);
    return true;
  }

  // False only if the key was never added, or was removed.
  bool MayContain(std::string_view key) const { return MayContainDigest(DigestOf(key)); }
  bool MayContainDigest(Digest digest) const { return AnyMayContain(rows_, digest); }

  // Adds all keys of `other`.  Each of its rows is merged into the first row here that has room for
  // all its keys, or becomes a further row.  No row is overfilled.  InvalidArgument, naming the
  // difference, unless capacity, target, seed and row shape agree; ResourceExhausted without
  // memory.  On an error nothing changes.
  absl::Status Merge(const DynamicFilter& other) {
    TRELLIS_RETURN_IF_ERROR(
        CheckRowsMergeable(header_, other.header_, rows_[0].shape(), other.rows_[0].shape()));
    TRELLIS_ASSIGN_OR_RETURN(std::vector<Row> copies, CopyRows(other.rows_));
    SkipFullRows();
    // A full row fits only into an empty one.  Rows here never lose keys, so one pass looks for the
    // empty ones.
    size_t maybe_empty = with_room_;
    for (Row& row : copies) {
      if (row.added_count() == 0) continue;
      const bool is_full = row.added_count() == row_capacity();
      const size_t at = FindRoom(rows_, is_full ? maybe_empty : with_room_, rows_.size(),
                                 row.added_count(), row_capacity());
      if (is_full) maybe_empty = at;
      if (at == rows_.size()) {
        rows_.push_back(std::move(row));
      } else if (absl::Status status = rows_[at].Merge(row); !status.ok()) {
        return status;
      }
    }
    return absl::OkStatus();
  }

  // Removes all keys, and all rows but one.
  void Clear() {
    rows_.erase(rows_.begin() + 1, rows_.end());
    rows_[0].Clear();
    with_room_ = 0;
  }

  std::string Serialize() const {
    FilterHeader header = header_;
    header.key_count = added_count();
    std::string payload;
    for (const Row& row : rows_) AppendPart(row.Serialize(), payload);
    return EncodeFilter(header, BytesOf(payload));
  }

  uint64_t row_capacity() const { return header_.shape.size; }
  size_t row_count() const { return rows_.size(); }
  // REQUIRES: i < row_count().
  const Row& row(size_t i) const { return rows_[i]; }
  uint64_t seed() const { return header_.seed; }
  // FPP of a full row.
  double target_fpp() const { return header_.target_fpp; }
  uint64_t size_bits() const { return SizeBitsOf(rows_); }
  // Additions minus removals.
  uint64_t added_count() const { return AddedTo(rows_); }

  // FPP with `key_count` different keys, by the formula above.
  double PredictedFpp(uint64_t key_count) const {
    AnyPasses any;
    any.Add(rows_[0].PredictedFpp(row_capacity()), key_count / row_capacity());
    any.Add(rows_[0].PredictedFpp(key_count % row_capacity()));
    return any.Fpp();
  }
  // FPP of the current bits; number of different keys, estimated from the fill of the rows (a key
  // in two rows counts twice).  Each reads all rows.
  double CurrentFpp() const { return CurrentFppOf(rows_); }
  double EstimatedKeyCount() const { return EstimatedKeyCountOf(rows_); }

  // Describes what is wrong with a shape and payload from a file, except in the rows themselves;
  // empty if nothing is.
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload) {
    if (shape.detail != RowTagOf(shape.detail)) return "has a detail that no such filter has";
    return RowsProblem(shape, payload, 1, UINT64_MAX);
  }

 private:
  DynamicFilter(const FilterHeader& header, std::vector<Row> rows)
      : header_(header), rows_(std::move(rows)) {
    header_.key_count = 0;  // each row has its own count
  }

  static absl::StatusOr<DynamicFilter> From(uint64_t row_capacity, absl::StatusOr<Row> first) {
    TRELLIS_RETURN_IF_ERROR(first.status());
    const Shape shape = {row_capacity, first->shape().probes, Row::kTag};
    const FilterHeader header = HeaderFor<DynamicFilter>(shape, first->seed(), first->target_fpp());
    std::vector<Row> rows;
    rows.push_back(*std::move(first));
    return DynamicFilter(header, std::move(rows));
  }

  void SkipFullRows() { with_room_ = FindRoom(rows_, with_room_, rows_.size(), 1, row_capacity()); }

  Row& RowWithRoom() {
    SkipFullRows();
    if (with_room_ == rows_.size()) {
      absl::StatusOr<Row> row = Row::MakeOfShape(rows_[0].shape(), target_fpp(), seed());
      if (!row.ok()) return rows_[--with_room_];
      rows_.push_back(*std::move(row));
    }
    return rows_[with_room_];
  }

  FilterHeader header_;
  std::vector<Row> rows_;  // at least one
  size_t with_room_ = 0;   // rows before it have no room
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_DYNAMIC_H_
