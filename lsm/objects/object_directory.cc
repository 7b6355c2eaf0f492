#include "lsm/objects/object_directory.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/fs/bare_name.h"
#include "lsm/fs/file_names.h"
#include "lsm/objects/fence.h"
#include "lsm/objects/object_writes.h"
#include "lsm/objects/removal.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

std::string FileEntry(std::string_view name) { return Concat(kFilePrefix, name); }
std::string DirectoryEntry(std::string_view name) { return Concat(kDirectoryPrefix, name); }

absl::Status NameIsTaken(std::string_view path) {
  return absl::AlreadyExistsError(Concat(path, ": file exists"));
}

bool IsOfTable(const GoneFile& gone) { return gone.file.kind == IndexedKind::kTable; }

bool HaveSameObjects(const ObjectPool& a, const ObjectPool& b) {
  if (&a == &b) return true;
  const std::string identity = a.Identity();
  return !identity.empty() && identity == b.Identity();
}

// While it lives, no removal that waits in OpenIds runs.
class Lookup {
 public:
  explicit Lookup(OpenIds* open) : open_(*open) { open_.BeginLookup(); }
  ~Lookup() { open_.EndLookup(); }
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

 private:
  OpenIds& open_;
};

class ObjectDirectory final : public Directory {
 public:
  ObjectDirectory(std::shared_ptr<ObjectProcess> process, std::shared_ptr<IndexHandle> index)
      : process_(std::move(process)), index_(std::move(index)) {}

  absl::StatusOr<std::unique_ptr<ReadFile>> OpenRead(std::string_view name, ReadMode mode) override;
  absl::StatusOr<std::unique_ptr<AppendFile>> CreateExclusive(std::string_view name) override;
  absl::StatusOr<std::vector<std::string>> List() override;
  absl::StatusOr<std::vector<std::string>> ListAsOpened() override;
  absl::StatusOr<FileInfo> Stat(std::string_view name) override;
  absl::Status Rename(std::string_view from, std::string_view to) override;
  absl::Status Link(std::string_view name, Directory& to, std::string_view new_name) override;
  absl::Status Remove(std::string_view name) override;
  std::vector<absl::Status> RemoveAll(std::span<const std::string> names) override;
  void RemoveLater(std::span<const std::string> names) override;
  // Names are durable when the call that changes them returns.
  absl::Status Sync() override { return absl::OkStatus(); }
  absl::Status ForgetFailedSync() override { return absl::OkStatus(); }
  absl::Status AtomicReplace(std::string_view name, std::string_view bytes,
                             std::optional<std::string_view> expected,
                             const std::function<void()>& before_swap) override;
  void HoldNames() override { index_->BeginHolding(); }
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(std::string_view name, LockKind kind) override;
  absl::StatusOr<std::shared_ptr<const void>> PinTables() override;
  const std::string& path() const override { return index_->path(); }

 private:
  std::string PathOf(std::string_view name) const { return index_->PathOf(name); }
  // NotFound, or Unavailable for a directory.
  absl::StatusOr<IndexedFile> Find(std::string_view name);
  // Those of the entries that exist.  `name` is for the error.
  absl::StatusOr<ObjectValues> Look(std::string_view name, const std::vector<std::string>& entries);
  // The same as Find, in entries that were looked up.
  absl::StatusOr<IndexedFile> FileIn(const ObjectValues& found, std::string_view name) const;
  // Removes files by one write of the index, and sets the outcome of each.  False, and nothing is
  // removed, if another call changed one of them.
  bool RemoveTogether(std::span<const std::string> names, std::span<absl::Status> outcomes);
  // The part of RemoveTogether that adds the entries gone:TAG.  Aborted if another call changed one
  // of the files.
  absl::Status RemoveNames(ObjectWrite write, std::vector<GoneFile>* gone);
  // The error of a link to a table that has no first chunk.
  absl::Status WhyUnlinked(std::string_view name);
  // Removes the first chunk of a log that the index does not name.
  void DropUnnamed(std::string_view name, const IndexedFile& file, const std::string& owner);

  const std::shared_ptr<ObjectProcess> process_;
  const std::shared_ptr<IndexHandle> index_;
};

std::vector<std::string> FileNamesIn(const ObjectValues& entries) {
  std::vector<std::string> names;
  for (const auto& [entry, value] : entries) {
    if (entry.starts_with(kFilePrefix)) names.push_back(entry.substr(kFilePrefix.size()));
  }
  return names;
}

absl::StatusOr<IndexedFile> ObjectDirectory::Find(std::string_view name) {
  TRELLIS_RETURN_IF_ERROR(CheckBareName(path(), name));
  TRELLIS_ASSIGN_OR_RETURN(const ObjectValues found,
                           Look(name, {FileEntry(name), DirectoryEntry(name)}));
  return FileIn(found, name);
}

absl::StatusOr<ObjectValues> ObjectDirectory::Look(std::string_view name,
                                                   const std::vector<std::string>& entries) {
  absl::StatusOr<ObjectValues> found = index_->EntriesOf(entries);
  if (absl::IsNotFound(found.status())) return ObjectValues();  // the directory was removed
  if (!found.ok()) return WithContext(found.status(), PathOf(name));
  return found;
}

absl::StatusOr<IndexedFile> ObjectDirectory::FileIn(const ObjectValues& found,
                                                    std::string_view name) const {
  const auto file = found.find(FileEntry(name));
  if (file != found.end()) return IndexedFile::Decode(file->second, PathOf(name));
  if (found.contains(DirectoryEntry(name)))
    return absl::UnavailableError(Concat(PathOf(name), ": is a directory, not a regular file"));
  return absl::NotFoundError(Concat(PathOf(name), ": no such file or directory"));
}

absl::StatusOr<std::unique_ptr<ReadFile>> ObjectDirectory::OpenRead(std::string_view name,
                                                                    ReadMode mode) {
  const Lookup lookup(process_->open.get());
  TRELLIS_ASSIGN_OR_RETURN(IndexedFile file, Find(name));
  if (mode == ReadMode::kDirect) {
    return absl::InvalidArgumentError(
        Concat(PathOf(name), ": an object store has no page cache to read past"));
  }
  return NewObjectReader({index_, std::string(name), std::move(file)}, process_->open);
}

absl::StatusOr<std::unique_ptr<AppendFile>> ObjectDirectory::CreateExclusive(
    std::string_view name) {
  TRELLIS_RETURN_IF_ERROR(CheckBareName(path(), name));
  const bool is_table = IsTableFileName(name);
  const std::string owner = index_->owner();
  IndexedFile file;
  file.kind = is_table ? IndexedKind::kTable : IndexedKind::kLog;
  file.id = NewId(process_->random);
  file.tag = NewId(process_->random);
  file.chunk_bytes =
      is_table ? process_->config.table_chunk_bytes : process_->config.log_chunk_bytes;
  file.chunks = is_table ? 0 : 1;
  // The chunk of a log exists before its name.  Otherwise a new owner could find a name without a
  // chunk to seal, and the earlier owner could then make and write the chunk.
  if (!is_table) {
    TRELLIS_RETURN_IF_ERROR(WithContext(MakeLogChunk(*index_, file, 0, owner), PathOf(name)));
  }
  ObjectWrite write;
  write.entries_equal[FileEntry(name)] = "";
  write.entries_equal[DirectoryEntry(name)] = "";
  write.set_entries[FileEntry(name)] = file.Encode();
  // The name of a table leads to chunks that a crash may leave, so it is not held.
  const absl::Status status =
      is_table ? index_->Change(owner, write) : index_->ChangeLater(owner, write);
  if (status.ok()) {
    return is_table ? NewTableWriter(index_, std::string(name), std::move(file), owner)
                    : NewLogWriter(index_, std::string(name), std::move(file), owner);
  }
  // After any other error the file may be registered later.
  if (!is_table && (absl::IsAborted(status) || absl::IsNotFound(status) || IsTakenOver(status)))
    DropUnnamed(name, file, owner);
  if (absl::IsAborted(status)) return NameIsTaken(PathOf(name));
  if (absl::IsNotFound(status))
    return absl::UnavailableError(Concat(PathOf(name), ": the directory was removed"));
  return WithContext(status, PathOf(name));
}

void ObjectDirectory::DropUnnamed(std::string_view name, const IndexedFile& file,
                                  const std::string& owner) {
  // The pool may have applied the refused write before, so a new owner may have found the file.
  const absl::StatusOr<std::string> entry = index_->EntryOfAny(FileEntry(name));
  if (entry.ok() && *entry == file.Encode()) return;
  ObjectWrite write;
  write.attributes_equal[kOwnerAttribute] = owner;  // a new owner has not sealed it
  write.remove = true;
  WriteObject(index_->pool(), ChunkName(file.id, 0), write).IgnoreError();
}

absl::StatusOr<std::vector<std::string>> ObjectDirectory::List() {
  TRELLIS_ASSIGN_OR_RETURN(const ObjectValues entries, index_->Entries());
  return FileNamesIn(entries);
}

absl::StatusOr<std::vector<std::string>> ObjectDirectory::ListAsOpened() {
  TRELLIS_ASSIGN_OR_RETURN(const ObjectValues entries, index_->EntriesBefore());
  return FileNamesIn(entries);
}

absl::StatusOr<FileInfo> ObjectDirectory::Stat(std::string_view name) {
  const Lookup lookup(process_->open.get());
  TRELLIS_ASSIGN_OR_RETURN(const IndexedFile file, Find(name));
  TRELLIS_ASSIGN_OR_RETURN(const uint64_t size, SizeOf({index_, std::string(name), file}));
  return FileInfo{size};
}

absl::Status ObjectDirectory::Rename(std::string_view from, std::string_view to) {
  TRELLIS_RETURN_IF_ERROR(CheckBareName(path(), to));
  TRELLIS_ASSIGN_OR_RETURN(const IndexedFile file, Find(from));
  if (from == to) return absl::OkStatus();
  TRELLIS_ASSIGN_OR_RETURN(const std::optional<IndexedFile> replaced, index_->Find(to));
  ObjectWrite write;
  write.entries_equal[FileEntry(from)] = file.Encode();
  write.entries_equal[FileEntry(to)] = replaced ? replaced->Encode() : "";
  write.entries_equal[DirectoryEntry(to)] = "";
  write.remove_entries.push_back(FileEntry(from));
  write.set_entries[FileEntry(to)] = file.Encode();
  if (replaced && replaced->kind != IndexedKind::kSmall)
    write.set_entries[Concat(kGonePrefix, replaced->tag)] = GoneFile{*replaced}.Encode();
  const absl::Status status = index_->Change(write);
  if (absl::IsAborted(status)) {
    const absl::StatusOr<std::string> directory = index_->Entry(DirectoryEntry(to));
    return absl::UnavailableError(Concat(PathOf(to), directory.ok() && !directory->empty()
                                                         ? ": is a directory, not a regular file"
                                                         : ": another call changed it at the "
                                                           "same time"));
  }
  TRELLIS_RETURN_IF_ERROR(WithContext(status, PathOf(from)));
  if (replaced) RemoveWhenClosed(*process_, index_, {GoneFile{*replaced}});
  return absl::OkStatus();
}

absl::Status ObjectDirectory::Link(std::string_view name, Directory& to,
                                   std::string_view new_name) {
  TRELLIS_RETURN_IF_ERROR(CheckBareName(path(), name));
  auto* const other = dynamic_cast<ObjectDirectory*>(&to);
  if (other == nullptr || !HaveSameObjects(other->index_->pool(), index_->pool()))
    return Directory::Link(name, to, new_name);
  TRELLIS_RETURN_IF_ERROR(CheckBareName(to.path(), new_name));
  TRELLIS_ASSIGN_OR_RETURN(const IndexedFile file, Find(name));
  // The chunks of a log have one owner, so it cannot be in two directories.
  if (file.kind != IndexedKind::kTable) return Directory::Link(name, to, new_name);
  // The link would have the size of now.
  if (file.chunks == 0)
    return absl::FailedPreconditionError(Concat(PathOf(name), ": the table is not complete"));
  IndexedFile link = file;
  link.tag = NewId(process_->random);
  // Until the name exists, link:TAG makes a later owner remove the tag.
  ObjectWrite begin;
  begin.entries_equal[FileEntry(new_name)] = "";
  begin.entries_equal[DirectoryEntry(new_name)] = "";
  begin.set_entries[Concat(kLinkPrefix, link.tag)] = link.Encode();
  absl::Status status = other->index_->Change(begin);
  if (absl::IsAborted(status)) return NameIsTaken(other->PathOf(new_name));
  TRELLIS_RETURN_IF_ERROR(WithContext(status, other->PathOf(new_name)));
  status = AddTag(index_->pool(), link);
  if (absl::IsNotFound(status)) {
    UndoLink(*other->process_, other->index_, link).IgnoreError();
    return WhyUnlinked(name);
  }
  TRELLIS_RETURN_IF_ERROR(WithContext(status, PathOf(name)));
  ObjectWrite finish;
  finish.entries_equal[FileEntry(new_name)] = "";
  finish.entries_equal[Concat(kLinkPrefix, link.tag)] = link.Encode();
  finish.remove_entries.push_back(Concat(kLinkPrefix, link.tag));
  finish.set_entries[FileEntry(new_name)] = link.Encode();
  status = other->index_->Change(finish);
  if (!absl::IsAborted(status)) return WithContext(status, other->PathOf(new_name));
  // After any other error, a later owner finds the name or link:TAG.
  UndoLink(*other->process_, other->index_, link).IgnoreError();
  return NameIsTaken(other->PathOf(new_name));
}

absl::Status ObjectDirectory::WhyUnlinked(std::string_view name) {
  // The table may have been removed after the link found it, perhaps by another owner.
  const std::string owner = index_->required_owner();
  if (!owner.empty()) TRELLIS_RETURN_IF_ERROR(index_->WhyRefused(owner, absl::OkStatus()));
  TRELLIS_RETURN_IF_ERROR(Find(name).status());
  return absl::DataLossError(Concat(PathOf(name), ": chunk 0 is missing"));
}

absl::Status ObjectDirectory::Remove(std::string_view name) {
  const std::string names[] = {std::string(name)};
  absl::Status outcome;
  if (RemoveTogether(names, {&outcome, 1})) return outcome;
  return absl::UnavailableError(Concat(PathOf(name), ": another call changed it at the same time"));
}

std::vector<absl::Status> ObjectDirectory::RemoveAll(std::span<const std::string> names) {
  std::vector<absl::Status> outcomes(names.size());
  for (size_t begin = 0; begin < names.size(); begin += kRemovalsTogetherMax) {
    const size_t count = std::min(names.size() - begin, kRemovalsTogetherMax);
    const std::span<const std::string> some = names.subspan(begin, count);
    const std::span<absl::Status> theirs = std::span(outcomes).subspan(begin, count);
    if (RemoveTogether(some, theirs)) continue;
    std::transform(some.begin(), some.end(), theirs.begin(),
                   [this](const std::string& name) { return Remove(name); });
  }
  return outcomes;
}

void ObjectDirectory::RemoveLater(std::span<const std::string> names) {
  if (names.empty()) return;
  // The work does not own the process, which waits for it in its destructor.
  const std::shared_ptr<ObjectProcess> process(std::shared_ptr<void>(), process_.get());
  CatchOutOfMemory([&] {
    process->later.Add([process, index = index_, all = std::vector(names.begin(), names.end())] {
      ObjectDirectory(process, index).RemoveAll(all);
    });
    return absl::OkStatus();
  }).IgnoreError();
}

bool ObjectDirectory::RemoveTogether(std::span<const std::string> names,
                                     std::span<absl::Status> outcomes) {
  std::vector<std::string> entries;
  for (const std::string& name : names) {
    if (!CheckBareName(path(), name).ok()) continue;
    entries.push_back(FileEntry(name));
    entries.push_back(DirectoryEntry(name));
  }
  const absl::StatusOr<ObjectValues> found = Look(names.front(), entries);
  ObjectWrite write;
  std::vector<GoneFile> gone;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    outcomes[i] = CheckBareName(path(), name);
    if (outcomes[i].ok()) outcomes[i] = found.status();
    if (!outcomes[i].ok()) continue;
    const absl::StatusOr<IndexedFile> file = FileIn(*found, name);
    // A damaged entry can be removed.  Its chunks are unknown.
    if (!absl::IsDataLoss(file.status())) outcomes[i] = file.status();
    if (!outcomes[i].ok()) continue;
    write.entries_equal.insert(*found->find(FileEntry(name)));
    write.remove_entries.push_back(FileEntry(name));
    if (file.ok() && file->kind != IndexedKind::kSmall) gone.push_back({*file});
  }
  if (write.remove_entries.empty()) return true;
  const absl::Status status = RemoveNames(std::move(write), &gone);
  if (absl::IsAborted(status)) return false;
  if (status.ok()) RemoveWhenClosed(*process_, index_, gone);
  for (size_t i = 0; i < names.size(); ++i) {
    if (outcomes[i].ok()) outcomes[i] = WithContext(status, PathOf(names[i]));
  }
  return true;
}

absl::Status ObjectDirectory::RemoveNames(ObjectWrite write, std::vector<GoneFile>* gone) {
  for (;;) {
    const IndexCounts counts = index_->counts();
    uint64_t removal = 0;
    if (std::any_of(gone->begin(), gone->end(), IsOfTable)) {
      TRELLIS_ASSIGN_OR_RETURN(removal, DecodeCount(counts.removals, path()));
      write.attributes_equal[kRemovalsAttribute] = counts.removals;
      write.set_attributes[kRemovalsAttribute] = EncodeCount(++removal);
      // A pin that this handle does not know may need the files.
      write.attributes_equal[kPinsAttribute] = counts.pins;
    }
    for (GoneFile& one : *gone) {
      one.removal = IsOfTable(one) ? removal : 0;
      write.set_entries[Concat(kGonePrefix, one.file.tag)] = one.Encode();
    }
    const absl::Status status = index_->Change(write);
    // Another call removed tables, or a follower made a pin.
    if (absl::IsAborted(status) && index_->counts() != counts) continue;
    return status;
  }
}

absl::StatusOr<std::shared_ptr<const void>> ObjectDirectory::PinTables() {
  return lsm::PinTables(process_, index_);
}

absl::Status ObjectDirectory::AtomicReplace(std::string_view name, std::string_view bytes,
                                            std::optional<std::string_view> expected,
                                            const std::function<void()>& before_swap) {
  TRELLIS_RETURN_IF_ERROR(CheckBareName(path(), name));
  if (bytes.size() > kSmallBytesMax) {
    return absl::InvalidArgumentError(Concat(PathOf(name), ": ", bytes.size(),
                                             " bytes cannot be replaced at once, only ",
                                             kSmallBytesMax));
  }
  const absl::Status unexpected =
      absl::AbortedError(Concat(PathOf(name), ": its content is not the expected one"));
  IndexedFile before, after;
  before.kind = after.kind = IndexedKind::kSmall;
  after.small_bytes = bytes;
  if (expected) {
    before.small_bytes = *expected;
    TRELLIS_ASSIGN_OR_RETURN(const std::optional<IndexedFile> found, index_->Find(name));
    if (found && found->kind != IndexedKind::kSmall) {
      // CreateExclusive made it.
      const absl::StatusOr<std::string> content = ReadWholeFile(*this, name, expected->size());
      if (!content.ok() && !absl::IsResourceExhausted(content.status())) return content.status();
      if (!content.ok() || *content != *expected) return unexpected;
      before = *found;
    }
  }
  ObjectWrite write;
  write.entries_equal[FileEntry(name)] = expected ? before.Encode() : "";
  write.entries_equal[DirectoryEntry(name)] = "";
  write.set_entries[FileEntry(name)] = after.Encode();
  if (before.kind != IndexedKind::kSmall)
    write.set_entries[Concat(kGonePrefix, before.tag)] = GoneFile{before}.Encode();
  if (before_swap != nullptr) before_swap();
  const absl::Status status = index_->ChangeAndEndHolding(write);
  if (absl::IsAborted(status)) return unexpected;
  TRELLIS_RETURN_IF_ERROR(WithContext(status, PathOf(name)));
  RemoveWhenClosed(*process_, index_, {GoneFile{before}});
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<FileLock>> ObjectDirectory::Lock(std::string_view name,
                                                                LockKind kind) {
  TRELLIS_RETURN_IF_ERROR(CheckBareName(path(), name));
  if (kind == LockKind::kShared)
    return absl::NotFoundError(Concat(PathOf(name), ": an object store has no shared locks"));
  if (name != kLockFileName) {
    return absl::UnimplementedError(
        Concat(PathOf(name), ": in an object store only ", kLockFileName, " can be locked"));
  }
  return Fence(process_, index_);
}

}  // namespace

std::unique_ptr<Directory> NewObjectDirectory(std::shared_ptr<ObjectProcess> process,
                                              std::shared_ptr<IndexHandle> index) {
  return std::make_unique<ObjectDirectory>(std::move(process), std::move(index));
}

absl::StatusOr<Owner> ObjectProcess::NextOwner(std::string_view last, std::string_view path) {
  TRELLIS_ASSIGN_OR_RETURN(const Owner owner, Owner::Decode(last, path));
  if (owner.counter == UINT64_MAX) {
    return absl::ResourceExhaustedError(
        Concat(path, ": the directory had as many owners as it can have"));
  }
  return NewOwner(owner.counter + 1);
}

}  // namespace lsm
