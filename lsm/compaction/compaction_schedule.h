// Keeps the running compactions, the requests to compact a range, the turns of the rule for
// tombstones (picker.h), and whether it is worth looking for another compaction.
//
// A job goes through these steps:
//
//   NoteScheduled   a job was scheduled; no other job is until this one has chosen its plan
//   StartChoosing   it takes a copy of the running plans
//   Choose          it chooses without the lock
//   Begin           its plan joins the running plans; or it found none, or a flush has taken a
//                   table of it meanwhile
//   End             its plan no longer runs, and the request that it carried out is done
//
// Not thread-safe: the engine's mutex guards it.  It has no errors of its own.  Only StartChoosing,
// Choose, Add, TakeForFlush and Reserve allocate memory.
#ifndef TRELLIS_LSM_COMPACTION_COMPACTION_SCHEDULE_H_
#define TRELLIS_LSM_COMPACTION_COMPACTION_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/base/keyspace_state.h"
#include "lsm/compaction/jobs.h"
#include "lsm/compaction/picker.h"
#include "lsm/options.h"
#include "lsm/version/version.h"

namespace lsm::inline TRELLIS_ABI {

// Gives the options with which a tree is compacted.
class TreeOptions {
 public:
  // A tree whose keyspace is in `own` has the options there.  All other trees have those of the
  // store; so do all trees if `own` is null.  The trees of `dropped` (null: none) are not
  // compacted, since they will be removed.  All arguments outlive this object.
  TreeOptions(const Options& store, const OwnOptions* own = nullptr,
              const std::set<KeyspaceId>* dropped = nullptr)
      : store_(store), own_(own), dropped_(dropped) {}
  bool IsCompacted(const Tree& tree) const {
    return dropped_ == nullptr || !dropped_->contains(tree.keyspace());
  }
  const Options& Of(const Tree& tree) const {
    if (own_ == nullptr || own_->empty()) return store_;
    const auto found = own_->find(tree.keyspace());
    return found == own_->end() ? store_ : *found->second;
  }

 private:
  const Options& store_;
  const OwnOptions* const own_;
  const std::set<KeyspaceId>* const dropped_;
};

class CompactionSchedule {
 public:
  // A part of DB::CompactRange: brings a range of one level of a tree down, or drops the tables of
  // a range that no reader needs, in one level.  The caller keeps it until it is done or
  // withdrawn.
  struct Request {
    int level = 0;  // unused in a drop
    std::optional<std::string_view> from, to;
    bool drops = false;
    KeyspaceId keyspace = kDefaultKeyspace;  // whose tree
    bool in_hand = false;                    // a job looks at it or carries it out
    bool done = false;
    absl::Status status = absl::OkStatus();  // when done
  };

  // A compaction, from the choice of its plan to its end.
  struct Job {
    std::shared_ptr<const Version> version;      // until it has chosen
    std::shared_ptr<const Tree> tree;            // the plan's, of this version; null in steps
    uint64_t filter_index_bytes_beside = 0;      // Version::FilterIndexBytesBeside this tree
    SnapshotList snapshots;                      // of the version; unused in steps
    OwnOptions own_options;                      // of its trees
    std::set<KeyspaceId> dropped;                // whose trees are not compacted
    Request* request = nullptr;                  // null: it carries out none
    std::shared_ptr<const CompactionPlan> plan;  // null: there is nothing to do
    // There is no plan: no work is due, or all due work conflicts with running compactions.
    bool found_nothing = false;
    bool has_begun = false;
    PickMoment moment;                   // as StartChoosing found it
    Sequence held_until = kSequenceMax;  // as in CompactionChoice
    bool is_rule_idle = false;           // likewise
    uint64_t revision = 0;               // the schedule's revision when the job chose
  };

  using Plans = std::vector<std::shared_ptr<const CompactionPlan>>;

  // Allocates memory for at most that many running compactions.  REQUIRES: no job has begun.
  void Reserve(size_t jobs) { running_.reserve(jobs); }

  // Whether a job should look for work: no job is choosing, and something changed since a job last
  // found nothing.
  bool MayChoose() const { return !is_choosing_ && revision_ != idle_revision_; }
  // Whether there is work that must be done in any tree: a request, a drop, or a level over its
  // limit.
  bool IsDue(const Version& version, const TreeOptions& options, HasSnapshotIn has_snapshot) const;
  // Whether the rule for tombstones may have a plan in any tree: tables have enough dead entries,
  // one of them has an old tombstone, iterators have paid, or tables may have expired.  False while
  // the rule rests, and while a plan of it runs.
  bool MayFree(const Version& version) const;
  bool may_have_expired() const { return may_have_expired_; }
  // Notes that there may be more to compact than before, for example because the version changed.
  void NoteChange() { ++revision_; }
  // Notes the time, in seconds since 1970.  It is a change if a tombstone has become due by its
  // time, or if the rule has rested for long enough.
  void NoteTime(const Version& version, uint64_t wall_seconds);
  // Notes that iterators have paid what a table lacked, which is a change.
  void NoteRent() {
    rent_is_due_ = true;
    NoteChange();
  }
  // Notes that tables may have expired, which is a change.  Tables that have expired as a whole
  // also go while the rule for tombstones rests.
  void NoteExpired() {
    may_have_expired_ = true;
    NoteChange();
  }
  // A snapshot was released, and this is the oldest one now (kSequenceMax: there is none).  True,
  // and a change, if plans of the rule are no longer held.
  bool NoteOldestSnapshot(Sequence oldest);
  // The snapshot `released` is gone.  True, and a change, if it held a table that no reader needs.
  bool NoteReleased(const Version& version, Sequence released);

  void Add(Request* request);
  // REQUIRES: it is not in hand, nor done.
  void Withdraw(Request* request);

  // A flush takes this table of level 0, so that no compaction does until EndFlush.  False if a
  // compaction has taken it, or the tree no longer has it.
  bool TakeForFlush(const std::shared_ptr<const CompactionPlan>& plan, const Version& version);
  void EndFlush();

  void NoteScheduled() { is_choosing_ = true; }
  // Returns the running plans, and gives the job the first waiting request, if any.  REQUIRES: the
  // job has its version and its snapshots.
  Plans StartChoosing(uint64_t wall_seconds, Job* job);
  // Chooses a plan for the job, by the store's options and the job's own_options.  `running` are
  // the plans that StartChoosing returned.  Some of these may end meanwhile.  This does no harm,
  // because the new plan does not touch the tables that they took or wrote.  The job keeps only the
  // plan's tree of the version.
  static void Choose(const Options& options, const Plans& running, Job* job);
  // True if more compactions run at once than ever before.
  bool Begin(Job* job);
  // Whether the store can do without the job, so that its failure stops nothing else: only readers
  // or tombstones need it.  REQUIRES: the job has ended, but End was not called yet.
  bool IsOptional(const Job& job, const Version& version, const TreeOptions& options,
                  HasSnapshotIn has_snapshot) const;
  // An optional job failed, perhaps one for tombstones.  Then the rule rests for an hour: otherwise
  // each flush might begin the same failure.
  void RestAfter(const Job& job);
  // `status` goes to the job's request.  A job that could not choose ends without Begin.
  void End(Job* job, absl::Status status);
  // The job continues with this plan, which is the rest of its own plan after a step.  A plan
  // without inputs has no hull, so it no longer counts as running.
  void Replace(Job* job, const std::shared_ptr<const CompactionPlan>& plan);

  RunningPlans running() const { return running_; }

 private:
  // One plan in this many is one of the rule for tombstones, if that has any.  So levels that are
  // always over their limits do not keep dead data for ever.
  static constexpr int kPlansPerTombstones = 8;
  static constexpr uint64_t kRestSeconds = 60 * 60;

  // For a moment at which no job with an older version than theirs is choosing.
  void ForgetEndedFlushes();

  std::deque<Request*> requests_;
  Plans running_;  // no two of them conflict (lsm/compaction/picker.h)
  Plans flushes_;  // of the running flush; nor do these
  // How many of flushes_, from the front, belong to flushes that ended while a job was choosing.
  size_t ended_flushes_ = 0;
  size_t most_running_ = 0;
  bool is_choosing_ = false;  // a scheduled job has not reached Begin
  // Changes whenever there may be more to compact than before: the version changed, a compaction
  // ended, or one was requested.
  uint64_t revision_ = 1;
  uint64_t idle_revision_ = 0;  // when a job found nothing

  // --- the rule for tombstones ---
  uint64_t wall_seconds_ = 0;      // as of the last NoteTime or StartChoosing
  uint64_t rest_until_ = 0;        // 0: it does not rest
  int plans_since_ = 0;            // that have begun since the rule's last one
  bool may_have_expired_ = false;  // and every job since then has found work
  bool rent_is_due_ = false;       // and since then the rule was not found idle
  // The least CompactionChoice::held_until of the choices since the oldest snapshot last passed it.
  Sequence held_until_ = kSequenceMax;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_COMPACTION_COMPACTION_SCHEDULE_H_
