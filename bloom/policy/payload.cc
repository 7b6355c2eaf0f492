#include "bloom/payload.h"

#include "bloom/catalog.h"
#include "bloom/core/bits.h"
#include "bloom/core/concat.h"

namespace bloom::inline TRELLIS_ABI {

absl::StatusOr<PayloadParts> RemoveHeader(std::string_view bytes) {
  const ParsedFilter parsed = OpenFilter(bytes).parsed;
  if (parsed.state == FilterState::kUnknown)
    return absl::UnimplementedError(Concat("filter: ", parsed.problem));
  if (parsed.state == FilterState::kDamaged)
    return absl::DataLossError(Concat("filter: ", parsed.problem));
  const FilterHeader& header = parsed.header;
  return PayloadParts{{header.kind, header.shape, header.seed, header.key_count, header.target_fpp},
                      bytes.substr(kFilterHeaderBytes)};
}

absl::StatusOr<std::string> AddHeader(const PayloadParameters& parameters,
                                      std::string_view payload) {
  const KindEntry* const kind = FindKind(parameters.kind);
  if (kind == nullptr) {
    return absl::UnimplementedError(Concat("filter: kind ", parameters.kind, " is unknown"));
  }
  ParsedFilter filter;
  filter.state = FilterState::kUsable;
  filter.header = {.kind = kind->tag,
                   .version = kind->rules.version,
                   .line_bytes_log2 = kind->rules.line_bytes_log2,
                   .shape = parameters.shape,
                   .seed = parameters.seed,
                   .key_count = parameters.key_count,
                   .target_fpp = parameters.target_fpp};
  filter.payload = BytesOf(payload);
  Judge(kind->rules, filter);
  if (filter.state != FilterState::kUsable)
    return absl::DataLossError(Concat("filter: ", filter.problem));
  return EncodeFilter(filter.header, filter.payload);
}

}  // namespace bloom
