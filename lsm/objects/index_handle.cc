#include "lsm/objects/index_handle.h"

#include <iterator>
#include <memory>

#include "lsm/bytes/status.h"
#include "lsm/file_system.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

std::string OwnerIn(const ObjectContents& contents) {
  const auto place = contents.attributes.find(kOwnerAttribute);
  return place == contents.attributes.end() ? "" : place->second;
}

}  // namespace

absl::StatusOr<std::shared_ptr<IndexHandle>> IndexHandle::Open(ObjectPool* pool, std::string path) {
  TRELLIS_ASSIGN_OR_RETURN(const ObjectContents contents, pool->Read(IndexName(path), {}));
  // An index without an owner is one that is being removed or was never made.
  if (OwnerIn(contents).empty()) return absl::NotFoundError(Concat(path, ": no such directory"));
  return std::make_shared<IndexHandle>(pool, std::move(path), OwnerIn(contents));
}

std::string IndexHandle::PathOf(std::string_view name) const { return Concat(path_, "/", name); }

std::string IndexHandle::owner() const {
  MutexLock lock(&mutex_);
  return owner_;
}

void IndexHandle::SetOwner(std::string owner) {
  MutexLock lock(&mutex_);
  owner_ = std::move(owner);
  has_locked_ = true;
}

std::string IndexHandle::required_owner() const {
  MutexLock lock(&mutex_);
  return has_locked_ ? owner_ : "";
}

absl::Status IndexHandle::Change(ObjectWrite write) {
  const std::string owner = this->owner();
  write.attributes_equal[kOwnerAttribute] = owner;
  const absl::Status status = pool_.Write(object_, write);
  return absl::IsAborted(status) ? WhyRefused(owner, status) : status;
}

absl::Status IndexHandle::WhyRefused(const std::string& owner, const absl::Status& status) {
  TRELLIS_ASSIGN_OR_RETURN(const ObjectContents contents, pool_.Read(object_, {}));
  const std::string other = OwnerIn(contents);
  if (other == owner) return status;
  const absl::StatusOr<Owner> decoded = Owner::Decode(other, path_);
  return TakenOver(
      Concat(path_, ": taken over by ", decoded.ok() ? decoded->holder : "another process"));
}

absl::StatusOr<std::string> IndexHandle::Entry(const std::string& entry) {
  const std::string owner = required_owner();
  ObjectRead read;
  if (!owner.empty()) read.attributes_equal[kOwnerAttribute] = owner;
  read.entries.push_back(entry);
  const absl::StatusOr<ObjectContents> contents = pool_.Read(object_, read);
  if (absl::IsAborted(contents.status())) return WhyRefused(owner, contents.status());
  if (!contents.ok()) return contents.status();
  return contents->entries.empty() ? "" : contents->entries.begin()->second;
}

absl::StatusOr<std::optional<IndexedFile>> IndexHandle::Find(std::string_view name) {
  TRELLIS_ASSIGN_OR_RETURN(const std::string value, Entry(Concat(kFilePrefix, name)));
  if (value.empty()) return std::nullopt;
  return IndexedFile::Decode(value, PathOf(name));
}

absl::StatusOr<ObjectValues> IndexHandle::Entries() {
  const std::string owner = this->owner();
  ObjectValues all;
  ObjectRead read;
  read.attributes_equal[kOwnerAttribute] = owner;
  read.entries_after = "";
  for (;;) {
    absl::StatusOr<ObjectContents> contents = pool_.Read(object_, read);
    if (absl::IsAborted(contents.status())) return WhyRefused(owner, contents.status());
    if (!contents.ok()) return WithContext(contents.status(), path_);
    const bool has_more = contents->has_more_entries && !contents->entries.empty();
    if (has_more) read.entries_after = std::prev(contents->entries.end())->first;
    all.merge(contents->entries);
    if (!has_more) return all;
  }
}

}  // namespace lsm
