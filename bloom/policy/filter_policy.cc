#include "bloom/filter_policy.h"

#include <algorithm>

#include "bloom/catalog.h"
#include "bloom/core/concat.h"
#include "bloom/policy/kind_builder.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

absl::Status NoSuchKind(std::string_view name) {
  return absl::InvalidArgumentError(
      Concat("no filter kind is called \"", name, "\"; there are: ", KeyedKindNames()));
}

}  // namespace

FilterBuilder::~FilterBuilder() = default;
FilterPolicy::~FilterPolicy() = default;

absl::StatusOr<std::shared_ptr<const FilterPolicy>> PolicyFromName(std::string_view name) {
  std::shared_ptr<const FilterPolicy> policy;
  KeyedKinds::ForEach([&]<StaticKind K>(K) {
    if (name == K::kName) policy = std::make_shared<KindPolicy<K>>();
  });
  if (policy != nullptr) return policy;
  return NoSuchKind(name);
}

absl::StatusOr<FilterSize> SizeOfFilter(std::string_view name, uint64_t key_count,
                                        double target_fpp) {
  absl::StatusOr<FilterSize> size = NoSuchKind(name);
  KeyedKinds::ForEach([&]<StaticKind K>(K) {
    if (name == K::kName) size = SizeOfBest<K>(key_count, target_fpp);
  });
  return size;
}

constinit const FilterFunctions FilterReader::kMaybe = {
    [](const FilterView&, Digest) { return true; },  //
    [](const FilterView&, Digest) {},
    [](const FilterView&, const Digest*, size_t count, bool* results) {
      std::fill_n(results, count, true);
    }};

FilterReader FilterReader::Open(std::string_view bytes) {
  FilterReader reader;
  reader.bytes_ = bytes;
  const OpenedFilter opened = OpenFilter(bytes);
  reader.state_ = opened.parsed.state;
  reader.tag_ = opened.parsed.header.kind;
  reader.kind_ = opened.kind;
  reader.key_count_ = opened.parsed.header.key_count;
  if (reader.state_ == FilterState::kUsable) {
    reader.view_ = opened.view;
    reader.functions_ = opened.kind->functions(opened.view);
  }
  return reader;
}

uint64_t FilterReader::size_bits() const {
  return state_ == FilterState::kUsable ? kind_->size_bits(view_.shape) : 0;
}

std::string FilterReader::kind_name() const {
  return kind_ != nullptr ? std::string(kind_->name) : Concat("kind ", tag_);
}

double FilterReader::predicted_fpp() const {
  return state_ == FilterState::kUsable ? kind_->predicted_fpp(view_.shape, key_count_) : 0;
}

bool FilterReader::has_fill() const {
  return state_ == FilterState::kUsable && kind_->current_fpp != nullptr;
}

std::string_view FilterReader::payload() const {
  return state_ == FilterState::kUsable ? bytes_.substr(kFilterHeaderBytes) : std::string_view();
}

FilterDescription FilterReader::Describe() const {
  const OpenedFilter opened = OpenFilter(bytes_);
  const FilterHeader& header = opened.parsed.header;
  FilterDescription description;
  description.state = opened.parsed.state;
  description.problem = opened.parsed.problem;
  description.version = header.version;
  description.kind = kind_name();
  if (description.state != FilterState::kUsable) return description;
  description.key_count = header.key_count;
  description.size_bits = size_bits();
  description.probes = header.shape.probes;
  description.seed = header.seed;
  description.target_fpp = header.target_fpp;
  description.predicted_fpp = predicted_fpp();
  if (header.key_count > 0) {
    description.bits_per_key =
        static_cast<double>(description.size_bits) / static_cast<double>(header.key_count);
  }
  description.has_fill = has_fill();
  description.current_fpp = description.predicted_fpp;
  if (description.has_fill) {
    const std::span<const uint8_t> payload = opened.parsed.payload;
    description.ones = CountOnes(payload.data(), payload.size());
    description.fill =
        static_cast<double>(description.ones) / static_cast<double>(description.size_bits);
    description.current_fpp = opened.kind->current_fpp(opened.view);
    description.estimated_key_count =
        opened.kind->key_count_from_fill(header.shape, description.fill);
  }
  return description;
}

}  // namespace bloom
