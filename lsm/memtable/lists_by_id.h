// The lists of all keyspaces of a memtable but the default one, for one writer and any number of
// readers without locks.
//
//   table   slots, a power of two, at least twice as many as there are lists
//   slot    the address of a list, or nullptr.  A search goes from the slot of the id's hash up to
//           the list, or to the first free slot
//
// A list stays as long as the arena.  When the table is half full, the writer fills another one of
// twice the size.  The old ones stay for readers that are in them; together they are smaller than
// the newest one.
//
// Memory orders:
//
//   slot    the writer makes a list, then stores its address by release.  A reader acquires the
//           address, and so sees a whole list, empty or not
//   table   the writer fills the slots of a table with relaxed stores, as no reader knows it yet,
//           and then stores its address by release.  A reader acquires the address, and so sees
//           these slots, and the lists in them, which were made before
//   writer  loads both relaxed: only it changes them
//
// A reader may miss a list that is made meanwhile, also because it is in an old table.  It has no
// entry that the reader may see: the reader has acquired the number up to which it sees entries,
// and the writer has stored list and table before it released the number of the list's first entry.
#ifndef TRELLIS_LSM_MEMTABLE_LISTS_BY_ID_H_
#define TRELLIS_LSM_MEMTABLE_LISTS_BY_ID_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/memtable/arena.h"
#include "lsm/memtable/entry_list.h"

namespace lsm::inline TRELLIS_ABI {

class ListsById {
 public:
  // `arena` must outlive it, and holds all of it.
  explicit ListsById(Arena* arena) : arena_(arena) {}
  ListsById(const ListsById&) = delete;
  ListsById& operator=(const ListsById&) = delete;

  // nullptr if there is none.  Any thread.
  const EntryList* Find(KeyspaceId keyspace) const;

  // How many there are.  Any thread.  Relaxed: a figure.
  size_t count() const { return count_.load(std::memory_order_relaxed); }
  // All of them that are not empty, by ascending id.  Any thread.
  std::vector<const EntryList*> Filled() const;

  // Only the writer.  Throws std::bad_alloc without memory, and then has changed nothing that a
  // caller sees.
  EntryList* FindOrMake(KeyspaceId keyspace);

 private:
  using Slot = std::atomic<EntryList*>;
  struct Table {
    size_t size() const { return size_t{1} << bits; }
    // The slot where the search for an id begins, and the one after another slot.
    size_t Begin(KeyspaceId keyspace) const;
    size_t After(size_t at) const { return (at + 1) & (size() - 1); }

    Slot* slots;
    uint32_t bits;
  };
  static constexpr uint32_t kBitsMin = 3;

  // The slot that has the list of this id, or else the free slot for it.  Only the writer.
  static Slot& SlotOf(const Table& table, KeyspaceId keyspace);
  Table* NewTable(uint32_t bits);
  // Makes and publishes a table with the same lists.
  Table* Grow(const Table* full);

  Arena* const arena_;
  std::atomic<Table*> table_{nullptr};
  std::atomic<size_t> count_{0};  // only the writer changes it
};

}  // namespace lsm

#endif  // TRELLIS_LSM_MEMTABLE_LISTS_BY_ID_H_
