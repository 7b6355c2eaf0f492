// A sorted list of internal keys, for one writer and any number of readers without locks.
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
// A search in a plain skip list of half a million entries waits for memory about ten times, once
// for each node.  This list has a tenth of the nodes, and a search reads no keys on the way: each
// link and each entry has a hint, 64 bits that decide nearly all comparisons (skiplist.cc).
// bench/memtable_bench.cc measures it.
//
// With many leaves, a search does not begin at the head but in a directory: an array of the tall
// leaves that existed when it was made.  A binary search there reads a few cache lines, instead of
// a leaf on each level.  From the leaf found there, the search follows the highest links that lead
// no further than the target, and then descends as from the head.
//
// How a leaf changes while it is read.  Its slots are unordered.  One word, `order`, has the number
// of entries and lists the slots in the order of their keys.  It is always replaced as a whole:
//
//   * An insertion fills a free slot, then publishes the new order.  A reader sees the old or the
//     new one.
//   * Splitting a full leaf: (1) a new leaf with copies of the upper entries is linked after it;
//     (2) the order without them is published; (3) the leaf's version is increased; (4) only then
//     may their slots be reused.  A reader that sees the shorter order also sees the new leaf, and
//     continues there if its key belongs there.  A reader that used the longer order checks the
//     version after it has read the slots, and starts again if they may have been reused.  No
//     reader ever waits.
//
// The first entry of a leaf (except the head) stays its first one for ever: smaller keys go to the
// leaf before, and splits take entries from the end.
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
  // The sought key, and which side of an equal entry is meant.
  struct Target;
  // A position in a leaf.
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

  // A reader's position.  For one thread at a time; must not outlive the list.  Reads each leaf as
  // of its arrival there, so it may or may not see concurrent additions.
  class Cursor {
   public:
    explicit Cursor(const Skiplist* list) : list_(list) {}

    // nullptr before the first move and beyond either end.
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
    // entry_ was at position_ of order_, in leaf_ at version_, under root_.
    const Root* root_ = nullptr;
    Leaf* leaf_ = nullptr;
    uint64_t order_ = 0;
    uint32_t version_ = 0;
    uint32_t position_ = 0;
  };

  // `arena` must outlive the list.
  explicit Skiplist(Arena* arena);
  Skiplist(const Skiplist&) = delete;
  Skiplist& operator=(const Skiplist&) = delete;

  // Creates an entry without linking it in: no search finds it yet.
  const Entry* NewEntry(std::string_view user_key, uint64_t suffix, std::string_view value);
  // The most bytes that linking the next `count` entries may take: a leaf for each, about ten times
  // the usual need.  Also continues the directory, which takes memory now.  A caller that links
  // into several lists reserves the sum of their bytes in the arena.
  size_t BytesToLink(size_t count);
  // Makes linking the next `count` entries need no memory.  Unused memory costs only addresses.
  void Reserve(size_t count) { arena_->Reserve(BytesToLink(count)); }
  // REQUIRES: reserved; no entry with this key and suffix exists; no other Link is running.
  void Link(const Entry* entry);

  // The first entry at or after the key; nullptr if there is none.  Any thread.
  const Entry* FindAtOrAfter(std::string_view internal_key) const;

 private:
  static constexpr uint32_t kSlots = 15;
  static constexpr uint32_t kHeightMax = 20;

  // A leaf of at least this height is tall, and is listed in the directory.
  static constexpr uint32_t kTallHeight = 3;
  static constexpr size_t kDirectorySizeMin = 64;
  static constexpr size_t kDirectorySteps = 64;  // at a time, some microseconds

  // The leaf on each level after which a new one is linked.
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
  // Inserts into its full leaf, after `position` entries of it.
  void InsertBySplit(uint32_t position, const Entry* entry);

  Arena* const arena_;
  // Published by release together with all that it refers to, and acquired by readers.  The writer
  // may load it with relaxed.
  std::atomic<Root*> root_;

  // Used by the writer only.
  Leaf* last_leaf_;  // leaf of the last insertion
  size_t tall_leaves_ = 0;
  size_t tall_leaves_awaited_ = kDirectorySizeMin;  // number that begins another directory
  Directory* next_directory_ = nullptr;  // being built, for tall_leaves_awaited_ / 2 leaves
  uint64_t random_state_ = 0x9e3779b97f4a7c15;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_MEMTABLE_SKIPLIST_H_
