#include "lsm/objects/object_file_system.h"

#include <set>
#include <utility>
#include <vector>

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

}  // namespace

ObjectFileSystem::ObjectFileSystem(ObjectPool* pool, RandomSource* random, Config config)
    : shared_(std::make_shared<ObjectProcess>(pool, random, std::move(config))) {}
ObjectFileSystem::~ObjectFileSystem() = default;

absl::StatusOr<std::unique_ptr<Directory>> ObjectFileSystem::OpenDirectory(const std::string& path,
                                                                           bool create) {
  if (path.empty()) return absl::InvalidArgumentError("the path of a directory is empty");
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
  TRELLIS_ASSIGN_OR_RETURN(const std::shared_ptr<IndexHandle> index,
                           IndexHandle::Open(&shared_->pool, path));
  TRELLIS_RETURN_IF_ERROR(FinishRemovals(*shared_, *index));
  TRELLIS_ASSIGN_OR_RETURN(const ObjectValues entries, index->Entries());
  if (!entries.empty())
    return absl::FailedPreconditionError(Concat(path, ": the directory is not empty"));
  ObjectWrite write;
  write.remove = true;
  TRELLIS_RETURN_IF_ERROR(index->Change(std::move(write)));
  const std::string plain = WithoutDetours(path);
  if (IsRoot(plain)) return absl::OkStatus();
  ObjectWrite name;
  name.remove_entries.push_back(Concat(kDirectoryPrefix, LastNameOf(plain)));
  return shared_->pool.Write(IndexName(ParentOf(plain)), name);
}

}  // namespace lsm
