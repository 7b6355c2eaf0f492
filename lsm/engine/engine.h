// An open store.  The engine owns its parts and connects them; each part has its own state and
// decides over it (lsm/runtime/, lsm/store/, lsm/compaction/).
//
// Threads: every public function may be called by any thread.  Locks, in the order in which they
// are taken:
//
//   manifest_.mutex()   one edit at a time: from the version it starts from to the view it
//                       publishes; and the switch to another log and manifest
//   mutex_              all small state: the queue of writers, snapshots, scheduled jobs
//
// Reads take neither; one of many thousands tries to take mutex_ (NoteReads).  Files are written
// and synced without mutex_, and also without manifest_.mutex(), except for the manifest and that
// switch.  Events are delivered with neither (lsm/events/event_queue.h).  The locks of LogSet,
// LiveViews, EventQueue, Level0Account and Reserves are taken last.  Under them a thread waits for
// nothing but files: under LogSet's for those of the logs, under Reserves' for theirs.
//
// Memory may run out at any allocation.  The calls that return a status leave std::bad_alloc to
// lsm/db.cc and change nothing before it.  After the point of no return (a group that is in the
// log, an edit that is in the manifest, a job that is counted as running) a step has its memory
// beforehand, or its failure is caught and noted where it happens.
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
#include "lsm/compaction/level0_account.h"
#include "lsm/events/event_queue.h"
#include "lsm/explanation.h"
#include "lsm/iterator.h"
#include "lsm/options.h"
#include "lsm/pace.h"
#include "lsm/reports.h"
#include "lsm/runtime/background_jobs.h"
#include "lsm/runtime/lifetime.h"
#include "lsm/runtime/live_views.h"
#include "lsm/runtime/memtable_logs.h"
#include "lsm/runtime/reserves.h"
#include "lsm/runtime/sequences.h"
#include "lsm/runtime/store_verifier.h"
#include "lsm/runtime/write_throttle.h"
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

// Iterators keep it, also when it is closed; snapshots do too (db.cc).
class Engine : public std::enable_shared_from_this<Engine> {
 public:
  static absl::StatusOr<std::shared_ptr<Engine>> Open(const std::string& directory,
                                                      const Options& options);
  ~Engine();
  // DB::Close.  Any number of threads may call it, and anything else, at any time.
  absl::Status Close();
  // FailedPrecondition in a forked child, where nothing may be called at all.
  absl::Status CheckProcess() const { return store_.CheckHolder(); }
  // False in a forked child, and in a callback of the store's own listener, whose thread Close
  // might wait for.
  bool MayBeClosedHere() const { return CheckProcess().ok() && events_->MayWait(); }
  // Leaves the engine as it is until the process ends, although its last owner lets go of it.
  void Abandon() noexcept { lifetime_.Abandon(shared_from_this()); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  absl::Status Write(const WriteBatch& batch, const WriteOptions& options);

  // Receives a value within the guard of the lookup: copies it, or, if it `pins`, takes the
  // reference to its block (which is still not set for a memtable's value).
  struct ValueSink {
    absl::FunctionRef<void(LookupResult& result)> take;
    bool pins = false;
  };
  absl::StatusOr<bool> Get(std::string_view key, const ReadOptions& options, const ValueSink& sink,
                           Explanation* explanation = nullptr);
  // One answer a key, all of the same moment.
  std::vector<absl::StatusOr<std::optional<std::string>>> MultiGet(
      std::span<const std::string_view> keys, const ReadOptions& options);
  // An empty one with a status if there is no memory for it.
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options);

  Sequence TakeSnapshot();
  void ReleaseSnapshot(Sequence sequence);

  absl::Status Flush();
  absl::Status CompactRange(std::optional<std::string_view> from,
                            std::optional<std::string_view> to);
  absl::Status WaitForBackgroundWork();
  absl::Status Resume();
  absl::Status GetFailure();
  uint64_t ApproximateBytes(std::string_view from, std::optional<std::string_view> to);
  Statistics GetStatistics();

  absl::StatusOr<VerifyReport> Verify(const Pace& pace);
  std::vector<std::string> GetDamage() { return verifier_.GetDamage(); }
  // Tables come by links, if `link` and the file system can; or from `base` (empty: none), another
  // such copy, if it has them; otherwise they are copied and verified.
  absl::StatusOr<CopyReport> CopyTo(const std::string& path, bool link, const std::string& base,
                                    const Pace& pace);

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
  // Writes the memtable as a table of level 0: it becomes one of `levels` and, until CURRENT leads
  // to it, of `made`.
  absl::Status FlushTo(const Memtable& memtable, FlushReason reason,
                       std::array<OpenTables, kLevels>* levels, NewFiles* made);
  // Begins a log and a manifest of these levels, makes CURRENT name it, publishes a view of all
  // that, and removes files that are not needed any more.  Until CURRENT is swapped, no existing
  // file is changed.
  absl::Status StartWriting(ManifestState state, std::optional<std::string_view> expected_current,
                            std::array<OpenTables, kLevels> levels, NewFiles* made);
  // Its second half: the switch to new files.  Once CURRENT may lead to them, the files in `made`
  // stay, also after a failure.  Threads that read manifest and logs, or ask which tables there
  // are, wait until all of it is done.
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
  absl::Status SealMemtable(FlushReason reason, StallEvents* stall, bool* counted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Commit(Writer* leader, const Writer** last) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The group's batch is prepared in the memtable.
  absl::Status CommitGroup(Memtable* memtable, const std::string& batch, bool sync);
  void WaitStalled(StallCause cause, StallEvents* stall, bool* counted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes the next log if none could be made ahead of time.
  absl::StatusOr<uint64_t> StartLog(StallEvents* stall, bool* counted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // For the put whose turn it is: OK if the memtables, with it, still fit into the reserve.  Builds
  // the reserve if it is too small.
  absl::Status CheckMayPut(uint64_t batch_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // After a put was refused: makes the reserve large enough, if that is possible.
  void LookForSpace(uint64_t batch_bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // `batch_bytes`: bytes that are about to enter the memtable.  Throws nothing.
  void BuildReserves(Reserve::Effort effort, uint64_t batch_bytes = 0) ABSL_LOCKS_EXCLUDED(mutex_);

  // --- recovering from failures (engine_resume.cc) ---
  // By the writer whose turn it is.
  absl::Status RecoverFromFailures() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status StartOver(const ReadView& view, absl::Status* forgotten) ABSL_LOCKS_EXCLUDED(mutex_);

  // --- background work (engine_background.cc); the jobs throw nothing ---
  const std::shared_ptr<const ReadView>& CurrentView() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    views_.AssertHeld();
    return views_.Current();
  }
  // Needs no memory.
  void PublishView(LiveViews::Prepared prepared) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ScheduleWork() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // FlushOne, if it has anything to do and is not scheduled.
  void ScheduleFlush() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Charges readers for level 0, and schedules its merge once they have paid for it.  Does not
  // wait: if another thread holds mutex_, a later reader does it.
  void NoteReads() ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes the next log, if it is due, and flushes a memtable, if one is sealed.
  void FlushOne();
  absl::Status FlushOldest();
  absl::Status FlushMemtable(const Memtable& memtable, const TableFilter& filter,
                             const MemtableLogs::MemtableLog& log, uint64_t next_log,
                             const SnapshotList& snapshots, JobResult* result);
  // Makes the next log, if it is due, or if the memtable is about to be sealed.
  void PrepareLog(bool seal_is_near) ABSL_LOCKS_EXCLUDED(mutex_, manifest_.mutex());
  void CompactOne();
  // Carries out the plan of the job.
  absl::Status Compact(Compaction* compaction);
  // Makes the result of the plan, or of a step, take the place of what it takes away.  With it,
  // what is `left` becomes the job's plan, if it is not null.
  absl::Status ApplyCompaction(Compaction* compaction, const CompactionPlan& plan,
                               const JobResult& result,
                               const std::shared_ptr<const CompactionPlan>& left);
  // Runs a job; on a full disk once more, with the space of the reserves, unless it is unknown
  // what is on disk.
  absl::Status WithReserve(absl::FunctionRef<absl::Status()> job)
      ABSL_LOCKS_EXCLUDED(mutex_, manifest_.mutex());
  // The end of every flush and compaction, the latter with its `compaction`: notes a failure, lets
  // go of what the job held, removes obsolete files, builds the reserves, and schedules what is due
  // next.
  void FinishJob(FailureKind kind, const absl::Status& status, Compaction* compaction = nullptr);
  // Waits until the request is carried out, or cannot be.
  absl::Status RequestRange(CompactionSchedule::Request* request);
  // Makes the edit durable and publishes the version that it leads to, with `change` made to the
  // view.
  absl::Status ApplyEdit(VersionEdit edit, const OpenTables& outputs,
                         const std::function<void(ReadView*)>& change);

  // --- reading (engine_read.cc) ---
  bool MayUse(const Snapshot* snapshot) const;  // null, or made by this engine
  std::unique_ptr<Iterator> MakeIterator(const ReadOptions& options);

  // --- constant after the opening ---
  const Options options_;
  const std::shared_ptr<EventQueue> events_;
  StoreDirectory store_;
  JobContext job_context_;

  // --- thread-safe of themselves ---
  Counters counters_;
  Level0Account level0_account_;
  BlockCache block_cache_;  // outlives the tables, which the views hold
  LogSet logs_;
  Reserves reserves_;
  ManifestKeeper manifest_;

  Mutex mutex_ ABSL_ACQUIRED_AFTER(manifest_.mutex());
  BackgroundJobs jobs_ ABSL_GUARDED_BY(mutex_);
  CompactionSchedule schedule_ ABSL_GUARDED_BY(mutex_);
  MemtableLogs memtable_logs_ ABSL_GUARDED_BY(mutex_);
  WriterQueue writers_ ABSL_GUARDED_BY(mutex_);
  WriteThrottle throttle_ ABSL_GUARDED_BY(mutex_);
  Sequences sequences_ ABSL_GUARDED_BY(mutex_);

  // --- these take mutex_ themselves ---
  Lifetime lifetime_;
  LiveViews views_;
  StoreVerifier verifier_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_ENGINE_ENGINE_H_
