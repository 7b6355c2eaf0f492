// For calls that go through a whole store: their speed, and a callback for their progress.
#ifndef TRELLIS_LSM_PACE_H_
#define TRELLIS_LSM_PACE_H_

#include <cstdint>
#include <functional>
#include <string_view>

#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

struct Progress {
  std::string_view file;     // that is being read; its path
  uint64_t bytes_done = 0;   // of all tables, before what is read next
  uint64_t bytes_total = 0;  // as far as was known when the call began
};

struct Pace {
  // Bytes of tables read a second, at most; what is copied is read twice.  0: no limit.
  uint64_t bytes_per_second = 0;

  // Called by the calling thread every few blocks, and for each table at least once.  False: the
  // call ends with Cancelled.  It may read the DB and ask it (Get, GetStatistics …).  Calls that
  // write or wait (Put, Flush, Verify, Backup, Close …) return FailedPrecondition, because they
  // might wait for the call that it is part of.  It must not destroy the DB: the store would stay
  // open, as in a callback of Options::listener.
  std::function<bool(const Progress&)> progress = nullptr;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_PACE_H_
