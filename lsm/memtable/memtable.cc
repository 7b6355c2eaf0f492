#include "lsm/memtable/memtable.h"

#include <bit>
#include <cassert>
#include <utility>

#include "lsm/base/encoded_batch.h"
#include "lsm/bytes/status.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// A larger vector is freed after the batch that needed it.
constexpr size_t kPreparedKept = 4096;

// Creates the entries of a batch without linking them in.
class EntryMaker : public EncodedBatch::Handler {
 public:
  EntryMaker(Skiplist* list, Sequence first, std::vector<const Skiplist::Entry*>* made)
      : list_(list), next_(first), made_(made) {}

  absl::Status Put(std::string_view key, std::string_view value) override {
    made_->push_back(list_->NewEntry(key, PackSuffix(next_++, EntryKind::kPut), value));
    return absl::OkStatus();
  }
  absl::Status Delete(std::string_view key) override {
    made_->push_back(list_->NewEntry(key, PackSuffix(next_++, EntryKind::kDelete), {}));
    ++tombstones_;
    return absl::OkStatus();
  }

  uint64_t tombstones() const { return tombstones_; }

 private:
  Skiplist* const list_;
  Sequence next_;
  std::vector<const Skiplist::Entry*>* const made_;
  uint64_t tombstones_ = 0;
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
}

absl::Status Memtable::PrepareBatch(std::string_view encoded) {
  prepared_.clear();
  if (encoded.size() < EncodedBatch::kHeaderBytes) {
    return DamageAt("write batch", encoded.size(), "shorter than its header");
  }
  EntryMaker maker(&skiplist_, EncodedBatch::FirstSequenceOf(encoded), &prepared_);
  TRELLIS_RETURN_IF_ERROR(EncodedBatch::ForEach(encoded, &maker));
  prepared_tombstones_ = maker.tombstones();
  skiplist_.Reserve(prepared_.size());
  if (recent_ == nullptr && recent_max_ > 0)
    recent_ = std::make_unique<std::atomic<const Entry*>[]>(recent_max_);
  return absl::OkStatus();
}

void Memtable::AddPrepared() {
  for (const Entry* entry : prepared_) skiplist_.Link(entry);
  if (!prepared_.empty()) {
    Sequence number = SequenceOf(prepared_.front()->suffix());
    for (const Entry* entry : prepared_) {
      if (recent_ != nullptr)
        recent_[number & (recent_max_ - 1)].store(entry, std::memory_order_release);
      ++number;
    }
    last_number_.store(number - 1, std::memory_order_relaxed);
  }
  arena_.GiveBackReserved();
  // Relaxed, and no atomic addition: only the writer changes it.
  entry_count_.store(entry_count() + prepared_.size(), std::memory_order_relaxed);
  tombstone_count_.store(tombstone_count() + std::exchange(prepared_tombstones_, 0),
                         std::memory_order_relaxed);
  prepared_.clear();
  if (prepared_.capacity() > kPreparedKept) std::vector<const Skiplist::Entry*>().swap(prepared_);
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
  if (static_cast<EntryKind>(entry->suffix() & 0xff) == EntryKind::kDelete)
    return MemtableAnswer::kDeleted;
  *value = entry->value();
  return MemtableAnswer::kFound;
}

std::unique_ptr<InnerIterator> Memtable::NewIterator() const {
  return std::make_unique<MemtableIterator>(&skiplist_);
}

}  // namespace lsm
