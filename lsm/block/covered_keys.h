// The keys that range deletes cover, whatever their sequences: a union of range maps, for estimates
// of what ranges hide (HiddenShareOf in lsm/version/open_table.h).
//
//   maps             [b      f)       [k   m)          and   [d    h)
//   covered keys     [b         h)    [k   m)
//
// Cost: Add takes n + m for n spans so far and m new stretches; if the maps are not in the order of
// keys, also m log m.  Within takes log n and a step for each span that it visits.  A span takes 40
// bytes, and no copies of its keys.
//
// Threads: one at a time while ranges are added, then any number.  Errors: std::bad_alloc.
#ifndef TRELLIS_LSM_BLOCK_COVERED_KEYS_H_
#define TRELLIS_LSM_BLOCK_COVERED_KEYS_H_

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "bloom/core/abi.h"
#include "lsm/base/key_span.h"
#include "lsm/base/range_map.h"

namespace lsm::inline TRELLIS_ABI {

class CoveredKeys {
 public:
  // Adds the keys of all stretches with a sequence, if `is_wanted` is true for their first key. The
  // maps must outlive this object.
  void Add(std::span<const RangeMap* const> maps,
           absl::FunctionRef<bool(std::string_view begin)> is_wanted);

  bool empty() const { return spans_.empty(); }
  // Whether each key of the span is covered.
  bool Covers(const KeySpan& span) const;

  // Visits what is covered in `span`: disjoint parts, in the order of keys.  `end` is nullopt if
  // the part reaches the end of `span`.
  using Visitor =
      absl::FunctionRef<void(std::string_view begin, std::optional<std::string_view> end)>;
  void Within(const KeySpan& span, Visitor visit) const;

 private:
  using End = std::optional<std::string_view>;  // nullopt: after all keys
  struct Span {
    std::string_view begin;
    End end;
  };

  // Appends the stretches of the maps.
  void Append(std::span<const RangeMap* const> maps,
              absl::FunctionRef<bool(std::string_view begin)> is_wanted);
  // The span that holds the key, or else the next one.
  std::vector<Span>::const_iterator At(std::string_view key) const;

  std::vector<Span> spans_;  // in order; they neither overlap nor meet
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BLOCK_COVERED_KEYS_H_
