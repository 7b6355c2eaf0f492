// Keeps the view of a follower (OpenMode::kFollow) fresh: a thread refreshes it twice a second.
//
// Thread-safe.  A lock of its own lets one refresh run at a time; it is held while files are read,
// and taken before the engine's mutex.  Errors: a refresh that fails leaves the view as it is.  Its
// error is status() until one succeeds, and AgeNanos grows.
#ifndef TRELLIS_LSM_RUNTIME_VIEW_REFRESHER_H_
#define TRELLIS_LSM_RUNTIME_VIEW_REFRESHER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "bloom/hash.h"
#include "lsm/base/counters.h"
#include "lsm/events/event_queue.h"
#include "lsm/follow/store_follower.h"
#include "lsm/runtime/keyspaces.h"
#include "lsm/runtime/live_views.h"
#include "lsm/runtime/sequences.h"
#include "lsm/table/table.h"
#include "lsm/threads/mutex.h"
#include "lsm/threads/repeating_thread.h"

namespace lsm::inline TRELLIS_ABI {

class ViewRefresher {
 public:
  // The parts of the store that it uses.  All outlive it.
  struct Parts {
    const TableContext* context;  // filled in before Start
    LiveViews* views;
    Keyspaces* keyspaces;
    Counters* counters;
    EventQueue* events;
    Clock* clock;
  };

  // `mutex`, the engine's, guards the current view, the keyspaces and the sequences.
  ViewRefresher(const Parts& parts, StoreFollower::Place place, Mutex* mutex, Sequences* sequences)
      : parts_(parts),
        mutex_(mutex),
        sequences_(sequences),
        path_(place.path),
        follower_(std::make_unique<StoreFollower>(std::move(place))) {}
  ViewRefresher(const ViewRefresher&) = delete;
  ViewRefresher& operator=(const ViewRefresher&) = delete;

  // The store's seed; the first call.  Errors: as for StoreFollower::Begin.
  absl::StatusOr<bloom::DigestSeed> Begin() ABSL_LOCKS_EXCLUDED(refresh_mutex_);
  // Publishes the first view, and starts the thread.
  absl::Status Start() ABSL_LOCKS_EXCLUDED(*mutex_, refresh_mutex_);
  // Ends the thread, and releases the files that it holds for the next refresh.  The last call,
  // except for status and AgeNanos.
  void Stop() ABSL_LOCKS_EXCLUDED(refresh_mutex_);

  // Publishes the view of now, as the thread does, and returns why that failed.
  absl::Status Refresh() ABSL_LOCKS_EXCLUDED(*mutex_, refresh_mutex_);

  // The error of the last refresh.
  absl::Status status() ABSL_LOCKS_EXCLUDED(status_mutex_);
  // Time since the last refresh that succeeded began.
  uint64_t AgeNanos() const {
    // Relaxed: a view that was published meanwhile may be younger, never older.
    return parts_.clock->MonotonicNanos() - refreshed_nanos_.load(std::memory_order_relaxed);
  }

 private:
  absl::Status RefreshAlone() ABSL_EXCLUSIVE_LOCKS_REQUIRED(refresh_mutex_);
  bool IsCurrent(const StoreFollower::View& followed) ABSL_LOCKS_EXCLUDED(*mutex_);
  void Note(const absl::Status& status) ABSL_LOCKS_EXCLUDED(status_mutex_);

  const Parts parts_;
  Mutex* const mutex_;
  Sequences* const sequences_ ABSL_PT_GUARDED_BY(*mutex_);
  const std::string path_;
  Mutex refresh_mutex_ ABSL_ACQUIRED_BEFORE(*mutex_);
  std::unique_ptr<StoreFollower> follower_ ABSL_GUARDED_BY(refresh_mutex_);
  std::atomic<uint64_t> refreshed_nanos_{0};
  Mutex status_mutex_;
  absl::Status status_ ABSL_GUARDED_BY(status_mutex_);
  std::unique_ptr<RepeatingThread> thread_;  // last: it uses the others
};

}  // namespace lsm

#endif  // TRELLIS_LSM_RUNTIME_VIEW_REFRESHER_H_
