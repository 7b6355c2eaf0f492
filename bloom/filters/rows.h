// Common code of filters that consist of several filters ("rows").  Each row holds different keys,
// and a query looks into all rows.
//
// All rows have the seed of the whole filter.  So a key is hashed once, and rows of one shape can
// be merged.  A key then has the same positions in all rows of a shape, and similar ones in the
// others. That does not raise the FPP: a query meets the bits of other keys there, which are
// independent of it and of each other.
//
// The payload has the serialized rows as parts (bloom/filters/parts.h).  In the header,
//   size    is a capacity in keys
//   probes  is that of the first row
//   detail  has the tag of the rows' kind in its low 8 bits
#ifndef TRELLIS_BLOOM_FILTERS_ROWS_H_
#define TRELLIS_BLOOM_FILTERS_ROWS_H_

#include <array>
#include <cmath>
#include <concepts>
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
#include "bloom/core/concepts.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/shape.h"
#include "bloom/core/status.h"
#include "bloom/hash.h"

namespace bloom::inline TRELLIS_ABI {

// A filter that can be a row: a Filter of any layout, CountingFilter, and other filters whose shape
// describes them completely.  Those in bloom/family.h are tested as rows and have a name.
template <class R>
concept RowFilter =
    !kMayDeny<R> && KeyFilter<R> && requires(const R& row, Shape shape, uint64_t seed) {
  { row.shape() } -> std::convertible_to<Shape>;
  { row.EstimatedKeyCount() } -> std::same_as<double>;
  { R::MakeOfShape(shape, double{}, seed) } -> std::same_as<absl::StatusOr<R>>;
};

// A row from which keys can be removed.
template <class R>
concept RemovableRow = RowFilter<R> && requires(R& row) {
  { row.RemoveDigest(Digest{}) } -> std::same_as<bool>;
};

// Explains an error in making a row.  The caller did not choose the row's size, so the error's
// numbers differ from the caller's.
TRELLIS_API absl::Status OfFirstRow(const absl::Status& status);

// "PREFIX-KIND", the name of a filter with rows of that kind.
template <class Row, size_t kSize>
constexpr auto NameWithRows(const char (&prefix)[kSize]) {
  std::array<char, kSize + Row::kName.size()> name{};
  size_t length = 0;
  while (length + 1 < kSize) name[length] = prefix[length], ++length;
  name[length++] = '-';
  for (const char c : Row::kName) name[length++] = c;
  return name;
}

// Accumulates 1 - (1 - f)(1 - g)...: the probability that an absent key passes at least one of
// several filters.
class AnyPasses {
 public:
  void Add(double fpp, uint64_t times = 1) {
    if (times > 0) log_denied_ += static_cast<double>(times) * std::log1p(-fpp);
  }
  double Fpp() const { return -std::expm1(log_denied_); }

 private:
  double log_denied_ = 0;
};

constexpr uint8_t RowTagOf(uint64_t detail) { return static_cast<uint8_t>(detail); }

// Describes what is wrong with shape and parts of a payload from a file; empty if nothing is.
TRELLIS_API std::string RowsProblem(const Shape& shape, std::span<const uint8_t> payload,
                                    uint64_t parts_min, uint64_t parts_max);

// InvalidArgument unless the rows are of that kind.
TRELLIS_API absl::Status CheckRowKind(const FilterHeader& header, uint8_t tag);

// An error of a row in a file, with the row's number: DataLoss, Unimplemented or ResourceExhausted.
TRELLIS_API absl::Status RowError(size_t row, const absl::Status& status);
TRELLIS_API absl::Status RowLoss(size_t row, std::string_view what);

// InvalidArgument, naming the difference, unless header, target and first row agree.
TRELLIS_API absl::Status CheckRowsMergeable(FilterHeader a, FilterHeader b, const Shape& row_of_a,
                                            const Shape& row_of_b);

// --- many rows ---

template <RowFilter Row>
bool AnyMayContain(const std::vector<Row>& rows, Digest digest) {
  // The last rows are the largest or the most recently filled ones.
  for (size_t i = rows.size(); i-- > 0;) {
    if (rows[i].MayContainDigest(digest)) return true;
  }
  return false;
}

// Saturates at UINT64_MAX, because rows of a file may claim any number.
template <RowFilter Row>
uint64_t AddedTo(const std::vector<Row>& rows) {
  uint64_t added = 0;
  for (const Row& row : rows) {
    if (__builtin_add_overflow(added, row.added_count(), &added)) return UINT64_MAX;
  }
  return added;
}

template <RowFilter Row>
uint64_t SizeBitsOf(const std::vector<Row>& rows) {
  uint64_t bits = 0;
  for (const Row& row : rows) bits += row.size_bits();
  return bits;
}

template <RowFilter Row>
double CurrentFppOf(const std::vector<Row>& rows) {
  AnyPasses any;
  for (const Row& row : rows) any.Add(row.CurrentFpp());
  return any.Fpp();
}

template <RowFilter Row>
double EstimatedKeyCountOf(const std::vector<Row>& rows) {
  double keys = 0;
  for (const Row& row : rows) keys += row.EstimatedKeyCount();
  return keys;
}

// The first row of [from, to) that has room for that many keys; `to` if none has.
template <RowFilter Row>
size_t FindRoom(const std::vector<Row>& rows, size_t from, size_t to, uint64_t keys,
                uint64_t capacity) {
  if (keys > capacity) return to;
  while (from < to && rows[from].added_count() > capacity - keys) ++from;
  return from;
}

// ResourceExhausted without memory.
template <RowFilter Row>
absl::StatusOr<std::vector<Row>> CopyRows(const std::vector<Row>& rows) {
  std::vector<Row> copies;
  copies.reserve(rows.size());
  for (const Row& row : rows) {
    TRELLIS_ASSIGN_OR_RETURN(Row copy, Row::MakeOfShape(row.shape(), row.target_fpp(), row.seed()));
    TRELLIS_RETURN_IF_ERROR(copy.Merge(row));
    copies.push_back(std::move(copy));
  }
  return copies;
}

// Loads rows from a file; each must be sound and have the header's seed.  InvalidArgument if they
// are of another kind, DataLoss or Unimplemented for a row that cannot be read, ResourceExhausted
// without memory.
template <RowFilter Row>
absl::StatusOr<std::vector<Row>> LoadRows(const FilterHeader& header,
                                          std::span<const std::string_view> parts) {
  TRELLIS_RETURN_IF_ERROR(CheckRowKind(header, Row::kTag));
  std::vector<Row> rows;
  for (const std::string_view part : parts) {
    absl::StatusOr<Row> row = Row::Load(part);
    if (!row.ok()) return RowError(rows.size(), row.status());
    if (row->seed() != header.seed) return RowLoss(rows.size(), "has another seed than its filter");
    rows.push_back(*std::move(row));
  }
  if (rows.front().shape().probes != header.shape.probes)
    return RowLoss(0, "has another number of probes than the filter's header says");
  return rows;
}

// DataLoss unless all rows of a file have the same shape and target.
template <RowFilter Row>
absl::Status CheckEqualRows(const std::vector<Row>& rows) {
  for (size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].shape() != rows[0].shape() || rows[i].target_fpp() != rows[0].target_fpp())
      return RowLoss(i, "has another shape than the first");
  }
  return absl::OkStatus();
}

// DataLoss unless the rows of a file hold as many additions as the header says.
template <RowFilter Row>
absl::Status CheckKeyCount(const FilterHeader& header, const std::vector<Row>& rows) {
  if (AddedTo(rows) == header.key_count) return absl::OkStatus();
  return absl::DataLossError("filter: its rows do not have the number of keys in its header");
}

}  // namespace bloom

#endif  // TRELLIS_BLOOM_FILTERS_ROWS_H_
