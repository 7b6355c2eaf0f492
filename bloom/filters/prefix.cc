#include "bloom/prefix.h"

#include <charconv>

#include "bloom/core/concat.h"
#include "bloom/core/status.h"
#include "bloom/core/wrapped.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

constexpr std::string_view kFixed = "fixed:";
constexpr std::string_view kDelimiter = "delimiter:";
constexpr uint32_t kMaxCount = 65535;

// The number in `text`; 0 unless it is exactly a number in [1, kMaxCount].
uint32_t CountIn(std::string_view text) {
  uint32_t count = 0;
  const char* const end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, count);
  if (result.ec != std::errc() || result.ptr != end || count > kMaxCount) return 0;
  return count;
}

// Whether `high` is the first string after all strings that begin with `prefix`.
bool IsFirstBehind(std::string_view prefix, std::string_view high) {
  while (prefix.ends_with('\xff')) prefix.remove_suffix(1);
  if (prefix.empty() || prefix.size() != high.size()) return false;
  const size_t last = prefix.size() - 1;
  return prefix.substr(0, last) == high.substr(0, last) &&
         static_cast<uint8_t>(prefix[last]) + 1 == static_cast<uint8_t>(high[last]);
}

}  // namespace

absl::StatusOr<PrefixExtractor> PrefixExtractor::FromName(std::string_view name) {
  if (name.starts_with(kFixed)) {
    const uint32_t bytes = CountIn(name.substr(kFixed.size()));
    if (bytes > 0) return PrefixExtractor(Rule::kFixed, '\0', bytes);
  } else if (name.starts_with(kDelimiter) && name.size() > kDelimiter.size()) {
    const char delimiter = name[kDelimiter.size()];
    const std::string_view behind = name.substr(kDelimiter.size() + 1);
    if (behind.empty()) return PrefixExtractor(Rule::kDelimiter, delimiter, 1);
    const uint32_t count = behind.front() == ':' ? CountIn(behind.substr(1)) : 0;
    if (count > 0) return PrefixExtractor(Rule::kDelimiter, delimiter, count);
  }
  return absl::InvalidArgumentError(
      Concat("extractor must be fixed:N, delimiter:C or delimiter:C:COUNT with numbers from "
             "1 to ",
             kMaxCount, ", is '", name, "'"));
}

std::string PrefixExtractor::name() const {
  if (rule_ == Rule::kFixed) return std::string(kFixed) + std::to_string(count_);
  std::string name = std::string(kDelimiter) + delimiter_;
  if (count_ > 1) name += ':' + std::to_string(count_);
  return name;
}

std::optional<std::string_view> PrefixExtractor::PrefixOf(std::string_view key) const {
  if (rule_ == Rule::kFixed) {
    if (key.size() < count_) return std::nullopt;
    return key.substr(0, count_);
  }
  size_t size = 0;
  for (uint32_t i = 0; i < count_; ++i) {
    const size_t at = key.find(delimiter_, size);
    if (at == std::string_view::npos) return std::nullopt;
    size = at + 1;
  }
  return key.substr(0, size);
}

absl::StatusOr<PrefixFilter> PrefixFilter::Make(uint64_t key_count, double target_fpp,
                                                const PrefixOptions& options) {
  TRELLIS_ASSIGN_OR_RETURN(const PrefixExtractor parsed,
                           PrefixExtractor::FromName(options.extractor));
  TRELLIS_ASSIGN_OR_RETURN(Filter<Blocked> filter,
                           Filter<Blocked>::Make(key_count, target_fpp, options.seed));
  return PrefixFilter(parsed, options.whole_keys, std::move(filter));
}

absl::StatusOr<PrefixFilter> PrefixFilter::Load(std::string_view bytes) {
  TRELLIS_ASSIGN_OR_RETURN(Unwrapped<Filter<Blocked>> parts,
                           (Unwrap<PrefixFilter, Filter<Blocked>>(bytes)));
  const absl::StatusOr<PrefixExtractor> extractor = PrefixExtractor::FromName(parts.tail);
  if (!extractor.ok() || extractor->name() != parts.tail) {
    return absl::UnimplementedError(Concat("filter: its extractor '", parts.tail, "' is unknown"));
  }
  return PrefixFilter(*extractor, parts.detail != 0 ? WholeKeys::kToo : WholeKeys::kLeftOut,
                      std::move(parts.base));
}

std::string PrefixFilter::Problem(const Shape& shape, std::span<const uint8_t> payload) {
  if (shape.detail > 1) return Concat("has ", shape.detail, " for whole keys, not 0 or 1");
  return WrappedProblem(shape, payload);
}

void PrefixFilter::Add(std::string_view key) {
  if (const std::optional<std::string_view> prefix = extractor_.PrefixOf(key)) {
    const Digest digest = filter_.DigestOf(*prefix);
    if (last_prefix_ != digest) filter_.AddDigest(digest);
    last_prefix_ = digest;
    if (prefix->size() == key.size()) return;  // the prefix is the whole key
  }
  if (whole_keys_ == WholeKeys::kLeftOut) return;
  const Digest digest = filter_.DigestOf(key);
  if (last_key_ != digest) filter_.AddDigest(digest);
  last_key_ = digest;
}

bool PrefixFilter::MayContainPrefix(std::string_view prefix) const {
  const std::optional<std::string_view> full = extractor_.PrefixOf(prefix);
  return !full.has_value() || filter_.MayContain(*full);
}

bool PrefixFilter::MayMatchRange(std::string_view low, std::string_view high, RangeEnd end) const {
  const std::optional<std::string_view> prefix = extractor_.PrefixOf(low);
  if (!prefix.has_value()) return true;
  if (!high.starts_with(*prefix) && (end == RangeEnd::kIncluded || !IsFirstBehind(*prefix, high))) {
    return true;
  }
  return filter_.MayContain(*prefix);
}

bool PrefixFilter::MayContain(std::string_view key) const {
  return whole_keys_ == WholeKeys::kToo ? filter_.MayContain(key) : MayContainPrefix(key);
}

absl::Status PrefixFilter::Merge(const PrefixFilter& other) {
  const std::string mine = extractor_name(), theirs = other.extractor_name();
  if (mine != theirs) return CannotMerge("extractors", mine, theirs);
  if (whole_keys_ != other.whole_keys_) {
    const auto name = [](WholeKeys keys) { return keys == WholeKeys::kToo ? "too" : "left out"; };
    return CannotMerge("whole keys", name(whole_keys_), name(other.whole_keys_));
  }
  return filter_.Merge(other.filter_);
}

void PrefixFilter::Clear() {
  filter_.Clear();
  last_prefix_.reset();
  last_key_.reset();
}

std::string PrefixFilter::Serialize() const {
  return EncodeWrapped<PrefixFilter>(filter_, whole_keys_ == WholeKeys::kToo ? 1 : 0,
                                     extractor_.name());
}

}  // namespace bloom
