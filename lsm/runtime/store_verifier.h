// Verifies an open store: all of it for DB::Verify, and table by table in the background
// (scrubbing).  It keeps the list of the damage that was found.
//
// Scrubbing is a job that schedules itself again: it waits, verifies one table, and so on.  It
// verifies the tables in the order of their numbers.  A round covers the tables that existed when
// it began, because new ones may come faster than they can be read.  Then it verifies the manifest
// and the logs, and the next round begins.
//
// Thread-safe.  It takes ManifestKeeper's mutex and the engine's, in this order, and holds none
// while it reads a table.  Errors: damage is a line of the report, not an error.  A call fails only
// if it could not verify: the store is being closed, Pace::progress ended it, or there is no memory
// or no file descriptor.
#ifndef TRELLIS_LSM_RUNTIME_STORE_VERIFIER_H_
#define TRELLIS_LSM_RUNTIME_STORE_VERIFIER_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/base/counters.h"
#include "lsm/compaction/job_context.h"
#include "lsm/events/event_queue.h"
#include "lsm/pace.h"
#include "lsm/reports.h"
#include "lsm/runtime/background_jobs.h"
#include "lsm/runtime/lifetime.h"
#include "lsm/runtime/live_views.h"
#include "lsm/runtime/sequences.h"
#include "lsm/store/log_set.h"
#include "lsm/store/manifest_keeper.h"
#include "lsm/store/pacer.h"
#include "lsm/store/store_directory.h"
#include "lsm/table/table_claims.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {

class StoreVerifier {
 public:
  // The parts of the store that it reads.  All outlive it.
  struct Parts {
    const StoreDirectory* store;
    const JobContext* context;  // filled in before the first call
    ManifestKeeper* manifest;
    LogSet* logs;
    LiveViews* views;
    const Lifetime* lifetime;
    Counters* counters;
    EventQueue* events;
  };

  // `mutex`, the engine's, guards jobs and sequences.
  StoreVerifier(const Parts& parts, Mutex* mutex, BackgroundJobs* jobs, const Sequences* sequences)
      : parts_(parts), mutex_(mutex), jobs_(jobs), sequences_(sequences) {}
  StoreVerifier(const StoreVerifier&) = delete;
  StoreVerifier& operator=(const StoreVerifier&) = delete;

  // Verifies CURRENT, the manifest and the logs first, and then the tables, at `pace`.  If there is
  // no damage, checks whether the order of levels agrees with the sequence numbers.  A follower
  // verifies only the tables that it has open: another process changes the files.
  absl::StatusOr<VerifyReport> Verify(const Pace& pace);

  // From now on all tables are verified every Options::scrub_seconds.  False if there is no memory.
  bool StartScrubbing() ABSL_LOCKS_EXCLUDED(*mutex_);

  // The first lines of damage that were found, each once.
  std::vector<std::string> GetDamage() ABSL_LOCKS_EXCLUDED(*mutex_);

 private:
  // A table that may be removed meanwhile.
  struct PlacedTable {
    TablePlace place;
    std::weak_ptr<const OpenTable> table;
  };
  struct ScrubStep {
    uint64_t number = 0;  // of the table; 0: the round ends
    PlacedTable table;
    uint64_t nanos = 0;  // to wait before
    uint64_t bytes_per_second = 0;
  };

  // The current view, also while readers are refused, and the last write then.  The caller passes
  // the view to LetGo in the end.
  struct Moment {
    std::shared_ptr<const ReadView> view;
    Sequence last_sequence = 0;
  };
  Moment ShareCurrent() ABSL_LOCKS_EXCLUDED(*mutex_);
  std::vector<PlacedTable> TablesOfNow(uint64_t* bytes) ABSL_LOCKS_EXCLUDED(*mutex_);
  // Verifies CURRENT, the manifest and the logs.  The only error is ResourceExhausted, as for
  // VerifyTable.
  absl::Status VerifyRecords(VerifyReport* report)
      ABSL_LOCKS_EXCLUDED(parts_.manifest->mutex(), *mutex_);
  bool RecordsAreKnown() ABSL_LOCKS_EXCLUDED(*mutex_);
  bool IsFollower() const { return parts_.context->options->mode == OpenMode::kFollow; }
  // Does nothing if the table no longer belongs to the store.
  absl::Status VerifyIfThere(const PlacedTable& table, Pacer* pacer, VerifyReport* report)
      ABSL_LOCKS_EXCLUDED(*mutex_);
  // REQUIRES: no table is damaged.
  absl::Status VerifyKeyOrder(Pacer* pacer, VerifyReport* report);
  // Adds the problems to the damage.  If another process may have changed the files, adds nothing
  // and returns that error.
  absl::Status NoteVerified(const VerifyReport& report) ABSL_LOCKS_EXCLUDED(*mutex_);

  ScrubStep NextToScrub() ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);
  void ScrubNext();
  absl::Status ScrubOne();

  const Parts parts_;
  Mutex* const mutex_;
  BackgroundJobs* const jobs_ ABSL_PT_GUARDED_BY(*mutex_);
  const Sequences* const sequences_ ABSL_PT_GUARDED_BY(*mutex_);
  uint64_t scrubbed_number_ ABSL_GUARDED_BY(*mutex_) = 0;  // of the last table; 0: none yet
  uint64_t scrub_end_ ABSL_GUARDED_BY(*mutex_) = 0;        // later tables are the next round's
  std::vector<std::string> damage_ ABSL_GUARDED_BY(*mutex_);
  std::set<uint64_t> damage_known_ ABSL_GUARDED_BY(*mutex_);  // digests of all lines
};

}  // namespace lsm

#endif  // TRELLIS_LSM_RUNTIME_STORE_VERIFIER_H_
