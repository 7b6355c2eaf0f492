// What the store needs of the world besides files: a clock, a way to run work in the background,
// and randomness.  With the file system they make an Environment; a deterministic one replays a
// run from one seed.
#ifndef TRELLIS_LSM_ENVIRONMENT_H_
#define TRELLIS_LSM_ENVIRONMENT_H_

#include <cstdint>

#include "bloom/core/abi.h"
#include "lsm/file_system.h"

namespace lsm::inline TRELLIS_ABI {

class Scheduler;  // lsm/fs/scheduler.h, which is private: embedders leave it null

// Thread-safe.
class Clock {
 public:
  virtual ~Clock();
  // Since some fixed moment; never runs backwards.
  virtual uint64_t MonotonicNanos() = 0;
  // Since 1970, for people to read; the store decides nothing by it.
  virtual uint64_t WallMicros() = 0;
};

// Thread-safe.
class RandomSource {
 public:
  virtual ~RandomSource();
  virtual uint64_t Next() = 0;
};

// The objects outlive every store opened with them, and the file systems also the iterators that
// outlive their DB.  Null members stand for the system's own; a null scheduler gives each store one
// thread a lane.
struct Environment {
  FileSystem* file_system = nullptr;
  // For the logs, where they live in another place than the tables (Options::log_directory); null
  // stands for the same.
  FileSystem* log_file_system = nullptr;
  Clock* clock = nullptr;
  Scheduler* scheduler = nullptr;
  RandomSource* random = nullptr;
};

// The users that may read new files and directories, as far as the umask allows.  Only the owner
// may write them.
enum class FileAccess : uint8_t {
  kOwner,  // files 0600, directories 0700
  kGroup,  // 0640, 0750
  kAll,    // 0644, 0755
};

// Live as long as the process.
FileSystem& PosixFileSystem(FileAccess access = FileAccess::kOwner);
Clock& SystemClock();
RandomSource& SystemRandom();

}  // namespace lsm

#endif  // TRELLIS_LSM_ENVIRONMENT_H_
