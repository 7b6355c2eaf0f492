#include "lsm/table/properties.h"

#include <algorithm>
#include <bit>
#include <bitset>
#include <cstdio>
#include <iterator>
#include <variant>

#include "lsm/bytes/coding.h"
#include "lsm/bytes/escape.h"
#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

enum class ValueType : uint8_t { kVarint = 1, kDouble = 2, kBytes = 3 };

// The list of known properties, sorted by name.  The type of the member is also the type in the
// file.
using Member = std::variant<uint64_t TableProperties::*, int TableProperties::*,
                            double TableProperties::*, std::string TableProperties::*>;
struct Property {
  std::string_view name;
  Member member;
};
using P = TableProperties;
constexpr Property kProperties[] = {
    {"block_bytes", &P::block_bytes},
    {"compression", &P::compression},
    {"covered_bytes", &P::covered_bytes},
    {"created_by", &P::created_by},
    {"created_micros", &P::created_micros},
    {"data_blocks", &P::data_blocks},
    {"data_bytes", &P::data_bytes},
    {"dead_bytes", &P::dead_bytes},
    {"deletions", &P::deletions},
    {"digest_hash", &P::digest_hash},
    {"digest_seed", &P::digest_seed},
    {"digest_seed_high", &P::digest_seed_high},
    {"distinct_keys", &P::distinct_keys},
    {"entries", &P::entries},
    {"expected_fpp", &P::expected_fpp},
    {"fifth_write_seconds", &P::fifth_write_seconds},
    {"filter_bytes", &P::filter_bytes},
    {"filter_kind", &P::filter_kind},
    {"filter_reason", &P::filter_reason},
    {"index_bytes", &P::index_bytes},
    {"keyspace", &P::keyspace},
    {"largest_key", &P::largest_key},
    {"largest_sequence", &P::largest_sequence},
    {"level", &P::level},
    {"newest_write_seconds", &P::newest_write_seconds},
    {"oldest_tombstone", &P::oldest_tombstone},
    {"oldest_write_seconds", &P::oldest_write_seconds},
    {"partitions", &P::partitions},
    {"range_bytes", &P::range_bytes},
    {"range_deletes", &P::range_deletes},
    {"raw_key_bytes", &P::raw_key_bytes},
    {"raw_value_bytes", &P::raw_value_bytes},
    {"restart_interval", &P::restart_interval},
    {"smallest_key", &P::smallest_key},
    {"smallest_sequence", &P::smallest_sequence},
    {"target_fpp", &P::target_fpp},
    {"timed_entries", &P::timed_entries},
    {"uncompressed_data_bytes", &P::uncompressed_data_bytes},
};

static_assert(std::ranges::is_sorted(kProperties, {}, &Property::name));

// A member of TableProperties without a row above does not compile.
struct Anything {
  template <class T>
  operator T() const;
};
template <class T, class... Members>
consteval size_t CountMembers() {
  if constexpr (requires { T{Members{}..., Anything{}}; }) {
    return CountMembers<T, Members..., Anything>();
  } else {
    return sizeof...(Members);
  }
}
constexpr size_t kOtherMembers = 2;  // others, missing
static_assert(CountMembers<P>() == std::size(kProperties) + kOtherMembers,
              "kProperties lacks a member of TableProperties");

// A value in the file.
struct Value {
  ValueType type = ValueType::kVarint;
  uint64_t number = 0;  // or the bits of the double
  std::string_view bytes;
};

std::string TextOf(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", number);
  return text;
}

std::string TextOf(const Value& value) {
  switch (value.type) {
    case ValueType::kVarint:
      return std::to_string(value.number);
    case ValueType::kDouble:
      return TextOf(std::bit_cast<double>(value.number));
    case ValueType::kBytes:
      return Escape(value.bytes);
  }
  return "";
}

Value ValueOf(const TableProperties& properties, const Member& member) {
  struct Visitor {
    const TableProperties& from;
    Value operator()(uint64_t P::*m) const { return {ValueType::kVarint, from.*m, {}}; }
    Value operator()(int P::*m) const {
      return {ValueType::kVarint, static_cast<uint64_t>(from.*m), {}};
    }
    Value operator()(double P::*m) const {
      return {ValueType::kDouble, std::bit_cast<uint64_t>(from.*m), {}};
    }
    Value operator()(std::string P::*m) const { return {ValueType::kBytes, 0, from.*m}; }
  };
  return std::visit(Visitor{properties}, member);
}

// False if the value has the wrong type or is out of range.
bool Assign(const Value& value, const Member& member, TableProperties* properties) {
  struct Visitor {
    const Value& value;
    TableProperties& to;
    bool operator()(uint64_t P::*m) const {
      to.*m = value.number;
      return value.type == ValueType::kVarint;
    }
    bool operator()(int P::*m) const {
      to.*m = static_cast<int>(value.number);
      return value.type == ValueType::kVarint && value.number < 1000;
    }
    bool operator()(double P::*m) const {
      to.*m = std::bit_cast<double>(value.number);
      return value.type == ValueType::kDouble;
    }
    bool operator()(std::string P::*m) const {
      (to.*m).assign(value.bytes);
      return value.type == ValueType::kBytes;
    }
  };
  return std::visit(Visitor{value, *properties}, member);
}

bool TakeValue(std::string_view* input, Value* value) {
  if (input->empty()) return false;
  value->type = static_cast<ValueType>(input->front());
  input->remove_prefix(1);
  switch (value->type) {
    case ValueType::kVarint:
      return TakeVarint64(input, &value->number);
    case ValueType::kDouble:
      return TakeFixed64(input, &value->number);
    case ValueType::kBytes:
      return TakeLengthPrefixed(input, &value->bytes);
  }
  return false;
}

constexpr std::string_view kXxh3 = "xxh3";
constexpr std::string_view kSipHash = "siphash-2-4";

// Whether the file omits the property, since it has the value of most stores.
bool IsLeftOut(const Property& property, const TableProperties& properties) {
  if (property.name == "digest_hash" || property.name == "digest_seed_high")
    return properties.digest_hash == kXxh3;
  if (property.name == "partitions") return properties.partitions == 0;
  if (property.name == "keyspace") return properties.keyspace == 0;
  if (property.name == "dead_bytes")
    return properties.deletions == 0 && properties.distinct_keys == properties.entries;
  if (property.name == "range_bytes" || property.name == "range_deletes")
    return properties.range_deletes == 0;
  if (property.name == "covered_bytes" || property.name == "oldest_tombstone")
    return properties.deletions == 0 && properties.range_deletes == 0;
  if (property.name == "timed_entries" || property.name.ends_with("_write_seconds"))
    return properties.timed_entries == 0;
  return property.name == "filter_reason" && properties.filter_reason.empty();
}

const Property* FindProperty(std::string_view name) {
  for (const Property& property : kProperties) {
    if (property.name == name) return &property;
  }
  return nullptr;
}

}  // namespace

bool TableProperties::IsStated(std::string_view name) const {
  return std::find(missing.begin(), missing.end(), name) == missing.end();
}

bool TableProperties::states_dead_entries() const {
  return IsStated("dead_bytes") && IsStated("covered_bytes") && IsStated("oldest_tombstone");
}

DeadEntries TableProperties::dead_entries() const {
  if (!states_dead_entries()) return {};
  return {deletions, dead_bytes, covered_bytes, oldest_tombstone};
}

DeadEntries TableProperties::EstimateDeadEntries(uint64_t table_entries,
                                                 double bytes_per_key) const {
  if (states_dead_entries() || deletions == 0) return dead_entries();
  DeadEntries dead;
  dead.tombstones = deletions;
  // A wrong file may claim more deletions than the table has entries.
  dead.covered_bytes = static_cast<uint64_t>(
      static_cast<double>(std::min(deletions, table_entries)) * bytes_per_key);
  dead.oldest_tombstone = created_micros / 1'000'000;
  return dead;
}

WriteTimes TableProperties::write_times() const {
  const auto seconds = [](uint64_t stated) {
    return static_cast<uint32_t>(std::min<uint64_t>(stated, kSecondsMax));
  };
  return {timed_entries, seconds(oldest_write_seconds), seconds(newest_write_seconds),
          seconds(fifth_write_seconds)};
}

std::optional<bloom::DigestSeed> TableProperties::digest_seed_and_hash() const {
  if (digest_hash == kXxh3) return bloom::DigestSeed(digest_seed);
  if (digest_hash == kSipHash)
    return bloom::DigestSeed(bloom::DigestHash::kSipHash, digest_seed, digest_seed_high);
  return std::nullopt;
}

void TableProperties::set_digest_seed(const bloom::DigestSeed& seed) {
  digest_hash = seed.hash == bloom::DigestHash::kXxh3 ? kXxh3 : kSipHash;
  digest_seed = seed.low;
  digest_seed_high = seed.high;
}

std::string TableProperties::Encode() const {
  std::string bytes;
  for (const Property& property : kProperties) {
    if (IsLeftOut(property, *this)) continue;
    const Value value = ValueOf(*this, property.member);
    AppendLengthPrefixed(&bytes, property.name);
    bytes.push_back(static_cast<char>(value.type));
    switch (value.type) {
      case ValueType::kVarint:
        AppendVarint64(&bytes, value.number);
        break;
      case ValueType::kDouble:
        AppendFixed64(&bytes, value.number);
        break;
      case ValueType::kBytes:
        AppendLengthPrefixed(&bytes, value.bytes);
        break;
    }
  }
  return bytes;
}

absl::StatusOr<TableProperties> TableProperties::Decode(std::string_view bytes,
                                                        std::string_view file, uint64_t offset) {
  TableProperties properties;
  std::string_view rest = bytes;
  std::string_view last_name;
  std::bitset<std::size(kProperties)> seen;
  while (!rest.empty()) {
    const uint64_t at = bytes.size() - rest.size();
    std::string_view name;
    Value value;
    if (!TakeLengthPrefixed(&rest, &name) || name <= last_name || !TakeValue(&rest, &value)) {
      return DamageAt(file, offset, Concat("the properties are malformed at byte ", at));
    }
    last_name = name;
    const Property* property = FindProperty(name);
    if (property == nullptr) {
      properties.others.emplace(name, TextOf(value));
      continue;
    }
    if (!Assign(value, property->member, &properties)) {
      return DamageAt(file, offset, Concat("the property \"", name, "\" has an invalid value"));
    }
    seen.set(static_cast<size_t>(property - kProperties));
  }
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i]) continue;
    if (IsLeftOut(kProperties[i], properties)) continue;
    // The others may be missing, since files of other releases may have fewer.  But with digests of
    // a wrong seed a filter would deny keys.
    if (kProperties[i].name.starts_with("digest_seed"))
      return DamageAt(file, offset,
                      Concat("the property \"", kProperties[i].name, "\" is missing"));
    properties.missing.push_back(kProperties[i].name);
  }
  return properties;
}

std::map<std::string, std::string> TableProperties::ToMap() const {
  std::map<std::string, std::string> texts = others;
  for (const Property& property : kProperties) {
    if (IsLeftOut(property, *this)) continue;
    texts.emplace(property.name, TextOf(ValueOf(*this, property.member)));
  }
  for (const std::string_view name : missing) texts.erase(std::string(name));
  return texts;
}

}  // namespace lsm
