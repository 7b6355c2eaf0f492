#include "lsm/objects/removal.h"

#include <algorithm>
#include <list>
#include <span>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/objects/object_files.h"
#include "lsm/objects/object_writes.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

std::string TagsOf(const ObjectContents& contents) {
  const auto place = contents.attributes.find(kTagsAttribute);
  return place == contents.attributes.end() ? "" : place->second;
}

bool HasTag(const std::string& tags, const IndexedFile& file) {
  return tags.find(Concat(file.tag, " ")) != tags.npos;
}

// Removes files whose names became gone:TAG: the chunks of each, and then those entries together.
// Thread-safe.
class GoneFiles {
 public:
  explicit GoneFiles(std::shared_ptr<IndexHandle> index) : index_(std::move(index)) {}

  absl::Status RemoveChunks(const IndexedFile& file) {
    TRELLIS_RETURN_IF_ERROR(DropChunks(index_->pool(), file));
    MutexLock lock(&mutex_);
    dropped_.push_back(file);
    return absl::OkStatus();
  }
  // Those of the files whose chunks are removed.
  absl::Status RemoveEntries() {
    std::vector<IndexedFile> files;
    {
      MutexLock lock(&mutex_);
      files.swap(dropped_);
    }
    absl::Status first;
    for (std::span<const IndexedFile> left = files; !left.empty();) {
      const std::span<const IndexedFile> some =
          left.first(std::min(left.size(), kRemovalsTogetherMax));
      left = left.subspan(some.size());
      const absl::Status status = RemoveEntriesOf(some);
      if (!absl::IsAborted(status)) {
        first.Update(status);
        continue;
      }
      // A new owner has removed some of them.
      for (const IndexedFile& file : some) first.Update(RemoveEntriesOf({&file, 1}));
    }
    return first;
  }

 private:
  absl::Status RemoveEntriesOf(std::span<const IndexedFile> files) {
    ObjectWrite write;
    for (const IndexedFile& file : files) {
      const std::string entry = Concat(kGonePrefix, file.tag);
      write.entries_equal[entry] = file.Encode();
      write.remove_entries.push_back(entry);
    }
    return index_->Change(write);
  }

  const std::shared_ptr<IndexHandle> index_;
  Mutex mutex_;
  std::vector<IndexedFile> dropped_ ABSL_GUARDED_BY(mutex_);
};

// Removes the chunks now, unless this process reads the file.
absl::Status RemoveNowOrWhenClosed(ObjectProcess& process,
                                   const std::shared_ptr<IndexHandle>& index,
                                   const IndexedFile& file, GoneFiles* gone) {
  if (!process.open->IsOpen(file.id)) return gone->RemoveChunks(file);
  RemoveWhenClosed(process, index, {file});
  return absl::OkStatus();
}

absl::Status UndoOneLink(ObjectProcess& process, const std::shared_ptr<IndexHandle>& index,
                         const IndexedFile& link, GoneFiles* gone) {
  const absl::StatusOr<ObjectContents> first =
      index->pool().Read(ChunkName(link.id, 0), {.with_attributes = true});
  if (!first.ok() && !absl::IsNotFound(first.status())) return first.status();
  // Without its tag, the link keeps no chunk.  So the chunks of a file that lost its first one
  // stay.
  const bool has_tag = first.ok() && HasTag(TagsOf(*first), link);
  const std::string entry = Concat(kLinkPrefix, link.tag);
  ObjectWrite write;
  write.entries_equal[entry] = link.Encode();
  write.remove_entries.push_back(entry);
  if (has_tag) write.set_entries[Concat(kGonePrefix, link.tag)] = link.Encode();
  TRELLIS_RETURN_IF_ERROR(index->Change(write));
  return has_tag ? RemoveNowOrWhenClosed(process, index, link, gone) : absl::OkStatus();
}

absl::Status FinishRemoval(ObjectProcess& process, const std::shared_ptr<IndexHandle>& index,
                           const std::string& entry, const std::string& value, GoneFiles* gone) {
  const absl::StatusOr<IndexedFile> file = IndexedFile::Decode(value, index->path());
  if (absl::IsDataLoss(file.status())) return absl::OkStatus();  // its chunks are unknown
  if (!file.ok()) return file.status();
  return entry.starts_with(kLinkPrefix) ? UndoOneLink(process, index, *file, gone)
                                        : RemoveNowOrWhenClosed(process, index, *file, gone);
}

}  // namespace

absl::Status AddTag(ObjectPool& pool, const IndexedFile& file) {
  const std::string first = ChunkName(file.id, 0);
  for (;;) {
    TRELLIS_ASSIGN_OR_RETURN(const ObjectContents contents,
                             pool.Read(first, {.with_attributes = true}));
    const std::string before = TagsOf(contents);
    if (HasTag(before, file)) return absl::OkStatus();  // applied before it was refused
    ObjectWrite write;
    write.attributes_equal[kTagsAttribute] = before;
    write.set_attributes[kTagsAttribute] = Concat(before, file.tag, " ");
    const absl::Status status = WriteObject(pool, first, write);
    if (!absl::IsAborted(status)) return status;
  }
}

absl::Status DropChunks(ObjectPool& pool, const IndexedFile& file) {
  if (file.kind == IndexedKind::kSmall) return absl::OkStatus();
  const std::string first = ChunkName(file.id, 0);
  for (;;) {
    const absl::StatusOr<ObjectContents> contents = pool.Read(first, {.with_attributes = true});
    if (absl::IsNotFound(contents.status())) break;  // an earlier attempt removed it
    if (!contents.ok()) return contents.status();
    const std::string before = TagsOf(*contents);
    std::string after = before;
    const size_t at = after.find(Concat(file.tag, " "));
    if (at != after.npos) after.erase(at, file.tag.size() + 1);
    if (at == after.npos && !after.empty()) return absl::OkStatus();  // dropped before
    ObjectWrite write;
    write.attributes_equal[kTagsAttribute] = before;
    write.remove = after.empty();
    if (!after.empty()) write.set_attributes[kTagsAttribute] = after;
    const absl::Status status = WriteObject(pool, first, write);
    if (absl::IsAborted(status)) continue;  // another name came or went
    if (absl::IsNotFound(status)) break;
    if (!status.ok()) return status;
    if (!after.empty()) return absl::OkStatus();  // other names are left
    break;
  }
  // A log may have a chunk that was made and not registered.  A table without a size may have
  // chunks that were in flight when its writer ended.
  uint64_t gap_max = 0;
  if (file.kind == IndexedKind::kLog) gap_max = 1;
  if (file.kind == IndexedKind::kTable && file.chunks == 0) gap_max = kChunksInFlightMax;
  uint64_t missing = 0;
  for (uint64_t number = 1; number < file.chunks || missing < gap_max; ++number) {
    ObjectWrite write;
    write.remove = true;
    const absl::Status status = WriteObject(pool, ChunkName(file.id, number), write);
    if (!status.ok() && !absl::IsNotFound(status)) return status;
    missing = status.ok() || number < file.chunks ? 0 : missing + 1;
  }
  return absl::OkStatus();
}

void RemoveWhenClosed(ObjectProcess& process, std::shared_ptr<IndexHandle> index,
                      const std::vector<IndexedFile>& files) {
  const auto gone = std::make_shared<GoneFiles>(std::move(index));
  std::list<OpenIds::Removal> removals;
  for (const IndexedFile& file : files) {
    if (file.kind == IndexedKind::kSmall) continue;
    removals.push_back(
        {file.id,
         [gone, file] { CatchOutOfMemory([&] { return gone->RemoveChunks(file); }).IgnoreError(); },
         [gone] { CatchOutOfMemory([&] { return gone->RemoveEntries(); }).IgnoreError(); }});
  }
  process.open->WhenClosed(std::move(removals));
}

absl::Status UndoLink(ObjectProcess& process, const std::shared_ptr<IndexHandle>& index,
                      const IndexedFile& link) {
  GoneFiles gone(index);
  TRELLIS_RETURN_IF_ERROR(UndoOneLink(process, index, link, &gone));
  return gone.RemoveEntries();
}

absl::Status FinishRemovals(ObjectProcess& process, const std::shared_ptr<IndexHandle>& index,
                            const ObjectValues& entries) {
  GoneFiles gone(index);
  absl::Status first;
  for (const auto& [entry, value] : entries) {
    if (!entry.starts_with(kGonePrefix) && !entry.starts_with(kLinkPrefix)) continue;
    const absl::Status status = FinishRemoval(process, index, entry, value, &gone);
    if (IsTakenOver(status)) return status;
    first.Update(status);
  }
  first.Update(gone.RemoveEntries());
  return first;
}

}  // namespace lsm
