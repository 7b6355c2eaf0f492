#include "lsm/memtable/range_list.h"

#include <cstring>
#include <new>
#include <utility>

#include "lsm/base/key_buffer.h"
#include "lsm/bytes/coding.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// A larger vector is freed after the group that needed it.
constexpr size_t kPreparedNodesKept = 4096;

}  // namespace

RangeList::RangeList(Arena* arena) : arena_(arena), boundaries_(arena) {}

RangeList::Head* RangeList::HeadOf(const Skiplist::Entry& boundary) {
  Head* head;
  std::memcpy(&head, boundary.value().data(), sizeof(head));  // values are not aligned
  return head;
}

Sequence RangeList::NewestOf(const Skiplist::Entry& boundary, Sequence at) {
  const Node* node = HeadOf(boundary)->load(std::memory_order_acquire);
  while (node != nullptr && node->sequence > at) node = node->older;
  return node == nullptr ? 0 : node->sequence;
}

void RangeList::SeekUpTo(std::string_view key, Skiplist::Cursor* cursor) {
  char suffix[kInternalKeySuffixBytes];
  StoreFixed64(suffix, kBoundarySuffix);
  KeyBuffer boundary;
  boundary.append(key);
  boundary.append({suffix, sizeof(suffix)});
  cursor->SeekAtOrBefore(boundary);
}

void RangeList::Divide(std::string_view key) {
  Skiplist::Cursor at(&boundaries_);
  SeekUpTo(key, &at);
  const Skiplist::Entry* const before = at.entry();
  if (before != nullptr && before->user_key() == key) return;
  // Relaxed: only this thread writes heads.
  Head* const head = new (arena_->Allocate(sizeof(Head)))
      Head(before == nullptr ? nullptr : HeadOf(*before)->load(std::memory_order_relaxed));
  char address[sizeof(head)];
  std::memcpy(address, &head, sizeof(head));
  const Skiplist::Entry* const entry =
      boundaries_.NewEntry(key, kBoundarySuffix, {address, sizeof(address)});
  boundaries_.Reserve(1);
  boundaries_.Link(entry);
}

void RangeList::Prepare(const RangeMap& stretches, Group* group) {
  for (size_t i = 0; i < stretches.size(); ++i) Divide(stretches.boundary(i));
  Skiplist::Cursor at(&boundaries_);
  for (size_t i = 0; i < stretches.size(); ++i) {
    if (stretches.sequence_count(i) == 0) continue;
    // After another stretch, the walk over that one has ended here.
    if (i == 0 || stretches.sequence_count(i - 1) == 0) SeekUpTo(stretches.boundary(i), &at);
    const bool has_end = i + 1 < stretches.size();
    for (; at.entry() != nullptr; at.Next()) {
      if (has_end && at.entry()->user_key() == stretches.boundary(i + 1)) break;
      Head* const head = HeadOf(*at.entry());
      const Node* const newest = head->load(std::memory_order_relaxed);  // as in Divide
      const Node* const node =
          new (arena_->Allocate(sizeof(Node))) Node{stretches.sequence(i, 0), newest};
      group->prepared_.push_back({head, node});
    }
  }
}

void RangeList::Group::Add() noexcept {
  for (const Prepared& prepared : prepared_)
    prepared.head->store(prepared.node, std::memory_order_release);
  prepared_.clear();
  if (prepared_.capacity() > kPreparedNodesKept) std::vector<Prepared>().swap(prepared_);
}

Sequence RangeList::NewestAt(std::string_view internal_key, Sequence at) const {
  Skiplist::Cursor cursor(&boundaries_);
  cursor.SeekAtOrBefore(internal_key);
  return cursor.entry() == nullptr ? 0 : NewestOf(*cursor.entry(), at);
}

CoverStretch RangeList::StretchAt(std::string_view internal_key, Sequence at) const {
  Skiplist::Cursor cursor(&boundaries_);
  cursor.SeekAtOrBefore(internal_key);
  CoverStretch stretch;
  if (const Skiplist::Entry* const boundary = cursor.entry(); boundary != nullptr) {
    stretch.newest = NewestOf(*boundary, at);
    stretch.begin = boundary->user_key();
    cursor.Next();
  } else {
    cursor.SeekToFirst();
  }
  if (cursor.entry() != nullptr) stretch.end = cursor.entry()->user_key();
  return stretch;
}

CoverEnds RangeList::EndsOfCover(std::string_view internal_key, Sequence at, Sequence newest_entry,
                                 uint64_t* walked) const {
  const std::string_view key = UserKeyOf(internal_key);
  CoverEnds ends{.of_older = key, .of_itself = key};
  Skiplist::Cursor cursor(&boundaries_);
  cursor.SeekAtOrBefore(internal_key);
  bool hides_itself = true;
  while (cursor.entry() != nullptr) {
    const Sequence newest = NewestOf(*cursor.entry(), at);
    if (newest == 0) break;
    ++*walked;
    hides_itself = hides_itself && newest > newest_entry;
    cursor.Next();
    ends.of_older = std::nullopt;
    if (cursor.entry() != nullptr) ends.of_older = cursor.entry()->user_key();
    if (hides_itself) ends.of_itself = ends.of_older;
  }
  return ends;
}

CoverBegins RangeList::BeginsOfCover(std::string_view internal_key, Sequence at,
                                     Sequence newest_entry, uint64_t* walked) const {
  const std::string_view key = UserKeyOf(internal_key);
  CoverBegins begins{.of_older = key, .of_itself = key};
  Skiplist::Cursor cursor(&boundaries_);
  cursor.SeekAtOrBefore(internal_key);
  if (cursor.entry() != nullptr && cursor.entry()->user_key() == key) cursor.Prev();
  bool hides_itself = true;
  for (; cursor.entry() != nullptr; cursor.Prev()) {
    const Sequence newest = NewestOf(*cursor.entry(), at);
    if (newest == 0) break;
    ++*walked;
    hides_itself = hides_itself && newest > newest_entry;
    begins.of_older = cursor.entry()->user_key();
    if (hides_itself) begins.of_itself = begins.of_older;
  }
  return begins;
}

RangeMap RangeList::ToMap() const {
  RangeMapBuilder builder;
  std::vector<Sequence> list;
  Skiplist::Cursor cursor(&boundaries_);
  for (cursor.SeekToFirst(); cursor.entry() != nullptr; cursor.Next()) {
    list.clear();
    const Node* node = HeadOf(*cursor.entry())->load(std::memory_order_acquire);
    for (; node != nullptr; node = node->older) list.push_back(node->sequence);
    builder.Add(cursor.entry()->user_key(), list);
  }
  return builder.Finish();
}

}  // namespace lsm
