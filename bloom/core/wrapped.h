// The bytes of a filter that is another filter and something besides: which prefixes it holds,
// which vectors.  Its header is that of all filters (bloom/core/filter_format.h), its payload
//
//     0                      size
//     +----------------------+----------------+
//     | the other one, whole | tail           |
//     +----------------------+----------------+
//
//   probes, seed, key count, target FPP   as in the header of the other one
//   size                                  bytes of the other one
//   detail, tail                          what the outer kind makes of them
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

namespace bloom::inline TRELLIS_ABI {

template <class Outer, KeyFilter Base>
std::string EncodeWrapped(const Base& base, uint64_t detail, std::string_view tail = {}) {
  std::string payload = base.Serialize();
  // As it was saved, should it change in the meantime (ConcurrentFilter).
  const FilterHeader saved = ParseFilter(payload).header;
  const Shape shape{.size = payload.size(), .probes = saved.shape.probes, .detail = detail};
  FilterHeader header = HeaderFor<Outer>(shape, saved.seed, saved.target_fpp);
  header.key_count = saved.key_count;
  payload.append(tail);
  return EncodeFilter(header, BytesOf(payload));
}

// What is wrong with the size; empty if nothing.  For the outer kind's Problem.
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

// Of bytes as EncodeWrapped makes them.  Errors as of a Load: DataLoss, Unimplemented, or
// InvalidArgument if it is another kind or wraps one.
template <class Outer, KeyFilter Base>
absl::StatusOr<Unwrapped<Base>> Unwrap(std::string_view bytes) {
  const absl::StatusOr<ParsedFilter> parsed = ParseAs<Outer>(bytes);
  if (!parsed.ok()) return parsed.status();
  const FilterHeader& header = parsed->header;
  const std::string_view payload = bytes.substr(kFilterHeaderBytes);
  absl::StatusOr<Base> base = Base::Load(payload.substr(0, header.shape.size));
  if (!base.ok()) return base.status();
  if (base->seed() != header.seed || base->added_count() != header.key_count ||
      base->target_fpp() != header.target_fpp || base->shape().probes != header.shape.probes) {
    return absl::DataLossError("filter: its header is not that of the filter inside");
  }
  return Unwrapped<Base>{*std::move(base), header.shape.detail, payload.substr(header.shape.size)};
}

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CORE_WRAPPED_H_
