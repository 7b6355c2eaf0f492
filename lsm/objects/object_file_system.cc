#include "lsm/object_file_system.h"

#include <algorithm>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/fs/bare_name.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/index_handle.h"
#include "lsm/objects/object_directory.h"
#include "lsm/objects/object_files.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

absl::Status NoDirectory(std::string_view path) {
  return absl::NotFoundError(Concat(path, ": no such directory"));
}

// "/a/" of "/a/b/"; empty without a parent.
std::string ParentOf(std::string_view plain) {
  plain.remove_suffix(1);
  return std::string(plain.substr(0, plain.rfind('/') + 1));
}
std::string_view LastNameOf(std::string_view plain) {
  plain.remove_suffix(1);
  return plain.substr(plain.rfind('/') + 1);
}
bool IsRoot(std::string_view plain) { return ParentOf(plain).size() <= 1; }

absl::Status CheckPath(const std::string& path) {
  const std::string plain = WithoutDetours(path);
  const bool has_name = !plain.empty() && plain != "/";
  if (has_name && Concat("/", plain).find("/../") == std::string::npos) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Concat("\"", path, "\" is not the path of a directory in an object store"));
}

bool HasFiles(const ObjectValues& entries) {
  return std::any_of(entries.begin(), entries.end(),
                     [](const auto& one) { return one.first.starts_with(kFilePrefix); });
}

}  // namespace

ObjectFileSystem::ObjectFileSystem(ObjectPool* pool, RandomSource* random, Config config)
    : shared_(std::make_shared<ObjectProcess>(pool, random, std::move(config))) {}
ObjectFileSystem::~ObjectFileSystem() = default;

void ObjectFileSystem::RenewLocks() { shared_->keeper.RenewAll(); }

absl::StatusOr<std::unique_ptr<Directory>> ObjectFileSystem::OpenDirectory(const std::string& path,
                                                                           bool create) {
  TRELLIS_RETURN_IF_ERROR(CheckPath(path));
  const std::string plain = WithoutDetours(path);
  absl::StatusOr<std::shared_ptr<IndexHandle>> index = IndexHandle::Open(&shared_->pool, path);
  if (absl::IsNotFound(index.status())) {
    TRELLIS_RETURN_IF_ERROR(CheckNoFileOnTheWay(path, plain));
    if (!create) return NoDirectory(path);
    TRELLIS_RETURN_IF_ERROR(MakeDirectory(plain));
    index = IndexHandle::Open(&shared_->pool, path);
  }
  if (!index.ok()) return index.status();
  return NewObjectDirectory(shared_, *std::move(index));
}

absl::Status ObjectFileSystem::CheckNoFileOnTheWay(const std::string& path, std::string plain) {
  for (; plain.size() > 1 && !IsRoot(plain); plain = ParentOf(plain)) {
    const absl::StatusOr<std::shared_ptr<IndexHandle>> parent =
        IndexHandle::Open(&shared_->pool, ParentOf(plain));
    if (absl::IsNotFound(parent.status())) continue;
    if (!parent.ok()) return parent.status();
    TRELLIS_ASSIGN_OR_RETURN(const std::string file,
                             (*parent)->Entry(Concat(kFilePrefix, LastNameOf(plain))));
    if (!file.empty()) {
      return absl::InvalidArgumentError(
          Concat(path, ": ", plain.substr(0, plain.size() - 1), " is a file, not a directory"));
    }
    return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::Status ObjectFileSystem::MakeDirectory(const std::string& plain) {
  if (!IsRoot(plain)) {
    const std::string parent = ParentOf(plain);
    ObjectWrite name;
    name.entries_equal[Concat(kFilePrefix, LastNameOf(plain))] = "";
    name.set_entries[Concat(kDirectoryPrefix, LastNameOf(plain))] = "1";
    absl::Status status = shared_->pool.Write(IndexName(parent), name);
    if (absl::IsNotFound(status)) {
      TRELLIS_RETURN_IF_ERROR(MakeDirectory(parent));
      status = shared_->pool.Write(IndexName(parent), name);
    }
    TRELLIS_RETURN_IF_ERROR(status);
  }
  ObjectWrite index;
  index.must_be_new = true;
  index.set_attributes[kOwnerAttribute] = shared_->NewOwner(0).Encode();
  const absl::Status status = shared_->pool.Write(IndexName(plain), index);
  return absl::IsAlreadyExists(status) ? absl::OkStatus() : status;
}

absl::Status ObjectFileSystem::RemoveDirectory(const std::string& path) {
  TRELLIS_RETURN_IF_ERROR(CheckPath(path));
  const absl::StatusOr<std::shared_ptr<IndexHandle>> opened =
      IndexHandle::Open(&shared_->pool, path);
  // An earlier attempt may have ended between the index and its name in the parent.
  if (absl::IsNotFound(opened.status())) ForgetDirectory(path).IgnoreError();
  if (!opened.ok()) return opened.status();
  IndexHandle& index = **opened;
  const absl::Status not_empty =
      absl::FailedPreconditionError(Concat(path, ": the directory is not empty"));
  TRELLIS_ASSIGN_OR_RETURN(ObjectValues entries, index.Entries());
  TRELLIS_ASSIGN_OR_RETURN(const bool has_directories, HasDirectories(path, entries));
  if (HasFiles(entries) || has_directories) return not_empty;
  // From now on no other handle can add a file.
  TRELLIS_ASSIGN_OR_RETURN(const Owner last, Owner::Decode(index.owner(), path));
  ObjectWrite take;
  const std::string owner = shared_->NewOwner(last.counter + 1).Encode();
  take.set_attributes[kOwnerAttribute] = owner;
  TRELLIS_RETURN_IF_ERROR(WithContext(index.Change(std::move(take)), path));
  index.SetOwner(owner);
  TRELLIS_ASSIGN_OR_RETURN(entries, index.Entries());
  if (HasFiles(entries)) return not_empty;
  TRELLIS_RETURN_IF_ERROR(WithContext(FinishRemovals(*shared_, index, entries), path));
  ObjectWrite write;
  write.remove = true;
  TRELLIS_RETURN_IF_ERROR(WithContext(index.Change(std::move(write)), path));
  return WithContext(ForgetDirectory(path), path);
}

absl::StatusOr<bool> ObjectFileSystem::HasDirectories(const std::string& path,
                                                      const ObjectValues& entries) {
  for (const auto& [entry, value] : entries) {
    if (!entry.starts_with(kDirectoryPrefix)) continue;
    const absl::StatusOr<std::shared_ptr<IndexHandle>> below =
        IndexHandle::Open(&shared_->pool, Concat(path, "/", entry.substr(kDirectoryPrefix.size())));
    if (below.ok()) return true;
    // A name without an index is left of an interrupted call.
    if (!absl::IsNotFound(below.status())) return below.status();
  }
  return false;
}

absl::Status ObjectFileSystem::ForgetDirectory(const std::string& path) {
  const std::string plain = WithoutDetours(path);
  if (IsRoot(plain)) return absl::OkStatus();
  const std::string entry = Concat(kDirectoryPrefix, LastNameOf(plain));
  ObjectWrite name;
  name.entries_equal[entry] = "1";
  name.remove_entries.push_back(entry);
  const absl::Status status = shared_->pool.Write(IndexName(ParentOf(plain)), name);
  return absl::IsAborted(status) || absl::IsNotFound(status) ? absl::OkStatus() : status;
}

}  // namespace lsm
