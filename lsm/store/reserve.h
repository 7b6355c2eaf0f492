// The reserve: a file that holds nothing but space, for a store on a full disk.
//
// A store needs space to give space back: a delete needs a log record, an opening a log and a
// manifest, a compaction its outputs before it may remove its inputs.  So the store takes some
// space while there is enough (RESERVE, in its directory), and removes that file when the disk is
// full.  From then on it refuses puts, so that the space is for deletes, flushes and compactions,
// until there is enough to build the file again.
//
//   state     file                                                     puts
//   held      exists, perhaps smaller than it should be              yes
//   tight     exists, too small for the memtables: there was no      after a flush
//             space to build it larger
//   missing   none: there was no space to build it                   refused
//   off       none: its limit is 0, or a call failed for another     yes
//             reason than space
//
// A call that fails for another reason than space does not end the states tight and missing.
//
// The file holds no data, and no other file refers to it.  A missing, short or damaged reserve is
// never an error.  A crash may bring a removed file back, or leave a part of a file that was being
// built.  The next opening uses the file at the size that it has.
//
// Thread-safe.  No other lock is taken while its lock is held.
#ifndef TRELLIS_LSM_STORE_RESERVE_H_
#define TRELLIS_LSM_STORE_RESERVE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/file_system.h"
#include "lsm/options.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {

inline constexpr uint64_t kReserveBytesMin = uint64_t{64} << 10;

// The limits: the one of Options::reserve_bytes, and the one for a directory of logs alone.  The
// latter is at most a quarter of the file system's `capacity_bytes`, because logs may have a small
// partition.
uint64_t ReserveBytesMax(const Options& options);
uint64_t LogReserveBytesMax(const Options& options, uint64_t capacity_bytes);

// The size that it should have: as much as the tables, or four times the memtables if that is more,
// rounded down to a power of two so that it is rarely built again.
uint64_t ReserveBytesFor(uint64_t table_bytes, uint64_t memtable_bytes);
// The size that it must have: on a full disk, there is no other space to write the memtables as
// tables.  `memtable_bytes` includes what many small tables take (ReadView::bytes_to_flush).
inline uint64_t ReserveBytesLeast(uint64_t memtable_bytes) {
  return std::max(kReserveBytesMin, memtable_bytes + memtable_bytes / 4);
}

// Removes the RESERVE of a store that is locked but not open.  True if one was removed.
bool RemoveReserve(Directory& directory);

class Reserve {
 public:
  // How hard Build tries.
  enum class Effort : uint8_t {
    kNoWait,  // does not wait for the device: a crash of the machine may take the file
    kUsual,
    kInsist,  // and tries even if it failed before
  };

  // The directory outlives it.  Until Build, it is off.
  Reserve(Directory* directory, uint64_t bytes_max)
      : directory_(*directory), bytes_max_(bytes_max) {}
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;

  // Grows the file to `wanted_bytes` if there is space, and shrinks it if it exceeds its limit.  If
  // lack of space leaves it with less than `least_bytes`, the reserve is tight or missing.  An
  // attempt may fail although enough space seemed to be free, for example because of a quota.  Then
  // calls try more and more rarely until more space is free, unless the caller insists.  Throws
  // nothing.
  void Build(uint64_t wanted_bytes, uint64_t least_bytes, Effort effort)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Removes the file.  True if there was one, so that there is more space than before.  Throws
  // nothing.
  bool Release() ABSL_LOCKS_EXCLUDED(mutex_);

  // ResourceExhausted naming the directory if it is tight or missing.
  absl::Status CheckMayPut() const;
  // Tight or missing.  Relaxed: a put that is concurrent with Release or Build may come before it
  // or after it.
  bool is_short() const { return short_.load(std::memory_order_relaxed); }
  bool is_missing() const { return is_short() && held_bytes() == 0; }
  // Relaxed: a figure.
  uint64_t held_bytes() const { return held_bytes_.load(std::memory_order_relaxed); }
  // Whether it is worthwhile to build it: it has fewer bytes, and it is not short (then each put
  // tries to build it).  If the last attempt failed for another reason than space, the bytes that
  // it asked for are compared.  Relaxed, here and below: at worst there is one more attempt.
  bool is_below(uint64_t bytes) const {
    const auto& has_bytes = failed_.load(std::memory_order_relaxed) ? tried_bytes_ : held_bytes_;
    return has_bytes.load(std::memory_order_relaxed) < std::min(bytes_max_, bytes) && !is_short();
  }
  // The same, but always compares the bytes of the last attempt, even if there was no space for
  // them.
  bool is_due(uint64_t bytes) const {
    return tried_bytes_.load(std::memory_order_relaxed) < std::min(bytes_max_, bytes) &&
           !is_short();
  }

 private:
  absl::Status BuildIfSmall(uint64_t bytes, Effort effort) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the free bytes.
  absl::StatusOr<uint64_t> CheckSpaceFor(uint64_t bytes, uint64_t more_bytes, bool insist)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Make(uint64_t bytes, Effort effort) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status RemoveFile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Looks once for the file of an earlier opening.
  absl::Status LookForFile() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Directory& directory_;
  const uint64_t bytes_max_;
  mutable Mutex mutex_;
  std::optional<bool> is_there_ ABSL_GUARDED_BY(mutex_);  // the file; nullopt: not known yet
  uint64_t free_bytes_ ABSL_GUARDED_BY(mutex_) = 0;       // at the last attempt, if its Make failed
  uint64_t attempts_ ABSL_GUARDED_BY(mutex_) = 0;         // calls to build it since that attempt
  std::atomic<uint64_t> held_bytes_{0};                   // of the file
  std::atomic<uint64_t> tried_bytes_{0};                  // of the last attempt to build it
  std::atomic<uint64_t> needed_bytes_{0};                 // that must be free to build it
  std::atomic<bool> short_{false};
  std::atomic<bool> failed_{false};  // the last attempt: for another reason than space
};

}  // namespace lsm

#endif  // TRELLIS_LSM_STORE_RESERVE_H_
