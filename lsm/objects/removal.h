// Removal of chunks.  Each name of a file has a tag.  The first chunk has the tags of all names,
// and the file's chunks are removed with the last one.
#ifndef TRELLIS_LSM_OBJECTS_REMOVAL_H_
#define TRELLIS_LSM_OBJECTS_REMOVAL_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/object_pool.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/index_handle.h"
#include "lsm/objects/object_directory.h"

namespace lsm::inline TRELLIS_ABI {

// The file's first chunk gets the file's tag.  NotFound without the chunk.
absl::Status AddTag(ObjectPool& pool, const IndexedFile& file);

// Takes the file's tag from its first chunk, and removes the chunks if it was the last tag.
absl::Status DropChunks(ObjectPool& pool, const IndexedFile& file);

// Removes the chunks of files whose names became gone:TAG, and those entries, once this process no
// longer reads the file and no follower's pin covers it.  One write removes the entries of files
// that are removed at the same time.  If it fails, the entries stay, and the next owner finishes
// them.
void RemoveWhenClosed(ObjectProcess& process, std::shared_ptr<IndexHandle> index,
                      const std::vector<GoneFile>& files);

// Tries again to remove the files that a pin covered.  Throws nothing.
void RetryPinnedRemovals(ObjectProcess& process);

// Takes back an entry link:TAG whose name was not made.
absl::Status UndoLink(ObjectProcess& process, const std::shared_ptr<IndexHandle>& index,
                      const IndexedFile& link);

enum class Pins { kRespected, kIgnored };

// Finishes the removals and undoes the links that earlier owners began.  `entries` are those that
// the index had when this owner began; the call may come at any time after that.  Files that this
// process reads follow when they are closed.  Tries all, unless another process has taken over, and
// returns the first error.
absl::Status FinishRemovals(ObjectProcess& process, const std::shared_ptr<IndexHandle>& index,
                            const ObjectValues& entries, Pins pins);

}  // namespace lsm

#endif  // TRELLIS_LSM_OBJECTS_REMOVAL_H_
