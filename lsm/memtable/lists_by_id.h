// The lists of a memtable by keyspace, except for the default one.  For one writer, and any number
// of readers without locks.
//
//   table   slots, a power of two, at least twice as many as there are lists
//   slot    the address of a list, or nullptr.  A search goes from the slot of the id's hash up to
//           the list, or to the first free slot
//
// A list stays as long as the arena.  When the table is half full, the writer fills another one of
// twice the size.  The old tables stay for readers that search them.  Together they are smaller
// than the newest one.
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
// A reader may miss a list that is made meanwhile, for example because the reader is in an old
// table.  Such a list has no entry that the reader may see.  The reader has acquired the number up
// to which it sees entries, and the writer stores list and table before it releases the number of
// the list's first entry.
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
  // `arena` holds all the memory of this object, and must outlive it.
  explicit ListsById(Arena* arena) : arena_(arena) {}
  ListsById(const ListsById&) = delete;
  ListsById& operator=(const ListsById&) = delete;

  // nullptr if there is none.  Any thread.
  const EntryList* Find(KeyspaceId keyspace) const;

  // How many lists there are.  Any thread.  Relaxed, since it is only a figure.
  size_t count() const { return count_.load(std::memory_order_relaxed); }
  // All of them that are not empty, by ascending id.  Any thread.
  std::vector<const EntryList*> Filled() const;

  // Only for the writer.  Throws std::bad_alloc without memory; then nothing has changed that a
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
