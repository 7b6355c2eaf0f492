// Files whose bytes are in chunks, which are objects: readers, and the two kinds of writers.
#ifndef TRELLIS_LSM_OBJECTS_OBJECT_FILES_H_
#define TRELLIS_LSM_OBJECTS_OBJECT_FILES_H_

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bloom/core/abi.h"
#include "lsm/file_system.h"
#include "lsm/object_pool.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/index_handle.h"
#include "lsm/threads/mutex.h"

namespace lsm::inline TRELLIS_ABI {

// The files of a process that are open for reading.  Their chunks stay although their names are
// removed.  Thread-safe.
class OpenIds {
 public:
  // Begins a lookup: the thread finds a file, and may open it.  Until EndLookup no removal runs.
  void BeginLookup() ABSL_LOCKS_EXCLUDED(mutex_);
  void EndLookup() ABSL_LOCKS_EXCLUDED(mutex_);

  // REQUIRES: a lookup of this thread.
  void Open(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  void Close(const std::string& id) ABSL_LOCKS_EXCLUDED(mutex_);
  // The work on a file whose name was removed.  Neither function may throw.
  struct Removal {
    std::string id;
    std::function<void()> run;
    // Called after `run` of this file and of all that can be removed at the same time.
    std::function<void()> finish;
  };
  // Calls the functions once no lookup and no reader of the file is left, perhaps at once.
  void WhenClosed(std::list<Removal> removals) ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsOpen(const std::string& id) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct OpenId {
    int readers = 0;
    std::list<Removal> removals;  // wait for the readers
  };
  // Runs the removals that wait for nothing, if no lookup runs.
  void RunRemovals() ABSL_LOCKS_EXCLUDED(mutex_);

  mutable Mutex mutex_;
  std::map<std::string, OpenId> open_ ABSL_GUARDED_BY(mutex_);
  std::list<Removal> removals_ ABSL_GUARDED_BY(mutex_);  // wait for the lookups to end
  int lookups_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A file's chunks, as a handle reads them.
struct ChunkedFile {
  std::shared_ptr<IndexHandle> index;
  std::string name;
  IndexedFile file;
};

// Bytes of the file's chunks so far.
absl::StatusOr<uint64_t> SizeOf(const ChunkedFile& chunked);

// REQUIRES: a lookup of `open` by this thread.
std::unique_ptr<ReadFile> NewObjectReader(ChunkedFile chunked, std::shared_ptr<OpenIds> open);

// FileSystem::ReadMany: makes the reads of this pool's files by one ObjectPool::ReadMany.  Throws
// nothing.
void ReadObjectFiles(ObjectPool* pool, std::span<ReadRequest> requests,
                     const std::function<void(size_t)>& done);

// Logs, manifests and other files: every append is durable.  Those of logs and manifests are
// refused once another process has locked the directory.  The first chunk and the entry exist.
std::unique_ptr<AppendFile> NewLogWriter(std::shared_ptr<IndexHandle> index, std::string name,
                                         IndexedFile file, std::string owner);

// Chunks of a table that may be written at the same time.
inline constexpr uint64_t kChunksInFlightMax = 4;

// Tables: the bytes are durable after Sync.  The entry exists.  Up to kChunksInFlightMax chunks are
// in flight, and one more is being filled.  Close and the destructor wait for them.
std::unique_ptr<AppendFile> NewTableWriter(std::shared_ptr<IndexHandle> index, std::string name,
                                           IndexedFile file, std::string owner);

// Makes a chunk of a log.
absl::Status MakeLogChunk(IndexHandle& index, const IndexedFile& file, uint64_t number,
                          const std::string& owner);

}  // namespace lsm

#endif  // TRELLIS_LSM_OBJECTS_OBJECT_FILES_H_
