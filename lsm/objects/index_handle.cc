#include "lsm/objects/index_handle.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "lsm/bytes/status.h"
#include "lsm/file_system.h"
#include "lsm/fs/file_names.h"
#include "lsm/objects/object_values.h"
#include "lsm/objects/object_writes.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

std::string OwnerIn(const ObjectContents& contents) {
  return std::string(ValueOf(contents.attributes, kOwnerAttribute));
}

// The part of an index that IndexBefore has.
ObjectRead ReadOfBefore() {
  ObjectRead read;
  read.with_attributes = true;
  read.entries.push_back(Concat(kFilePrefix, kLockFileName));
  read.entries_after = "";
  return read;
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

// Whether only the owner's handle changes the entry of this file, or of a directory of its name.
bool IsKept(std::string_view entry) {
  for (const std::string_view prefix : {kFilePrefix, kDirectoryPrefix}) {
    if (entry.starts_with(prefix)) return ParseFileName(entry.substr(prefix.size())).has_value();
  }
  return false;
}

IndexBefore BeforeIn(ObjectContents contents) {
  IndexBefore before;
  before.owner = OwnerIn(contents);
  before.counts = CountsIn(contents);
  before.lock_entry = ValueOf(contents.entries, Concat(kFilePrefix, kLockFileName));
  if (!contents.has_more_entries) before.entries = std::move(contents.entries);
  return before;
}

bool Removes(const ObjectWrite& write, const std::string& entry) {
  return std::find(write.remove_entries.begin(), write.remove_entries.end(), entry) !=
         write.remove_entries.end();
}
bool Changes(const ObjectWrite& write, const std::string& entry) {
  return write.set_entries.contains(entry) || Removes(write, entry);
}

// Whether `second` expects or changes an entry that `first` changes.
bool Touches(const ObjectWrite& second, const ObjectWrite& first) {
  const auto is_changed = [&](const auto& one) { return Changes(first, one.first); };
  return std::any_of(second.entries_equal.begin(), second.entries_equal.end(), is_changed) ||
         std::any_of(second.set_entries.begin(), second.set_entries.end(), is_changed) ||
         std::any_of(second.remove_entries.begin(), second.remove_entries.end(),
                     [&](const std::string& entry) { return Changes(first, entry); });
}

// Adds a second change of entries and attributes to the first.  False, and nothing is added, if the
// second one does not find the entries as the first one leaves them.
bool Join(ObjectWrite* first, const ObjectWrite& second) {
  for (const auto& [entry, expected] : second.entries_equal) {
    if (Changes(*first, entry) && ValueOf(first->set_entries, entry) != expected) return false;
  }
  for (const auto& [entry, expected] : second.entries_equal) {
    if (!Changes(*first, entry)) first->entries_equal.emplace(entry, expected);
  }
  for (const std::string& entry : second.remove_entries) {
    first->set_entries.erase(entry);
    if (!Removes(*first, entry)) first->remove_entries.push_back(entry);
  }
  for (const auto& [entry, value] : second.set_entries) {
    std::erase(first->remove_entries, entry);
    first->set_entries[entry] = value;
  }
  for (const auto& [name, value] : second.attributes_equal) first->attributes_equal[name] = value;
  for (const auto& [name, value] : second.set_attributes) first->set_attributes[name] = value;
  return true;
}

// Whether the object is as after the write.
bool IsApplied(const ObjectWrite& write, const ObjectContents& contents) {
  const auto has = [](const ObjectValues& values, const auto& one) {
    const auto place = values.find(one.first);
    return place != values.end() && place->second == one.second;
  };
  // A later removal may have changed the count.
  return !write.remove &&
         std::all_of(write.set_attributes.begin(), write.set_attributes.end(),
                     [&](const auto& one) {
                       return one.first == kRemovalsAttribute || has(contents.attributes, one);
                     }) &&
         std::all_of(write.set_entries.begin(), write.set_entries.end(),
                     [&](const auto& one) { return has(contents.entries, one); }) &&
         std::none_of(write.remove_entries.begin(), write.remove_entries.end(),
                      [&](const std::string& entry) { return contents.entries.contains(entry); });
}

}  // namespace

IndexCounts CountsIn(const ObjectContents& contents) {
  return {std::string(ValueOf(contents.attributes, kRemovalsAttribute)),
          std::string(ValueOf(contents.attributes, kPinsAttribute))};
}

class IndexHandle::ChangeInFlight {
 public:
  explicit ChangeInFlight(IndexHandle* index) : index_(*index) {}
  ~ChangeInFlight() {
    if (!is_known_) index_.DropListing();
  }
  ChangeInFlight(const ChangeInFlight&) = delete;
  ChangeInFlight& operator=(const ChangeInFlight&) = delete;

  void SetKnown() { is_known_ = true; }

 private:
  IndexHandle& index_;
  bool is_known_ = false;
};

absl::StatusOr<std::shared_ptr<IndexHandle>> IndexHandle::Open(ObjectPool* pool, std::string path) {
  TRELLIS_ASSIGN_OR_RETURN(ObjectContents contents, pool->Read(IndexName(path), ReadOfBefore()));
  // An index without an owner is one that is being removed or was never made.
  if (OwnerIn(contents).empty()) return absl::NotFoundError(Concat(path, ": no such directory"));
  return std::make_shared<IndexHandle>(pool, std::move(path), BeforeIn(std::move(contents)));
}

std::string IndexHandle::PathOf(std::string_view name) const { return Concat(path_, "/", name); }

std::string IndexHandle::owner() const {
  MutexLock lock(&mutex_);
  return owner_;
}

void IndexHandle::SetOwner(std::string owner, std::optional<ObjectValues> listing) {
  MutexLock lock(&mutex_);
  owner_ = std::move(owner);
  has_locked_ = true;
  listing_ = std::move(listing);
  held_.reset();
  held_status_ = absl::OkStatus();
}

absl::StatusOr<ObjectValues> IndexHandle::EntriesBefore() {
  {
    MutexLock lock(&mutex_);
    if (before_ && before_->entries) return *before_->entries;
  }
  return Entries();
}

void IndexHandle::DropListing() {
  MutexLock lock(&mutex_);
  listing_.reset();
}

std::string IndexHandle::required_owner() const {
  MutexLock lock(&mutex_);
  return has_locked_ ? owner_ : "";
}

std::optional<IndexBefore> IndexHandle::TakeBefore() {
  MutexLock lock(&mutex_);
  return std::exchange(before_, std::nullopt);
}

absl::StatusOr<IndexBefore> IndexHandle::ReadBefore() {
  TRELLIS_ASSIGN_OR_RETURN(ObjectContents contents, pool_.Read(object_, ReadOfBefore()));
  NoteCounts(contents);
  return BeforeIn(std::move(contents));
}

IndexCounts IndexHandle::counts() const {
  MutexLock lock(&mutex_);
  return counts_;
}

void IndexHandle::SetCounts(IndexCounts counts) {
  MutexLock lock(&mutex_);
  counts_ = std::move(counts);
}

void IndexHandle::NoteCounts(const ObjectContents& contents) {
  const IndexCounts found = CountsIn(contents);
  MutexLock lock(&mutex_);
  // The counts only grow while the directory exists, so a read that ends late changes nothing.
  counts_.removals = std::max(counts_.removals, found.removals);
  counts_.pins = std::max(counts_.pins, found.pins);
}

absl::Status IndexHandle::Missing() {
  DropListing();
  if (!required_owner().empty()) return TakenOver(Concat(path_, ": the directory was removed"));
  return absl::NotFoundError(Concat(path_, ": no such directory"));
}

absl::Status IndexHandle::TakenOverBy(const std::string& owner) {
  DropListing();
  const absl::StatusOr<Owner> decoded = Owner::Decode(owner, path_);
  return TakenOver(
      Concat(path_, ": taken over by ", decoded.ok() ? decoded->holder : "another process"));
}

void IndexHandle::NoteChange(const std::string& owner, const ObjectWrite& write) {
  MutexLock lock(&mutex_);
  const auto removals = write.set_attributes.find(kRemovalsAttribute);
  if (removals != write.set_attributes.end())
    counts_.removals = std::max(counts_.removals, removals->second);
  // The listing was read after the last change of an earlier owner.
  if (owner != owner_) return;
  for (const std::string& entry : write.remove_entries) NoteEntry(write, entry, "");
  for (const auto& [entry, value] : write.set_entries) NoteEntry(write, entry, value);
}

void IndexHandle::NoteEntry(const ObjectWrite& write, const std::string& entry,
                            const std::string& value) {
  if (!listing_) return;
  // Two changes of an entry may end in another order than that in which the pool has applied them.
  // Then the second one does not find the value that it has replaced.
  const auto expected = write.entries_equal.find(entry);
  const std::string_view now = ValueOf(*listing_, entry);
  if (expected != write.entries_equal.end() && now != expected->second) {
    listing_.reset();
  } else if (value.empty()) {
    listing_->erase(entry);
  } else {
    (*listing_)[entry] = value;
  }
}

bool IndexHandle::ListingAgrees(const std::vector<std::string>& entries,
                                const ObjectValues& values) const {
  MutexLock lock(&mutex_);
  if (!listing_) return true;
  for (const std::string& entry : entries) {
    if (IsKept(entry) && ValueOf(*listing_, entry) != ValueOf(values, entry)) return false;
  }
  return true;
}

void IndexHandle::BeginHolding() {
  MutexLock lock(&mutex_);
  if (listing_) held_.emplace();
}

absl::Status IndexHandle::ChangeLater(const std::string& owner, const ObjectWrite& write) {
  {
    MutexLock lock(&mutex_);
    const bool is_expected = listing_ && AreEqual(*listing_, write.entries_equal);
    // Otherwise the pool says what is wrong.
    if (held_ && owner == owner_ && is_expected && Join(&*held_, write)) {
      for (const std::string& entry : write.remove_entries) NoteEntry(write, entry, "");
      for (const auto& [entry, value] : write.set_entries) NoteEntry(write, entry, value);
      return absl::OkStatus();
    }
  }
  return Change(owner, write);
}

absl::Status IndexHandle::ChangeAndEndHolding(const ObjectWrite& write) {
  ObjectWrite joined;
  std::string owner;
  {
    MutexLock lock(&mutex_);
    std::optional<ObjectWrite> held = std::exchange(held_, std::nullopt);
    TRELLIS_RETURN_IF_ERROR(std::exchange(held_status_, absl::OkStatus()));
    if (held) joined = *std::move(held);
    owner = owner_;
  }
  if (!Join(&joined, write)) return NotAsExpected();
  return ChangeTogether(owner, std::move(joined), write);
}

absl::Status IndexHandle::Change(const std::string& owner, const ObjectWrite& write) {
  std::optional<ObjectWrite> joined;
  {
    MutexLock lock(&mutex_);
    if (held_ && owner == owner_ && Touches(write, *held_)) {
      joined = *held_;
      if (!Join(&*joined, write)) return NotAsExpected();
      held_.emplace();
    }
  }
  if (!joined) return ChangeTogether(owner, write, write);
  const absl::Status status = ChangeTogether(owner, *std::move(joined), write);
  if (!status.ok()) {
    MutexLock lock(&mutex_);
    held_status_ = status;
  }
  return status;
}

absl::Status IndexHandle::NotAsExpected() const {
  return absl::AbortedError(Concat(path_, ": the index is not as expected"));
}

absl::Status IndexHandle::ChangeTogether(const std::string& owner, ObjectWrite write,
                                         const ObjectWrite& noted) {
  ChangeInFlight in_flight(this);
  const bool is_owners = IsOwners(write);
  if (is_owners) write.attributes_equal[kOwnerAttribute] = owner;
  const absl::Status status = WriteObject(pool_, object_, write);
  if (status.ok()) {
    NoteChange(owner, noted);
    in_flight.SetKnown();
    return status;
  }
  if (absl::IsNotFound(status)) return Missing();
  if (!absl::IsAborted(status)) return status;
  ObjectRead read;
  read.with_attributes = true;
  read.entries = write.remove_entries;
  for (const auto& [entry, value] : write.set_entries) read.entries.push_back(entry);
  const absl::StatusOr<ObjectContents> contents = pool_.Read(object_, read);
  if (absl::IsNotFound(contents.status())) return Missing();
  if (!contents.ok()) return contents.status();
  NoteCounts(*contents);
  const std::string now = OwnerIn(*contents);
  if (now.empty()) return Missing();
  const bool has_owner = now == owner || write.set_attributes.contains(kOwnerAttribute);
  if ((!is_owners || has_owner) && IsApplied(write, *contents)) {
    NoteChange(owner, noted);
    in_flight.SetKnown();
    return absl::OkStatus();
  }
  if (is_owners && now != owner) return TakenOverBy(now);
  // A definite refusal.
  if (ListingAgrees(read.entries, contents->entries)) in_flight.SetKnown();
  return status;
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

absl::StatusOr<ObjectContents> IndexHandle::ReadEntriesOf(const std::vector<std::string>& entries) {
  const std::string owner = required_owner();
  ObjectRead read;
  read.entries = entries;
  read.with_attributes = owner.empty();
  if (!owner.empty()) read.attributes_equal[kOwnerAttribute] = owner;
  absl::StatusOr<ObjectContents> contents = pool_.Read(object_, read);
  if (absl::IsAborted(contents.status())) return WhyRefused(owner, contents.status());
  const bool is_missing = absl::IsNotFound(contents.status()) ||
                          (contents.ok() && owner.empty() && OwnerIn(*contents).empty());
  if (is_missing) return Missing();
  return contents;
}

absl::StatusOr<ObjectValues> IndexHandle::EntriesOf(const std::vector<std::string>& entries) {
  if (std::all_of(entries.begin(), entries.end(), IsKept)) {
    MutexLock lock(&mutex_);
    if (listing_) {
      ObjectValues found;
      for (const std::string& entry : entries) {
        const auto place = listing_->find(entry);
        if (place != listing_->end()) found.insert(*place);
      }
      return found;
    }
  }
  TRELLIS_ASSIGN_OR_RETURN(ObjectContents contents, ReadEntriesOf(entries));
  AddHeld(&contents.entries);
  std::erase_if(contents.entries, [&](const auto& one) {
    return std::find(entries.begin(), entries.end(), one.first) == entries.end();
  });
  return std::move(contents.entries);
}

void IndexHandle::AddHeld(ObjectValues* entries) const {
  MutexLock lock(&mutex_);
  if (!held_) return;
  for (const std::string& entry : held_->remove_entries) entries->erase(entry);
  for (const auto& [entry, value] : held_->set_entries) (*entries)[entry] = value;
}

absl::StatusOr<std::string> IndexHandle::Entry(const std::string& entry) {
  TRELLIS_ASSIGN_OR_RETURN(const ObjectValues found, EntriesOf({entry}));
  return std::string(ValueOf(found, entry));
}

absl::StatusOr<std::optional<IndexedFile>> IndexHandle::Find(std::string_view name) {
  TRELLIS_ASSIGN_OR_RETURN(const std::string value, Entry(Concat(kFilePrefix, name)));
  if (value.empty()) return std::nullopt;
  return IndexedFile::Decode(value, PathOf(name));
}

absl::StatusOr<ObjectValues> IndexHandle::Entries() {
  {
    MutexLock lock(&mutex_);
    if (listing_) return *listing_;
  }
  const std::string owner = required_owner();
  if (owner.empty()) return EntriesOfAny();
  TRELLIS_ASSIGN_OR_RETURN(ObjectValues entries, ReadEntries(owner));
  AddHeld(&entries);
  return entries;
}

absl::StatusOr<ObjectValues> IndexHandle::EntriesOfAny() {
  for (;;) {
    absl::StatusOr<IndexBefore> now = ReadBefore();
    if (absl::IsNotFound(now.status()) || (now.ok() && now->owner.empty())) return Missing();
    if (!now.ok()) return WithContext(now.status(), path_);
    if (now->entries) return *std::move(now->entries);
    absl::StatusOr<ObjectValues> entries = ReadEntries(now->owner);
    // Another owner began between two pages.
    if (!IsTakenOver(entries.status())) return entries;
  }
}

absl::StatusOr<ObjectValues> IndexHandle::ReadEntries(const std::string& owner) {
  ObjectRead read;
  read.attributes_equal[kOwnerAttribute] = owner;
  read.with_attributes = true;
  read.entries_after = "";
  absl::StatusOr<ObjectValues> entries = ReadPages(std::move(read));
  if (absl::IsAborted(entries.status())) return WhyRefused(owner, entries.status());
  if (absl::IsNotFound(entries.status())) return Missing();
  if (!entries.ok()) return WithContext(entries.status(), path_);
  return entries;
}

absl::StatusOr<ObjectValues> IndexHandle::ReadPins() {
  ObjectRead read;
  read.entries_after = kPinPrefix;
  absl::StatusOr<ObjectValues> pins = ReadPages(std::move(read));
  if (absl::IsNotFound(pins.status())) return ObjectValues();
  if (!pins.ok()) return WithContext(pins.status(), path_);
  std::erase_if(*pins, [](const auto& one) { return !one.first.starts_with(kPinPrefix); });
  return pins;
}

absl::StatusOr<ObjectValues> IndexHandle::ReadPages(ObjectRead read) {
  ObjectValues all;
  for (;;) {
    TRELLIS_ASSIGN_OR_RETURN(ObjectContents contents, pool_.Read(object_, read));
    NoteCounts(contents);
    const bool has_more = contents.has_more_entries && !contents.entries.empty();
    if (has_more) read.entries_after = std::prev(contents.entries.end())->first;
    all.merge(contents.entries);
    if (!has_more) return all;
  }
}

}  // namespace lsm
