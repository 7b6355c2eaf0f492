#include "lsm/memtable/memtable.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <map>
#include <optional>
#include <utility>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// A larger vector is freed after the batch that needed it.
constexpr size_t kPreparedKept = 4096;

template <typename T>
void ClearPreparedVector(std::vector<T>* prepared) {
  prepared->clear();
  if (prepared->capacity() > kPreparedKept) std::vector<T>().swap(*prepared);
}

}  // namespace

// Creates the entries without linking them in, and collects the ranges.
class Memtable::EntryMaker : public EncodedBatch::Handler {
 public:
  EntryMaker(Memtable* memtable, Sequence first, const IsTimed* is_timed)
      : memtable_(*memtable), next_(first), is_timed_(is_timed) {}

  absl::Status Time(uint32_t seconds) override {
    time_ = seconds;
    return absl::OkStatus();
  }
  absl::Status Put(KeyspaceId keyspace, std::string_view key, std::string_view value) override {
    if (is_timed_ != nullptr && (*is_timed_)(keyspace)) [[unlikely]]
      return TimedPut(keyspace, key, value);
    return Make(keyspace, key, PackSuffix(next_++, EntryKind::kPut), value);
  }
  absl::Status Delete(KeyspaceId keyspace, std::string_view key) override {
    if (keyspace == kDefaultKeyspace) {
      ++memtable_.prepared_tombstones_;
    } else {
      memtable_.prepared_has_more_deletes_ = true;
    }
    return Make(keyspace, key, PackSuffix(next_++, EntryKind::kDelete), {});
  }
  absl::Status DeleteRange(KeyspaceId keyspace, std::string_view from,
                           std::optional<std::string_view> to) override {
    memtable_.prepared_has_more_ = true;
    more().ranges[keyspace].push_back({from, to, next_});
    Mark(next_++);
    return absl::OkStatus();
  }

  absl::Status Change(const KeyspaceChange& change, size_t) override {
    memtable_.prepared_has_more_ = true;
    memtable_.prepared_changes_.push_back(change);
    Mark(next_++);
    return absl::OkStatus();
  }

  Sequence last() const { return next_ - 1; }

  // Returns those of the default keyspace; nullopt if there are none.
  std::optional<RangeMap> PrepareRanges() {
    std::optional<RangeMap> of_default;
    if (more_ == nullptr) return of_default;
    for (const auto& [keyspace, ranges] : more_->ranges) {
      RangeMap map = RangeMap::Of(ranges);
      memtable_.PrepareRanges(keyspace, map);
      if (keyspace == kDefaultKeyspace) of_default = std::move(map);
    }
    return of_default;
  }

 private:
  // Not inlined, so that Put stays small.
  [[gnu::noinline]] absl::Status TimedPut(KeyspaceId keyspace, std::string_view key,
                                          std::string_view value) {
    if (!time_) return absl::DataLossError("write batch: a put lacks its time");
    std::string& timed_value = more().timed_value;
    timed_value.clear();
    AppendTimed(&timed_value, *time_, value);
    return Make(keyspace, key, PackSuffix(next_++, EntryKind::kTimedPut), timed_value);
  }
  absl::Status Make(KeyspaceId keyspace, std::string_view key, uint64_t suffix,
                    std::string_view value) {
    if (keyspace != kDefaultKeyspace) [[unlikely]] {
      MakeOther(keyspace, key, suffix, value);
    } else {
      memtable_.prepared_.push_back(memtable_.default_.NewEntry(key, suffix, value));
    }
    return absl::OkStatus();
  }
  void MakeOther(KeyspaceId keyspace, std::string_view key, uint64_t suffix,
                 std::string_view value) {
    memtable_.prepared_has_more_ = true;
    memtable_.Count([&] {
      EntryList* const list = memtable_.FindOrMake(keyspace);
      if (*list->prepared_count() == 0) memtable_.prepared_lists_.push_back(list);
      ++*list->prepared_count();
      memtable_.prepared_others_.push_back({list, list->NewEntry(key, suffix, value)});
      return list;
    });
  }
  void Mark(Sequence number) {
    if (memtable_.recent_max_ == 0) return;
    memtable_.prepared_marks_.push_back(
        memtable_.default_.NewEntry({}, PackSuffix(number, EntryKind::kDelete), {}));
  }

  Memtable& memtable_;
  Sequence next_;
  const IsTimed* const is_timed_;
  std::optional<uint32_t> time_;  // of the batch
  // Null for most batches, so that they pay nothing for it.
  struct More {
    std::string timed_value;                                // of the last put that has a time
    std::map<KeyspaceId, std::vector<RangeDelete>> ranges;  // views of the batch
  };
  More& more() {
    if (more_ == nullptr) more_ = std::make_unique<More>();
    return *more_;
  }
  std::unique_ptr<More> more_;
};

Memtable::Memtable(Sequence number_before, size_t recent_max, uint64_t begun_nanos)
    : begun_nanos_(begun_nanos),
      default_(kDefaultKeyspace, &arena_),
      others_(&arena_),
      number_before_(number_before),
      last_number_(number_before),
      recent_max_(recent_max) {
  assert(std::has_single_bit(recent_max) || recent_max == 0);
}

void Memtable::Add(KeyspaceId keyspace, Sequence sequence, EntryKind kind,
                   std::string_view user_key, std::string_view value) {
  Count([&] {
    EntryList* const list = FindOrMake(keyspace);
    list->Add(sequence, kind, user_key, value);
    list->NoteAdded(1, kind == EntryKind::kDelete ? 1 : 0);
    return list;
  });
  NoteUsedBytes();
  // Relaxed, and no atomic addition: only the writer changes it.
  entry_count_.store(entry_count() + 1, std::memory_order_relaxed);
}

template <typename Call>
void Memtable::Count(const Call& call) {
  const size_t before = arena_.used_bytes();
  EntryList* const list = call();
  if (list == &default_) return;  // it has what the others leave
  const size_t bytes = arena_.used_bytes() - before;
  list->NoteBytes(bytes);
  // Relaxed, and no atomic addition: only the writer changes it.
  bytes_of_others_.store(bytes_of_others_.load(std::memory_order_relaxed) + bytes,
                         std::memory_order_relaxed);
}

size_t Memtable::BytesOf(KeyspaceId keyspace) const {
  if (keyspace != kDefaultKeyspace) {
    const EntryList* const list = others_.Find(keyspace);
    return list == nullptr ? 0 : list->memory_bytes();
  }
  // The count of the others may be ahead, by an addition that goes on.
  const size_t used = used_bytes();
  return used - std::min(used, bytes_of_others_.load(std::memory_order_relaxed));
}

absl::Status Memtable::PrepareBatch(std::string_view encoded, std::optional<RangeMap>* ranges,
                                    const IsTimed* is_timed) {
  ClearPrepared();
  if (encoded.size() < EncodedBatch::kHeaderBytes) {
    return DamageAt("write batch", encoded.size(), "shorter than its header");
  }
  EntryMaker maker(this, EncodedBatch::FirstSequenceOf(encoded), is_timed);
  TRELLIS_RETURN_IF_ERROR(EncodedBatch::ForEach(encoded, &maker));
  if (ranges != nullptr) ranges->reset();
  if (prepared_has_more_) [[unlikely]] {
    std::optional<RangeMap> of_default = maker.PrepareRanges();
    if (ranges != nullptr) *ranges = std::move(of_default);
    const size_t changes = changes_.size() + prepared_changes_.size();
    if (changes > changes_.capacity()) changes_.reserve(std::max(changes, 2 * changes_.capacity()));
  }
  prepared_count_ = EncodedBatch::CountOf(encoded);
  prepared_last_ = maker.last();
  // After all other allocations: a reservation holds for the next ones.
  ReserveLinks();
  if (recent_max_ != 0 && (recent_ == nullptr || prepared_has_more_)) [[unlikely]]
    PrepareRing();
  return absl::OkStatus();
}

void Memtable::PrepareRing() {
  if (recent_ == nullptr) recent_ = std::make_unique<std::atomic<const Entry*>[]>(recent_max_);
  if (own_words_ != nullptr || prepared_others_.empty()) return;
  own_words_ = std::make_unique<Word[]>(recent_max_);
  for (size_t slot = 0; slot < recent_max_; ++slot) {
    // Relaxed: only this thread has written entries, and the pointer is released after the words.
    const Entry* const entry = recent_[slot].load(std::memory_order_relaxed);
    if (entry == nullptr) continue;
    own_words_[slot].store(WordOf(SequenceOf(entry->suffix()), kDefaultKeyspace),
                           std::memory_order_relaxed);
  }
  words_.store(own_words_.get(), std::memory_order_release);
}

void Memtable::NoteInRing(const Entry* entry, KeyspaceId keyspace) {
  const Sequence number = SequenceOf(entry->suffix());
  if (number + recent_max_ <= prepared_last_) return;  // a later entry of the batch replaces it
  const size_t slot = number & (recent_max_ - 1);
  if (own_words_ != nullptr) [[unlikely]]
    own_words_[slot].store(WordOf(number, keyspace), std::memory_order_release);
  recent_[slot].store(entry, std::memory_order_release);
}

void Memtable::PrepareRanges(KeyspaceId keyspace, const RangeMap& ranges) {
  Count([&] {
    EntryList* const list = FindOrMake(keyspace);
    if (ranges.empty()) return list;
    prepared_has_more_deletes_ = true;
    prepared_ranged_.push_back(list);
    list->PrepareRanges(ranges, &prepared_ranges_);
    return list;
  });
}

void Memtable::AddPreparedRanges() {
  if (prepared_ranged_.empty()) return;
  prepared_ranges_.Add();
  for (EntryList* const list : prepared_ranged_) list->ShowRanges();
}

void Memtable::AddRanges(KeyspaceId keyspace, std::span<const RangeDelete> ranges) {
  ClearPrepared();
  prepared_has_more_ = true;
  PrepareRanges(keyspace, RangeMap::Of(ranges));
  has_more_deletes_.store(true, std::memory_order_relaxed);
  AddPreparedRanges();
  ClearPrepared();
  arena_.GiveBackReserved();
  NoteUsedBytes();
  entry_count_.store(entry_count() + ranges.size(), std::memory_order_relaxed);  // as above
}

void Memtable::ReserveLinks() {
  size_t needed_bytes = default_.BytesToLink(prepared_.size());
  for (EntryList* const list : prepared_lists_)
    needed_bytes += list->BytesToLink(*list->prepared_count());
  arena_.Reserve(needed_bytes);
}

void Memtable::AddPrepared() {
  for (const Entry* entry : prepared_) default_.Link(entry);
  if (prepared_has_more_) [[unlikely]] {
    for (const OtherEntry& other : prepared_others_) {
      Count([&] {
        other.list->Link(other.entry);
        return other.list;
      });
      other.list->NoteNewest(SequenceOf(other.entry->suffix()));
      other.list->NoteAdded(1, IsTombstone(other.entry->suffix()) ? 1 : 0);
    }
    for (KeyspaceChange& change : prepared_changes_) KeepChange(std::move(change));
    if (prepared_has_more_deletes_) has_more_deletes_.store(true, std::memory_order_relaxed);
    AddPreparedRanges();
  }
  if (recent_ != nullptr) {
    for (const Entry* entry : prepared_) NoteInRing(entry, kDefaultKeyspace);
    if (prepared_has_more_) [[unlikely]] {
      for (const Entry* entry : prepared_marks_) NoteInRing(entry, kDefaultKeyspace);
      for (const OtherEntry& other : prepared_others_)
        NoteInRing(other.entry, other.list->keyspace());
    }
  }
  arena_.GiveBackReserved();
  NoteUsedBytes();
  if (!prepared_.empty()) {
    default_.NoteNewest(SequenceOf(prepared_.back()->suffix()));
    default_.NoteAdded(prepared_.size(), prepared_tombstones_);
  }
  // Relaxed, and no atomic additions: only the writer changes them.
  if (prepared_count_ > 0) {
    last_number_.store(prepared_last_, std::memory_order_relaxed);
    entry_count_.store(entry_count() + prepared_count_, std::memory_order_relaxed);
  }
  ClearPrepared();
}

void Memtable::ClearPrepared() {
  ClearPreparedVector(&prepared_);
  prepared_tombstones_ = prepared_count_ = 0;
  if (!prepared_has_more_) [[likely]]
    return;
  prepared_has_more_ = prepared_has_more_deletes_ = false;
  for (EntryList* const list : prepared_lists_) *list->prepared_count() = 0;
  ClearPreparedVector(&prepared_others_);
  ClearPreparedVector(&prepared_lists_);
  ClearPreparedVector(&prepared_marks_);
  ClearPreparedVector(&prepared_ranged_);
  prepared_ranges_.Clear();
  prepared_changes_.clear();
}

void Memtable::KeepChange(KeyspaceChange change) {
  if (change.kind == KeyspaceChange::Kind::kDropped)
    has_more_deletes_.store(true, std::memory_order_relaxed);
  const size_t bytes = sizeof(change) + change.name.size();
  changes_.push_back(std::move(change));
  // Relaxed, and no atomic addition: only the writer changes it.
  changes_bytes_.store(changes_bytes_.load(std::memory_order_relaxed) + bytes,
                       std::memory_order_relaxed);
}

void Memtable::AddChange(KeyspaceChange change) {
  KeepChange(std::move(change));
  entry_count_.store(entry_count() + 1, std::memory_order_relaxed);  // as above
}

std::vector<const EntryList*> Memtable::Lists() const {
  std::vector<const EntryList*> lists = others_.Filled();
  if (!default_.empty()) lists.insert(lists.begin(), &default_);
  return lists;
}

Memtable::RecentEntry Memtable::FindRecent(Sequence number) const {
  if (recent_max_ == 0) return {};
  const size_t slot = number & (recent_max_ - 1);
  const Entry* const entry = recent_[slot].load(std::memory_order_acquire);
  if (entry == nullptr || SequenceOf(entry->suffix()) != number) return {};
  const Word* const words = words_.load(std::memory_order_acquire);
  if (words == nullptr) return {entry, kDefaultKeyspace};
  const uint64_t word = words[slot].load(std::memory_order_acquire);
  const auto keyspace = static_cast<KeyspaceId>(word);
  return word == WordOf(number, keyspace) ? RecentEntry{entry, keyspace} : RecentEntry{};
}

MemtableAnswer Memtable::Get(const LookupKey& key, std::string_view* value) const {
  // A thread that knows a write's sequence number sees that the write was counted.
  return empty() ? MemtableAnswer::kAbsent : default_.Get(key, value);
}

}  // namespace lsm
