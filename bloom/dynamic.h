// A filter that grows row by row (Guo, Wu, Chen, Yuan, Luo 2010): whenever its rows are full it
// gets another one, of the same shape.
//
//   auto filter = bloom::DynamicFilter<>::Make(100'000, 0.001);  // keys a row, FPP of a full row
//   filter->Add("apple");                                        // as often as you like
//   filter->MayContain("pear");
//
// A row takes a number c of additions.  A key goes into the first row that has room, and passes if
// it passes any row.  With f(n) the FPP of a row of n keys, that of the whole is
//
//     1 - (1 - f(c))^floor(n / c) * (1 - f(n mod c))
//
// which grows with the number of rows, about n / c * f(c): for streams without an end there is
// bloom/scalable.h.  A query costs a look into each row, where an absent key is concerned.
//
// A row is any filter that is a RowFilter, such as Filter<Blocked> and Filter<Standard>, or
// CountingFilter, with which keys can be removed.
//
// There is no Intersect, since rows of two filters have nothing to do with one another: a key may
// lie in the first row here and in the second there, and an intersection row by row, as in a known
// implementation, denies it.
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
#include "bloom/filter.h"
#include "bloom/filters/parts.h"
#include "bloom/filters/rows.h"
#include "bloom/hash.h"
#include "bloom/variants/blocked.h"

namespace bloom::inline TRELLIS_ABI {

// Its bytes: the header's size is c, its detail the tag of the rows; the parts are the rows in
// their order, at least one.
template <RowFilter Row = Filter<Blocked>>
class DynamicFilter {
  static constexpr auto kNameChars = NameWithRows<Row>("dynamic");

 public:
  static constexpr std::string_view kName{kNameChars.data(), kNameChars.size()};
  static constexpr uint8_t kTag = 71;
  static constexpr uint8_t kVersion = 1;
  static constexpr uint8_t kLineBytesLog2 = 0;
  static constexpr bool kHasDetail = true;  // the tag of the rows

  // With rows that are sized for `row_capacity` keys at `target_fpp` each.  Errors as for
  // Row::Make.
  static absl::StatusOr<DynamicFilter> Make(uint64_t row_capacity, double target_fpp,
                                            uint64_t seed = 0) {
    if (row_capacity == 0) return absl::InvalidArgumentError("row_capacity must be at least 1");
    return From(row_capacity, Row::Make(row_capacity, target_fpp, seed));
  }
  // With rows of a shape that the caller chose.
  static absl::StatusOr<DynamicFilter> MakeOfShape(uint64_t row_capacity, const Shape& row_shape,
                                                   double target_fpp, uint64_t seed = 0) {
    if (row_capacity == 0) return absl::InvalidArgumentError("row_capacity must be at least 1");
    return From(row_capacity, Row::MakeOfShape(row_shape, target_fpp, seed));
  }

  // From the bytes of Serialize.  DataLoss if they are damaged, Unimplemented if their version is
  // unknown, InvalidArgument if they are a filter of another kind or with other rows.
  static absl::StatusOr<DynamicFilter> Load(std::string_view bytes) {
    const absl::StatusOr<ParsedFilter> parsed = ParseAs<DynamicFilter>(bytes);
    if (!parsed.ok()) return parsed.status();
    absl::StatusOr<std::vector<Row>> rows =
        LoadRows<Row>(parsed->header, ReadParts(parsed->payload).value());
    if (!rows.ok()) return rows.status();
    if (absl::Status status = CheckEqualRows(*rows); !status.ok()) return status;
    if (absl::Status status = CheckKeyCount(parsed->header, *rows); !status.ok()) return status;
    if (rows->front().target_fpp() != parsed->header.target_fpp)
      return RowLoss(0, "has another target than its filter");
    return DynamicFilter(parsed->header, *std::move(rows));
  }

  Digest DigestOf(std::string_view key) const { return bloom::DigestOf(key, header_.seed); }

  // Adds and counts a key whether or not it is in already, and so uses up room: the same key again
  // and again makes row after row.  AddIfAbsent does not.  Without memory for a further row, the
  // last one takes more keys than its share.
  void Add(std::string_view key) { AddDigest(DigestOf(key)); }
  void AddDigest(Digest digest) { RowWithRoom().AddDigest(digest); }

  // Adds a key that does not pass yet; true if it did not, and then it is certainly new.
  bool AddIfAbsent(std::string_view key) { return AddDigestIfAbsent(DigestOf(key)); }
  bool AddDigestIfAbsent(Digest digest) {
    if (MayContainDigest(digest)) return false;
    AddDigest(digest);
    return true;
  }

  // Takes back one addition, if exactly one row lets the key pass, which is then the row that it is
  // in.  Otherwise false, and nothing is changed: the key is in no row, or its row is unknown.
  // The latter happens to keys that were added in two rows, and to a share of
  // 1 - (1 - f)^(rows - 1) of the others.  To remove a key that was never added but passes damages
  // others: they may then be denied.
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

  // False only if the key was never added, or removed.
  bool MayContain(std::string_view key) const { return MayContainDigest(DigestOf(key)); }
  bool MayContainDigest(Digest digest) const { return AnyMayContain(rows_, digest); }

  // Adds all keys of `other`: each of its rows goes into the first row here that has room for all
  // its keys, or becomes a further row; none is overfilled.  InvalidArgument, naming the
  // difference, unless capacity, target, seed and the shape of the rows agree, ResourceExhausted
  // without memory; nothing is changed then.
  absl::Status Merge(const DynamicFilter& other) {
    if (absl::Status status =
            CheckRowsMergeable(header_, other.header_, rows_[0].shape(), other.rows_[0].shape());
        !status.ok())
      return status;
    absl::StatusOr<std::vector<Row>> copies = CopyRows(other.rows_);
    if (!copies.ok()) return copies.status();
    SkipFullRows();
    // A full row fits into an empty one only.  Rows get no emptier here, so that all full ones
    // together look for those once.
    size_t maybe_empty = with_room_;
    for (Row& row : *copies) {
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

  // Forgets all keys, and all rows but one.
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
  // Of a full row.
  double target_fpp() const { return header_.target_fpp; }
  uint64_t size_bits() const { return SizeBitsOf(rows_); }
  // Additions less removals.
  uint64_t added_count() const { return AddedTo(rows_); }

  // FPP once `key_count` different keys are in, by the formula above.
  double PredictedFpp(uint64_t key_count) const {
    AnyPasses any;
    any.Add(rows_[0].PredictedFpp(row_capacity()), key_count / row_capacity());
    any.Add(rows_[0].PredictedFpp(key_count % row_capacity()));
    return any.Fpp();
  }
  // FPP of the bits as they are; the number of different keys, judged by the fill of the rows,
  // where one that is in two rows counts twice.  Each reads all rows.
  double CurrentFpp() const { return CurrentFppOf(rows_); }
  double EstimatedKeyCount() const { return EstimatedKeyCountOf(rows_); }

  // What is wrong with a shape and payload from a file, the rows themselves apart; empty if
  // nothing.
  static std::string Problem(const Shape& shape, std::span<const uint8_t> payload) {
    if (shape.detail != RowTagOf(shape.detail)) return "has a detail that no such filter has";
    return RowsProblem(shape, payload, 1, UINT64_MAX);
  }

 private:
  DynamicFilter(const FilterHeader& header, std::vector<Row> rows)
      : header_(header), rows_(std::move(rows)) {
    header_.key_count = 0;  // rows know theirs
  }

  static absl::StatusOr<DynamicFilter> From(uint64_t row_capacity, absl::StatusOr<Row> first) {
    if (!first.ok()) return first.status();
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
  size_t with_room_ = 0;   // no row before it has room
};

}  // namespace bloom

#endif  // TRELLIS_BLOOM_DYNAMIC_H_
