// The queue of writes.  One writer at a time leads: it does its own task, and commits writes that
// wait after it together with its own (group commit).
//
//   Join         waits until the writer leads, or another one has committed it
//   BuildGroup   joins the batches of the leader and of writers after it
//   Finish       ends the writers of the group, and calls the next leader
//
// Not thread-safe: the engine's mutex guards it, but not the bytes of a group, which belong to the
// leader until Finish.  Join and BuildGroup allocate memory.
#ifndef TRELLIS_LSM_RUNTIME_WRITER_QUEUE_H_
#define TRELLIS_LSM_RUNTIME_WRITER_QUEUE_H_

#include <cstdint>
#include <deque>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/environment.h"
#include "lsm/options.h"
#include "lsm/runtime/write_throttle.h"
#include "lsm/scheduler.h"
#include "lsm/threads/mutex.h"
#include "lsm/write_batch.h"

namespace lsm::inline TRELLIS_ABI {

struct KeyspaceRequest;  // lsm/runtime/keyspaces.h

class WriterQueue {
 public:
  struct Writer {
    enum class Task : uint8_t { kWrite, kSealMemtable, kResume, kKeyspace };
    Task task;
    const WriteBatch* batch = nullptr;    // kWrite; kKeyspace: made in its turn
    bool sync = false;                    // kWrite
    KeyspaceRequest* keyspace = nullptr;  // kKeyspace
    bool done = false;
    absl::Status status = absl::OkStatus();  // when done
    CondVar wake{};
  };

  // Writers that are committed together: the leader and those after it, up to `last`.
  struct Group {
    Writer* last = nullptr;
    bool sync = false;
    std::string* bytes = nullptr;  // one batch of all entries
  };

  // Both outlive it.
  WriterQueue(const Options* options, Clock* clock) : throttle_(options, clock) {}

  bool empty() const { return writers_.empty(); }
  // How long the leader waits before it writes.
  WriteThrottle& throttle() { return throttle_; }

  // True if the writer leads now; false if it is done.
  bool Join(Writer* writer, Mutex* mutex, Scheduler* scheduler)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  // REQUIRES: the leader has a batch.  Takes only writers with the task kWrite, and only if the
  // leader has it too.  If the leader does not sync, takes no writer that does, because the leader
  // would have to wait for the disk.  Takes none whose batch names a keyspace that was dropped.
  // `may_put(bytes)`: whether a put may be in a group that then has that many bytes.
  Group BuildGroup(const Writer& leader, absl::FunctionRef<bool(uint64_t)> may_put);

  // All writers from the leader to `last` are done, with this status.  False: no writer is left.
  bool Finish(Writer* leader, const Writer* last, const absl::Status& status);

 private:
  std::deque<Writer*> writers_;  // the leader first
  std::string group_bytes_;
  WriteThrottle throttle_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_RUNTIME_WRITER_QUEUE_H_
