// The changes that the writes of actions make, and the calls that write them.
#ifndef TRELLIS_TESTS_RELIABILITY_WORKLOAD_CHANGES_H_
#define TRELLIS_TESTS_RELIABILITY_WORKLOAD_CHANGES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "lsm/db.h"
#include "lsm/keyspace.h"
#include "lsm/options.h"
#include "lsm/write_batch.h"
#include "tests/reliability/workload/actions.h"

namespace reliability {

// The effect of a write on a key, or on a range of keys.  No value: the key is deleted.
struct Change {
  uint32_t rank = 0;
  Value value;
  // All keys of it are deleted, rather than `rank`.  Has a lower bound, and perhaps no key.
  std::optional<RankBounds> range;

  // The ranks that change are [first(), end()).
  uint32_t first() const { return range ? range->first : rank; }
  uint32_t end() const { return range ? range->end : rank + 1; }
};

// Draws the changes of a kPut, kDelete, kBatch, kWindow, kDeleteRange or kRangeBatch.  A batch may
// change a key several times.
void DrawChanges(Action::Kind kind, const KeyPool& keys, const ValuePool& values, Draws& draws,
                 std::vector<Change>* changes);
std::string TextOf(const std::vector<Change>& changes, const KeyPool& keys);

// The bounds of a range as keys.  Some are no keys of the pool, but the successors of such keys.
std::string FromOf(const RankBounds& range, const KeyPool& keys);
std::optional<std::string> ToOf(const RankBounds& range, const KeyPool& keys);

// Writes the changes to a keyspace of the store.  A kPut, kDelete or kDeleteRange is a call of its
// own, all others are batches.
absl::Status WriteTo(lsm::DB& db, lsm::Keyspace& keyspace, Action::Kind kind,
                     const std::vector<Change>& changes, const KeyPool& keys,
                     const ValuePool& values, const lsm::WriteOptions& options);
// Adds the changes to the batch.  Without a keyspace they are changes of "default".
void AddTo(lsm::WriteBatch* batch, const std::vector<Change>& changes, const KeyPool& keys,
           const ValuePool& values, const lsm::Keyspace* keyspace = nullptr);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_WORKLOAD_CHANGES_H_
