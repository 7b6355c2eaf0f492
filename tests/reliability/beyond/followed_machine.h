// Where a store and its follower are: files in memory of one machine, or an object store with a
// process for each.
#ifndef TRELLIS_TESTS_RELIABILITY_BEYOND_FOLLOWED_MACHINE_H_
#define TRELLIS_TESTS_RELIABILITY_BEYOND_FOLLOWED_MACHINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "lsm/file_system.h"

namespace reliability {

// One thread.
class FollowedMachine {
 public:
  enum class Fate : uint8_t {
    kGoesOn,
    kFails,  // the caller gets an error; an object store applies the call nevertheless
    kDead,   // the process has died, so nothing happens
  };
  struct Hooks {
    // Called before each operation of both processes.
    std::function<Fate(bool makes_log_durable)> before;
    // Called when a part of an append is visible to others.
    std::function<void()> within_append;
    // Whether the process died within that call.
    std::function<bool()> is_dead;
  };

  virtual ~FollowedMachine() = default;
  virtual void SetHooks(const Hooks& hooks) = 0;

  virtual lsm::FileSystem* writer_files() = 0;
  virtual lsm::FileSystem* follower_files() = 0;

  // The writer has died, or closed its store: from now on writer_files() is another process's.
  virtual void BeginNextWriter() = 0;
  // Crashes the machine, calls `end_processes`, and restarts it.  False, and does nothing, if a
  // crash loses no more than the processes.
  virtual bool Crash(const std::function<void()>& end_processes, bool keeps_unsynced) = 0;

  // Whether files that the store no longer names vanish when it is destroyed, although a follower
  // reads them.
  virtual bool ForgetsOldStores() const = 0;
  // Both renew their locks and pins.  The writer removes tables that no pin covers any more.
  virtual void Renew() = 0;
  // As Renew, but the follower has not renewed its pins for so long that they lapse.  False if the
  // machine has no pins.
  virtual bool LapsePins() = 0;
  // Files that the store no longer names and no process reads; empty if none is left.
  virtual std::string Leftovers(const std::string& store) = 0;
};

std::unique_ptr<FollowedMachine> OneMachine();
std::unique_ptr<FollowedMachine> ObjectStore(uint64_t seed);

}  // namespace reliability

#endif  // TRELLIS_TESTS_RELIABILITY_BEYOND_FOLLOWED_MACHINE_H_
