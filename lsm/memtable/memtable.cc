#include "lsm/memtable/memtable.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <optional>
#include <utility>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// A larger vector is freed after the batch that needed it.
constexpr size_t kPreparedKept = 4096;

// Creates the entries of a batch without linking them in, and collects its ranges.
class EntryMaker : public EncodedBatch::Handler {
 public:
  EntryMaker(Skiplist* list, Sequence first, std::vector<const Skiplist::Entry*>* made,
             std::vector<const Skiplist::Entry*>* marks)
      : list_(list), next_(first), made_(made), marks_(marks) {}

  absl::Status Put(std::string_view key, std::string_view value) override {
    made_->push_back(list_->NewEntry(key, PackSuffix(next_++, EntryKind::kPut), value));
    return absl::OkStatus();
  }
  absl::Status Delete(std::string_view key) override {
    made_->push_back(list_->NewEntry(key, PackSuffix(next_++, EntryKind::kDelete), {}));
    ++tombstones_;
    return absl::OkStatus();
  }
  absl::Status DeleteRange(std::string_view from, std::optional<std::string_view> to) override {
    ranges_.push_back({from, to, next_});
    marks_->push_back(list_->NewEntry({}, PackSuffix(next_++, EntryKind::kDelete), {}));
    return absl::OkStatus();
  }

  Sequence last() const { return next_ - 1; }
  // Views of the batch.
  std::span<const RangeDelete> ranges() const { return ranges_; }

  uint64_t tombstones() const { return tombstones_; }

 private:
  Skiplist* const list_;
  Sequence next_;
  std::vector<const Skiplist::Entry*>* const made_;
  uint64_t tombstones_ = 0;
  std::vector<const Skiplist::Entry*>* const marks_;
  std::vector<RangeDelete> ranges_;
};

class MemtableIterator : public InnerIterator {
 public:
  explicit MemtableIterator(const Skiplist* list) : cursor_(list) {}

  bool Valid() const override { return cursor_.entry() != nullptr; }
  void SeekToFirst() override { cursor_.SeekToFirst(); }
  void SeekToLast() override { cursor_.SeekToLast(); }
  void Seek(std::string_view target) override { cursor_.SeekAtOrAfter(target); }
  void SeekForPrev(std::string_view target) override { cursor_.SeekAtOrBefore(target); }
  void Next() override {
    assert(Valid());
    cursor_.Next();
  }
  void Prev() override {
    assert(Valid());
    cursor_.Prev();
  }
  std::string_view key() const override {
    assert(Valid());
    return cursor_.entry()->internal_key();
  }
  std::string_view value() const override {
    assert(Valid());
    return cursor_.entry()->value();
  }
  absl::Status status() const override { return absl::OkStatus(); }

 private:
  Skiplist::Cursor cursor_;
};

}  // namespace

Memtable::Memtable(Sequence number_before, size_t recent_max, uint64_t begun_nanos)
    : begun_nanos_(begun_nanos),
      skiplist_(&arena_),
      number_before_(number_before),
      last_number_(number_before),
      recent_max_(recent_max) {
  assert(std::has_single_bit(recent_max) || recent_max == 0);
}

void Memtable::Add(Sequence sequence, EntryKind kind, std::string_view user_key,
                   std::string_view value) {
  const Skiplist::Entry* entry = skiplist_.NewEntry(user_key, PackSuffix(sequence, kind), value);
  skiplist_.Reserve(1);
  skiplist_.Link(entry);
  // Relaxed, and no atomic addition: only the writer changes it.
  entry_count_.store(entry_count() + 1, std::memory_order_relaxed);
  newest_entry_.store(std::max(newest_entry(), sequence), std::memory_order_relaxed);
}

absl::Status Memtable::PrepareBatch(std::string_view encoded, RangeMap* ranges) {
  prepared_.clear();
  prepared_marks_.clear();
  if (encoded.size() < EncodedBatch::kHeaderBytes) {
    return DamageAt("write batch", encoded.size(), "shorter than its header");
  }
  EntryMaker maker(&skiplist_, EncodedBatch::FirstSequenceOf(encoded), &prepared_,
                   &prepared_marks_);
  TRELLIS_RETURN_IF_ERROR(EncodedBatch::ForEach(encoded, &maker));
  prepared_tombstones_ = maker.tombstones();
  RangeMap group;
  if (!maker.ranges().empty()) group = RangeMap::Of(maker.ranges());
  PrepareRanges(group);
  prepared_last_ = maker.last();
  // After all other allocations: a reservation holds for the next ones.
  skiplist_.Reserve(prepared_.size());
  if (recent_ == nullptr && recent_max_ > 0)
    recent_ = std::make_unique<std::atomic<const Entry*>[]>(recent_max_);
  if (ranges != nullptr) *ranges = std::move(group);
  return absl::OkStatus();
}

void Memtable::PrepareRanges(const RangeMap& group) {
  if (range_list_ == nullptr && !group.empty()) range_list_ = std::make_unique<RangeList>(&arena_);
  if (range_list_ != nullptr) range_list_->Prepare(group);
}

void Memtable::AddPreparedRanges(uint64_t count) {
  if (count == 0) return;
  range_list_->AddPrepared();
  ranges_.store(range_list_.get(), std::memory_order_release);
  // Relaxed, and no atomic addition: only the writer changes it.
  range_count_.store(range_count() + count, std::memory_order_relaxed);
}

void Memtable::AddRanges(std::span<const RangeDelete> ranges) {
  PrepareRanges(RangeMap::Of(ranges));
  AddPreparedRanges(ranges.size());
  arena_.GiveBackReserved();
  entry_count_.store(entry_count() + ranges.size(), std::memory_order_relaxed);  // as above
}

void Memtable::AddPrepared() {
  for (const Entry* entry : prepared_) skiplist_.Link(entry);
  AddPreparedRanges(prepared_marks_.size());
  const auto note_in_ring = [this](const Entry* entry) {
    const Sequence number = SequenceOf(entry->suffix());
    if (number + recent_max_ > prepared_last_)
      recent_[number & (recent_max_ - 1)].store(entry, std::memory_order_release);
  };
  if (recent_ != nullptr) {
    std::for_each(prepared_.begin(), prepared_.end(), note_in_ring);
    std::for_each(prepared_marks_.begin(), prepared_marks_.end(), note_in_ring);
  }
  arena_.GiveBackReserved();
  // Relaxed, and no atomic additions: only the writer changes them.
  if (!prepared_.empty())
    newest_entry_.store(SequenceOf(prepared_.back()->suffix()), std::memory_order_relaxed);
  if (const size_t count = prepared_.size() + prepared_marks_.size(); count > 0) {
    last_number_.store(prepared_last_, std::memory_order_relaxed);
    entry_count_.store(entry_count() + count, std::memory_order_relaxed);
    tombstone_count_.store(tombstone_count() + std::exchange(prepared_tombstones_, 0),
                           std::memory_order_relaxed);
  }
  for (auto* const added : {&prepared_, &prepared_marks_}) {
    added->clear();
    if (added->capacity() > kPreparedKept) std::vector<const Skiplist::Entry*>().swap(*added);
  }
}

const Memtable::Entry* Memtable::FindRecent(Sequence number) const {
  if (recent_max_ == 0) return nullptr;
  const Entry* entry = recent_[number & (recent_max_ - 1)].load(std::memory_order_acquire);
  return entry != nullptr && SequenceOf(entry->suffix()) == number ? entry : nullptr;
}

MemtableAnswer Memtable::Get(const LookupKey& key, std::string_view* value) const {
  // A thread that knows a write's sequence number sees that the write was counted.
  if (empty()) return MemtableAnswer::kAbsent;
  const Skiplist::Entry* entry = skiplist_.FindAtOrAfter(key.internal_key());
  if (entry == nullptr || entry->user_key() != key.user_key()) return MemtableAnswer::kAbsent;
  if (const RangeList* const list = ranges(); list != nullptr) [[unlikely]] {
    if (list->NewestAt(key.internal_key(), key.sequence()) > SequenceOf(entry->suffix()))
      return MemtableAnswer::kRangeDeleted;
  }
  if (IsTombstone(entry->suffix())) return MemtableAnswer::kDeleted;
  *value = entry->value();
  return MemtableAnswer::kFound;
}

std::unique_ptr<InnerIterator> Memtable::NewIterator() const {
  return std::make_unique<MemtableIterator>(&skiplist_);
}

}  // namespace lsm
