#include "bloom/core/filter_format.h"

#include <bit>
#include <charconv>

#include "bloom/core/bits.h"
#include "bloom/core/concat.h"
#include "bloom/core/sizing.h"
#include "bloom/core/status.h"
#include "bloom/hash.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

constexpr std::string_view kMagic = "TRLBLOOM";

// Offsets of the header's fields.
constexpr size_t kVersionAt = 9;
constexpr size_t kProbesAt = 10;
constexpr size_t kLineAt = 11;
constexpr size_t kHashAt = 12;
constexpr size_t kFirstZerosAt = 13;
constexpr size_t kSeedAt = 16;
constexpr size_t kKeyCountAt = 24;
constexpr size_t kSizeAt = 32;
constexpr size_t kTargetFppAt = 40;
constexpr size_t kDetailAt = 48;
constexpr size_t kChecksumAt = 56;

constexpr char kReservedInUse[] =
    "reserved bytes of the header are in use: a newer version wrote it";

bool IsZero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

FilterHeader DecodeHeader(const char* bytes) {
  FilterHeader header;
  header.kind = static_cast<uint8_t>(bytes[kFilterKindAt]);
  header.version = static_cast<uint8_t>(bytes[kVersionAt]);
  header.line_bytes_log2 = static_cast<uint8_t>(bytes[kLineAt]);
  header.hash_id = static_cast<uint8_t>(bytes[kHashAt]);
  header.shape.probes = static_cast<uint8_t>(bytes[kProbesAt]);
  header.shape.size = Load64(bytes + kSizeAt);
  header.shape.detail = Load64(bytes + kDetailAt);
  header.seed = Load64(bytes + kSeedAt);
  header.key_count = Load64(bytes + kKeyCountAt);
  header.target_fpp = std::bit_cast<double>(Load64(bytes + kTargetFppAt));
  return header;
}

}  // namespace

std::string EncodeFilter(const FilterHeader& header, std::span<const uint8_t> payload) {
  std::string bytes;
  bytes.reserve(kFilterHeaderBytes + payload.size());
  bytes.assign(kFilterHeaderBytes, '\0');
  kMagic.copy(bytes.data(), kMagic.size());
  bytes[kFilterKindAt] = static_cast<char>(header.kind);
  bytes[kVersionAt] = static_cast<char>(header.version);
  bytes[kProbesAt] = static_cast<char>(header.shape.probes);
  bytes[kLineAt] = static_cast<char>(header.line_bytes_log2);
  bytes[kHashAt] = static_cast<char>(header.hash_id);
  Store64(&bytes[kSeedAt], header.seed);
  Store64(&bytes[kKeyCountAt], header.key_count);
  Store64(&bytes[kSizeAt], header.shape.size);
  Store64(&bytes[kDetailAt], header.shape.detail);
  Store64(&bytes[kTargetFppAt], std::bit_cast<uint64_t>(header.target_fpp));
  const std::string_view body(reinterpret_cast<const char*>(payload.data()), payload.size());
  Store64(&bytes[kChecksumAt], ChecksumOf(std::string_view(bytes).substr(0, kChecksumAt), body));
  bytes.append(body);
  return bytes;
}

ParsedFilter ParseFilter(std::string_view bytes) {
  ParsedFilter parsed;
  if (bytes.size() < kFilterHeaderBytes) {
    parsed.problem =
        Concat("has ", bytes.size(), " bytes, its header alone has ", kFilterHeaderBytes);
    return parsed;
  }
  if (!bytes.starts_with(kMagic)) {
    parsed.problem = "does not begin with the magic bytes of a filter";
    return parsed;
  }
  const std::string_view body = bytes.substr(kFilterHeaderBytes);
  parsed.header = DecodeHeader(bytes.data());
  parsed.payload = BytesOf(body);
  if (Load64(bytes.data() + kChecksumAt) != ChecksumOf(bytes.substr(0, kChecksumAt), body)) {
    parsed.problem = "checksum does not match";
    return parsed;
  }
  parsed.state = FilterState::kUnknown;
  if (parsed.header.hash_id != kHashXxh3Remixed) {
    parsed.problem = Concat("hash id ", parsed.header.hash_id, " is unknown");
  } else if (!IsZero(bytes.substr(kFirstZerosAt, kSeedAt - kFirstZerosAt))) {
    parsed.problem = kReservedInUse;
  } else {
    parsed.state = FilterState::kUsable;
  }
  return parsed;
}

std::string ProbesProblem(const Shape& shape) {
  if (shape.probes >= 1 && shape.probes <= kMaxProbes) return "";
  return Concat("has ", shape.probes, " probes, not 1 to ", kMaxProbes);
}

void Judge(const KindRules& rules, ParsedFilter& parsed) {
  if (parsed.state != FilterState::kUsable) return;
  const FilterHeader& header = parsed.header;
  if (header.version != rules.version) {
    parsed.state = FilterState::kUnknown;
    parsed.problem = Concat("version ", header.version,
                            " of its kind is unknown, this library reads ", rules.version);
    return;
  }
  if (header.shape.detail != 0 && !rules.has_detail) {
    parsed.state = FilterState::kUnknown;
    parsed.problem = kReservedInUse;
    return;
  }
  if (header.line_bytes_log2 != rules.line_bytes_log2) {
    parsed.problem =
        Concat("has lines of 2^", header.line_bytes_log2, " bytes, not 2^", rules.line_bytes_log2);
  } else if (absl::Status status = CheckTargetFpp(header.target_fpp); !status.ok()) {
    parsed.problem = std::string(MessageOf(status));
  } else if (header.shape.size == 0 && header.key_count != 0) {
    // Without bits, the filter would deny its keys as the empty filter does.
    parsed.problem = Concat("has no bits for its ", header.key_count, " keys");
  } else {
    parsed.problem = rules.problem(header.shape, parsed.payload);
  }
  if (!parsed.problem.empty()) parsed.state = FilterState::kDamaged;
}

absl::Status CheckIsKind(const KindRules& rules, uint8_t tag, ParsedFilter& parsed) {
  if (parsed.state == FilterState::kUsable && parsed.header.kind != tag) {
    return absl::InvalidArgumentError(Concat("filter is of kind ", parsed.header.kind, ", not ",
                                             tag, " (", std::string(rules.name), ")"));
  }
  Judge(rules, parsed);
  switch (parsed.state) {
    case FilterState::kUsable:
      return absl::OkStatus();
    case FilterState::kUnknown:
      return absl::UnimplementedError(Concat("filter: ", parsed.problem));
    case FilterState::kDamaged:
      break;
  }
  return absl::DataLossError(Concat("filter: ", parsed.problem));
}

absl::Status CannotMerge(std::string_view what, const std::string& a, const std::string& b) {
  return absl::InvalidArgumentError(
      Concat("filters cannot be merged: ", what, " ", a, " and ", b, " differ"));
}

std::string Exactly(double number) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof(digits), number).ptr};
}

absl::Status CheckMergeable(const FilterHeader& a, const FilterHeader& b,
                            std::string_view detail_name) {
  const Shape &left = a.shape, &right = b.shape;
  const auto differ = [](std::string_view what, uint64_t one, uint64_t other) {
    return CannotMerge(what, std::to_string(one), std::to_string(other));
  };
  // The detail comes first, since sizes often follow from it.
  if (left.detail != right.detail) return differ(detail_name, left.detail, right.detail);
  if (left.size != right.size) return differ("sizes", left.size, right.size);
  if (left.probes != right.probes) return differ("probes", left.probes, right.probes);
  if (a.seed != b.seed) return differ("seeds", a.seed, b.seed);
  return absl::OkStatus();
}

}  // namespace bloom
