// A moment of a store, for reads that must agree with one another.
#ifndef TRELLIS_LSM_BASE_SNAPSHOT_H_
#define TRELLIS_LSM_BASE_SNAPSHOT_H_

#include <cstdint>
#include <functional>
#include <utility>

namespace lsm {

// Reads through it (ReadOptions::snapshot) see all writes before it and none after.  While it
// lives, old versions that it can see are kept.  May outlive the DB, and is of no use then, nor
// ever to another DB.  Immutable and thread-safe.
class Snapshot {
 public:
  // Releases it.
  ~Snapshot() { release_(sequence_); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  // Number of the last write that it sees.
  uint64_t sequence() const { return sequence_; }

  // --- for the store itself ---
  Snapshot(uint64_t sequence, std::function<void(uint64_t)> release)
      : sequence_(sequence), release_(std::move(release)) {}

 private:
  const uint64_t sequence_;
  const std::function<void(uint64_t)> release_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_SNAPSHOT_H_
