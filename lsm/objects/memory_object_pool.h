// An object store in memory, for tests: objects that several clients share, with faults, pauses and
// a clock for locks.
//
// A client is paused by running another one in its hook.  A client is stopped by a hook that
// refuses every call.
#ifndef TRELLIS_LSM_OBJECTS_MEMORY_OBJECT_POOL_H_
#define TRELLIS_LSM_OBJECTS_MEMORY_OBJECT_POOL_H_

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "bloom/core/abi.h"
#include "lsm/object_pool.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {

// The objects, and the clock that locks expire by.
class MemoryObjects {
 public:
  MemoryObjects() = default;
  MemoryObjects(const MemoryObjects&) = delete;
  MemoryObjects& operator=(const MemoryObjects&) = delete;

  void Advance(uint64_t nanos) ABSL_LOCKS_EXCLUDED(mutex_);
  uint64_t now_nanos() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Names, sorted.
  std::vector<std::string> Names() const ABSL_LOCKS_EXCLUDED(mutex_);

  // The same for the same objects: names, bytes, attributes, entries, and whether they are locked.
  uint64_t Fingerprint() const ABSL_LOCKS_EXCLUDED(mutex_);

  // An independent copy, with the locks.  Cheap: objects share their contents until they change.  A
  // copy and its original are for one thread.
  std::unique_ptr<MemoryObjects> Clone() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class MemoryObjectPool;
  struct Object {
    std::string bytes;
    ObjectValues attributes, entries;
    std::string lock_cookie;  // empty: not locked
    uint64_t lock_until_nanos = 0;
    uint64_t fingerprint = 0;  // 0: not known
  };

  // The object, which no copy shares.
  static Object& Own(std::shared_ptr<Object>* object);
  absl::Status Apply(const std::string& name, const ObjectWrite& write) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<ObjectContents> Get(const std::string& name, const ObjectRead& read)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status ChangeLock(const std::string& name,
                          const std::function<absl::Status(Object*, uint64_t now)>& change)
      ABSL_LOCKS_EXCLUDED(mutex_);

  mutable Mutex mutex_;
  uint64_t now_nanos_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<std::string, std::shared_ptr<Object>> objects_ ABSL_GUARDED_BY(mutex_);
};

enum class ObjectCall : uint8_t { kWrite, kRead, kLock, kRenew, kUnlock, kList };

// A client of the objects.
class MemoryObjectPool final : public ObjectPool {
 public:
  enum class Fate : uint8_t {
    kApplied,  // and answered
    kRefused,  // Unavailable; nothing happens
    kFull,     // ResourceExhausted; nothing happens
    kEvicted,  // PermissionDenied; nothing happens
    kDelayed,  // Unavailable; a write is applied by DeliverDelayed
  };
  struct Hooks {
    // Called before each call, with its number from 0 on.  Null: all are applied.
    std::function<Fate(ObjectCall call, const std::string& object, uint64_t number)> before;
    // Called after a call was applied, and before its answer.  False: the answer is lost
    // (Unavailable).  Null: no answer is lost.
    std::function<bool(ObjectCall call, const std::string& object, uint64_t number)> after;
  };

  explicit MemoryObjectPool(std::shared_ptr<MemoryObjects> objects)
      : objects_(std::move(objects)) {}

  void SetHooks(Hooks hooks);
  uint64_t call_count() const;
  // Applies the delayed writes, in order, and forgets their results.
  void DeliverDelayed();

  // From now on a started write stays in flight until it is waited for, or its result is destroyed.
  // It is applied then, after the earlier ones of its object.  Only one thread may start writes of
  // an object.
  void HoldStartedWrites();
  // Applies all writes in flight, those of the object that was written last first.
  void ApplyStartedWrites();
  size_t writes_in_flight() const;

  std::string Identity() const override;
  absl::Status Write(const std::string& object, const ObjectWrite& write) override;
  absl::StatusOr<ObjectContents> Read(const std::string& object, const ObjectRead& read) override;
  std::unique_ptr<PendingObjectWrite> StartWrite(const std::string& object,
                                                 const ObjectWrite& write) override;
  absl::Status Lock(const std::string& object, const std::string& cookie,
                    uint64_t duration_nanos) override;
  absl::Status Renew(const std::string& object, const std::string& cookie,
                     uint64_t duration_nanos) override;
  absl::Status Unlock(const std::string& object, const std::string& cookie) override;
  absl::Status List(const std::function<void(const std::string& object)>& visit) override;

 private:
  struct Delayed {
    std::string object;
    ObjectWrite write;  // its bytes are those of `bytes`
    std::string bytes;
  };
  struct Started {
    std::string object;
    ObjectWrite write;
    std::optional<absl::Status> status;  // once it was applied
  };
  class HeldWrite;

  // Applies a write in flight, after the earlier ones of its object.
  void ApplyStarted(const Started* last) ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs the hooks.  Calls `apply` only if the call is applied.
  template <typename Result>
  Result Call(ObjectCall call, const std::string& object, const std::function<Result()>& apply,
              const std::function<void()>& delay) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::shared_ptr<MemoryObjects> objects_;
  mutable Mutex mutex_;
  std::shared_ptr<const Hooks> hooks_ ABSL_GUARDED_BY(mutex_);
  uint64_t call_count_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Delayed> delayed_ ABSL_GUARDED_BY(mutex_);
  bool holds_started_writes_ ABSL_GUARDED_BY(mutex_) = false;
  // In flight, in the order of their calls.
  std::list<std::shared_ptr<Started>> started_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace lsm

#endif  // TRELLIS_LSM_OBJECTS_MEMORY_OBJECT_POOL_H_
