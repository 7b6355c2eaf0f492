// The input of the common tree's table in a flush: the names, and the lists of several keyspaces
// (lsm/version/common_keys.h).
//
//   AddName*   AddStrays*   (AddList in the order of ids)*   NewEntries, Ranges
//
// Used by one thread.  Throws std::bad_alloc.
#ifndef TRELLIS_LSM_COMPACTION_COMMON_OUTPUT_H_
#define TRELLIS_LSM_COMPACTION_COMMON_OUTPUT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/base/inner_iterator.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/range_map.h"
#include "lsm/version/keyspace_records.h"

namespace lsm::inline TRELLIS_ABI {

class CommonOutput {
 public:
  // The sequence of the names, and of the range deletes over strays.
  explicit CommonOutput(Sequence sequence) : sequence_(sequence) {}

  // A keyspace that is new or has changed, and one that is dropped.
  void AddName(const KeyspaceRecord& record);
  void AddDropped(KeyspaceId keyspace);
  // A member that is none any more: it is dropped, or leaves.  Adds a range delete over all of its
  // keys, so that the entries that it has in the tree go in bounded time.  REQUIRES: there is no
  // list of it.
  void AddStrays(KeyspaceId keyspace) { strays_.insert(keyspace); }
  // `new_entries` is called for each NewEntries.
  void AddList(KeyspaceId keyspace, std::function<std::unique_ptr<InnerIterator>()> new_entries,
               const RangeMap& ranges, uint64_t keys);

  bool empty() const { return names_.empty() && lists_.empty(); }
  uint64_t keys() const { return names_.size() + keys_; }  // about
  // All entries, in the order of the tree's keys.  It only goes forward, and this object must
  // outlive it.
  std::unique_ptr<InnerIterator> NewEntries() const;
  RangeMap Ranges() const;  // those of the lists, and of the strays

 private:
  class Entries;
  struct List {
    KeyspaceId keyspace;
    std::function<std::unique_ptr<InnerIterator>()> new_entries;
  };

  const Sequence sequence_;
  std::map<std::string, std::string> names_;  // internal keys in the tree, and values
  std::set<KeyspaceId> strays_;
  std::vector<List> lists_;
  std::vector<RangeMap> ranges_;
  uint64_t keys_ = 0;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_COMMON_OUTPUT_H_
