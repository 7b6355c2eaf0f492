// Processes on the pool in memory, for tests: a process is a client and its file system.
#ifndef TRELLIS_TESTS_LSM_OBJECTS_POOL_CLIENT_H_
#define TRELLIS_TESTS_LSM_OBJECTS_POOL_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lsm/environment.h"
#include "lsm/object_file_system.h"
#include "lsm/object_pool.h"
#include "lsm/objects/forwarding_pool.h"
#include "lsm/objects/memory_object_pool.h"
#include "tests/support/deterministic_environment.h"

namespace lsm {

// Applies each write twice, and returns the second status.  So does a store of objects that has
// forgotten a write when the client sends it again.
class RepeatingPool final : public ForwardingPool {
 public:
  using ForwardingPool::ForwardingPool;
  absl::Status Write(const std::string& object, const ObjectWrite& write) override {
    ForwardingPool::Write(object, write).IgnoreError();
    return ForwardingPool::Write(object, write);
  }
};

// Counts the calls of ReadMany, and their reads.
class CountingPool final : public ForwardingPool {
 public:
  using ForwardingPool::ForwardingPool;
  void ReadMany(std::span<ObjectReadRequest> requests) override {
    reads_together.push_back(requests.size());
    ForwardingPool::ReadMany(requests);
  }
  absl::StatusOr<ObjectContents> Read(const std::string& object, const ObjectRead& read) override {
    ++reads;  // those of ReadMany, too
    return ForwardingPool::Read(object, read);
  }

  std::vector<size_t> reads_together;
  size_t reads = 0;
};

struct PoolClientOptions {
  uint64_t log_chunk_bytes = 10;
  uint64_t table_chunk_bytes = 8;
  bool repeats_writes = false;        // RepeatingPool
  bool holds_started_writes = false;  // MemoryObjectPool::HoldStartedWrites
  Clock* clock = nullptr;             // null: the system's
};

struct PoolClient {
  PoolClient(std::shared_ptr<MemoryObjects> objects, std::string name, uint64_t seed,
             const PoolClientOptions& options = {})
      : pool(std::move(objects)),
        random(seed),
        files(options.repeats_writes ? static_cast<ObjectPool*>(&repeating) : &pool, &random,
              {.has_threads = false,
               .clock = options.clock,
               .log_chunk_bytes = options.log_chunk_bytes,
               .table_chunk_bytes = options.table_chunk_bytes,
               .holder = std::move(name)}) {
    if (options.holds_started_writes) pool.HoldStartedWrites();
  }

  MemoryObjectPool pool;
  RepeatingPool repeating{&pool};
  testing_support::SeededRandom random;
  ObjectFileSystem files;
};

inline void ExpireLocks(MemoryObjects* objects) {
  objects->Advance(ObjectFileSystem::Config().lock_nanos + 1);
}

// Runs `meanwhile` before the call with this number, or after it.
inline void PauseAt(MemoryObjectPool* pool, uint64_t number, bool after,
                    const std::function<void()>& meanwhile) {
  MemoryObjectPool::Hooks hooks;
  if (after) {
    hooks.after = [=](ObjectCall, const std::string&, uint64_t now) {
      if (now == number) meanwhile();
      return true;
    };
  } else {
    hooks.before = [=](ObjectCall, const std::string&, uint64_t now) {
      if (now == number) meanwhile();
      return MemoryObjectPool::Fate::kApplied;
    };
  }
  pool->SetHooks(std::move(hooks));
}

// From the call with this number on, the pool refuses the process's calls.  `after`: it applies
// that one, and the process does not hear so.
inline void StopAt(MemoryObjectPool* pool, uint64_t number, bool after) {
  MemoryObjectPool::Hooks hooks;
  hooks.before = [=](ObjectCall, const std::string&, uint64_t now) {
    return now < number || (after && now == number) ? MemoryObjectPool::Fate::kApplied
                                                    : MemoryObjectPool::Fate::kRefused;
  };
  hooks.after = [=](ObjectCall, const std::string&, uint64_t now) { return now < number; };
  pool->SetHooks(std::move(hooks));
}

}  // namespace lsm

#endif  // TRELLIS_TESTS_LSM_OBJECTS_POOL_CLIENT_H_
