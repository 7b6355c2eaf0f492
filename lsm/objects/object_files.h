// Files whose bytes are in chunks, which are objects: readers, and the two kinds of writers.
#ifndef TRELLIS_LSM_OBJECTS_OBJECT_FILES_H_
#define TRELLIS_LSM_OBJECTS_OBJECT_FILES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/file_system.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/index_handle.h"
#include "lsm/objects/object_pool.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {

// The files of a process that are open for reading.  Their chunks stay although their names are
// removed.  Thread-safe.
class OpenIds {
 public:
  void Open(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs what waits for the last reader.
  void Close(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // Calls `removal` now, or once no reader is left.
  void WhenClosed(const std::string& id, std::function<void()> removal) ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsOpen(const std::string& id) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Open_ {
    int readers = 0;
    std::vector<std::function<void()>> removals;
  };
  mutable Mutex mutex_;
  std::map<std::string, Open_> ids_ ABSL_GUARDED_BY(mutex_);
};

// Bytes of the file's chunks so far.
absl::StatusOr<uint64_t> SizeOf(ObjectPool& pool, const IndexedFile& file);

std::unique_ptr<ReadFile> NewObjectReader(std::shared_ptr<IndexHandle> index,
                                          std::shared_ptr<OpenIds> open, std::string path,
                                          IndexedFile file);

// Logs, manifests and other files: every append is durable and guarded by the owner.  The first
// chunk and the entry exist.
std::unique_ptr<AppendFile> NewLogWriter(std::shared_ptr<IndexHandle> index, std::string name,
                                         IndexedFile file);

// Tables: the bytes are durable after Sync.  The entry exists.
std::unique_ptr<AppendFile> NewTableWriter(std::shared_ptr<IndexHandle> index, std::string name,
                                           IndexedFile file);

// Makes a chunk of a log.
absl::Status MakeLogChunk(ObjectPool& pool, const IndexedFile& file, uint64_t number,
                          const std::string& owner);

// Takes the file's tag from its first chunk, and removes the chunks if it was the last tag.
absl::Status DropChunks(ObjectPool& pool, const IndexedFile& file);

// The file's first chunk gets a further tag.  NotFound without the chunk.
absl::Status AddTag(ObjectPool& pool, const IndexedFile& file, const std::string& tag);

}  // namespace lsm

#endif  // TRELLIS_LSM_OBJECTS_OBJECT_FILES_H_
