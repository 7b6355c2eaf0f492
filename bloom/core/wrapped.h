// The bytes of a filter that consists of another filter and additional data, such as the rule for
// prefixes or the type of vectors.  Its header is that of all filters (bloom/core/filter_format.h).
// Its payload:
//
//     0                      size
//     +----------------------+----------------+
//     | inner filter, whole  | tail           |
//     +----------------------+----------------+
//
//   probes, seed, key count, target FPP   as in the header of the inner filter
//   size                                  bytes of the inner filter
//   detail, tail                          as the outer kind defines them
#ifndef TRELLIS_BLOOM_CORE_WRAPPED_H_
#define TRELLIS_BLOOM_CORE_WRAPPED_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/core/bits.h"
#include "bloom/core/concepts.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/shape.h"
#include "bloom/core/status.h"

namespace bloom::inline TRELLIS_ABI {

template <class Outer, KeyFilter Base>
std::string EncodeWrapped(const Base& base, uint64_t detail, std::string_view tail = {}) {
  std::string payload = base.Serialize();
  // From the saved bytes: the filter may change in the meantime (ConcurrentFilter).
  const FilterHeader saved = ParseFilter(payload).header;
  const Shape shape{.size = payload.size(), .probes = saved.shape.probes, .detail = detail};
  FilterHeader header = HeaderFor<Outer>(shape, saved.seed, saved.target_fpp);
  header.key_count = saved.key_count;
  payload.append(tail);
  return EncodeFilter(header, BytesOf(payload));
}

// Describes what is wrong with the size; empty if nothing is.  For the outer kind's Problem.
inline std::string WrappedProblem(const Shape& shape, std::span<const uint8_t> payload) {
  if (shape.size <= payload.size()) return "";
  return "has " + std::to_string(payload.size()) + " bytes for a filter of " +
         std::to_string(shape.size);
}

template <KeyFilter Base>
struct Unwrapped {
  Base base;
  uint64_t detail = 0;
  std::string_view tail;  // points into the bytes
};

// Splits bytes of EncodeWrapped.  Errors as for Load: DataLoss, Unimplemented, or InvalidArgument
// if outer or inner filter is of another kind.
template <class Outer, KeyFilter Base>
absl::StatusOr<Unwrapped<Base>> Unwrap(std::string_view bytes) {
  TRELLIS_ASSIGN_OR_RETURN(const ParsedFilter parsed, ParseAs<Outer>(bytes));
  const FilterHeader& header = parsed.header;
  const std::string_view payload = bytes.substr(kFilterHeaderBytes);
  TRELLIS_ASSIGN_OR_RETURN(Base base, Base::Load(payload.substr(0, header.shape.size)));
  if (base.seed() != header.seed || base.added_count() != header.key_count ||
      base.target_fpp() != header.target_fpp || base.shape().probes != header.shape.probes) {
    return absl::DataLossError("filter: its header is not that of the filter inside");
  }
  return Unwrapped<Base>{std::move(base), header.shape.detail, payload.substr(header.shape.size)};
}

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_WRAPPED_H_
