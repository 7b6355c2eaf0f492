// Reports to an embedder, as they happen: flushes, compactions, stalls, failures, openings and
// files.  Derive from EventListener, override what you need, and pass it as Options::listener.
// lsm/event_log.h has a listener that writes a text log.
//
// Threads.  Events are queued in the order in which they happen, and delivered by whichever thread
// of the store or of its callers is free to do so: soon after, but not always on the thread that
// caused them.  Callbacks of one store never overlap.  A listener that several stores share must
// itself be thread-safe.
//
// No lock of the store is held during a callback.
//
//   A callback may                          A callback must not
//   -------------------------------------   ------------------------------------------------------
//   read: Get, MultiGet, NewIterator,       write or wait for background work: Put, Delete, Write,
//   GetSnapshot, Explain                    Flush, CompactRange, WaitForBackgroundWork, Resume,
//   ask: GetStatistics, GetFailure,         Verify, Checkpoint, Backup, Close.  These return
//   GetDamage, ApproximateBytes             FailedPrecondition, because they might wait for the
//   use other stores, but not in a circle   thread that runs the callback
//   wake a thread that does anything        wait for a thread that uses the store, or for a mutex
//                                           that one holds while it does
//                                           destroy the DB: the store then stays open, and its
//                                           directory locked, until the process ends
//                                           throw: an exception ends the process
//
// A slow callback delays the thread that delivers it: a flush, a compaction, or a writer that
// caused an event.  The other threads go on.  If kEventsQueuedMax events wait, later ones are
// dropped and counted (Event::lost), except OnOpenEnd and OnClose.  So where `lost` is not 0, a
// begin may have no end, and an end no begin.
//
// The first callback is OnOpenBegin.  After a failed opening the last one is OnOpenEnd.  OnClose is
// the last one of a store: none follows once DB::Close or ~DB returns.  If an option is invalid,
// there is no callback at all.
//
// Callbacks come before DB::Open has returned, also from threads of the store.  A listener that
// reads its DB keeps it in a std::atomic<DB*>, null until Open has returned and again before the DB
// is destroyed.
#ifndef TRELLIS_LSM_EVENT_LISTENER_H_
#define TRELLIS_LSM_EVENT_LISTENER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/reports.h"

namespace lsm::inline TRELLIS_ABI {

inline constexpr size_t kEventsQueuedMax = 10'000;

// The members of all events.
struct Event {
  uint64_t wall_micros = 0;  // when it happened, since 1970
  std::string_view store;    // directory of the store; valid during the callback
  uint64_t lost = 0;         // events dropped right before this one
};

struct TableInfo {
  uint64_t number = 0;
  int level = 0;
  uint64_t bytes = 0;
  uint64_t entries = 0;     // puts and deletes
  std::string filter_kind;  // "blocked", …; "none"
  double target_fpp = 0;    // 0: no filter
};

enum class FlushReason : uint8_t {
  kMemtable,  // a memtable was full
  kRequest,   // DB::Flush; also CompactRange, Checkpoint and Backup, which flush
  kOpening,   // the memtable was read from logs
  kResume,    // DB::Resume writes what is in memory
};
const char* NameOf(FlushReason reason);

struct FlushBegin : Event {
  uint64_t job = 0;  // the same number in FlushEnd; counts flushes and compactions of this opening
  FlushReason reason = FlushReason::kMemtable;
  uint64_t entries = 0;
  uint64_t memtable_bytes = 0;
};

struct FlushEnd : Event {
  uint64_t job = 0;
  FlushReason reason = FlushReason::kMemtable;
  uint64_t entries = 0;            // in the memtable
  std::vector<TableInfo> outputs;  // usually one; none after a failure, or if all was superseded
  uint64_t bytes_written = 0;
  uint64_t nanos = 0;
  absl::Status status;
};

enum class CompactionReason : uint8_t {
  kLevel,    // a level was over its limit
  kReaders,  // reads of level 0 cost more than merging it
  kRequest,  // DB::CompactRange
};
const char* NameOf(CompactionReason reason);

struct CompactionBegin : Event {
  uint64_t job = 0;
  CompactionReason reason = CompactionReason::kLevel;
  int level = 0;
  int output_level = 0;
  std::vector<TableInfo> inputs;
};

struct CompactionEnd : Event {
  uint64_t job = 0;
  CompactionReason reason = CompactionReason::kLevel;
  int level = 0;
  int output_level = 0;
  bool moved = false;  // the inputs changed level without being rewritten
  std::vector<TableInfo> inputs;
  // None after a failure.  On a full disk a compaction is carried out in steps: then its outputs
  // include the inputs that did not have to be rewritten, and some may be there after a failure.
  std::vector<TableInfo> outputs;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  uint64_t entries_dropped = 0;  // old versions, and tombstones that hide nothing
  uint64_t nanos = 0;
  absl::Status status;  // Aborted: the store is being closed
};

enum class StallCause : uint8_t {
  kMemtable,  // both memtables are full: a flush must end
  kLevel0,    // level 0 has Options::level0_stop_tables tables: a compaction must end
  kLog,       // the next log is not made yet; or the writer makes it itself
  kReserve,   // the reserve for a full disk is too small for the put: it is built, or a flush ends
};
const char* NameOf(StallCause cause);

// Writes wait.  The short delays before that (Statistics::slowdowns) are no events.  A stall for
// the reserve may contain others.
struct StallBegin : Event {
  StallCause cause = StallCause::kMemtable;
};

struct StallEnd : Event {
  StallCause cause = StallCause::kMemtable;
  uint64_t nanos = 0;
};

enum class FailureKind : uint8_t { kLog, kManifest, kFlush, kCompaction };
// "log", "manifest", "flush", "compaction".
const char* NameOf(FailureKind kind);

// The first failure of its kind since the opening or the last DB::Resume.
struct Failure : Event {
  FailureKind kind = FailureKind::kLog;
  absl::Status status;
  // At once.  After a failed flush or compaction they stop when the next memtable, or level 0, is
  // full.
  bool writes_stopped = false;
};

// DB::Resume ended, and there was something to resume.
struct Resumed : Event {
  uint64_t nanos = 0;
  absl::Status status;  // OK: the store takes writes again
};

// The disk is full, or has space again (Options::reserve_bytes).
struct SpaceChange : Event {
  // From now on puts fail with ResourceExhausted, because there is no space for the reserve.
  bool puts_refused = false;
  uint64_t reserve_bytes = 0;
};

struct OpenBegin : Event {
  std::string release;  // "0.1.0"
  bool read_only = false;
};

struct OpenEnd : Event {
  uint64_t nanos = 0;
  absl::Status status;
  RecoveryReport recovery;  // what was replayed from logs, and dropped; empty after a failure
};

struct Closed : Event {
  uint64_t nanos = 0;
  absl::Status status;  // what DB::Close returns
};

// One line of DB::GetDamage, when DB::Verify or scrubbing finds it first.
struct DamageFound : Event {
  std::string line;
};

// A file of the store was created.  Logs and manifests grow afterwards: they are reported when they
// are created, with 0 bytes.  A table is reported when it is whole, or when writing it ended early.
struct FileCreated : Event {
  std::string path;
  uint64_t bytes = 0;
};

// A file of the store was removed: because it was obsolete, or unfinished after a failure, or, at
// opening, left over from a crash.
struct FileRemoved : Event {
  std::string path;
  uint64_t bytes = 0;
};

class EventListener {
 public:
  virtual ~EventListener();

  virtual void OnOpenBegin(const OpenBegin&) {}
  virtual void OnOpenEnd(const OpenEnd&) {}
  virtual void OnClose(const Closed&) {}
  virtual void OnFlushBegin(const FlushBegin&) {}
  virtual void OnFlushEnd(const FlushEnd&) {}
  virtual void OnCompactionBegin(const CompactionBegin&) {}
  virtual void OnCompactionEnd(const CompactionEnd&) {}
  virtual void OnStallBegin(const StallBegin&) {}
  virtual void OnStallEnd(const StallEnd&) {}
  virtual void OnFailure(const Failure&) {}
  virtual void OnResume(const Resumed&) {}
  virtual void OnSpaceChange(const SpaceChange&) {}
  virtual void OnDamage(const DamageFound&) {}
  virtual void OnFileCreated(const FileCreated&) {}
  virtual void OnFileRemoved(const FileRemoved&) {}
};

}  // namespace lsm

#endif  // TRELLIS_LSM_EVENT_LISTENER_H_
