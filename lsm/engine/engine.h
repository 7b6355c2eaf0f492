// Owns the parts of an open store and connects them: views, write queue, logs, manifest, background
// jobs.
//
// Threads: every public function may be called by any thread.  Locks, in the order in which they
// are taken:
//
//   manifest_.mutex()   one edit at a time: from the version it starts from to the view it
//                       publishes; and the switch to another log and manifest
//   mutex_              everything small: the queue of writers, snapshots, what is scheduled
//
// Reads take neither; one of many thousands tries to take mutex_ (NoteReads).  Files are written
// and synced with neither mutex_ nor, but for the manifest and that switch, manifest_.mutex() held.
// Events are delivered with neither (lsm/events/event_queue.h).  The locks of LogSet, ReadViewCell,
// ObsoleteFiles, EventQueue, Level0Account and Reserve are taken last, and nothing is waited for
// under them but, under LogSet's, the files of the logs, and under Reserve's, its file.
//
// Memory may run out at any allocation.  The calls that return a status leave std::bad_alloc to
// lsm/db.cc and change nothing before it; what cannot be turned back (a group that is in the log,
// an edit that is in the manifest, a job that is counted as running) has its memory beforehand, or
// its failure is caught and noted where it happens.
#ifndef TRELLIS_LSM_ENGINE_ENGINE_H_
#define TRELLIS_LSM_ENGINE_ENGINE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
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
#include "lsm/compaction/jobs.h"
#include "lsm/compaction/level0_account.h"
#include "lsm/engine/failures.h"
#include "lsm/engine/read_view.h"
#include "lsm/engine/snapshots.h"
#include "lsm/engine/write_pace.h"
#include "lsm/events/event_queue.h"
#include "lsm/explanation.h"
#include "lsm/fs/mutex.h"
#include "lsm/iterator.h"
#include "lsm/options.h"
#include "lsm/pace.h"
#include "lsm/pinned_value.h"
#include "lsm/reports.h"
#include "lsm/statistics.h"
#include "lsm/store/log_set.h"
#include "lsm/store/manifest_keeper.h"
#include "lsm/store/obsolete_files.h"
#include "lsm/store/reserve.h"
#include "lsm/store/store_directory.h"
#include "lsm/store/store_files.h"
#include "lsm/table/block_cache.h"
#include "lsm/version/manifest.h"
#include "lsm/write_batch.h"

namespace lsm::inline TRELLIS_ABI {

class Pacer;
struct PlanLeft;
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
  absl::Status CheckProcess() const {
    return store_.lock != nullptr ? store_.lock->CheckHolder() : absl::OkStatus();
  }
  // False in a forked child, and in a callback of the store's own listener, whose thread Close
  // might wait for.
  bool MayBeClosedHere() const { return CheckProcess().ok() && events_->MayWait(); }
  // Leaves the engine as it is until the process ends, whoever lets go of it.
  void Abandon() noexcept;
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
  std::vector<std::string> GetDamage();
  // Tables come by links, if `link` and the file system can; or from `base` (empty: none), another
  // such copy, if it has them; or else they are copied and verified.
  absl::StatusOr<CopyReport> CopyTo(const std::string& path, bool link, const std::string& base,
                                    const Pace& pace);

 private:
  // A call of Write that waits for its turn, or for the one whose turn it is to commit it too.
  struct Writer {
    enum class Task : uint8_t { kWrite, kSealMemtable, kResume };
    Task task;
    const WriteBatch* batch;  // kWrite
    bool sync;                // kWrite
    bool done = false;
    absl::Status status;
    CondVar wake;
  };
  // The log that holds the same as a memtable.
  struct MemtableLog {
    uint64_t number;
    // Known once the memtable is sealed:
    Sequence last_sequence = 0;  // in it
    FlushReason reason = FlushReason::kMemtable;
  };
  // The log after the one in use.  If it was tried and LogSet has none, the writer that seals the
  // memtable makes it, and gets the error.
  enum class NextLog : uint8_t { kNotBegun, kBeingMade, kTried };
  // What a job starts from.
  struct JobStart {
    std::shared_ptr<const ReadView> view;
    SnapshotList snapshots;
  };
  using Compaction = CompactionSchedule::Job;

  // A table that may be removed meanwhile.
  struct PlacedTable {
    int level = 0;
    std::weak_ptr<const OpenTable> table;
  };

  // A call that uses the store's files or waits for jobs: Close waits until it ends.
  class Call {
   public:
    explicit Call(Engine* engine);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    // FailedPrecondition if the store was closed before.
    const absl::Status& status() const { return status_; }

   private:
    Engine& engine_;
    absl::Status status_;
  };

  struct ScrubStep {
    uint64_t number = 0;  // of the table; 0: all were there
    PlacedTable table;
    uint64_t nanos = 0;  // to wait before
    uint64_t bytes_per_second = 0;
  };

  Engine(const Options& options, StoreDirectory store, std::shared_ptr<EventQueue> events);

  // --- opening (engine_open.cc) ---
  static absl::StatusOr<std::shared_ptr<Engine>> OpenReporting(const std::string& directory,
                                                               const Options& options,
                                                               std::shared_ptr<EventQueue> events);
  // One attempt.  `released`: it failed on a full disk, and there is more room now.
  static absl::StatusOr<std::shared_ptr<Engine>> OpenOnce(const std::string& directory,
                                                          const Options& options,
                                                          std::shared_ptr<EventQueue> events,
                                                          bool* released);
  absl::Status Start();
  absl::StatusOr<ManifestContents> LoadOrBegin();
  // Makes a table of level 0 of it: one of `levels` and, until CURRENT leads to it, of `made`.
  absl::Status FlushTo(const Memtable& memtable, FlushReason reason,
                       std::array<OpenTables, kLevels>* levels, NewFiles* made);
  // Begins a log and a manifest of these levels, has CURRENT name it, publishes a view of all that,
  // and removes files that are not needed any more.  Until CURRENT is swapped, nothing that was
  // there is changed.
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

  // Waits until the store is not in use.  True for the first call of Close, which goes on.
  bool BeginClosing() ABSL_LOCKS_EXCLUDED(mutex_);
  // The second part of Close, when no job and no other call runs any more.
  absl::Status ReleaseStore();
  // FailedPrecondition: DB::Close was called.
  absl::Status CheckOpen() const {
    // Relaxed: a call that begins beside Close may come before it or after it.
    return closing_.load(std::memory_order_relaxed) ? StoreIsClosed() : absl::OkStatus();
  }
  static absl::Status StoreIsClosed();

  // --- writing (engine_write.cc) ---
  absl::Status Enqueue(Writer* writer);
  absl::Status Lead(Writer* leader) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status MakeRoom(bool seal_now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status SealMemtable(FlushReason reason, StallEvents* stall, bool* counted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Writer* BuildGroup(Writer* leader, bool* sync) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Commit(Writer* leader, Writer** last) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // All that may fail without leaving a trace.
  absl::Status PrepareGroup(Memtable* memtable);
  absl::Status CommitGroup(Memtable* memtable, bool sync);
  // Nanoseconds that the next write must wait.
  uint64_t NanosToWait() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WaitStalled(StallCause cause, StallEvents* stall, bool* counted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes the next log, where none could be made ahead of time.
  absl::StatusOr<uint64_t> StartLog(StallEvents* stall, bool* counted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // --- failures (engine_resume.cc) ---
  void AddFailure(FailureKind kind, const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The error of a write that was refused before it began.
  static absl::Status Refusal(const absl::Status& failure);
  // By the writer whose turn it is.
  absl::Status RecoverFromFailures() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status StartOver(const ReadView& view, absl::Status* forgotten) ABSL_LOCKS_EXCLUDED(mutex_);

  // --- a full disk (engine_space.cc) ---
  // Builds the reserves of both directories, since the file systems may be one.  `batch_bytes`:
  // bytes that are about to enter the memtable.  These throw nothing.
  void BuildReserves(Reserve::Effort effort, uint64_t batch_bytes = 0) ABSL_LOCKS_EXCLUDED(mutex_);
  // True: there is more space than before.
  bool ReleaseReserves();
  // Reports whether puts are refused, if that has changed.
  void NoteSpace();
  // True while there is no space to build a reserve, or to build it large enough for the memtables:
  // puts are refused, or flush the memtables first.
  bool IsRoomShort() const;
  bool ArePutsRefused() const;
  // For the put whose turn it is: OK if the memtables, with it, still fit into the reserve.  Builds
  // the reserve if it is too small.
  absl::Status CheckMayPut(uint64_t batch_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool FitsIntoReserve(uint64_t batch_bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // After a put was refused: makes the reserve large enough, if that is possible.
  void LookForSpace(uint64_t batch_bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs `work` and counts its time as a stall of the put.
  void WaitForReserve(absl::FunctionRef<void()> work) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the memtables have come near its size.
  bool ReserveIsDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // --- background work (engine_background.cc) ---
  // View and snapshots of one moment: a snapshot that was taken between the two would be missed.
  JobStart BeginJob() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return {current_view_, snapshots_.List()};
  }
  void ScheduleWork() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Charges readers for level 0, and schedules its merge once they have paid for it.  Does not
  // wait: if another thread holds mutex_, a later reader does it.
  void NoteReads() ABSL_LOCKS_EXCLUDED(mutex_);
  // FlushOne, if it has anything to do and does not wait for its turn already.
  void ScheduleFlush() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether a job may begin at all.
  bool MayBegin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the next log is to be made ahead of time: once, if half a memtable is in the one in
  // use, or was in the one before, so that a store that is opened for less pays nothing.
  bool NextLogIsDue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // True if the job will run.  Else its kind, if it is of one, has failed, and no other caller
  // might ever schedule it.
  bool Schedule(Scheduler::Lane lane, std::optional<FailureKind> kind, std::function<void()> job)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The jobs throw nothing.  This one makes the next log, if it is due, and flushes a memtable, if
  // one is sealed.
  void FlushOne();
  // Whether a memtable is sealed; from now on a flush of it counts for the pace of writes.
  bool BeginFlush() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes the next log, if it is due, or if the memtable is about to be sealed.
  void PrepareLog(bool seal_is_near) ABSL_LOCKS_EXCLUDED(mutex_, manifest_.mutex());
  absl::Status FlushOldest();
  // What the job returns.  On a full disk it runs once more, with the space of the reserve, unless
  // it is unknown what is on disk.
  template <typename Job>
  absl::Status WithReserve(const Job& job) ABSL_LOCKS_EXCLUDED(mutex_, manifest_.mutex());
  void CompactOne();
  // Chooses what to do beside the compactions that run.  One job at a time: until it is among them
  // (BeginCompaction), no other may choose.
  absl::Status ChooseCompaction(Compaction* compaction);
  void BeginCompaction(Compaction* compaction);
  absl::Status FlushMemtable(const Memtable& memtable, const TableFilter& filter,
                             Sequence last_sequence, uint64_t next_log,
                             const SnapshotList& snapshots, JobResult* result);
  absl::Status CompactPlan(const Version& version, const CompactionPlan& plan,
                           const SnapshotList& snapshots, JobResult* result);
  // Makes what the plan, or a step, has written take the place of what it takes away; `change` as
  // for ApplyEdit.
  absl::Status ApplyCompaction(const CompactionPlan& plan, const JobResult& result,
                               const std::function<void(ReadView*)>& change);
  // The end of every flush and compaction, the latter with its `compaction`: notes a failure, lets
  // go of what the job held, removes obsolete files, builds the reserve, and schedules what is due
  // next.
  void FinishJob(FailureKind kind, const absl::Status& status, Compaction* compaction = nullptr);
  // Waits until the request is carried out, or cannot be.
  absl::Status RequestRange(CompactionSchedule::Request* request);
  // Makes the edit durable and publishes the version that it leads to, with `change` made to the
  // view.
  absl::Status ApplyEdit(VersionEdit edit, const OpenTables& outputs,
                         const std::function<void(ReadView*)>& change);
  // Closes tables and removes files that no reader can reach any more.  Returns how many views
  // readers still hold.
  size_t CollectGarbage();
  // The same over and over, for as long as most lookups take: a guard that stands is that of one.
  size_t CollectPatiently();
  // Has it done again until no view is left: if nothing is written any more, no other job would.
  void ScheduleCollection() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Needs no memory.
  void PublishView(ReadViewCell::Prepared prepared) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // --- compactions in steps (engine_steps.cc) ---
  // Carries out the plan, in steps while space is short.
  absl::Status Compact(Compaction* compaction, JobResult* result);
  // What is left takes the place of the plan after each step.
  absl::Status CompactInSteps(Compaction* compaction, JobResult* result);
  // REQUIRES: something is left.
  absl::Status TakeStep(Compaction* compaction, PlanLeft* left, JobResult* total);

  // --- reading (engine_read.cc) ---
  // False for a snapshot of another engine's.
  bool MayUse(const Snapshot* snapshot) const;
  // As of when to read.  Takes the view because it must have been loaded before: a number that is
  // older than the view's tables may have lost its entries to a flush or a compaction.
  Sequence SequenceFor(const ReadView& view, const ReadOptions& options) const;
  std::unique_ptr<Iterator> MakeIterator(const ReadOptions& options);
  // Counts the seeks of an iterator that is gone.
  void CountSeeks(uint64_t seeks, const Level0Account::Seen& level0);
  // Gives up a shared view, and removes the files that only it had kept.  Throws nothing.
  void LetGo(std::shared_ptr<const ReadView> view);
  // Has a job free what only this reference keeps; false if none can.  Throws nothing.
  bool RetireView(std::shared_ptr<const ReadView>* view) ABSL_LOCKS_EXCLUDED(mutex_);
  // `lookups`: that the thread has made, with this one.
  void Find(const ReadView& view, const Version::GetOptions& options,
            const Counters::Here& counters, uint64_t lookups, KeyLookup* lookup);
  // Those of some keys, side by side.  Throws std::bad_alloc if there is no memory to begin with.
  void FindTogether(const ReadView& view, std::span<const std::string_view> keys, Sequence sequence,
                    bool fill_cache, std::span<absl::StatusOr<std::optional<std::string>>> answers);

  // --- care (engine_care.cc) ---
  // The pace, which also ends the call when the store is closed.
  Pace UntilClosed(const Pace& pace) const;
  // Fails with ResourceExhausted alone, as VerifyTable does.
  absl::Status VerifyRecords(VerifyReport* report) ABSL_LOCKS_EXCLUDED(manifest_.mutex(), mutex_);
  bool RecordsAreKnown() ABSL_LOCKS_EXCLUDED(mutex_);
  // Nothing if the table is not the store's any more.
  absl::Status VerifyIfThere(const PlacedTable& table, Pacer* pacer, VerifyReport* report)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void NoteVerified(const VerifyReport& report) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the levels agree with the sequences; of tables that are sound.
  absl::Status VerifyKeyOrder(Pacer* pacer, VerifyReport* report);
  bool ScheduleScrub() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  ScrubStep NextToScrub() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ScrubNext();
  // Fails only where it was not done, for the store is being closed, or there are no memory or no
  // descriptors.
  absl::Status ScrubOne();

  // --- constant ---
  const Options options_;
  const std::shared_ptr<EventQueue> events_;
  StoreDirectory store_;
  Scheduler* const scheduler_;
  const int compactions_max_;
  bloom::DigestSeed digest_seed_;
  JobContext job_context_;
  RecoveryReport recovery_;

  // --- thread-safe of themselves; the cache outlives the tables, which the views hold ---
  Counters counters_;
  Level0Account level0_account_;
  BlockCache block_cache_;
  ObsoleteFiles obsolete_;
  LogSet logs_;
  Reserve reserve_;
  const std::unique_ptr<Reserve> log_reserve_;  // null: the logs are with the tables
  std::atomic<bool> told_refused_{false};       // by an event, that puts are
  ReadViewCell view_;
  // The last write that readers may see.  Released after the memtable has it, acquired before the
  // memtable is read.
  std::atomic<Sequence> visible_sequence_{0};

  ManifestKeeper manifest_;  // its mutex is taken before mutex_

  Mutex mutex_;
  CondVar work_done_;  // a job ended, or a view was published
  std::shared_ptr<const ReadView> current_view_ ABSL_GUARDED_BY(mutex_);
  // The sealed memtables', oldest first, then the active one's.
  std::vector<MemtableLog> memtable_logs_ ABSL_GUARDED_BY(mutex_);
  NextLog next_log_ ABSL_GUARDED_BY(mutex_) = NextLog::kNotBegun;
  std::deque<Writer*> writers_ ABSL_GUARDED_BY(mutex_);
  Snapshots snapshots_ ABSL_GUARDED_BY(mutex_);
  Sequence last_sequence_ ABSL_GUARDED_BY(mutex_) = 0;
  bool flush_scheduled_ ABSL_GUARDED_BY(mutex_) = false;
  CompactionSchedule schedule_ ABSL_GUARDED_BY(mutex_);
  int compactions_ ABSL_GUARDED_BY(mutex_) = 0;  // jobs that are scheduled or run
  WritePace pace_ ABSL_GUARDED_BY(mutex_);
  RoomMaker flush_room_ ABSL_GUARDED_BY(mutex_);
  RoomMaker level0_room_ ABSL_GUARDED_BY(mutex_);
  const CompactionPlan* level0_plan_ ABSL_GUARDED_BY(mutex_) = nullptr;  // that makes room there
  bool collection_scheduled_ ABSL_GUARDED_BY(mutex_) = false;
  bool scrub_scheduled_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t scrubbed_number_ ABSL_GUARDED_BY(mutex_) = 0;  // of the last table; 0: none yet
  uint64_t scrub_end_ ABSL_GUARDED_BY(mutex_) = 0;        // later tables are the next round's
  std::vector<std::string> damage_ ABSL_GUARDED_BY(mutex_);
  std::set<uint64_t> damage_known_ ABSL_GUARDED_BY(mutex_);  // digests of all lines
  Failures failures_ ABSL_GUARDED_BY(mutex_);
  bool is_recovering_ ABSL_GUARDED_BY(mutex_) = false;  // no job is to begin
  // Set under mutex_, when Close begins.  Relaxed wherever it is read without: jobs only look
  // whether they should hurry.
  std::atomic<bool> closing_{false};
  std::shared_ptr<Engine> self_;        // abandoned: this keeps itself
  Engine* abandoned_before_ = nullptr;  // the list of all that were abandoned
  // Used by the thread that closes: whether there was a view.
  bool was_opened_ = false;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;           // that Close waits for
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;  // Close has ended, with:
  absl::Status close_status_ ABSL_GUARDED_BY(mutex_);

  // --- of the writer whose turn it is; the seed changes only while no flush is scheduled and no
  // log is being made, which read it ---
  uint64_t log_seed_ = 0;
  std::string group_bytes_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_ENGINE_ENGINE_H_
