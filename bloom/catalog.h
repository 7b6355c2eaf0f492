// The list of all filter kinds that a file may hold.  CONTRIBUTING.md has the recipe for a new one.
//
// Tags and names never change once a file may hold them.  Tags below 64 are kinds in files; the
// others are filter objects (bloom/family.h).  Tag 0 is never written.
#ifndef TRELLIS_BLOOM_CATALOG_H_
#define TRELLIS_BLOOM_CATALOG_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "bloom/core/abi.h"
#include "bloom/core/concepts.h"
#include "bloom/core/filter_format.h"
#include "bloom/core/shape.h"
#include "bloom/variants/blocked.h"
#include "bloom/variants/empty.h"
#include "bloom/variants/fuse.h"
#include "bloom/variants/ribbon.h"
#include "bloom/variants/shifting.h"
#include "bloom/variants/split_block.h"
#include "bloom/variants/standard.h"

namespace bloom::inline TRELLIS_ABI {

// The first tag of filter objects.
inline constexpr uint8_t kFirstObjectTag = 64;

template <StaticKind... Kinds>
struct KindList {
  // Whether each kind has its own tag and name, and no kind has a tag of filter objects.
  static consteval bool IsSound() {
    const uint8_t tags[] = {Kinds::kTag...};
    const std::string_view names[] = {Kinds::kName...};
    for (size_t i = 0; i < sizeof...(Kinds); ++i) {
      if (tags[i] == 0 || tags[i] >= kFirstObjectTag) return false;
      for (size_t j = 0; j < i; ++j) {
        if (tags[i] == tags[j] || names[i] == names[j]) return false;
      }
    }
    return true;
  }

  // Calls `visit` with a default object of each kind, as a carrier of its type.
  template <class Visitor>
  static constexpr void ForEach(Visitor&& visit) {
    (visit(Kinds{}), ...);
  }
};

template <class A, class B>
struct Joined;
template <class... A, class... B>
struct Joined<KindList<A...>, KindList<B...>> {
  using Kinds = KindList<A..., B...>;
};

// Kinds that a policy can choose: BitKinds, to which keys are added one by one, and kinds whose
// bits are solved for all keys at once.
using BitKinds = KindList<Standard, Blocked, SplitBlock, Shifting>;
using SolvedKinds = KindList<Ribbon, Fuse3, Fuse4>;
using KeyedKinds = Joined<BitKinds, SolvedKinds>::Kinds;
// Kinds that a file may hold.
using FileKinds = Joined<KindList<Empty>, KeyedKinds>::Kinds;
static_assert(FileKinds::IsSound(), "a kind's tag or name is taken, or its tag is out of range");

// The static members of one kind, for code that learns the kind at run time.
struct KindEntry {
  uint8_t tag;
  std::string_view name;
  KindRules rules;
  FilterFunctions (*functions)(const FilterView& view);
  uint64_t (*size_bits)(const Shape& shape);
  double (*predicted_fpp)(const Shape& shape, uint64_t key_count);
  // Null if the kind's share of ones carries no information.
  double (*current_fpp)(const FilterView& view) = nullptr;
  double (*key_count_from_fill)(const Shape& shape, double fill) = nullptr;
};

// Null if this library has no kind with that tag.
TRELLIS_API const KindEntry* FindKind(uint8_t tag);

// Names of the kinds that a policy can choose, e.g. "standard, blocked".
TRELLIS_API std::string KeyedKindNames();

// The result of OpenFilter.
struct OpenedFilter {
  ParsedFilter parsed;
  const KindEntry* kind = nullptr;  // null if the tag is unknown or unreadable
  FilterView view;                  // set if the state is kUsable
};

// Checks header and checksum of a filter.  Accepts any bytes, never fails and never reads outside
// them.  The view points into `bytes`.
TRELLIS_API OpenedFilter OpenFilter(std::string_view bytes);

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CATALOG_H_
