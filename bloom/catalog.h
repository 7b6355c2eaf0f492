// THE list of filter kinds that a file may hold.  To add a kind: write its struct in
// bloom/variants/, include it here, and name it in one of the lists below.  Decoding, policies,
// StaticFilter, sstdump, the typed tests, golden files, fuzzers and benchmarks follow.
//
// Tags and names are for ever.  A tag below 64 is a kind that a file may hold; the others are
// objects (bloom/family.h).  0 is never written.
#ifndef TRELLIS_BLOOM_CATALOG_H_
#define TRELLIS_BLOOM_CATALOG_H_

#include <cstddef>
#include <cstdint>
#include <span>
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

// Tags from here on are of filters that are objects.
inline constexpr uint8_t kFirstObjectTag = 64;

template <StaticKind... Kinds>
struct KindList {
  // Whether all have tags and names of their own, and no tag of an object.
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

  // Calls `visit` with an object of each kind, for its type.
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

// Kinds that hold keys, which a policy can ask for: those that keys are added to one by one, and
// those that are solved.
using BitKinds = KindList<Standard, Blocked, SplitBlock, Shifting>;
using SolvedKinds = KindList<Ribbon, Fuse3, Fuse4>;
using KeyedKinds = Joined<BitKinds, SolvedKinds>::Kinds;
// Kinds that a file may hold.
using FileKinds = Joined<KindList<Empty>, KeyedKinds>::Kinds;
static_assert(FileKinds::IsSound(), "a kind's tag or name is taken, or its tag is out of range");

// The statics of one kind, for code that learns the kind at run time.
struct KindEntry {
  uint8_t tag;
  std::string_view name;
  KindRules rules;
  FilterFunctions (*functions)(const FilterView& view);
  uint64_t (*size_bits)(const Shape& shape);
  double (*predicted_fpp)(const Shape& shape, uint64_t key_count);
  // Null where the kind has no bits whose share of ones tells anything.
  double (*current_fpp)(const FilterView& view) = nullptr;
  double (*key_count_from_fill)(const Shape& shape, double fill) = nullptr;
};

// Null where this library has no kind with that tag.
const KindEntry* FindKind(uint8_t tag);

// Names of the kinds that a policy can ask for, e.g. "standard, blocked".
std::string KeyedKindNames();

// A filter in bytes, judged in full.
struct OpenedFilter {
  ParsedFilter parsed;
  const KindEntry* kind = nullptr;  // null where the tag is unknown or unreadable
  FilterView view;                  // set where the state is kUsable
};

// Never fails and never reads outside: any bytes whatever.  The view points into them.
OpenedFilter OpenFilter(std::string_view bytes);

}  // namespace bloom

#endif  // TRELLIS_BLOOM_CATALOG_H_
