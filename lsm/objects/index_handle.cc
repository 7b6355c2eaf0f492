#include "lsm/objects/index_handle.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "lsm/bytes/status.h"
#include "lsm/file_system.h"
#include "lsm/fs/file_names.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

std::string OwnerIn(const ObjectContents& contents) {
  const auto place = contents.attributes.find(kOwnerAttribute);
  return place == contents.attributes.end() ? "" : place->second;
}

bool IsOwnersEntry(std::string_view entry) {
  if (!entry.starts_with(kFilePrefix)) return entry.starts_with(kLinkPrefix);
  return ParseFileName(entry.substr(kFilePrefix.size())).has_value();
}

// Whether only the owner of the index may make this change.
bool IsOwners(const ObjectWrite& write) {
  const auto is_owners = [](const auto& one) { return IsOwnersEntry(one.first); };
  const bool has_entries =
      !write.entries_equal.empty() || !write.set_entries.empty() || !write.remove_entries.empty();
  return !has_entries ||
         std::any_of(write.entries_equal.begin(), write.entries_equal.end(), is_owners) ||
         std::any_of(write.set_entries.begin(), write.set_entries.end(), is_owners) ||
         std::any_of(write.remove_entries.begin(), write.remove_entries.end(), IsOwnersEntry);
}

// Whether the object is as after the write.
bool IsApplied(const ObjectWrite& write, const ObjectContents& contents) {
  const auto has = [](const ObjectValues& values, const auto& one) {
    const auto place = values.find(one.first);
    return place != values.end() && place->second == one.second;
  };
  return !write.remove &&
         std::all_of(write.set_attributes.begin(), write.set_attributes.end(),
                     [&](const auto& one) { return has(contents.attributes, one); }) &&
         std::all_of(write.set_entries.begin(), write.set_entries.end(),
                     [&](const auto& one) { return has(contents.entries, one); }) &&
         std::none_of(write.remove_entries.begin(), write.remove_entries.end(),
                      [&](const std::string& entry) { return contents.entries.contains(entry); });
}

}  // namespace

absl::StatusOr<std::shared_ptr<IndexHandle>> IndexHandle::Open(ObjectPool* pool, std::string path) {
  TRELLIS_ASSIGN_OR_RETURN(const ObjectContents contents,
                           pool->Read(IndexName(path), {.with_attributes = true}));
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

absl::Status IndexHandle::Missing() const {
  if (!required_owner().empty()) return TakenOver(Concat(path_, ": the directory was removed"));
  return absl::NotFoundError(Concat(path_, ": no such directory"));
}

absl::Status IndexHandle::TakenOverBy(const std::string& owner) const {
  const absl::StatusOr<Owner> decoded = Owner::Decode(owner, path_);
  return TakenOver(
      Concat(path_, ": taken over by ", decoded.ok() ? decoded->holder : "another process"));
}

absl::Status IndexHandle::Change(const std::string& owner, ObjectWrite write) {
  const bool is_owners = IsOwners(write);
  if (is_owners) write.attributes_equal[kOwnerAttribute] = owner;
  const absl::Status status = pool_.Write(object_, write);
  if (absl::IsNotFound(status)) return Missing();
  if (!absl::IsAborted(status)) return status;
  ObjectRead read;
  read.with_attributes = true;
  read.entries = write.remove_entries;
  for (const auto& [entry, value] : write.set_entries) read.entries.push_back(entry);
  const absl::StatusOr<ObjectContents> contents = pool_.Read(object_, read);
  if (absl::IsNotFound(contents.status())) return Missing();
  if (!contents.ok()) return contents.status();
  const std::string now = OwnerIn(*contents);
  if (now.empty()) return Missing();
  const bool has_owner = now == owner || write.set_attributes.contains(kOwnerAttribute);
  if ((!is_owners || has_owner) && IsApplied(write, *contents)) return absl::OkStatus();
  return is_owners && now != owner ? TakenOverBy(now) : status;
}

absl::Status IndexHandle::WhyRefused(const std::string& owner, const absl::Status& status) {
  const absl::StatusOr<ObjectContents> contents = pool_.Read(object_, {.with_attributes = true});
  if (absl::IsNotFound(contents.status())) return Missing();
  if (!contents.ok()) return contents.status();
  const std::string now = OwnerIn(*contents);
  if (now.empty()) return Missing();
  return now == owner ? status : TakenOverBy(now);
}

absl::StatusOr<std::string> IndexHandle::EntryOfAny(const std::string& entry) {
  ObjectRead read;
  read.with_attributes = true;
  read.entries.push_back(entry);
  const absl::StatusOr<ObjectContents> contents = pool_.Read(object_, read);
  if (absl::IsNotFound(contents.status()) || (contents.ok() && OwnerIn(*contents).empty()))
    return Missing();
  if (!contents.ok()) return contents.status();
  return contents->entries.empty() ? "" : contents->entries.begin()->second;
}

absl::StatusOr<std::string> IndexHandle::Entry(const std::string& entry) {
  const std::string owner = required_owner();
  if (owner.empty()) return EntryOfAny(entry);
  ObjectRead read;
  read.attributes_equal[kOwnerAttribute] = owner;
  read.entries.push_back(entry);
  const absl::StatusOr<ObjectContents> contents = pool_.Read(object_, read);
  if (absl::IsAborted(contents.status())) return WhyRefused(owner, contents.status());
  if (absl::IsNotFound(contents.status())) return Missing();
  if (!contents.ok()) return contents.status();
  return contents->entries.empty() ? "" : contents->entries.begin()->second;
}

absl::StatusOr<std::optional<IndexedFile>> IndexHandle::Find(std::string_view name) {
  TRELLIS_ASSIGN_OR_RETURN(const std::string value, Entry(Concat(kFilePrefix, name)));
  if (value.empty()) return std::nullopt;
  return IndexedFile::Decode(value, PathOf(name));
}

absl::StatusOr<ObjectValues> IndexHandle::Entries(const std::string& owner) {
  ObjectValues all;
  ObjectRead read;
  read.attributes_equal[kOwnerAttribute] = owner;
  read.entries_after = "";
  for (;;) {
    absl::StatusOr<ObjectContents> contents = pool_.Read(object_, read);
    if (absl::IsAborted(contents.status())) return WhyRefused(owner, contents.status());
    if (absl::IsNotFound(contents.status())) return Missing();
    if (!contents.ok()) return WithContext(contents.status(), path_);
    const bool has_more = contents->has_more_entries && !contents->entries.empty();
    if (has_more) read.entries_after = std::prev(contents->entries.end())->first;
    all.merge(contents->entries);
    if (!has_more) return all;
  }
}

}  // namespace lsm
