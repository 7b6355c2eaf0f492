#include "bloom/filters/rows.h"

#include "bloom/core/concat.h"
#include "bloom/core/status.h"
#include "bloom/filters/parts.h"

namespace bloom::inline TRELLIS_ABI {

std::string RowsProblem(const Shape& shape, std::span<const uint8_t> payload, uint64_t parts_min,
                        uint64_t parts_max) {
  if (std::string problem = ProbesProblem(shape); !problem.empty()) return problem;
  if (shape.size == 0) return "has no room for any key";
  const absl::StatusOr<std::vector<std::string_view>> parts = ReadParts(payload);
  if (!parts.ok()) return std::string(MessageOf(parts.status()));
  if (parts->size() < parts_min || parts->size() > parts_max) {
    return Concat("has ", parts->size(), " parts, not ", parts_min,
                  parts_max == parts_min ? "" : " or more");
  }
  return "";
}

absl::Status CheckRowKind(const FilterHeader& header, uint8_t tag) {
  const uint8_t found = RowTagOf(header.shape.detail);
  if (found == tag) return absl::OkStatus();
  return absl::InvalidArgumentError(Concat("filter has rows of kind ", found, ", not ", tag));
}

absl::Status RowError(size_t row, const absl::Status& status) {
  const std::string message = Concat("filter: row ", row, ": ", MessageOf(status));
  if (absl::IsUnimplemented(status) || absl::IsResourceExhausted(status))
    return absl::Status(status.code(), message);
  return absl::DataLossError(message);
}

absl::Status OfFirstRow(const absl::Status& status) {
  return absl::Status(status.code(), Concat("first row: ", MessageOf(status)));
}

absl::Status RowLoss(size_t row, std::string_view what) {
  return absl::DataLossError(Concat("filter: row ", row, " ", what));
}

absl::Status CheckRowsMergeable(FilterHeader a, FilterHeader b, const Shape& row_of_a,
                                const Shape& row_of_b) {
  // In all these filters the header's size is the capacity of a row.
  if (a.shape.size != b.shape.size) {
    return CannotMerge("row capacities", std::to_string(a.shape.size),
                       std::to_string(b.shape.size));
  }
  TRELLIS_RETURN_IF_ERROR(CheckMergeable(a, b));
  if (a.target_fpp != b.target_fpp)
    return CannotMerge("target_fpp", Exactly(a.target_fpp), Exactly(b.target_fpp));
  a.shape = row_of_a;
  b.shape = row_of_b;
  return CheckMergeable(a, b);
}

}  // namespace bloom
