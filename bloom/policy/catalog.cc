#include "bloom/catalog.h"

#include <array>
#include <type_traits>

#include "bloom/core/concat.h"

namespace bloom::inline TRELLIS_ABI {
namespace {

template <StaticKind K>
constexpr KindEntry EntryOf() {
  static_assert(BitLayout<K> || SolvedKind<K> || std::is_same_v<K, Empty>);
  KindEntry entry{K::kTag, K::kName, kRulesOf<K>, &K::Functions, &K::SizeBits, &K::PredictedFpp};
  if constexpr (BitLayout<K>) {
    entry.current_fpp = &K::CurrentFpp;
    entry.key_count_from_fill = &K::KeyCountFromFill;
  }
  return entry;
}

template <StaticKind... Kinds>
constexpr auto EntriesOf(KindList<Kinds...>) {
  return std::array{EntryOf<Kinds>()...};
}

constexpr auto kEntries = EntriesOf(FileKinds{});

}  // namespace

const KindEntry* FindKind(uint8_t tag) {
  for (const KindEntry& entry : kEntries) {
    if (entry.tag == tag) return &entry;
  }
  return nullptr;
}

std::string KeyedKindNames() {
  std::string names;
  KeyedKinds::ForEach(
      [&names]<StaticKind K>(K) { names += Concat(names.empty() ? "" : ", ", K::kName); });
  return names;
}

OpenedFilter OpenFilter(std::string_view bytes) {
  OpenedFilter opened;
  ParsedFilter& parsed = opened.parsed;
  parsed = ParseFilter(bytes);
  opened.kind = FindKind(parsed.header.kind);
  if (parsed.state != FilterState::kUsable) return opened;
  if (opened.kind == nullptr) {
    parsed.state = FilterState::kUnknown;
    parsed.problem = Concat("kind ", parsed.header.kind, " is unknown");
    return opened;
  }
  Judge(opened.kind->rules, parsed);
  if (parsed.state == FilterState::kUsable) {
    opened.view = {parsed.payload.data(), parsed.header.shape, parsed.header.seed};
  }
  return opened;
}

}  // namespace bloom
