#include "lsm/memtable/lists_by_id.h"

#include <algorithm>
#include <new>

namespace lsm::inline TRELLIS_ABI {

size_t ListsById::Table::Begin(KeyspaceId keyspace) const {
  // The id is multiplied by 2^32 divided by the golden ratio.  This puts ids that follow one
  // another, or have a common divisor, far apart.
  return (keyspace * uint32_t{0x9e3779b9}) >> (32 - bits);
}

const EntryList* ListsById::Find(KeyspaceId keyspace) const {
  const Table* const table = table_.load(std::memory_order_acquire);
  if (table == nullptr) return nullptr;
  for (size_t at = table->Begin(keyspace);; at = table->After(at)) {
    const EntryList* const list = table->slots[at].load(std::memory_order_acquire);
    if (list == nullptr || list->keyspace() == keyspace) return list;
  }
}

ListsById::Slot& ListsById::SlotOf(const Table& table, KeyspaceId keyspace) {
  for (size_t at = table.Begin(keyspace);; at = table.After(at)) {
    const EntryList* const list = table.slots[at].load(std::memory_order_relaxed);
    if (list == nullptr || list->keyspace() == keyspace) return table.slots[at];
  }
}

ListsById::Table* ListsById::NewTable(uint32_t bits) {
  const size_t size = size_t{1} << bits;
  auto* const table = new (arena_->Allocate(sizeof(Table) + size * sizeof(Slot))) Table;
  table->slots = reinterpret_cast<Slot*>(table + 1);
  table->bits = bits;
  for (size_t at = 0; at < size; ++at) new (&table->slots[at]) Slot(nullptr);
  return table;
}

ListsById::Table* ListsById::Grow(const Table* full) {
  Table* const table = NewTable(full == nullptr ? kBitsMin : full->bits + 1);
  for (size_t at = 0; full != nullptr && at < full->size(); ++at) {
    EntryList* const list = full->slots[at].load(std::memory_order_relaxed);
    if (list != nullptr) SlotOf(*table, list->keyspace()).store(list, std::memory_order_relaxed);
  }
  table_.store(table, std::memory_order_release);
  return table;
}

EntryList* ListsById::FindOrMake(KeyspaceId keyspace) {
  Table* table = table_.load(std::memory_order_relaxed);
  if (table != nullptr) {
    EntryList* const found = SlotOf(*table, keyspace).load(std::memory_order_relaxed);
    if (found != nullptr) return found;
  }
  if (table == nullptr || 2 * (count() + 1) > table->size()) table = Grow(table);
  auto* const list = new (arena_->Allocate(sizeof(EntryList))) EntryList(keyspace, arena_);
  SlotOf(*table, keyspace).store(list, std::memory_order_release);
  count_.store(count() + 1, std::memory_order_relaxed);
  return list;
}

std::vector<const EntryList*> ListsById::Filled() const {
  std::vector<const EntryList*> lists;
  const Table* const table = table_.load(std::memory_order_acquire);
  for (size_t at = 0; table != nullptr && at < table->size(); ++at) {
    const EntryList* const list = table->slots[at].load(std::memory_order_acquire);
    if (list != nullptr && !list->empty()) lists.push_back(list);
  }
  std::sort(lists.begin(), lists.end(),
            [](const EntryList* a, const EntryList* b) { return a->keyspace() < b->keyspace(); });
  return lists;
}

}  // namespace lsm
