// Speed limit and progress callback, for calls that read a whole store.
#ifndef TRELLIS_LSM_PACE_H_
#define TRELLIS_LSM_PACE_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

struct Progress {
  std::string_view file;     // path of the file being read
  uint64_t bytes_done = 0;   // of all tables, before the next read
  uint64_t bytes_total = 0;  // as known when the call began
};

struct Pace {
  // Limit for reading tables, in bytes/s; 0: none.  Copied bytes are read twice, and count twice.
  uint64_t bytes_per_second = 0;

  // Called on the calling thread every few blocks, and at least once per table.  If it returns
  // false, the call ends with Cancelled.
  //
  // It may read and query the DB (Get, GetStatistics …).  Calls that write or wait (Put, Flush,
  // Verify, Backup, Close …) return FailedPrecondition, because they might wait for the call that
  // runs the callback.  It must not destroy the DB: the store would stay open, as in a callback of
  // Options::listener.
  std::function<bool(const Progress&)> progress = nullptr;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_PACE_H_
