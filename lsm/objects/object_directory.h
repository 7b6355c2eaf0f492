// A directory of an ObjectFileSystem.
#ifndef TRELLIS_LSM_OBJECTS_OBJECT_DIRECTORY_H_
#define TRELLIS_LSM_OBJECTS_OBJECT_DIRECTORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/environment.h"
#include "lsm/file_system.h"
#include "lsm/object_file_system.h"
#include "lsm/object_pool.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/index_handle.h"
#include "lsm/objects/later_work.h"
#include "lsm/objects/lock_keeper.h"
#include "lsm/objects/object_files.h"
#include "lsm/objects/pinned_files.h"
#include "lsm/objects/table_pin.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {

// The state that all handles of one ObjectFileSystem share.
struct ObjectProcess {
  ObjectProcess(ObjectPool* pool_, RandomSource* random_, ObjectFileSystem::Config config_)
      : pool(*pool_),
        random(*random_),
        config(std::move(config_)),
        clock(config.clock != nullptr ? *config.clock : SystemClock()) {}

  // The owner after `last`, which is encoded.  ResourceExhausted after the last possible one.
  absl::StatusOr<Owner> NextOwner(std::string_view last, std::string_view path);
  // An owner that was never used before.
  Owner NewOwner(uint64_t counter) { return {counter, random.Next(), config.holder}; }

  ObjectPool& pool;
  RandomSource& random;
  const ObjectFileSystem::Config config;
  Clock& clock;
  const std::shared_ptr<OpenIds> open = std::make_shared<OpenIds>();
  const std::shared_ptr<PinnedFiles> pinned = std::make_shared<PinnedFiles>(&clock);
  Mutex mutex;
  std::set<std::string> locked ABSL_GUARDED_BY(mutex);  // index objects
  // By index object.  A pin that is lost or released stays until it is replaced.
  std::map<std::string, std::shared_ptr<TablePin>> pins ABSL_GUARDED_BY(mutex);
  LockKeeper keeper;
  LaterWork later;  // ends first: it uses the other members
};

std::unique_ptr<Directory> NewObjectDirectory(std::shared_ptr<ObjectProcess> process,
                                              std::shared_ptr<IndexHandle> index);

}  // namespace lsm

#endif  // TRELLIS_LSM_OBJECTS_OBJECT_DIRECTORY_H_
