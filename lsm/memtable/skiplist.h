// Entries in the order of internal keys: one writer, any number of readers without locks.
//
// An entry is one piece of the arena that never moves:
//
//   +------------------+--------------------+--------------+-------+
//   | u32 key's length | u32 value's length | internal key | value |
//   +------------------+--------------------+--------------+-------+
//
// The list is a skip list whose nodes, the leaves, hold up to 15 entries each:
//
//   level 1   head ------------------------> leaf ------------> (none)
//   level 0   head ---------> leaf --------> leaf ------------> (none)
//             | a c d |       | e h |        | k m n p |
//
// A plain skip list of half a million entries waits for memory about ten times in a search, for
// every node on the way lies elsewhere.  Here there are a tenth of the nodes, and no key is read on
// the way: beside each link and each entry stands a hint, 64 bits of the key that decide nearly all
// comparisons (see skiplist.cc).  bench/memtable_bench.cc measures it.
//
// Once there are many leaves, searches begin not at the head but in a directory: an array of the
// tall ones that there were when it was made, which is a few cache lines of a binary search instead
// of a leaf a level.  From there they climb while they may, and then go down as from the head.
//
// How a leaf changes under its readers.  Its slots are in no order; the word `order` lists them in
// that of their keys, with their number, and is replaced whole:
//
//   * An insertion fills a free slot and then publishes the new order.  A reader sees either.
//   * A full leaf is split: a new leaf with copies of the upper entries is linked behind it, then
//     the order without them is published, then the leaf's version goes up, and only then are their
//     slots used again.  A reader that saw the shorter order sees the new leaf too, and goes on
//     there if its key belongs there; one that used the longer order looks at the version after it
//     has read the slots, and starts again if they may have been others.  No reader ever waits.
//
// The first entry of a leaf (not of the head) stays its first one for ever: what comes before it
// goes to the leaf before, and splits take from the end.
#ifndef TRELLIS_LSM_MEMTABLE_SKIPLIST_H_
#define TRELLIS_LSM_MEMTABLE_SKIPLIST_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/memtable/arena.h"

namespace lsm::inline TRELLIS_ABI {

class Skiplist {
 private:
  struct Leaf;
  struct Directory;
  struct Root;
  // What is looked for, and on which side of an equal entry.
  struct Target;
  // Where it belongs in a leaf.
  struct Place;

 public:
  class Entry {
   public:
    std::string_view internal_key() const { return {bytes(), key_bytes_}; }
    std::string_view user_key() const { return {bytes(), key_bytes_ - kInternalKeySuffixBytes}; }
    uint64_t suffix() const { return SuffixOf(internal_key()); }
    std::string_view value() const { return {bytes() + key_bytes_, value_bytes_}; }

   private:
    friend class Skiplist;
    char* bytes() { return reinterpret_cast<char*>(this + 1); }
    const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }

    uint32_t key_bytes_;
    uint32_t value_bytes_;
  };

  // A reader's place.  One thread at a time; must not outlive the list.  Reads each leaf as it was
  // when it came there, so entries that are added meanwhile are seen, or not.
  class Cursor {
   public:
    explicit Cursor(const Skiplist* list) : list_(list) {}

    // nullptr before the first move and behind either end.
    const Entry* entry() const { return entry_; }

    void SeekToFirst();
    void SeekToLast();
    void SeekAtOrAfter(std::string_view internal_key);
    void SeekAtOrBefore(std::string_view internal_key);
    // REQUIRES entry() != nullptr.
    void Next();
    void Prev();

   private:
    void MoveBehind(const Root* root, Leaf* start, const Target& target);
    void MoveBefore(const Root* root, const Target& target);
    bool Take(uint32_t position);

    const Skiplist* const list_;
    const Entry* entry_ = nullptr;
    // entry_ is at position_ of order_, which leaf_ had at version_, under root_.
    const Root* root_ = nullptr;
    Leaf* leaf_ = nullptr;
    uint64_t order_ = 0;
    uint32_t version_ = 0;
    uint32_t position_ = 0;
  };

  // `arena` outlives the list.
  explicit Skiplist(Arena* arena);
  Skiplist(const Skiplist&) = delete;
  Skiplist& operator=(const Skiplist&) = delete;

  // An entry that is not linked in: no search finds it.
  const Entry* NewEntry(std::string_view user_key, uint64_t suffix, std::string_view value);
  // The next `count` entries can be linked in without memory for it.  What is asked for is enough
  // for a leaf each, some ten times what they mostly take: a large amount is but addresses until it
  // is used.
  void Reserve(size_t count);
  // REQUIRES: it was reserved for; no entry with this key and suffix is there; no other Link runs.
  void Link(const Entry* entry);

  // nullptr if there is none.  Any thread.
  const Entry* FindAtOrAfter(std::string_view internal_key) const;

 private:
  static constexpr uint32_t kSlots = 15;
  static constexpr uint32_t kHeightMax = 20;

  // From this height on a leaf is tall, and stands in the directory.
  static constexpr uint32_t kTallHeight = 3;
  static constexpr size_t kDirectorySizeMin = 64;
  static constexpr size_t kDirectorySteps = 64;  // at a time, some microseconds

  // The leaf at each level behind which a new one is to be linked.
  using Path = Leaf* [kHeightMax];

  static Leaf* Descend(const Root& root, const Target& target, Leaf** path = nullptr,
                       uint32_t path_height = 0);
  static uint32_t CountBefore(const Leaf& leaf, uint64_t order, const Target& target);
  static Place FindInLeaves(Leaf* leaf, const Target& target);

  static size_t LeafBytes(uint32_t height);
  Leaf* NewLeaf(uint32_t height);
  static uint32_t RandomHeight(uint64_t* state);
  void ChoosePivot(Root* from);
  void GoOnWithDirectory(Root* root, size_t steps);
  static void LinkIn(Root* root, Leaf** path, Leaf* leaf, uint32_t height);
  // Into the full leaf that it belongs in, behind `position` entries of it.
  void InsertBySplit(uint32_t position, const Entry* entry);

  Arena* const arena_;
  // Released with all that it comes with, acquired by readers; its writer alone may load it
  // relaxed.
  std::atomic<Root*> root_;

  // The writer's own.
  Leaf* last_leaf_;  // where the last entry went
  size_t tall_leaves_ = 0;
  size_t tall_leaves_awaited_ = kDirectorySizeMin;  // before another directory is begun
  Directory* next_directory_ = nullptr;             // being made; for half of those awaited
  uint64_t random_state_ = 0x9e3779b97f4a7c15;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_MEMTABLE_SKIPLIST_H_
