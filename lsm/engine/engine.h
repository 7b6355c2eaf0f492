// An open store.  The engine owns its parts and connects them; each part has its own state and
// decides about it (lsm/runtime/, lsm/store/, lsm/compaction/).
//
// Threads: every public function may be called by any thread.  Locks, in the order in which they
// are taken:
//
//   ViewRefresher's     one refresh of a follower at a time, with its reads of files
//   manifest_.mutex()   one edit at a time: from the version it starts from to the view it
//                       publishes; and the switch to another log and manifest
//   mutex_              all small state: the queue of writers, snapshots, scheduled jobs
//
// Reads take neither; one of many thousands tries to take mutex_ (NoteReads).  Files are written
// and synced without mutex_, and also without manifest_.mutex(), except for the manifest and that
// switch.  No lock is held while events are delivered (lsm/events/event_queue.h).  The locks of
// LogSet, LiveViews, EventQueue, TreeReads and Reserves are taken last.  While a thread holds
// one of them, it waits for nothing but files: log files with LogSet's lock, reserve files with
// those of Reserves.
//
// Memory may run out at any allocation.  The calls that return a status leave std::bad_alloc to
// lsm/db.cc and change nothing before it.  The point of no return is passed when a group is in the
// log, an edit in the manifest, or a job counted as running.  After it, a step has allocated its
// memory beforehand, or its failure is caught and noted where it happens.
#ifndef TRELLIS_LSM_ENGINE_ENGINE_H_
#define TRELLIS_LSM_ENGINE_ENGINE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/base/counters.h"
#include "lsm/compaction/compaction_schedule.h"
#include "lsm/compaction/job_context.h"
#include "lsm/compaction/jobs.h"
#include "lsm/events/event_queue.h"
#include "lsm/explanation.h"
#include "lsm/iterator.h"
#include "lsm/keyspace.h"
#include "lsm/options.h"
#include "lsm/pace.h"
#include "lsm/reports.h"
#include "lsm/runtime/background_jobs.h"
#include "lsm/runtime/keyspaces.h"
#include "lsm/runtime/lifetime.h"
#include "lsm/runtime/live_views.h"
#include "lsm/runtime/memtable_logs.h"
#include "lsm/runtime/reserves.h"
#include "lsm/runtime/sequences.h"
#include "lsm/runtime/store_verifier.h"
#include "lsm/runtime/view_refresher.h"
#include "lsm/runtime/writer_queue.h"
#include "lsm/statistics.h"
#include "lsm/store/log_set.h"
#include "lsm/store/manifest_keeper.h"
#include "lsm/store/store_directory.h"
#include "lsm/store/store_files.h"
#include "lsm/table/block_cache.h"
#include "lsm/threads/mutex.h"
#include "lsm/version/manifest.h"
#include "lsm/write_batch.h"

namespace lsm::inline TRELLIS_ABI {

class StallEvents;

// Iterators and snapshots (db.cc) keep it, also after it is closed.
class Engine : public std::enable_shared_from_this<Engine> {
 public:
  static absl::StatusOr<std::shared_ptr<Engine>> Open(const std::string& directory,
                                                      const Options& options);
  ~Engine();
  // DB::Close.  Any number of threads may call it at any time, also while others make other calls.
  absl::Status Close();
  // FailedPrecondition in a forked child, where nothing may be called at all.
  absl::Status CheckProcess() const { return store_.CheckHolder(); }
  // False in a forked child, and in a callback of the store's own listener, whose thread Close
  // might wait for.
  bool MayBeClosedHere() const { return CheckProcess().ok() && events_->MayWait(); }
  // Leaves the engine as it is until the process ends, even if its last owner releases it.
  void Abandon() noexcept { lifetime_.Abandon(shared_from_this()); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  absl::Status Write(const WriteBatch& batch, const WriteOptions& options);

  // Receives a value within the guard of the lookup.  It copies the value or, if `pins`, takes the
  // reference to its block (which is not set for a memtable's value).
  struct ValueSink {
    absl::FunctionRef<void(LookupResult& result)> take;
    bool pins = false;
  };
  // Here and below, null is the default keyspace.
  absl::StatusOr<bool> Get(const KeyspaceState* keyspace, std::string_view key,
                           const ReadOptions& options, const ValueSink& sink,
                           Explanation* explanation = nullptr);
  // One answer per key, all as of the same moment.
  std::vector<absl::StatusOr<std::optional<std::string>>> MultiGet(
      const KeyspaceState* keyspace, std::span<const std::string_view> keys,
      const ReadOptions& options);
  // Returns an empty iterator with an error if there is no memory for one.
  std::unique_ptr<Iterator> NewIterator(const KeyspaceState* keyspace, const ReadOptions& options);

  struct Moment {
    Sequence sequence = 0;
    // Reads of the snapshot use it: another process may compact away what only old numbers can see.
    // Null in a writer, which keeps that for the number until ReleaseSnapshot.
    std::shared_ptr<const ReadView> view;
    std::shared_ptr<const ReadTime> time;  // null: no keyspace has times
  };
  Moment TakeSnapshot();
  // REQUIRES: number and time are of a moment without a view.
  void ReleaseSnapshot(Sequence sequence, const ReadTime* time);

  absl::Status Flush();
  absl::Status CompactRange(const KeyspaceState* keyspace, std::optional<std::string_view> from,
                            std::optional<std::string_view> to);
  absl::Status WaitForBackgroundWork();
  absl::Status Resume();
  absl::Status GetFailure();
  uint64_t ApproximateBytes(const KeyspaceState* keyspace, std::string_view from,
                            std::optional<std::string_view> to);
  Statistics GetStatistics();
  KeyspaceStatistics GetKeyspaceStatistics(const KeyspaceState& keyspace);

  absl::StatusOr<std::shared_ptr<const KeyspaceState>> OpenKeyspace(std::string_view name,
                                                                    const KeyspaceOptions& options);
  absl::Status DropKeyspace(std::string_view name);
  absl::StatusOr<std::vector<std::string>> ListKeyspaces();

  absl::StatusOr<VerifyReport> Verify(const Pace& pace);
  std::vector<std::string> GetDamage() { return verifier_.GetDamage(); }
  // Brings each table by a link to `base` (empty: none), an earlier copy, if that has it; otherwise
  // by a link to this store's table, if `link`; otherwise by a copy, which is verified.  If the
  // file system cannot link, tables are copied.  `file_system` (null: this store's) has the copy
  // and `base`.  `only`: the keyspaces of the copy; empty: all.
  absl::StatusOr<CopyReport> CopyTo(const std::string& path, bool link, const std::string& base,
                                    const Pace& pace, FileSystem* file_system,
                                    std::span<const Keyspace> only);

 private:
  using Writer = WriterQueue::Writer;
  using Compaction = CompactionSchedule::Job;
  using Job = BackgroundJobs::Job;
  using Call = Lifetime::Call;

  Engine(const Options& options, StoreDirectory store, std::shared_ptr<EventQueue> events);

  // --- opening (engine_open.cc) ---
  static absl::StatusOr<std::shared_ptr<Engine>> OpenReporting(const std::string& directory,
                                                               const Options& options,
                                                               std::shared_ptr<EventQueue> events);
  // One attempt.  `released`: it failed on a full disk, and there is more space now.
  static absl::StatusOr<std::shared_ptr<Engine>> OpenOnce(const std::string& directory,
                                                          const Options& options,
                                                          std::shared_ptr<EventQueue> events,
                                                          bool* released);
  absl::Status Start();
  // Writes the memtable, whose last number is at most `last_sequence`, as tables of level 0.  They
  // are added to `levels` and, until CURRENT names their manifest, to `made`.  REQUIRES: `levels`
  // have all older entries, and the directory has all changes of keyspaces so far.
  absl::Status FlushTo(const Memtable& memtable, FlushReason reason, Sequence last_sequence,
                       std::array<OpenTables, kLevels>* levels, NewFiles* made);
  // Begins a log and a manifest of these levels and the keyspaces, makes CURRENT name it, publishes
  // a view of all that, and removes files that are not needed any more.  Until CURRENT is swapped,
  // no existing file is changed.
  absl::Status StartWriting(ManifestState state, std::optional<std::string_view> expected_current,
                            std::array<OpenTables, kLevels> levels, NewFiles* made);
  // The second half of StartWriting: the switch to new files.  Once CURRENT may name the new
  // manifest, the files in `made` stay, also after a failure.  Threads that read manifest and logs,
  // or ask which tables exist, wait until the switch is done.
  absl::Status SwitchFiles(ManifestState state, std::optional<std::string_view> expected_current,
                           const std::shared_ptr<ReadView>& view, NewFiles* made)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(manifest_.mutex());
  absl::Status StartReading(std::vector<std::shared_ptr<const Memtable>> memtables,
                            std::array<OpenTables, kLevels> levels);
  // The second part of Close, when no job and no other call runs any more.
  absl::Status ReleaseStore(bool was_opened);

  // --- writing (engine_write.cc) ---
  absl::Status Enqueue(Writer* writer);
  absl::Status Lead(Writer* leader) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status MakeRoom(bool seal_now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Without `stall`, it seals only if the next log was made ahead of time, and does not unlock.
  absl::Status SealMemtable(FlushReason reason, StallEvents* stall, bool* counted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Commit(Writer* leader, const Writer** last) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Carries out the leader's request, and commits an entry if the request needs one.
  absl::Status ChangeKeyspace(Writer* leader) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WaitStalled(StallCause cause, StallEvents* stall, bool* counted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes the next log if none could be made ahead of time.
  absl::StatusOr<uint64_t> StartLog(StallEvents* stall, bool* counted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // For the put whose turn it is: builds a larger reserve if the memtables and this put do not fit
  // into it.  ResourceExhausted while space is short.
  absl::Status CheckMayPut(uint64_t batch_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // After a put was refused: makes the reserve large enough, if that is possible.
  void LookForSpace(uint64_t batch_bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // `batch_bytes`: bytes that are about to enter the memtable.  Throws nothing.
  void BuildReserves(Reserve::Effort effort, uint64_t batch_bytes = 0) ABSL_LOCKS_EXCLUDED(mutex_);

  // --- recovering from failures (engine_resume.cc) ---

  // Called by the writer whose turn it is.
  absl::Status RecoverFromFailures() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status StartOver(const ReadView& view, absl::Status* forgotten) ABSL_LOCKS_EXCLUDED(mutex_);

  // --- background work (engine_background.cc); the jobs throw nothing ---
  const std::shared_ptr<const ReadView>& CurrentView() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    views_.AssertHeld();
    return views_.Current();
  }
  // Allocates no memory.
  void PublishView(LiveViews::Prepared prepared) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ScheduleWork() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Schedules FlushOne, if that has anything to do and is not scheduled yet.
  void ScheduleFlush() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Charges the readers of each tree for its level 0.  Then schedules a compaction if readers have
  // paid for one, or if tombstones or expired entries make one due.  A reader does not wait: if
  // another thread holds mutex_, a later call does this.  `is_look`: a call of
  // StoreDirectory::own_ticker.  It waits for mutex_, notes the time, and calls SealIfDue.
  void NoteReads(bool is_look = false) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether to seal the active memtable early (lsm/runtime/early_seal.h): because of a large drop,
  // or because `is_due` says so.  If it is due, and level 0 is not full, schedules the flush job,
  // which seals it.  Without memory this does nothing: the next look asks again.
  using IsDue = absl::FunctionRef<bool(const ReadView& view, const SnapshotList& snapshots)>;
  void SealIfDue(IsDue is_due) ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes the next log, if it is due, seals the memtable, if that is wanted early, and flushes a
  // memtable, if one is sealed.
  void FlushOne();
  absl::Status FlushOldest();
  // Makes the next log, if it is due, or if the memtable is about to be sealed.  A failure does not
  // matter yet: the writer that needs the log makes it, and gets the error.
  absl::Status PrepareLog(bool seal_is_near) ABSL_LOCKS_EXCLUDED(mutex_, manifest_.mutex());
  void CompactOne();
  // Carries out the plan of the job.
  absl::Status Compact(Compaction* compaction);
  // Replaces the tables that `plan` (the job's, or a step of it) removes by the result.  At the
  // same moment `left`, if it is not null, becomes the job's plan.
  absl::Status ApplyCompaction(Compaction* compaction, const CompactionPlan& plan,
                               const JobResult& result,
                               const std::shared_ptr<const CompactionPlan>& left);
  // Runs a job.  If the disk is full, runs it again with the space of the reserves, unless it is
  // unknown what is on disk.
  absl::Status WithReserve(absl::FunctionRef<absl::Status()> job)
      ABSL_LOCKS_EXCLUDED(mutex_, manifest_.mutex());
  // Called at the end of every flush and compaction, the latter with its `compaction`.  Notes a
  // failure, releases what the job held, removes obsolete files, builds the reserves, and schedules
  // what is due next.
  void EndJob(FailureKind kind, absl::Status status, Compaction* compaction = nullptr);
  // Waits until the request is carried out, or cannot be.
  absl::Status RequestRange(CompactionSchedule::Request* request);
  // Makes the edit durable, and publishes a view with the new version, to which `change` (may be
  // null) was applied.  Supersedes the tables of keyspaces that the edit drops.  Cancelled if there
  // is no tree of this id, whose tables the edit replaces.
  absl::Status ApplyEdit(VersionEdit edit, const OpenTables& outputs,
                         const std::function<void(ReadView*)>& change,
                         KeyspaceId tree = kDefaultKeyspace);

  // --- reading (engine_read.cc) ---
  // The view of the snapshot, if it has one, or else the current one.  Never null.
  absl::StatusOr<std::shared_ptr<const ReadView>> ShareView(const Snapshot* snapshot) const;
  std::unique_ptr<Iterator> MakeIterator(const KeyspaceState* keyspace, const ReadOptions& options);

  // --- constant after the opening ---
  const Options options_;
  const std::shared_ptr<EventQueue> events_;
  StoreDirectory store_;
  JobContext job_context_;

  // --- thread-safe by themselves ---
  Counters counters_;
  BlockCache block_cache_;  // outlives the tables, which the views hold
  LogSet logs_;
  Reserves reserves_;
  ManifestKeeper manifest_;

  Mutex mutex_ ABSL_ACQUIRED_AFTER(manifest_.mutex());
  BackgroundJobs jobs_ ABSL_GUARDED_BY(mutex_);
  CompactionSchedule schedule_ ABSL_GUARDED_BY(mutex_);
  MemtableLogs memtable_logs_ ABSL_GUARDED_BY(mutex_);
  WriterQueue writers_ ABSL_GUARDED_BY(mutex_);
  Sequences sequences_ ABSL_GUARDED_BY(mutex_);

  Keyspaces keyspaces_;  // guarded by mutex_, except as its header says

  // --- these take mutex_ themselves ---
  Lifetime lifetime_;
  LiveViews views_;
  StoreVerifier verifier_;
  std::unique_ptr<ViewRefresher> refresher_;  // of a follower; null in other modes
};

}  // namespace lsm

#endif  // TRELLIS_LSM_ENGINE_ENGINE_H_
