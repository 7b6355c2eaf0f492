#include "lsm/object_file_system.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lsm/bytes/status.h"
#include "lsm/fs/bare_name.h"
#include "lsm/objects/directory_index.h"
#include "lsm/objects/index_handle.h"
#include "lsm/objects/object_directory.h"
#include "lsm/objects/object_files.h"
#include "lsm/objects/object_writes.h"
#include "lsm/objects/removal.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Ceph refuses writes of more than 90 MiB.
constexpr uint64_t kChunkBytesMax = uint64_t{64} << 20;

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

absl::Status CheckObjectPath(const std::string& path) {
  const std::string plain = WithoutDetours(path);
  const bool has_name = !plain.empty() && plain != "/";
  if (has_name && Concat("/", plain).find("/../") == std::string::npos) return absl::OkStatus();
  return absl::InvalidArgumentError(
      Concat("\"", path, "\" is not the path of a directory in an object store"));
}

absl::Status CheckConfig(const ObjectFileSystem::Config& config) {
  const auto invalid = [](std::string_view name, std::string_view why) {
    return absl::InvalidArgumentError(Concat("ObjectFileSystem::Config::", name, " ", why));
  };
  if (config.lock_nanos == 0) return invalid("lock_nanos", "is 0");
  const auto is_valid = [](uint64_t bytes) { return bytes >= 1 && bytes <= kChunkBytesMax; };
  if (!is_valid(config.log_chunk_bytes))
    return invalid("log_chunk_bytes", "is not from 1 byte to 64 MiB");
  if (!is_valid(config.table_chunk_bytes))
    return invalid("table_chunk_bytes", "is not from 1 byte to 64 MiB");
  return absl::OkStatus();
}

bool HasFiles(const ObjectValues& entries) {
  return std::any_of(entries.begin(), entries.end(),
                     [](const auto& one) { return one.first.starts_with(kFilePrefix); });
}

}  // namespace

ObjectFileSystem::ObjectFileSystem(ObjectPool* pool, RandomSource* random, Config config)
    : shared_(std::make_shared<ObjectProcess>(pool, random, std::move(config))) {}
ObjectFileSystem::~ObjectFileSystem() = default;

void ObjectFileSystem::ReadMany(std::span<ReadRequest> requests,
                                const std::function<void(size_t)>& done) {
  ReadObjectFiles(&shared_->pool, requests, done);
}

void ObjectFileSystem::RenewLocks() {
  shared_->keeper.RenewAll();
  RetryPinnedRemovals(*shared_);
}

absl::StatusOr<std::unique_ptr<Directory>> ObjectFileSystem::OpenDirectory(const std::string& path,
                                                                           bool create) {
  TRELLIS_RETURN_IF_ERROR(CheckConfig(shared_->config));
  TRELLIS_RETURN_IF_ERROR(CheckObjectPath(path));
  const std::string plain = WithoutDetours(path);
  const auto directory_of = [&](std::string owner) {
    return NewObjectDirectory(
        shared_, std::make_shared<IndexHandle>(&shared_->pool, path,
                                               IndexBefore{std::move(owner), "", ObjectValues()}));
  };
  if (create && IsRoot(plain)) {
    // An opening makes a store after a look that has not found it.  This saves a second look, which
    // follows if it fails.
    absl::StatusOr<std::string> owner = MakeIndex(plain);
    if (owner.ok() && !owner->empty()) return directory_of(*std::move(owner));
  }
  absl::StatusOr<std::shared_ptr<IndexHandle>> index = IndexHandle::Open(&shared_->pool, path);
  if (absl::IsNotFound(index.status())) {
    TRELLIS_RETURN_IF_ERROR(CheckNoFileOnTheWay(path, plain));
    if (!create) return NoDirectory(path);
    TRELLIS_ASSIGN_OR_RETURN(std::string owner, MakeDirectory(plain));
    if (!owner.empty()) return directory_of(std::move(owner));
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

absl::StatusOr<std::string> ObjectFileSystem::MakeDirectory(const std::string& plain) {
  if (!IsRoot(plain)) {
    const std::string parent = ParentOf(plain);
    ObjectWrite name;
    name.entries_equal[Concat(kFilePrefix, LastNameOf(plain))] = "";
    // A removal of an earlier directory compares the value.
    name.set_entries[Concat(kDirectoryPrefix, LastNameOf(plain))] = NewId(shared_->random);
    absl::Status status = WriteObject(shared_->pool, IndexName(parent), name);
    if (absl::IsNotFound(status)) {
      TRELLIS_RETURN_IF_ERROR(MakeDirectory(parent).status());
      status = WriteObject(shared_->pool, IndexName(parent), name);
    }
    TRELLIS_RETURN_IF_ERROR(status);
  }
  TRELLIS_ASSIGN_OR_RETURN(std::string owner, MakeIndex(plain));
  if (!owner.empty()) return owner;
  // A lock may have left an empty object.
  owner = shared_->NewOwner(0).Encode();
  ObjectWrite index;
  index.attributes_equal[kOwnerAttribute] = "";
  index.set_attributes[kOwnerAttribute] = owner;
  const absl::Status status = WriteObject(shared_->pool, IndexName(plain), index);
  if (absl::IsAborted(status)) return "";
  TRELLIS_RETURN_IF_ERROR(status);
  return owner;
}

absl::StatusOr<std::string> ObjectFileSystem::MakeIndex(const std::string& plain) {
  std::string owner = shared_->NewOwner(0).Encode();
  ObjectWrite index;
  index.must_be_new = true;
  index.set_attributes[kOwnerAttribute] = owner;
  const absl::Status status = WriteObject(shared_->pool, IndexName(plain), index);
  if (absl::IsAlreadyExists(status)) return "";
  TRELLIS_RETURN_IF_ERROR(status);
  return owner;
}

absl::Status ObjectFileSystem::RemoveDirectory(const std::string& path) {
  TRELLIS_RETURN_IF_ERROR(CheckConfig(shared_->config));
  TRELLIS_RETURN_IF_ERROR(CheckObjectPath(path));
  // Read first: if the directory is removed and made again meanwhile, the name has another value.
  TRELLIS_ASSIGN_OR_RETURN(const std::string name, NameInParent(path));
  const absl::StatusOr<std::shared_ptr<IndexHandle>> opened =
      IndexHandle::Open(&shared_->pool, path);
  // An earlier attempt may have ended between the index and its name in the parent.
  if (absl::IsNotFound(opened.status())) ForgetDirectory(path, name).IgnoreError();
  if (!opened.ok()) return opened.status();
  IndexHandle& index = **opened;
  TRELLIS_RETURN_IF_ERROR(CheckEmpty(index).status());
  // From now on no other handle can add a file of a store.
  TRELLIS_ASSIGN_OR_RETURN(const Owner owner, shared_->NextOwner(index.owner(), path));
  ObjectWrite take;
  take.set_attributes[kOwnerAttribute] = owner.Encode();
  TRELLIS_RETURN_IF_ERROR(WithContext(index.Change(take), path));
  index.SetOwner(owner.Encode(), std::nullopt);
  TRELLIS_ASSIGN_OR_RETURN(const ObjectValues entries, CheckEmpty(index));
  TRELLIS_RETURN_IF_ERROR(
      WithContext(FinishRemovals(*shared_, *opened, entries, Pins::kIgnored), path));
  ObjectWrite write;
  write.attributes_equal[kOwnerAttribute] = owner.Encode();
  write.remove = true;
  absl::Status status = WriteObject(shared_->pool, index.object(), write);
  if (absl::IsAborted(status)) status = index.WhyRefused(owner.Encode(), status);
  // Without the index, the pool has applied the write before it was refused.
  if (!absl::IsNotFound(status)) TRELLIS_RETURN_IF_ERROR(WithContext(status, path));
  return WithContext(ForgetDirectory(path, name), path);
}

absl::StatusOr<ObjectValues> ObjectFileSystem::CheckEmpty(IndexHandle& index) {
  TRELLIS_ASSIGN_OR_RETURN(ObjectValues entries, index.Entries());
  TRELLIS_ASSIGN_OR_RETURN(const bool has_directories, HasDirectories(index.path(), entries));
  if (HasFiles(entries) || has_directories)
    return absl::FailedPreconditionError(Concat(index.path(), ": the directory is not empty"));
  return entries;
}

absl::StatusOr<bool> ObjectFileSystem::HasDirectories(const std::string& path,
                                                      const ObjectValues& entries) {
  for (const auto& [entry, value] : entries) {
    if (!entry.starts_with(kDirectoryPrefix)) continue;
    const absl::StatusOr<std::shared_ptr<IndexHandle>> below =
        IndexHandle::Open(&shared_->pool, Concat(path, "/", entry.substr(kDirectoryPrefix.size())));
    if (below.ok()) return true;
    // An interrupted call leaves a name without an index.
    if (!absl::IsNotFound(below.status())) return below.status();
  }
  return false;
}

absl::StatusOr<std::string> ObjectFileSystem::NameInParent(const std::string& path) {
  const std::string plain = WithoutDetours(path);
  if (IsRoot(plain)) return "";
  ObjectRead read;
  read.entries.push_back(Concat(kDirectoryPrefix, LastNameOf(plain)));
  const absl::StatusOr<ObjectContents> parent =
      shared_->pool.Read(IndexName(ParentOf(plain)), read);
  if (absl::IsNotFound(parent.status())) return "";
  if (!parent.ok()) return parent.status();
  return parent->entries.empty() ? "" : parent->entries.begin()->second;
}

absl::Status ObjectFileSystem::ForgetDirectory(const std::string& path, const std::string& name) {
  if (name.empty()) return absl::OkStatus();
  const std::string plain = WithoutDetours(path);
  const std::string entry = Concat(kDirectoryPrefix, LastNameOf(plain));
  ObjectWrite write;
  write.entries_equal[entry] = name;
  write.remove_entries.push_back(entry);
  const absl::Status status = WriteObject(shared_->pool, IndexName(ParentOf(plain)), write);
  return absl::IsAborted(status) || absl::IsNotFound(status) ? absl::OkStatus() : status;
}

}  // namespace lsm
