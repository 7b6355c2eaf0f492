// The views of an open store: the current one, the last visible write, and views and files that are
// obsolete but may still be in use.
//
//   Prepare      takes the memory that publishing needs
//   Publish      replaces the current view
//   Supersede    the files of these tables are removed once no reader holds them
//   Collect      frees views and removes files that no reader can reach any more
//
// Threads: readers take no lock (Load, Share, visible).  Publish, Current and Drop are called with
// the engine's mutex held; AssertHeld tells the compiler so.  The others take it themselves where
// they need it.  Errors: a file that cannot be removed is tried again later.  Only Prepare throws.
#ifndef TRELLIS_LSM_RUNTIME_LIVE_VIEWS_H_
#define TRELLIS_LSM_RUNTIME_LIVE_VIEWS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/events/event_queue.h"
#include "lsm/runtime/background_jobs.h"
#include "lsm/runtime/known_gaps.h"
#include "lsm/runtime/lifetime.h"
#include "lsm/runtime/read_view.h"
#include "lsm/scheduler.h"
#include "lsm/store/obsolete_files.h"
#include "lsm/store/store_directory.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {

class LiveViews {
 public:
  using Prepared = ReadViewCell::Prepared;

  // `mutex`, the engine's, guards the jobs and the current view.  All outlive it.
  LiveViews(const StoreDirectory* store, EventQueue* events, Mutex* mutex, BackgroundJobs* jobs,
            const Lifetime* lifetime)
      : store_(*store),
        scheduler_(store->environment.scheduler),
        events_(*events),
        mutex_(mutex),
        jobs_(jobs),
        lifetime_(*lifetime),
        obsolete_(store->directory.get()) {}
  LiveViews(const LiveViews&) = delete;
  LiveViews& operator=(const LiveViews&) = delete;

  // --- for readers ---

  // The current view, for as long as the caller's EpochGuard stands; null once closed, and while
  // readers are refused.
  const ReadView* Load() const { return cell_.Load(); }
  // The error of a reader that finds no view.
  absl::Status WhyNone() const ABSL_LOCKS_EXCLUDED(*mutex_);
  // A reference to the current view, or null as above.  The caller passes it to LetGo in the end.
  std::shared_ptr<const ReadView> Share() const { return cell_.Share(); }
  // The last write that readers of this view may see.  Takes the view because it must have been
  // loaded before: a flush or a compaction may have dropped entries that only numbers older than
  // the view's tables can see.  Acquire: the memtable holds all writes up to this number.
  Sequence VisibleIn(const ReadView& view) const {
    return std::min(view.sequence_max, visible_.load(std::memory_order_acquire));
  }
  // Deleted keys that readers of any view have found.  Thread-safe by itself.
  KnownGaps* gaps() { return &gaps_; }
  // Releases a shared view.  The files that only this view had kept are removed, by a job if one
  // can run.
  void LetGo(std::shared_ptr<const ReadView> view) ABSL_LOCKS_EXCLUDED(*mutex_);

  // --- publishing, with the engine's mutex held ---

  // The caller holds the mutex, perhaps by another name, which Clang's analysis cannot follow.
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK(*mutex_) {}
  Prepared Prepare(std::shared_ptr<const ReadView> view) { return cell_.Prepare(std::move(view)); }
  // True if the version changed.
  bool Publish(Prepared prepared) ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);
  // Readers may see writes up to this one, as far as their view allows.
  // Release: a thread that reads as of this number finds the entries in the memtable.
  void ShowUpTo(Sequence sequence) { visible_.store(sequence, std::memory_order_release); }
  // The view that was published last; null before the first one and after Drop.
  const std::shared_ptr<const ReadView>& Current() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_) {
    return current_;
  }
  // The store is being closed: there is no current view any more, but readers keep the last one
  // until Close.
  void Drop() ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_) { current_ = nullptr; }

  // --- refusing readers, with the engine's mutex held ---

  enum class Lock : uint8_t { kTables, kLogs };
  // If the state of one of the store's locks (FileLock::Watch) is an error, new readers get it from
  // now on.  OK admits them again, unless another process has taken the store over.  Jobs still
  // have the current view.
  void NoteLock(Lock which, const absl::Status& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);

  // --- what is obsolete ---

  // REQUIRES: the edit that removed the tables is durable.
  void Supersede(ObsoleteFiles::Tables tables) { obsolete_.Add(std::move(tables)); }
  // Whether the table is obsolete, and a reader may hold it.
  bool IsHeld(uint64_t table) { return obsolete_.Has(table); }
  // Delivers the events of files that were removed.  Returns how many views readers still hold.
  size_t Collect();
  // As Collect, repeated until no view is left, but only for about as long as most lookups take:
  // most guards belong to lookups.
  size_t CollectPatiently();
  // As CollectPatiently.  If views are left, a job continues until none is left, because without
  // writes no other job would.
  void CollectToTheEnd() ABSL_LOCKS_EXCLUDED(*mutex_);
  // From now on there is no view for new readers, and no file is removed.  Readers that began
  // before go on with the view that they have.  REQUIRES: no job is left.
  void Close();

 private:
  void ScheduleCollection() ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);
  void RunCollection() ABSL_LOCKS_EXCLUDED(*mutex_);
  // Has a job free what only this reference keeps; false if no job can.
  bool Retire(std::shared_ptr<const ReadView>* view) ABSL_LOCKS_EXCLUDED(*mutex_);

  const StoreDirectory& store_;
  Scheduler* const scheduler_;
  EventQueue& events_;
  Mutex* const mutex_;
  BackgroundJobs* const jobs_ ABSL_PT_GUARDED_BY(*mutex_);
  const Lifetime& lifetime_;
  ReadViewCell cell_;
  KnownGaps gaps_;
  std::atomic<Sequence> visible_{0};
  std::shared_ptr<const ReadView> current_ ABSL_GUARDED_BY(*mutex_);  // while OK in the cell too
  std::array<absl::Status, 2> locks_ ABSL_GUARDED_BY(*mutex_);
  absl::Status refusal_ ABSL_GUARDED_BY(*mutex_);  // readers get it if it is no longer OK
  ObsoleteFiles obsolete_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_RUNTIME_LIVE_VIEWS_H_
