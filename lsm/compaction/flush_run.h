// Carries out a flush: writes the lists of a memtable to tables.
//
//   keyspace of the list                              its entries go to
//   was dropped, or is dropped by the edit            nowhere
//   has a tree of its own                             one table of that tree
//   leaves the common tree (leaving.h)                level 1 of its new tree, with those that it
//                                                     has in the common tree
//   otherwise                                         the one table of the common tree, with the id
//                                                     before each key
//
// The common tree also gets a name for each keyspace that the edit adds, changes or drops, and a
// range delete over the keys of each one that is no member any more (lsm/version/common_keys.h).
// Its table is written last.
//
// Small tables.  A tree that gets a few KiB in each flush would soon have many tiny tables.  So in
// a store with several trees a flush takes the newest table of level 0 along, if it is small: the
// output has its entries too, and replaces it.  So at most one table of each level 0 is small.
//
// Used by one thread.  Returns errors of reading and writing; after one, no table is left.
#ifndef TRELLIS_LSM_COMPACTION_FLUSH_RUN_H_
#define TRELLIS_LSM_COMPACTION_FLUSH_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/base/inner_iterator.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/keyspace_state.h"
#include "lsm/base/range_map.h"
#include "lsm/compaction/job_context.h"
#include "lsm/compaction/jobs.h"
#include "lsm/compaction/output_filters.h"
#include "lsm/compaction/picker.h"
#include "lsm/filters/tree_runs.h"
#include "lsm/version/keyspace_records.h"
#include "lsm/version/open_table.h"
#include "lsm/version/version.h"
#include "lsm/version/version_edit.h"

namespace lsm::inline TRELLIS_ABI {

class FlushRun {
 public:
  // The part of a memtable that belongs to one keyspace.
  struct List {
    KeyspaceId keyspace = kDefaultKeyspace;
    std::function<std::unique_ptr<InnerIterator>()> new_entries;
    RangeMap ranges;
    uint64_t keys = 0;  // about
  };
  struct Calls {
    // Returns the current version.  All entries that are older than the memtable must be in it.
    std::function<std::shared_ptr<const Version>()> version_now;
    // Whether the keyspace may leave the common tree.  Null: none leaves.
    std::function<bool(KeyspaceId)> may_leave;
    // Its record in the manifest; nullopt: there is none.
    std::function<std::optional<KeyspaceRecord>(KeyspaceId)> record_of;
    // The flush will merge this many bytes of tables, too.  Null: no caller asks.
    std::function<void(uint64_t)> note_more_bytes;
    std::function<bool()> stop;  // the keyspace stays, because the store is being closed
    // Takes the plan's table of level 0 for this flush.  False if that cannot be, or is not worth
    // it now.  Null: none is taken along.
    std::function<bool(const std::shared_ptr<const CompactionPlan>&)> take_along;
  };

  // `context` is the store's, and outlives this object.
  FlushRun(const JobContext* context, OwnOptions own_options, Calls calls)
      : context_(*context), own_options_(std::move(own_options)), calls_(std::move(calls)) {}
  FlushRun(const FlushRun&) = delete;
  FlushRun& operator=(const FlushRun&) = delete;

  // The lists are in the order of their ids.  `edit` says which keyspaces are new, changed or
  // dropped; all others are as in the version.  It gets the tables, those that they replace, and
  // the record of a keyspace that leaves.  `last_sequence`: of the memtable.  `age_nanos`: as for
  // RunFlush.  If nothing of a list is left, it gets no table.
  absl::Status Run(const std::vector<List>& lists, Sequence last_sequence,
                   const SnapshotList& snapshots, uint64_t age_nanos, VersionEdit* edit,
                   JobResult* result);

  // The keyspace that was to leave, if any, and whether it does.  Otherwise it could not be read or
  // written, and stays.
  std::optional<KeyspaceId> leaver() const { return leaver_; }
  bool leaves() const { return leaves_; }
  // The tables that the outputs replace.
  const OpenTables& replaced() const { return replaced_; }

 private:
  // `is_simple`: none leaves, and no table is taken along.
  absl::Status RunLists(const std::vector<List>& lists, Sequence last_sequence,
                        const SnapshotList& snapshots, uint64_t age_nanos, bool is_simple,
                        VersionEdit* edit, JobResult* result);
  // Takes a keyspace out of the common tree, if one is to leave and can.
  void LetLeave(const std::vector<List>& lists, const SnapshotList& snapshots, uint64_t age_nanos,
                VersionEdit* edit, JobResult* result);
  // A list to write, and the choices for its table.
  struct Output {
    const List* list = nullptr;
    std::shared_ptr<const OpenTable> along = nullptr;  // null: none
    JobContext context = {};
    TableFilter filter = {};
  };
  // Chooses the tree's small table to be merged along, if there is one.
  void TakeAlong(Output* output, VersionEdit* edit);
  // Null: none.
  std::shared_ptr<const OpenTable> FindAlong(KeyspaceId keyspace) const;
  // Chooses the filters of all outputs together.
  absl::Status Plan(std::vector<Output>* outputs) const;
  absl::Status RunList(const Output& output, const SnapshotList& snapshots, uint64_t age_nanos,
                       JobResult* result);
  // `own_options` outlive the result.
  absl::StatusOr<JobContext> ContextOf(KeyspaceId keyspace, const OwnOptions& own_options) const;
  void RemoveOutputs(JobResult* result);

  const JobContext& context_;
  const OwnOptions own_options_;
  const Calls calls_;
  std::optional<KeyspaceId> leaver_;
  bool leaves_ = false;
  RunsOfTree runs_of_leaver_;  // if it leaves
  OpenTables replaced_;
  bool is_along_unreadable_ = false;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_FLUSH_RUN_H_
