// The store's connections to the operating system: file systems, a clock, threads for background
// work, and randomness.  By default they are the system's own.  A deterministic Environment replays
// a run from one seed.
#ifndef TRELLIS_LSM_ENVIRONMENT_H_
#define TRELLIS_LSM_ENVIRONMENT_H_

#include <cstdint>

#include "bloom/core/abi.h"
#include "lsm/file_system.h"
#include "lsm/scheduler.h"

namespace lsm::inline TRELLIS_ABI {

// Thread-safe.
class TRELLIS_API Clock {
 public:
  virtual ~Clock();
  // Nanoseconds since some fixed moment; never runs backwards, and goes on while the machine is
  // suspended.
  virtual uint64_t MonotonicNanos() = 0;
  // Microseconds since 1970, shown to people, and recorded as the age of tombstones.  A wrong time
  // makes the compactions that tombstones need run earlier or later.  In keyspaces with
  // KeyspaceOptions::expire_after, entries expire by it (lsm/GUIDE.md, "Expiry").
  virtual uint64_t WallMicros() = 0;
};

// Thread-safe.
class TRELLIS_API RandomSource {
 public:
  virtual ~RandomSource();
  virtual uint64_t Next() = 0;
};

// The objects must outlive every store that was opened with them.  File systems and the clock must
// also outlive iterators, snapshots and Keyspace handles that outlive their DB.  A null member
// selects the system's own; a null scheduler gives each store threads of its own.
struct Environment {
  FileSystem* file_system = nullptr;
  // Holds the logs in Options::log_directory.  Without that option, any other than file_system is
  // an InvalidArgument.  Null: the same as file_system.
  FileSystem* log_file_system = nullptr;
  Clock* clock = nullptr;
  Scheduler* scheduler = nullptr;
  RandomSource* random = nullptr;
};

// The users that may read new files and directories, subject to the umask.  Only the owner may
// write them.
enum class FileAccess : uint8_t {
  kOwner,  // files 0600, directories 0700
  kGroup,  // 0640, 0750
  kAll,    // 0644, 0755
};

// They live as long as the process.
TRELLIS_API FileSystem& PosixFileSystem(FileAccess access = FileAccess::kOwner);
TRELLIS_API Clock& SystemClock();
TRELLIS_API RandomSource& SystemRandom();

}  // namespace lsm

#endif  // TRELLIS_LSM_ENVIRONMENT_H_
