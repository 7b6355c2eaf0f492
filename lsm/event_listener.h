// Reports events to an embedder as they happen: flushes, compactions, stalls, failures, openings,
// files.  Derive from EventListener, override what you need, and pass it as Options::listener.
// lsm/event_log.h has a listener that writes a text log.
//
// Threads.  Events are queued in the order in which they happen.  A thread of the store or of its
// callers delivers them soon afterwards; it need not be the thread that caused them.  Callbacks of
// one store never overlap.  A listener that several stores share must itself be thread-safe.
//
// No lock of the store is held during a callback.
//
//   A callback may                          A callback must not
//   -------------------------------------   ------------------------------------------------------
//   read: Get, MultiGet, NewIterator,       write or wait for background work: Put, Delete,
//   GetSnapshot, Explain                    DeleteRange, Write, Flush, CompactRange,
//   ask: GetStatistics, GetFailure,         WaitForBackgroundWork, Resume, Verify, Checkpoint,
//   GetDamage, ApproximateBytes,            Backup, Close, DropKeyspace, and OpenKeyspace if it
//   ListKeyspaces, and OpenKeyspace if it   creates a keyspace or changes options.  These return
//   changes nothing                         FailedPrecondition, because they might wait for the
//   use other stores, but not in a circle   thread that runs the callback
//   wake a thread that does anything        wait for a thread that uses the store, or for a mutex
//                                           that such a thread holds
//                                           destroy the DB: the store then stays open, and its
//                                           directory locked, until the process ends
//                                           throw: an exception ends the process
//
// A slow callback delays the thread that delivers it: a flush, a compaction, or a writer that
// caused an event.  The other threads continue.  While kEventsQueuedMax events wait, further ones
// are dropped and counted (Event::lost), except OnOpenEnd and OnClose.  If an event has `lost`
// above 0, a begin before it may have no end, and an end after it no begin.
//
// Order.  OnOpenBegin comes first.  If the opening fails, OnOpenEnd comes last; otherwise OnClose
// does, and no callback follows once DB::Close or ~DB has returned.  If ValidateOptions refuses the
// options, there is no callback at all.
//
// Callbacks begin before DB::Open returns, also on threads of the store.  A listener that reads its
// DB therefore keeps it in a std::atomic<DB*>: null until Open has returned, and null again before
// the DB is destroyed.
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

// Members common to all events.
struct Event {
  uint64_t wall_micros = 0;  // of the event, since 1970
  std::string_view store;    // directory of the store; valid during the callback
  uint64_t lost = 0;         // events dropped just before this one
};

// Does not say which keyspace or tree has the table.
struct TableInfo {
  uint64_t number = 0;
  int level = 0;
  uint64_t bytes = 0;
  uint64_t entries = 0;     // puts and deletes of single keys
  std::string filter_kind;  // "blocked", …; "none"
  double target_fpp = 0;    // 0: no filter
};

enum class FlushReason : uint8_t {
  kMemtable,    // a memtable was full
  kTombstones,  // a memtable is not full, but its deletes and range deletes are expected to free at
                // least as much as the flush makes the store write; or they are a week old; or
                // a large keyspace was dropped; or all entries have expired; or recording a lower
                // limit of expiry frees as much
  kRequest,     // DB::Flush; also CompactRange, Checkpoint and Backup, which flush
  kOpening,     // the memtable was read from logs
  kResume,      // DB::Resume writes what is in memory
};
TRELLIS_API const char* NameOf(FlushReason reason);

struct FlushBegin : Event {
  uint64_t job = 0;  // same number as in FlushEnd; counts flushes and compactions since the opening
  FlushReason reason = FlushReason::kMemtable;
  uint64_t entries = 0;
  uint64_t memtable_bytes = 0;
};

struct FlushEnd : Event {
  uint64_t job = 0;
  FlushReason reason = FlushReason::kMemtable;
  uint64_t entries = 0;  // in the memtable, including range deletes
  // One for each tree that gets entries, and all new tables of a keyspace that leaves the common
  // tree (DB::OpenKeyspace).  None after a failure.
  std::vector<TableInfo> outputs;
  uint64_t bytes_written = 0;
  uint64_t nanos = 0;
  absl::Status status;
};

enum class CompactionReason : uint8_t {
  kLevel,       // a level exceeded its limit
  kReaders,     // read-triggered: reads of level 0 cost more than merging it
  kTombstones,  // it is expected to free at least what it writes; or iterators have spent as much
                // time on dead entries as it takes; or a delete is a week old
  kDrop,        // the inputs are removed unread, and there are no outputs: range deletes hide
                // everything in them, or they hold only range deletes that hide nothing, or only
                // entries that keyspaces have left in the common tree
  kRequest,     // DB::CompactRange, except for its drops
};
TRELLIS_API const char* NameOf(CompactionReason reason);

// A compaction is within one tree.  Its events do not name it.
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
  // Empty after a failure, and for kDrop.  On a full disk a compaction runs in steps.  Then
  // `outputs` includes inputs that needed no rewriting; and after a failure, the tables of finished
  // steps stay in the store without being listed.
  std::vector<TableInfo> outputs;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  // Old versions, entries that a range delete hides, tombstones that hide nothing; 0 for kDrop.
  uint64_t entries_dropped = 0;
  uint64_t nanos = 0;
  absl::Status status;  // Aborted: the store is being closed
};

enum class StallCause : uint8_t {
  kMemtable,  // both memtables are full: a flush must end
  kLevel0,    // level 0 has Options::level0_stop_tables tables: a compaction must end
  kLog,       // the next log is not ready; or the writer creates it itself
  kReserve,   // the reserve for a full disk is too small for the put: it grows, or a flush must end
};
TRELLIS_API const char* NameOf(StallCause cause);

// Writes wait.  The short delays before that (Statistics::slowdowns) are not events.  A stall for
// the reserve may contain other stalls.
struct StallBegin : Event {
  StallCause cause = StallCause::kMemtable;
};

struct StallEnd : Event {
  StallCause cause = StallCause::kMemtable;
  uint64_t nanos = 0;
};

enum class FailureKind : uint8_t { kLog, kManifest, kFlush, kCompaction };
// "log", "manifest", "flush", "compaction".
TRELLIS_API const char* NameOf(FailureKind kind);

// The first failure of its kind since the opening or the last successful DB::Resume.
struct Failure : Event {
  FailureKind kind = FailureKind::kLog;
  absl::Status status;
  // Writes are refused from now on.  After a failed flush or compaction it is false: writes stop
  // later, when the next memtable, or level 0, is full.
  bool writes_stopped = false;
};

// DB::Resume ended, after a failure.  (No event if nothing had failed.)
struct Resumed : Event {
  uint64_t nanos = 0;
  absl::Status status;  // OK: the store takes writes again
};

// The disk became full, or has space again (Options::reserve_bytes).
struct SpaceChange : Event {
  // Puts fail with ResourceExhausted from now on: there is no space for the reserve.
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
  RecoveryReport recovery;  // replayed from logs, and dropped; empty after a failure
};

struct Closed : Event {
  uint64_t nanos = 0;
  absl::Status status;  // what DB::Close returns
};

// OpenMode::kFollow: a new view lacks writes of an earlier one.  The writer resumed after a write
// that ended in Unknown, a crash of its machine lost writes that were not synced, or the store was
// repaired or restored from a backup.  No event if the store was opened for writing twice between
// two refreshes, and the second opening found more writes than the earlier view had.
struct ViewWentBack : Event {
  uint64_t from_sequence = 0;  // the last write of the earlier view
  uint64_t to_sequence = 0;    // the last write that both views have
};

// A new line of DB::GetDamage, found by DB::Verify or by scrubbing.
struct DamageFound : Event {
  std::string line;
};

// The store created a file other than CURRENT and LOCK.  A log or manifest is reported at its
// creation, with 0 bytes, and grows later.  A table, or the reserve for a full disk, is reported
// when it is complete, or when writing it ended early.
struct FileCreated : Event {
  std::string path;
  uint64_t bytes = 0;
};

// The store removed a file: it was obsolete, unfinished after a failure, or left over from a crash
// (at opening).
struct FileRemoved : Event {
  std::string path;
  uint64_t bytes = 0;
};

class TRELLIS_API EventListener {
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
  virtual void OnViewWentBack(const ViewWentBack&) {}
  virtual void OnDamage(const DamageFound&) {}
  virtual void OnFileCreated(const FileCreated&) {}
  virtual void OnFileRemoved(const FileRemoved&) {}
};

}  // namespace lsm

#endif  // TRELLIS_LSM_EVENT_LISTENER_H_
