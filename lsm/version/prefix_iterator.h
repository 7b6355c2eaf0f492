// A keyspace in the common tree, seen as if it had a tree of its own (common_keys.h).
//
// Cost: a copy of the key for each seek, and for each question to a cover; a comparison of four
// bytes for each move.
//
// Threads: one at a time, also for a cover, since both have a buffer.  They throw std::bad_alloc.
#ifndef TRELLIS_LSM_VERSION_PREFIX_ITERATOR_H_
#define TRELLIS_LSM_VERSION_PREFIX_ITERATOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "bloom/core/abi.h"
#include "lsm/base/inner_iterator.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/range_cover.h"

namespace lsm::inline TRELLIS_ABI {

// Walks the part of `of_tree` that belongs to the keyspace.  Keys and targets are internal keys,
// without the id.  It fails if `of_tree` does.
std::unique_ptr<InnerIterator> NewPrefixIterator(KeyspaceId keyspace,
                                                 std::unique_ptr<InnerIterator> of_tree);

// The part of a cover that belongs to the keyspace, without the id.
class PrefixCover final : public RangeCover {
 public:
  // `of_tree` must outlive it.
  PrefixCover(KeyspaceId keyspace, const RangeCover* of_tree);

  CoverStretch StretchAt(std::string_view internal_key, Sequence at) const override;
  CoverEnds EndsOfCover(std::string_view internal_key, Sequence at,
                        uint64_t* walked) const override;
  CoverBegins BeginsOfCover(std::string_view internal_key, Sequence at,
                            uint64_t* walked) const override;

 private:
  // The key of the tree.  Valid until the next one.
  std::string_view InTree(std::string_view internal_key) const;
  // From a key of the tree to one of the keyspace.  Those before it become its first key, and those
  // beyond it the end.
  std::string_view BeginHere(std::string_view tree_key) const;
  std::optional<std::string_view> EndHere(std::optional<std::string_view> tree_key) const;

  const std::string prefix_;
  const RangeCover& of_tree_;
  mutable std::string buffer_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_VERSION_PREFIX_ITERATOR_H_
