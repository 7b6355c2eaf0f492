#include "lsm/memtable/memtable.h"

#include <cassert>
#include <utility>

#include "lsm/bytes/status.h"

namespace lsm {
namespace {

class BatchInserter : public WriteBatch::Handler {
 public:
  BatchInserter(Memtable* memtable, Sequence first) : memtable_(memtable), next_(first) {}

  absl::Status Put(std::string_view key, std::string_view value) override {
    memtable_->Add(next_++, EntryKind::kPut, key, value);
    return absl::OkStatus();
  }
  absl::Status Delete(std::string_view key) override {
    memtable_->Add(next_++, EntryKind::kDelete, key, {});
    return absl::OkStatus();
  }

 private:
  Memtable* const memtable_;
  Sequence next_;
};

class MemtableIterator : public Iterator {
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

Memtable::Memtable() : skiplist_(&arena_) {}

void Memtable::Add(Sequence sequence, EntryKind kind, std::string_view user_key,
                   std::string_view value) {
  skiplist_.Insert(user_key, PackSuffix(sequence, kind), value);
  // Relaxed, and not an atomic addition: a figure that only the writer changes.
  entry_count_.store(entry_count() + 1, std::memory_order_relaxed);
}

absl::Status Memtable::AddBatch(std::string_view encoded) {
  if (encoded.size() < WriteBatch::kHeaderBytes) {
    return DamageAt("write batch", encoded.size(), "shorter than its header");
  }
  BatchInserter inserter(this, WriteBatch::FirstSequenceOf(encoded));
  return WriteBatch::ForEach(encoded, &inserter);
}

MemtableAnswer Memtable::Get(const LookupKey& key, std::string_view* value) const {
  const Skiplist::Entry* entry = skiplist_.FindAtOrAfter(key.internal_key());
  if (entry == nullptr || entry->user_key() != key.user_key()) return MemtableAnswer::kAbsent;
  if (static_cast<EntryKind>(entry->suffix() & 0xff) == EntryKind::kDelete)
    return MemtableAnswer::kDeleted;
  *value = entry->value();
  return MemtableAnswer::kFound;
}

std::unique_ptr<Iterator> Memtable::NewIterator() const {
  return std::make_unique<MemtableIterator>(&skiplist_);
}

}  // namespace lsm
