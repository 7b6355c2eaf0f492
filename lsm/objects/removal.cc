#include "lsm/objects/removal.h"

#include <algorithm>
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/objects/object_files.h"
#include "lsm/objects/object_writes.h"
#include "lsm/objects/pinned_files.h"

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
  // `pinned`: takes the files that a pin covers; null: pins are ignored.
  GoneFiles(std::shared_ptr<IndexHandle> index, std::shared_ptr<PinnedFiles> pinned)
      : index_(std::move(index)), pinned_(std::move(pinned)) {}

  absl::Status RemoveChunks(const GoneFile& gone) {
    if (IsPinned(gone)) {
      pinned_->Add(index_, gone);
      return absl::OkStatus();
    }
    TRELLIS_RETURN_IF_ERROR(DropChunks(index_->pool(), gone.file));
    MutexLock lock(&mutex_);
    dropped_.push_back(gone);
    return absl::OkStatus();
  }
  // Those of the files whose chunks are removed.
  absl::Status RemoveEntries() {
    std::vector<GoneFile> files;
    {
      MutexLock lock(&mutex_);
      files.swap(dropped_);
    }
    absl::Status first;
    for (std::span<const GoneFile> left = files; !left.empty();) {
      const std::span<const GoneFile> some =
          left.first(std::min(left.size(), kRemovalsTogetherMax));
      left = left.subspan(some.size());
      const absl::Status status = RemoveEntriesOf(some);
      if (!absl::IsAborted(status)) {
        first.Update(status);
        continue;
      }
      // A new owner has removed some of them.
      for (const GoneFile& gone : some) first.Update(RemoveEntriesOf({&gone, 1}));
    }
    return first;
  }

 private:
  bool IsPinned(const GoneFile& gone) {
    if (pinned_ == nullptr || gone.removal == 0) return false;
    std::optional<uint64_t> lowest;
    {
      MutexLock lock(&mutex_);
      lowest = lowest_pin_;
    }
    // Reading the pins once is enough: a pin that is made after the removal does not cover the
    // file, and the number of a pin never falls.  If the pins cannot be read, the file waits.
    if (!lowest) lowest = pinned_->LowestPin(*index_).value_or(0);
    MutexLock lock(&mutex_);
    lowest_pin_ = lowest;
    return *lowest < gone.removal;
  }
  absl::Status RemoveEntriesOf(std::span<const GoneFile> files) {
    ObjectWrite write;
    for (const GoneFile& gone : files) {
      const std::string entry = Concat(kGonePrefix, gone.file.tag);
      write.entries_equal[entry] = gone.Encode();
      write.remove_entries.push_back(entry);
    }
    return index_->Change(write);
  }

  const std::shared_ptr<IndexHandle> index_;
  const std::shared_ptr<PinnedFiles> pinned_;
  Mutex mutex_;
  std::optional<uint64_t> lowest_pin_ ABSL_GUARDED_BY(mutex_);
  std::vector<GoneFile> dropped_ ABSL_GUARDED_BY(mutex_);
};

// Removes the chunks now, unless this process reads the file.
absl::Status RemoveNowOrWhenClosed(ObjectProcess& process,
                                   const std::shared_ptr<IndexHandle>& index, const GoneFile& gone,
                                   GoneFiles* files) {
  if (!process.open->IsOpen(gone.file.id)) return files->RemoveChunks(gone);
  RemoveWhenClosed(process, index, {gone});
  return absl::OkStatus();
}

absl::Status UndoOneLink(ObjectProcess& process, const std::shared_ptr<IndexHandle>& index,
                         const IndexedFile& link, GoneFiles* files) {
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
  const GoneFile gone{link};
  if (has_tag) write.set_entries[Concat(kGonePrefix, link.tag)] = gone.Encode();
  TRELLIS_RETURN_IF_ERROR(index->Change(write));
  return has_tag ? RemoveNowOrWhenClosed(process, index, gone, files) : absl::OkStatus();
}

absl::Status FinishRemoval(ObjectProcess& process, const std::shared_ptr<IndexHandle>& index,
                           const std::string& entry, const std::string& value, GoneFiles* files) {
  if (entry.starts_with(kLinkPrefix)) {
    TRELLIS_ASSIGN_OR_RETURN(const IndexedFile link, IndexedFile::Decode(value, index->path()));
    return UndoOneLink(process, index, link, files);
  }
  TRELLIS_ASSIGN_OR_RETURN(const GoneFile gone, GoneFile::Decode(value, index->path()));
  return RemoveNowOrWhenClosed(process, index, gone, files);
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
                      const std::vector<GoneFile>& files) {
  const auto all = std::make_shared<GoneFiles>(std::move(index), process.pinned);
  std::list<OpenIds::Removal> removals;
  for (const GoneFile& gone : files) {
    if (gone.file.kind == IndexedKind::kSmall) continue;
    removals.push_back(
        {gone.file.id,
         [all, gone] { CatchOutOfMemory([&] { return all->RemoveChunks(gone); }).IgnoreError(); },
         [all] { CatchOutOfMemory([&] { return all->RemoveEntries(); }).IgnoreError(); }});
  }
  process.open->WhenClosed(std::move(removals));
}

void RetryPinnedRemovals(ObjectProcess& process) {
  CatchOutOfMemory([&] {
    for (const auto& [index, files] : process.pinned->TakeAll())
      RemoveWhenClosed(process, index, files);
    return absl::OkStatus();
  }).IgnoreError();
}

absl::Status UndoLink(ObjectProcess& process, const std::shared_ptr<IndexHandle>& index,
                      const IndexedFile& link) {
  GoneFiles files(index, process.pinned);
  TRELLIS_RETURN_IF_ERROR(UndoOneLink(process, index, link, &files));
  return files.RemoveEntries();
}

absl::Status FinishRemovals(ObjectProcess& process, const std::shared_ptr<IndexHandle>& index,
                            const ObjectValues& entries, Pins pins) {
  GoneFiles files(index, pins == Pins::kRespected ? process.pinned : nullptr);
  absl::Status first;
  for (const auto& [entry, value] : entries) {
    if (!entry.starts_with(kGonePrefix) && !entry.starts_with(kLinkPrefix)) continue;
    const absl::Status status = FinishRemoval(process, index, entry, value, &files);
    if (IsTakenOver(status)) return status;
    // The chunks of a damaged entry are unknown.
    if (!absl::IsDataLoss(status)) first.Update(status);
  }
  first.Update(files.RemoveEntries());
  return first;
}

}  // namespace lsm
