// Checks many tables, several at a time, and returns what was found in the order of the tables.
#ifndef TRELLIS_TOOLS_SSTDUMP_COMMANDS_TABLE_VERIFIER_H_
#define TRELLIS_TOOLS_SSTDUMP_COMMANDS_TABLE_VERIFIER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "lsm/fs/mutex.h"
#include "tools/sstdump/commands/verify.h"
#include "tools/sstdump/session.h"
#include "tools/sstdump/store/target.h"

namespace tools {

// Threads: all calls by one.
class TableVerifier {
 public:
  // --threads N: N threads check while the caller's waits; without it the caller's checks.  --rate:
  // all of them together read no faster.
  TableVerifier(std::vector<Target> tables, Session* session);
  // Stops the threads.  Tells the session if the check was cut short.
  ~TableVerifier();

  // The verdict on the next table.  Meanwhile a terminal is shown how far the whole is.  REQUIRES:
  // one is left.
  TableVerdict Next();

  // Call before reading `bytes` more: waits for the rate.  False: stop, see is_over().
  bool BeforeBlock(uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  // The reader of the output has gone, so the last verdict of Next() is not valid.
  bool is_over() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Work();
  TableVerdict Check(size_t table) ABSL_LOCKS_EXCLUDED(mutex_);
  // Sleeps in pieces, to notice early that the reader has gone.  Returns false then.
  bool Sleep(uint64_t nanos) ABSL_LOCKS_EXCLUDED(mutex_);
  void ShowProgress() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t NowNanos() const;

  const std::vector<Target> tables_;
  Session* const session_;
  const uint64_t begin_nanos_;
  std::vector<std::thread> threads_;

  lsm::Mutex mutex_;
  lsm::CondVar changed_;
  size_t begun_ ABSL_GUARDED_BY(mutex_) = 0;                         // tables that were
  size_t taken_ ABSL_GUARDED_BY(mutex_) = 0;                         // by Next
  std::map<size_t, TableVerdict> verdicts_ ABSL_GUARDED_BY(mutex_);  // not taken yet
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t bytes_total_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t bytes_done_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t next_read_nanos_ ABSL_GUARDED_BY(mutex_) = 0;  // by --rate
  uint64_t shown_nanos_ ABSL_GUARDED_BY(mutex_);          // when progress was, or the beginning
};

}  // namespace tools

#endif  // TRELLIS_TOOLS_SSTDUMP_COMMANDS_TABLE_VERIFIER_H_
