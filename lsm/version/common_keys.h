// Keys of the common tree, which holds the keyspaces without a tree of their own
// (lsm/design/keyspaces.md).  A key begins with the id of its keyspace, four bytes, big-endian; the
// key in the keyspace follows.  So the tree is in the order of (keyspace, key).
//
//   id 0      the names: under the id of a keyspace, again four bytes, are its name, its options
//             and its place.  A tombstone: it was dropped
//   others    the entries of the members
//
// Entries of an id that is no member any more are strays: the keyspace was dropped, or has left.
// The table that ends a membership has a range delete over all keys of the id.  No reader asks for
// it: its age sees to it that the strays go (lsm/design/keyspaces.md).
//
// Threads: functions without state, and immutable objects.  They throw std::bad_alloc.
#ifndef TRELLIS_LSM_VERSION_COMMON_KEYS_H_
#define TRELLIS_LSM_VERSION_COMMON_KEYS_H_

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/key_span.h"
#include "lsm/base/range_map.h"
#include "lsm/version/keyspace_records.h"

namespace lsm::inline TRELLIS_ABI {

// Id 0 stands for the names here.
inline constexpr KeyspaceId kNamesInCommonTree = 0;

std::string CommonKeyOf(KeyspaceId keyspace, std::string_view key);
// The keys from `from` to `to`, as a caller names them; nullopt: unbounded.
struct CommonBounds {
  std::string from;
  std::optional<std::string> to;  // nullopt: only for the last id
};
CommonBounds CommonBoundsOf(KeyspaceId keyspace, std::string_view from,
                            std::optional<std::string_view> to);
// The least key beyond the keyspace; nullopt if there is none, since no id is higher.
std::optional<std::string> CommonEndOf(KeyspaceId keyspace);
// The keyspace of the key.  Of a shorter one than an id: of the least key at or after it.
KeyspaceId KeyspaceOf(std::string_view common_key);

// The range deletes of a keyspace, as they are in the tree.  A range without an end goes to the end
// of the keyspace.  Takes n + s, in the terms of range_map.h.
RangeMap InCommonTree(KeyspaceId keyspace, const RangeMap& ranges);
// The other way: of range deletes as they are in the tree, those of the keyspace.  Takes n + s.
RangeMap OutOfCommonTree(KeyspaceId keyspace, const RangeMap& ranges);
// The range deletes at this sequence over all keys of each of these ids.  Takes n log n.
RangeMap RangesOverAll(const std::set<KeyspaceId>& keyspaces, Sequence sequence);

// The key of a keyspace among the names, and the value: its record without the id.
std::string NameKeyOf(KeyspaceId keyspace);
std::string EncodeName(const KeyspaceRecord& record);
// Errors are only a text, without a place: DataLoss, or Unimplemented for an option that this
// release does not know.
absl::Status DecodeName(std::string_view value, KeyspaceRecord* record);

// The ids in the common tree.
class Members {
 public:
  // REQUIRES: `ids` ascend, without 0.
  explicit Members(std::vector<KeyspaceId> ids) : ids_(std::move(ids)) {}

  const std::vector<KeyspaceId>& ids() const { return ids_; }
  // The names always are one.
  bool Has(KeyspaceId keyspace) const {
    return keyspace == kNamesInCommonTree || std::binary_search(ids_.begin(), ids_.end(), keyspace);
  }
  // The first id from this one on that is no member, and the first one that is; nullopt if there is
  // none.
  std::optional<KeyspaceId> FirstOther(KeyspaceId from) const;
  std::optional<KeyspaceId> First(KeyspaceId from) const;
  // Whether a member may have a key of the span.
  bool HasIn(const KeySpan& span) const;

  // Whether one of the ranges covers keys of a member.  Takes a binary search for each.
  bool HasIn(const RangeMap& ranges) const;

 private:
  const std::vector<KeyspaceId> ids_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_VERSION_COMMON_KEYS_H_
