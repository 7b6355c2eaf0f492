// The readers that a job must serve: the numbers at which they may read, and what has expired for
// them (lsm/design/expiry.md).
#ifndef TRELLIS_LSM_VERSION_SNAPSHOT_LIST_H_
#define TRELLIS_LSM_VERSION_SNAPSHOT_LIST_H_

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/keyspace_state.h"

namespace lsm::inline TRELLIS_ABI {

// The times of all readers, as of one moment.
struct JobExpiry {
  // A snapshot: its number and its time; null: nothing has expired for it.
  using Reader = std::pair<Sequence, std::shared_ptr<const ReadTime>>;

  // The present, with the limits that a crash may leave.
  ReadTime now;
  std::vector<Reader> readers;  // by ascending number; several may have the same one
};

// The sequence numbers of snapshots, ascending, without duplicates.  They cut all numbers into
// strata: stratum i has those above snapshot i - 1, up to snapshot i.
class SnapshotList : public std::vector<Sequence> {
 public:
  using std::vector<Sequence>::vector;
  SnapshotList() = default;
  SnapshotList(std::vector<Sequence> numbers) : std::vector<Sequence>(std::move(numbers)) {}

  // The times of the readers, as of the moment of this list.  Null: nothing expires.
  std::shared_ptr<const JobExpiry> expiry;

  // Returns, for each of the size() + 1 strata, the entries of the keyspace that have expired for
  // each reader that may see them.
  std::vector<ExpiryView> ExpiredIn(KeyspaceId keyspace) const;
  // The stratum of a number.
  size_t StratumOf(Sequence sequence) const {
    if (empty()) [[likely]]
      return 0;
    return static_cast<size_t>(std::lower_bound(begin(), end(), sequence) - begin());
  }
};

// SnapshotList::ExpiredIn, computed once for each keyspace.
class ExpiryByKeyspace {
 public:
  // `snapshots` outlives this object.
  explicit ExpiryByKeyspace(const SnapshotList* snapshots) : snapshots_(*snapshots) {}

  const SnapshotList& snapshots() const { return snapshots_; }
  const std::vector<ExpiryView>& In(KeyspaceId keyspace) {
    const auto [at, is_new] = by_keyspace_.try_emplace(keyspace);
    if (is_new) at->second = snapshots_.ExpiredIn(keyspace);
    return at->second;
  }

 private:
  const SnapshotList& snapshots_;
  std::map<KeyspaceId, std::vector<ExpiryView>> by_keyspace_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_VERSION_SNAPSHOT_LIST_H_
