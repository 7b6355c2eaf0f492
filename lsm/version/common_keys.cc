#include "lsm/version/common_keys.h"

#include <cstdint>
#include <limits>

#include "lsm/bytes/coding.h"
#include "lsm/bytes/status.h"
#include "lsm/limits.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

constexpr KeyspaceId kLastKeyspaceId = std::numeric_limits<KeyspaceId>::max();

void AppendCommonKey(std::string* out, KeyspaceId keyspace, std::string_view key) {
  char prefix[kKeyspacePrefixBytes];
  StoreKeyspacePrefix(prefix, keyspace);
  out->append(prefix, sizeof(prefix));
  out->append(key);
}

}  // namespace

std::string CommonKeyOf(KeyspaceId keyspace, std::string_view key) {
  std::string common_key;
  common_key.reserve(kKeyspacePrefixBytes + key.size());
  AppendCommonKey(&common_key, keyspace, key);
  return common_key;
}

std::optional<std::string> CommonEndOf(KeyspaceId keyspace) {
  if (keyspace == kLastKeyspaceId) return std::nullopt;
  return CommonKeyOf(keyspace + 1, "");
}

CommonBounds CommonBoundsOf(KeyspaceId keyspace, std::string_view from,
                            std::optional<std::string_view> to) {
  return {CommonKeyOf(keyspace, from),
          to ? std::optional(CommonKeyOf(keyspace, *to)) : CommonEndOf(keyspace)};
}

KeyspaceId KeyspaceOf(std::string_view common_key) {
  KeyspaceId keyspace = 0;
  for (size_t i = 0; i < kKeyspacePrefixBytes; ++i) {
    const auto byte = i < common_key.size() ? static_cast<uint8_t>(common_key[i]) : uint8_t{0};
    keyspace = keyspace << 8 | byte;
  }
  return keyspace;
}

RangeMap InCommonTree(KeyspaceId keyspace, const RangeMap& ranges) {
  RangeMapBuilder builder;
  std::vector<Sequence> list;
  for (size_t stretch = 0; stretch < ranges.size(); ++stretch) {
    ranges.ListSequences(stretch, &list);
    builder.Add(CommonKeyOf(keyspace, ranges.boundary(stretch)), list);
  }
  if (builder.Joins({})) return builder.Finish();
  if (const std::optional<std::string> end = CommonEndOf(keyspace)) builder.Add(*end, {});
  return builder.Finish();
}

RangeMap OutOfCommonTree(KeyspaceId keyspace, const RangeMap& ranges) {
  const CommonBounds bounds = CommonBoundsOf(keyspace, "", std::nullopt);
  const RangeMap within = ranges.Within({bounds.from, bounds.to ? KeyEnd(*bounds.to) : KeyEnd()});
  RangeMapBuilder builder;
  std::vector<Sequence> list;
  for (size_t stretch = 0; stretch < within.size(); ++stretch) {
    const std::string_view boundary = within.boundary(stretch);
    if (KeyspaceOf(boundary) != keyspace) break;  // the end, which is the end of all keys here
    within.ListSequences(stretch, &list);
    builder.Add(boundary.substr(kKeyspacePrefixBytes), list);
  }
  return builder.Finish();
}

RangeMap RangesOverAll(const std::set<KeyspaceId>& keyspaces, Sequence sequence) {
  std::vector<CommonBounds> bounds;
  bounds.reserve(keyspaces.size());
  for (const KeyspaceId id : keyspaces) bounds.push_back(CommonBoundsOf(id, "", std::nullopt));
  std::vector<RangeDelete> ranges;
  ranges.reserve(bounds.size());
  for (const auto& [from, to] : bounds) ranges.push_back({from, to, sequence});
  return RangeMap::Of(ranges);
}

std::string NameKeyOf(KeyspaceId keyspace) {
  return CommonKeyOf(kNamesInCommonTree, CommonKeyOf(keyspace, ""));
}

std::string EncodeName(const KeyspaceRecord& record) {
  std::string value(1, record.has_own_tree ? '\1' : '\0');
  AppendLengthPrefixed(&value, EncodeKeyspaceOptions(record.options, record.marks));
  AppendLengthPrefixed(&value, record.name);
  return value;
}

absl::Status DecodeName(std::string_view value, KeyspaceRecord* record) {
  if (value.empty() || static_cast<uint8_t>(value.front()) > 1)
    return absl::DataLossError("the place of a keyspace is invalid");
  record->has_own_tree = value.front() == 1;
  value.remove_prefix(1);
  std::string_view options, name;
  if (!TakeLengthPrefixed(&value, &options) || !TakeLengthPrefixed(&value, &name))
    return absl::DataLossError("a keyspace is cut off");
  if (!value.empty()) return absl::DataLossError("a keyspace is too long");
  if (name.empty() || name.size() > kKeyspaceNameBytesMax)
    return absl::DataLossError(Concat("the name of a keyspace has ", name.size(), " bytes"));
  record->name.assign(name);
  record->options = {};
  record->marks = {};
  return DecodeKeyspaceOptions(options, &record->options, &record->marks);
}

std::optional<KeyspaceId> Members::FirstOther(KeyspaceId from) const {
  if (from == kNamesInCommonTree) ++from;
  const auto begin = std::lower_bound(ids_.begin(), ids_.end(), from);
  // Ids follow one another up to the first that is missing.
  const auto end = std::partition_point(begin, ids_.end(), [&](const KeyspaceId& id) {
    return id - from == static_cast<KeyspaceId>(&id - &*begin);
  });
  if (end == begin) return from;
  const KeyspaceId last = *std::prev(end);
  return last == kLastKeyspaceId ? std::nullopt : std::optional<KeyspaceId>(last + 1);
}

std::optional<KeyspaceId> Members::First(KeyspaceId from) const {
  if (from == kNamesInCommonTree) return from;
  const auto at = std::lower_bound(ids_.begin(), ids_.end(), from);
  return at != ids_.end() ? std::optional<KeyspaceId>(*at) : std::nullopt;
}

bool Members::HasIn(const KeySpan& span) const {
  if (span.empty()) return false;
  const KeyspaceId first = KeyspaceOf(span.begin);
  if (first == kNamesInCommonTree) return true;
  const auto member = std::lower_bound(ids_.begin(), ids_.end(), first);
  if (member == ids_.end()) return false;
  // The span's key of the first id: its begin, or, if that is shorter, the id alone.
  const std::string least = CommonKeyOf(*member, "");
  return *member == first ? !span.EndsBy(std::max<std::string_view>(least, span.begin))
                          : !span.EndsBy(least);
}

bool Members::HasIn(const RangeMap& ranges) const {
  for (size_t stretch = 0; stretch < ranges.size(); ++stretch) {
    if (ranges.sequence_count(stretch) > 0 &&
        HasIn(KeySpan{ranges.boundary(stretch), ranges.end(stretch)}))
      return true;
  }
  return false;
}

}  // namespace lsm
