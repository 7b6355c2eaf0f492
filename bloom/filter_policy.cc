#include "bloom/filter_policy.h"

#include <algorithm>
#include <new>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bloom/catalog.h"
#include "bloom/core/bits.h"

namespace bloom {
namespace {

// Bytes of a filter of kind K over the digests.
template <StaticKind K>
absl::StatusOr<std::string> BuildFilter(const FilterContext& context,
                                        std::span<const Digest> digests) {
  absl::StatusOr<Shape> shape = K::ShapeFor(digests.size(), context.target_fpp);
  if (!shape.ok()) return shape.status();
  absl::StatusOr<AlignedBytes> payload = ZerosFor(K::PayloadBytes(*shape));
  if (!payload.ok()) return payload.status();
  if constexpr (SolvedKind<K>) {
    if (absl::Status status = K::Solve(payload->data(), *shape, context.seed, digests);
        !status.ok())
      return status;
  } else if constexpr (BitLayout<K>) {
    K::Build(payload->data(), *shape, context.seed, digests);
  }
  FilterHeader header = HeaderFor<K>(*shape, context.seed, context.target_fpp);
  header.key_count = digests.size();
  return EncodeFilter(header, payload->span());
}

// The same where K may have no solution, or so few keys that what it saves is not worth its
// padding: a standard filter then.
template <StaticKind K>
absl::StatusOr<std::string> BuildBest(const FilterContext& context,
                                      std::span<const Digest> digests) {
  if constexpr (SolvedKind<K>) {
    const absl::StatusOr<Shape> standard = Standard::ShapeFor(digests.size(), context.target_fpp);
    if (!standard.ok()) return standard.status();
    const absl::StatusOr<Shape> shape = K::ShapeFor(digests.size(), context.target_fpp);
    if (shape.ok() && K::SizeBits(*shape) < Standard::SizeBits(*standard)) {
      absl::StatusOr<std::string> filter = BuildFilter<K>(context, digests);
      if (!absl::IsAborted(filter.status())) return filter;
    }
    return BuildFilter<Standard>(context, digests);
  } else {
    return BuildFilter<K>(context, digests);
  }
}

// Internal unless the filter passes every digest: the last line before data could be lost.
absl::Status CheckHasAll(std::string_view filter, std::span<const Digest> digests) {
  const FilterReader reader = FilterReader::Open(filter);
  if (reader.state() != FilterState::kUsable) {
    return absl::InternalError(
        absl::StrCat("a filter that was just built ", reader.Describe().problem));
  }
  bool results[256];
  while (!digests.empty()) {
    const std::span<const Digest> group =
        digests.first(std::min(digests.size(), std::size(results)));
    reader.MayContainBatch(group, results);
    const bool* missed = std::find(results, results + group.size(), false);
    if (missed != results + group.size()) {
      return absl::InternalError(absl::StrCat("a filter that was just built misses the digest ",
                                              absl::Hex(group[missed - results]), " of a key"));
    }
    digests = digests.subspan(group.size());
  }
  return absl::OkStatus();
}

template <StaticKind K>
class KindBuilder final : public FilterBuilder {
 public:
  explicit KindBuilder(const FilterContext& context) : context_(context) {}

  void Add(Digest digest) override {
    if (!digests_.empty() && digests_.back() == digest) return;
    try {
      digests_.push_back(digest);
    } catch (const std::bad_alloc&) {
      dropped_ = true;
    }
  }

  uint64_t key_count() const override { return digests_.size(); }

  absl::StatusOr<std::string> Finish() override {
    if (dropped_) {
      return absl::ResourceExhaustedError(
          absl::StrCat("no memory for more than ", digests_.size(), " digests of keys"));
    }
    try {
      absl::StatusOr<std::string> filter = digests_.empty() ? BuildFilter<Empty>(context_, digests_)
                                                            : BuildBest<K>(context_, digests_);
      if (!filter.ok()) return filter;
      if (absl::Status status = CheckHasAll(*filter, digests_); !status.ok()) return status;
      return filter;
    } catch (const std::bad_alloc&) {  // of the bytes, or of what solving takes
      return NoMemoryForDigests(digests_.size());
    }
  }

 private:
  const FilterContext context_;
  std::vector<Digest> digests_;
  bool dropped_ = false;  // a digest that there was no memory for
};

template <StaticKind K>
class KindPolicy final : public FilterPolicy {
 public:
  std::string_view name() const override { return K::kName; }

  std::unique_ptr<FilterBuilder> NewBuilder(const FilterContext& context) const override {
    return std::make_unique<KindBuilder<K>>(context);
  }
};

}  // namespace

FilterBuilder::~FilterBuilder() = default;
FilterPolicy::~FilterPolicy() = default;

absl::StatusOr<std::shared_ptr<const FilterPolicy>> PolicyFromName(std::string_view name) {
  std::shared_ptr<const FilterPolicy> policy;
  KeyedKinds::ForEach([&]<StaticKind K>(K) {
    if (name == K::kName) policy = std::make_shared<KindPolicy<K>>();
  });
  if (policy != nullptr) return policy;
  return absl::InvalidArgumentError(absl::StrCat("no filter kind is called \"", std::string(name),
                                                 "\"; there are: ", KeyedKindNames()));
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
  return kind_ != nullptr ? std::string(kind_->name) : absl::StrCat("kind ", tag_);
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
    description.fill = static_cast<double>(CountOnes(payload.data(), payload.size())) /
                       static_cast<double>(description.size_bits);
    description.current_fpp = opened.kind->current_fpp(opened.view);
    description.estimated_key_count =
        opened.kind->key_count_from_fill(header.shape, description.fill);
  }
  return description;
}

}  // namespace bloom
