// The interface to an object store.  ObjectFileSystem (object_file_system.h) maps files to objects
// through it; lsm/design/object_store.md has the mapping.  Derive from ObjectPool to
// keep a store in an object store that Trellis has no adapter for.
//
// An object has bytes, attributes, and entries (a sorted map).  An attribute or entry that does not
// exist compares as empty, so a value must not be empty.
//
//   * A call on one object is atomic: it succeeds or fails as a whole.  Calls on one object are
//     linearizable.
//   * A guarded write to a missing object returns NotFound, and does not create it.  A failed guard
//     changes nothing.
//   * A write without guards creates a missing object.  `remove` of a missing object returns
//     NotFound.
//   * A call may be applied twice, and return the second status.
//   * A call that returns Unavailable or Unknown may have been applied, or may be applied later.
//   * What a call has written is durable when it returns OK.
//
// Errors.  Each message contains the object's name.
//
//   NotFound, AlreadyExists
//   Aborted              a guard failed
//   FailedPrecondition   another holder has the lock
//   PermissionDenied     the object store refuses this client: it was evicted, or lacks a right
//   ResourceExhausted    the pool is full
//   Unavailable          everything else
//   Unknown              a call took too long; it may be applied later
//
// Threads: any number may call at once.
#ifndef TRELLIS_LSM_OBJECT_POOL_H_
#define TRELLIS_LSM_OBJECT_POOL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"

namespace lsm::inline TRELLIS_ABI {

using ObjectValues = std::map<std::string, std::string>;

// Guards, which are checked first, and changes.
struct ObjectWrite {
  bool must_be_new = false;       // else AlreadyExists
  ObjectValues attributes_equal;  // else Aborted
  ObjectValues entries_equal;     // else Aborted
  // The stored attribute is less than the value, byte by byte; else Aborted.
  ObjectValues attributes_below;

  ObjectValues set_attributes;
  ObjectValues set_entries;
  std::vector<std::string> remove_entries;
  std::optional<uint64_t> offset;  // where `bytes` are written; zeros fill a gap
  // Must live until the call returns.
  std::string_view bytes;
  bool remove = false;  // the object
};

struct ObjectRead {
  ObjectValues attributes_equal = {};  // else Aborted

  bool with_attributes = false;           // a pool may return them always
  std::vector<std::string> entries = {};  // those of these names that exist
  // Up to kObjectEntriesMax entries whose names follow this one, in order.  nullopt: none.
  std::optional<std::string> entries_after = {};
  uint64_t offset = 0;
  uint64_t bytes_max = 0;
};
inline constexpr size_t kObjectEntriesMax = 1000;

struct ObjectContents {
  uint64_t size_bytes = 0;
  ObjectValues attributes;  // with_attributes: all
  ObjectValues entries;
  bool has_more_entries = false;  // after the last of `entries`, if entries_after was set
  std::string bytes;              // fewer than asked for only at the end of the object
};

// One of several reads that are submitted together.
struct ObjectReadRequest {
  std::string object;
  ObjectRead read;
  absl::StatusOr<ObjectContents> contents;  // out
};

// A write in flight.
class TRELLIS_API PendingObjectWrite {
 public:
  // Waits for the write, and ignores its status.
  virtual ~PendingObjectWrite();
  // Call it once.
  virtual absl::Status Wait() = 0;
};

class TRELLIS_API ObjectPool {
 public:
  virtual ~ObjectPool();

  // Names the objects that the calls reach, not this client: two pools with the same identity have
  // the same objects.  Tables are copied by reference between such pools.  Empty, the default: no
  // other ObjectPool has these objects.
  virtual std::string Identity() const;

  virtual absl::Status Write(const std::string& object, const ObjectWrite& write) = 0;
  virtual absl::StatusOr<ObjectContents> Read(const std::string& object,
                                              const ObjectRead& read) = 0;

  // Several calls in flight.  The defaults execute one after another.

  // The writes of one object are applied in the order of these calls.  `write.bytes` must stay
  // until the result is destroyed.
  virtual std::unique_ptr<PendingObjectWrite> StartWrite(const std::string& object,
                                                         const ObjectWrite& write);
  virtual void ReadMany(std::span<ObjectReadRequest> requests);

  // Calls `visit` with the name of each object that exists during the whole call, and perhaps of
  // others.  Only CollectGarbage needs it.  The default returns Unimplemented.
  virtual absl::Status List(const std::function<void(const std::string& object)>& visit);

  // An exclusive lock on the object, which expires by the pool's clock.  `cookie` tells holders
  // apart.  NotFound without the object.
  virtual absl::Status Lock(const std::string& object, const std::string& cookie,
                            uint64_t duration_nanos) = 0;
  // FailedPrecondition unless this cookie holds the lock.
  virtual absl::Status Renew(const std::string& object, const std::string& cookie,
                             uint64_t duration_nanos) = 0;
  // OK too if this cookie does not hold the lock.
  virtual absl::Status Unlock(const std::string& object, const std::string& cookie) = 0;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_OBJECT_POOL_H_
