#include "lsm/memtable/entry_list.h"

#include <cassert>
#include <new>
#include <type_traits>

namespace lsm::inline TRELLIS_ABI {
namespace {

class EntryListIterator : public InnerIterator {
 public:
  explicit EntryListIterator(const Skiplist* list) : cursor_(list) {}

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

// The arena frees lists without destroying them.
static_assert(std::is_trivially_destructible_v<EntryList> &&
              std::is_trivially_destructible_v<RangeList>);

EntryList::EntryList(KeyspaceId keyspace, Arena* arena)
    : arena_(arena), skiplist_(arena), keyspace_(keyspace) {}

void EntryList::Add(Sequence sequence, EntryKind kind, std::string_view user_key,
                    std::string_view value) {
  const Entry* entry = skiplist_.NewEntry(user_key, PackSuffix(sequence, kind), value);
  skiplist_.Reserve(1);
  skiplist_.Link(entry);
  NoteNewest(sequence);
}

void EntryList::PrepareRanges(const RangeMap& ranges, RangeList::Group* group) {
  if (range_list_ == nullptr)
    range_list_ = new (arena_->Allocate(sizeof(RangeList))) RangeList(arena_);
  range_list_->Prepare(ranges, group);
}

MemtableAnswer EntryList::Get(const LookupKey& key, std::string_view* value) const {
  const std::string_view sought = key.memtable_key();
  const Skiplist::Entry* entry = skiplist_.FindAtOrAfter(sought);
  if (entry == nullptr || entry->user_key() != UserKeyOf(sought)) return MemtableAnswer::kAbsent;
  if (const RangeList* const list = ranges(); list != nullptr) [[unlikely]] {
    if (list->NewestAt(sought, key.sequence()) > SequenceOf(entry->suffix()))
      return MemtableAnswer::kRangeDeleted;
  }
  if (IsTombstone(entry->suffix())) return MemtableAnswer::kDeleted;
  *value = entry->value();
  return ShowTo(key.expiry(), KindOf(entry->suffix()), value) == Shown::kValue
             ? MemtableAnswer::kFound
             : MemtableAnswer::kExpired;
}

std::unique_ptr<InnerIterator> EntryList::NewIterator() const {
  return std::make_unique<EntryListIterator>(&skiplist_);
}

bool EntryList::empty() const {
  Skiplist::Cursor first(&skiplist_);
  first.SeekToFirst();
  return first.entry() == nullptr && ranges() == nullptr;
}

}  // namespace lsm
