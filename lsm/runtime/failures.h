// The failures of an open store that it has not recovered from: the first of each kind.
//
//   kind          what failed                              what stops
//   log           appending to or syncing a log, or        writes, flushes, compactions
//                 making one
//   manifest      recording an edit, in whatever job       the same
//   flush         writing a table of a sealed memtable     flushes; writes, once the next memtable
//                                                          is full too
//   compaction    reading its inputs, writing its tables   compactions; writes, once level 0
//                                                          is full
//
// Reads go on, and Engine::Resume recovers.  But if another process has taken the store over
// (IsTakenOver), everything stops for good, whatever failed.  That counts as a failure of the log,
// and replaces an earlier one.  Not thread-safe.
#ifndef TRELLIS_LSM_RUNTIME_FAILURES_H_
#define TRELLIS_LSM_RUNTIME_FAILURES_H_

#include <array>
#include <cstddef>
#include <initializer_list>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/event_listener.h"
#include "lsm/file_system.h"

namespace lsm::inline TRELLIS_ABI {

class Failures {
 public:
  // False if there is an earlier failure of this kind, which stays.
  bool Add(FailureKind kind, const absl::Status& status) {
    if (IsTakenOver(status)) kind = FailureKind::kLog;
    absl::Status& slot = statuses_[static_cast<size_t>(kind)];
    if (!slot.ok() && (IsTakenOver(slot) || !IsTakenOver(status))) return false;
    slot = status;
    return true;
  }
  void Clear() { statuses_ = {}; }

  const absl::Status& Of(FailureKind kind) const { return statuses_[static_cast<size_t>(kind)]; }

  // The first of these, OK if there is none.
  absl::Status FirstOf(std::initializer_list<FailureKind> kinds) const {
    for (const FailureKind kind : kinds) {
      if (!Of(kind).ok()) return Of(kind);
    }
    return absl::OkStatus();
  }
  // A failure after which it is unknown what is on disk.
  absl::Status OfLogOrManifest() const {
    return FirstOf({FailureKind::kLog, FailureKind::kManifest});
  }
  absl::Status First() const {
    return FirstOf(
        {FailureKind::kLog, FailureKind::kManifest, FailureKind::kFlush, FailureKind::kCompaction});
  }

 private:
  std::array<absl::Status, 4> statuses_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_RUNTIME_FAILURES_H_
