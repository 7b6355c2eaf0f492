// Carries out a flush: writes each list of a memtable to one table of its keyspace's tree, level 0.
//
// Used by one thread.  Returns errors of reading and writing; after one, no table is left.
#ifndef TRELLIS_LSM_COMPACTION_FLUSH_RUN_H_
#define TRELLIS_LSM_COMPACTION_FLUSH_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/keyspace_state.h"
#include "lsm/base/range_map.h"
#include "lsm/compaction/job_context.h"
#include "lsm/compaction/jobs.h"
#include "lsm/iterator.h"
#include "lsm/version/version.h"

namespace lsm::inline TRELLIS_ABI {

class FlushRun {
 public:
  // The part of a memtable that belongs to one keyspace.
  struct List {
    KeyspaceId keyspace = kDefaultKeyspace;
    std::unique_ptr<Iterator> entries;
    RangeMap ranges;
    uint64_t keys = 0;  // about
  };
  // Returns the current version.  All entries that are older than the memtable must be in it.
  using VersionNow = std::function<std::shared_ptr<const Version>()>;

  // `context` is the store's, and outlives this object.
  FlushRun(const JobContext* context, OwnOptions own_options, VersionNow version_now)
      : context_(*context),
        own_options_(std::move(own_options)),
        version_now_(std::move(version_now)) {}
  FlushRun(const FlushRun&) = delete;
  FlushRun& operator=(const FlushRun&) = delete;

  // The lists are in the order of their ids.  `age_nanos`: as for RunFlush.  If nothing of a list
  // is left, it gets no table.
  absl::Status Run(std::vector<List> lists, const SnapshotList& snapshots, uint64_t age_nanos,
                   JobResult* result);

 private:
  absl::Status RunList(const List& list, const SnapshotList& snapshots, uint64_t age_nanos,
                       JobResult* result);

  const JobContext& context_;
  const OwnOptions own_options_;
  const VersionNow version_now_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_FLUSH_RUN_H_
