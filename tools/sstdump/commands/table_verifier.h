// Checks many tables, several at a time, and returns the verdicts in the order of the tables.
#ifndef TRELLIS_TOOLS_SSTDUMP_COMMANDS_TABLE_VERIFIER_H_
#define TRELLIS_TOOLS_SSTDUMP_COMMANDS_TABLE_VERIFIER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "lsm/threads/mutex.h"
#include "tools/sstdump/commands/verify.h"
#include "tools/sstdump/session.h"
#include "tools/sstdump/store/target.h"

namespace tools {

// Threads: all calls from one thread.
class TableVerifier {
 public:
  // With --threads N, N threads check while the caller's thread waits; otherwise the caller's
  // thread checks.  --rate limits the reads of all threads together.
  TableVerifier(std::vector<Target> tables, Session* session);
  // Stops the threads.  Tells the session if the check was cut short.
  ~TableVerifier();

  // The verdict on the next table.  While it waits, a terminal shows the progress of the whole
  // check.  REQUIRES: a table is left.
  TableVerdict Next();

  // Waits until --rate allows `bytes` more.  False: stop, see is_over().
  bool BeforeBlock(uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  // True if the reader of the output has gone; the last verdict of Next() is then invalid.
  bool is_over() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Work();
  TableVerdict Check(size_t table) ABSL_LOCKS_EXCLUDED(mutex_);
  // Sleeps in slices to notice early if the reader of the output has gone; returns false then.
  bool Sleep(uint64_t nanos) ABSL_LOCKS_EXCLUDED(mutex_);
  void ShowProgress() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t NowNanos() const;

  const std::vector<Target> tables_;
  Session* const session_;
  const uint64_t begin_nanos_;
  std::vector<std::thread> threads_;

  lsm::Mutex mutex_;
  lsm::CondVar changed_;
  size_t begun_ ABSL_GUARDED_BY(mutex_) = 0;                         // tables begun
  size_t taken_ ABSL_GUARDED_BY(mutex_) = 0;                         // tables that Next returned
  std::map<size_t, TableVerdict> verdicts_ ABSL_GUARDED_BY(mutex_);  // not returned yet
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t bytes_total_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t bytes_done_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_read_nanos_ ABSL_GUARDED_BY(mutex_) = 0;  // by --rate
  uint64_t shown_nanos_ ABSL_GUARDED_BY(mutex_);  // time of the last progress line, or the start
};

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_COMMANDS_TABLE_VERIFIER_H_
