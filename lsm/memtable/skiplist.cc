#include "lsm/memtable/skiplist.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <limits>
#include <new>

#include "lsm/bytes/coding.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// --- Hints ---
//
// A hint is a 64-bit number for each user key, relative to a pivot key.  A greater key never has a
// lower hint.  So different hints order the keys; for equal hints the keys must be compared.
//
//   bit 63   62..56                                      55..0
//     0      bytes shared with the pivot                 the next 7 bytes of the key    key < pivot
//     1      0                                           0                              see below
//     1      127 - bytes shared with the pivot           the next 7 bytes of the key    key > pivot
//
// A key that is closer to the pivot shares more bytes with it, so this is an order.  Since hints
// omit the shared bytes, they distinguish keys with a long common prefix, such as 16 decimal
// digits.  A key that shares all of its bytes, or 127 bytes or more, counts as equal to the pivot.
constexpr uint32_t kSharedBytesMax = 127;
constexpr uint64_t kPivotHint = uint64_t{1} << 63;
// Hint of a null link: at least that of any key.
constexpr uint64_t kEndHint = std::numeric_limits<uint64_t>::max();

// Number of common first bytes of two internal keys' user keys, up to kSharedBytesMax.
uint32_t SharedBytes(std::string_view a, std::string_view b) {
  const auto size = static_cast<uint32_t>(
      std::min({UserKeyOf(a).size(), UserKeyOf(b).size(), size_t{kSharedBytesMax}}));
  // Eight bytes at a time.  The suffix keeps the loads within the keys.
  for (uint32_t at = 0; at < size; at += 8) {
    const uint64_t difference = LoadFixed64(a.data() + at) ^ LoadFixed64(b.data() + at);
    if (difference != 0) {
      return std::min(at + static_cast<uint32_t>(std::countr_zero(difference)) / 8, size);
    }
  }
  return size;
}

// The first 7 bytes, padded with zeros, as a number.  REQUIRES: 8 more bytes (an internal key's
// suffix) follow `bytes`.
uint64_t NextBytes(std::string_view bytes) {
  // Most significant byte first, on any CPU.
  const uint64_t word = __builtin_bswap64(LoadFixed64(bytes.data())) >> 8;
  const size_t surplus_bits = 56 - 8 * std::min<size_t>(bytes.size(), 7);
  return word >> surplus_bits << surplus_bits;
}

uint64_t HintOf(std::string_view internal_key, std::string_view pivot_key) {
  const uint32_t shared = SharedBytes(internal_key, pivot_key);
  if (shared == kSharedBytesMax) return kPivotHint;
  const std::string_view rest = UserKeyOf(internal_key).substr(shared);
  const std::string_view pivot_rest = UserKeyOf(pivot_key).substr(shared);
  if (rest.empty() && pivot_rest.empty()) return kPivotHint;
  const bool is_less =
      rest.empty() ||
      (!pivot_rest.empty() && static_cast<uint8_t>(rest[0]) < static_cast<uint8_t>(pivot_rest[0]));
  const uint64_t nearness = is_less ? shared : 128 | (kSharedBytesMax - shared);
  return nearness << 56 | NextBytes(rest);
}

// --- The order of a leaf's slots ---
//
// Bits 0..3: number of entries n.  Bits 4 + 4p..7 + 4p: the slot of the entry at position p < n.
// The remaining positions list the free slots, so each slot is always listed once.
constexpr uint64_t kNoEntries = 0xedcba98765432100;

uint32_t CountOf(uint64_t order) { return static_cast<uint32_t>(order & 15); }
uint32_t SlotAt(uint64_t order, uint32_t position) {
  return static_cast<uint32_t>(order >> (4 * position + 4)) & 15;
}
// The bits of the count and of all positions before this one.
uint64_t BitsBefore(uint32_t position) {
  return position == 15 ? ~uint64_t{0} : (uint64_t{1} << (4 * position + 4)) - 1;
}
// Inserts the first free slot at `position`.
uint64_t WithInserted(uint64_t order, uint32_t position) {
  const uint32_t count = CountOf(order);
  assert(count < 15 && position <= count);
  const uint64_t slot = SlotAt(order, count);
  const uint64_t before = BitsBefore(position);
  const uint64_t changed = BitsBefore(count + 1) & ~before;
  const uint64_t moved = ((order & changed) << 4) & changed;
  return ((order & ~changed) | slot << (4 * position + 4) | moved) + 1;
}
uint64_t WithoutLast(uint64_t order, uint32_t count_kept) {
  return (order & ~uint64_t{15}) | count_kept;
}

// If this many consecutive additions were neighbours, the leaf has a growing run.  Small enough for
// a leaf to notice a run, large enough to be rare among random keys.
constexpr uint8_t kRunMin = 3;

// Sorts before every possible first entry: the empty key with a suffix above all others.
constexpr std::string_view kBeforeAll = "\xff\xff\xff\xff\xff\xff\xff\xff";

}  // namespace

struct Skiplist::Leaf {
  // A link to the next leaf of at least this height, with the hint of that leaf's first entry.  The
  // writer changes `next` first and then `hint`; a reader loads `hint` first and then `next`.  So
  // the reader's `next` is never after the position of its hint, and it may go there if the hint is
  // less than its own.
  struct Link {
    std::atomic<Leaf*> next{nullptr};
    std::atomic<uint64_t> hint{kEndHint};
  };

  // All atomics here are loaded with acquire and stored with release, except that the writer reads
  // with relaxed what only it changes.  This guarantees a reader:
  //
  //   - it sees the contents of an entry or a leaf that it finds;
  //   - if it sees the order without the upper entries, it sees the link to the leaf that has them;
  //   - if it sees a reused slot, it sees the version that was increased before.
  std::atomic<uint64_t> order{kNoEntries};
  std::atomic<uint32_t> version{0};
  uint8_t newest_slot = kSlots;  // used by the writer only
  uint8_t run = 0;               // used by the writer only: length of the current run of neighbours
  uint8_t height = 1;            // constant
  const Entry* first = nullptr;  // constant; nullptr in the head
  uint64_t first_hint = 0;       // constant
  std::atomic<uint64_t> hints[kSlots] = {};
  std::atomic<const Entry*> entries[kSlots] = {};
  Link links[1];  // `height` of them, lowest first

  Leaf* NextUpTo(uint32_t level, const Target& target) const;

  // Prefetches the lines of order and hints, while the links to them are still loading.
  void Prefetch() const {
    __builtin_prefetch(this);
    __builtin_prefetch(reinterpret_cast<const char*>(this) + 64);
    __builtin_prefetch(reinterpret_cast<const char*>(this) + 128);
  }

  // --- for the writer ---

  // Whether the entry before or after `position` is the newest one.
  bool IsBesideNewest(uint32_t position) const {
    const uint64_t now = order.load(std::memory_order_relaxed);
    return (position > 0 && SlotAt(now, position - 1) == newest_slot) ||
           (position < CountOf(now) && SlotAt(now, position) == newest_slot);
  }

  void InsertAt(uint32_t position, const Entry* entry, uint64_t hint) {
    run = IsBesideNewest(position) ? static_cast<uint8_t>(std::min(run + 1, 255)) : uint8_t{0};
    const uint64_t old_order = order.load(std::memory_order_relaxed);
    const uint32_t slot = SlotAt(old_order, CountOf(old_order));
    newest_slot = static_cast<uint8_t>(slot);
    hints[slot].store(hint, std::memory_order_release);
    entries[slot].store(entry, std::memory_order_release);
    order.store(WithInserted(old_order, position), std::memory_order_release);
  }
};

// The tall leaves that existed when it was made, in order, with the hints of their first entries
// side by side: a few cache lines, where the upper levels would take many.
struct Skiplist::Directory {
  uint64_t* hints;
  Leaf** leaves;
  uint32_t size = 0;  // at least one once it is in use

  Leaf* LastUpTo(const Target& target) const;
};

// The start of searches.  The pivot is constant while hints made with it are in use, so a new pivot
// needs a new root.
struct Skiplist::Root {
  const Entry* pivot = nullptr;  // without a pivot, all hints are 0
  Leaf* head = nullptr;
  // Number of levels that have leaves besides the head.  Relaxed everywhere: all links of the head
  // are always valid, so starting too low is only slower, and starting too high finds no leaf
  // there.
  std::atomic<uint32_t> height{1};
  // Directory of this root; nullptr while there are few leaves.  Published by release.
  std::atomic<const Directory*> directory{nullptr};

  uint64_t HintOf(std::string_view internal_key) const {
    return pivot == nullptr ? 0 : lsm::HintOf(internal_key, pivot->internal_key());
  }
};

struct Skiplist::Target {
  enum class Side : uint8_t { kBeforeEqual, kAfterEqual, kAfterAll };

  std::string_view internal_key;  // unused for kAfterAll
  Side side;
  uint64_t hint;

  Target(const Root& root, std::string_view key, Side which)
      : internal_key(key), side(which), hint(root.HintOf(key)) {}
  Target() : side(Side::kAfterAll), hint(kEndHint) {}

  // Whether the target is after the entry.
  bool IsBehind(const Entry& entry) const {
    if (side == Side::kAfterAll) return true;
    const int order = CompareInternalKeys(entry.internal_key(), internal_key);
    return order < 0 || (order == 0 && side == Side::kAfterEqual);
  }
  bool IsBehindFirstOf(const Leaf& leaf) const {
    return leaf.first_hint < hint || (leaf.first_hint == hint && IsBehind(*leaf.first));
  }
};

struct Skiplist::Place {
  Leaf* leaf;
  Leaf* next;           // nullptr after the last leaf
  uint64_t order;       // of `leaf`
  uint32_t version;     // of `leaf`, at the time of `order`
  uint32_t position;    // in `order`; at most its count
  const Entry* before;  // nullptr if there is none
  const Entry* behind;  // nullptr if there is none
};

Skiplist::Skiplist(Arena* arena) : arena_(arena) {
  auto* root = new (arena_->Allocate(sizeof(Root))) Root;
  // The links of this head are never used: the first split makes another root.
  root->head = last_leaf_ = NewLeaf(1);
  root_.store(root, std::memory_order_release);
}

const Skiplist::Entry* Skiplist::NewEntry(std::string_view user_key, uint64_t suffix,
                                          std::string_view value) {
  const size_t key_bytes = user_key.size() + kInternalKeySuffixBytes;
  auto* entry = new (arena_->Allocate(sizeof(Entry) + key_bytes + value.size())) Entry;
  entry->key_bytes_ = static_cast<uint32_t>(key_bytes);
  entry->value_bytes_ = static_cast<uint32_t>(value.size());
  char* to = entry->bytes();
  if (!user_key.empty()) std::memcpy(to, user_key.data(), user_key.size());
  StoreFixed64(to + user_key.size(), suffix);
  if (!value.empty()) std::memcpy(to + key_bytes, value.data(), value.size());
  return entry;
}

size_t Skiplist::LeafBytes(uint32_t height) {
  static_assert(sizeof(Leaf) % 8 == 0 && sizeof(Root) % 8 == 0);
  static_assert(sizeof(Leaf) + (kHeightMax - 1) * sizeof(Leaf::Link) <= Arena::kReservableBytesMax);
  return sizeof(Leaf) + (height - 1) * sizeof(Leaf::Link);
}

Skiplist::Leaf* Skiplist::NewLeaf(uint32_t height) {
  auto* leaf = new (arena_->Allocate(LeafBytes(height))) Leaf;
  for (uint32_t level = 1; level < height; ++level) new (&leaf->links[level]) Leaf::Link;
  leaf->height = static_cast<uint8_t>(height);
  return leaf;
}

// Returns h with probability (1/2)^h.
uint32_t Skiplist::RandomHeight(uint64_t* state) {
  // Xorshift (Marsaglia, "Xorshift RNGs", 2003), period 2^64 - 1.  SplitMix would be as fast.  But
  // heights decide how much memory a memtable takes.  With other heights memtables would end at
  // other entries, and each test with a seed would write other tables.
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return std::min(1 + static_cast<uint32_t>(std::countr_zero(*state)), kHeightMax);
}

// The last leaf that is not after the target, or nullptr.
Skiplist::Leaf* Skiplist::Directory::LastUpTo(const Target& target) const {
  // No branch that depends on the key: half of them would be mispredicted.
  const uint64_t* at = hints;
  for (uint32_t left = size; left > 1; left -= left / 2) {
    at += at[left / 2] < target.hint ? left / 2 : 0;
  }
  size_t count = static_cast<size_t>(at - hints) + (*at < target.hint ? 1 : 0);
  if (count < size && hints[count] == target.hint) [[unlikely]] {
    // Equal hints: compares keys.
    Leaf* const* const begin = leaves + count;
    const auto equal = std::upper_bound(hints + count, hints + size, target.hint) - (hints + count);
    count += static_cast<size_t>(
        std::partition_point(begin, begin + equal,
                             [&](const Leaf* leaf) { return target.IsBehind(*leaf->first); }) -
        begin);
  }
  return count > 0 ? leaves[count - 1] : nullptr;
}

// The next leaf of this level if it is not after the target, otherwise nullptr.
Skiplist::Leaf* Skiplist::Leaf::NextUpTo(uint32_t level, const Target& target) const {
  const Link& link = links[level];
  const uint64_t link_hint = link.hint.load(std::memory_order_acquire);
  if (link_hint > target.hint) return nullptr;
  Leaf* const next = link.next.load(std::memory_order_acquire);
  if (link_hint == target.hint && (next == nullptr || !target.IsBehind(*next->first)))
    return nullptr;
  return next;
}

// The last known leaf that may contain the target.  Fills the first `path_height` elements of
// `path`.
Skiplist::Leaf* Skiplist::Descend(const Root& root, const Target& target, Leaf** path,
                                  uint32_t path_height) {
  const Directory* directory = root.directory.load(std::memory_order_acquire);
  Leaf* leaf =
      directory != nullptr && path_height <= kTallHeight ? directory->LastUpTo(target) : nullptr;
  uint32_t level;
  if (leaf == nullptr) {
    leaf = root.head;
    // Relaxed: an outdated height only makes the search longer.
    level = root.height.load(std::memory_order_relaxed);
  } else {
    // There may be many leaves newer than the directory.  Passes them on the highest level that the
    // towers on the way reach.
    level = leaf->height;
    while (Leaf* next = leaf->NextUpTo(level - 1, target)) {
      leaf = next;
      level = leaf->height;
    }
  }
  while (level-- > 0) {
    if (level == 0) leaf->Prefetch();
    while (Leaf* next = leaf->NextUpTo(level, target)) {
      leaf = next;
      if (level == 0) leaf->Prefetch();
    }
    if (level < path_height) path[level] = leaf;
  }
  return leaf;
}

// Number of the leaf's entries, in `order`, before the target.
uint32_t Skiplist::CountBefore(const Leaf& leaf, uint64_t order, const Target& target) {
  uint32_t position = 0;
  uint32_t end = CountOf(order);
  while (position < end) {
    const uint32_t middle = (position + end) / 2;
    const uint32_t slot = SlotAt(order, middle);
    const uint64_t hint = leaf.hints[slot].load(std::memory_order_acquire);
    const bool is_before = hint < target.hint ||
                           (hint == target.hint &&
                            target.IsBehind(*leaf.entries[slot].load(std::memory_order_acquire)));
    if (is_before) {
      position = middle + 1;
    } else {
      end = middle;
    }
  }
  return position;
}

// For readers.  Starts at `leaf`, which must not be after the target.
Skiplist::Place Skiplist::FindInLeaves(Leaf* leaf, const Target& target) {
  while (true) {
    Place place;
    place.leaf = leaf;
    place.version = leaf->version.load(std::memory_order_acquire);
    place.order = leaf->order.load(std::memory_order_acquire);
    place.next = leaf->links[0].next.load(std::memory_order_acquire);
    place.position = CountBefore(*leaf, place.order, target);
    const auto entry_at = [&](uint32_t position) {
      return leaf->entries[SlotAt(place.order, position)].load(std::memory_order_acquire);
    };
    place.before = place.position > 0 ? entry_at(place.position - 1) : nullptr;
    if (place.position < CountOf(place.order)) {
      place.behind = entry_at(place.position);
    } else if (place.next == nullptr) {
      place.behind = nullptr;
    } else {
      // The leaf may have been split.  The link's hint may be older than the link, so it does not
      // help.
      if (target.IsBehindFirstOf(*place.next)) {
        leaf = place.next;
        continue;
      }
      place.behind = place.next->first;
    }
    // Relaxed: the acquires above keep this load after them.
    if (leaf->version.load(std::memory_order_relaxed) == place.version) return place;
  }
}

const Skiplist::Entry* Skiplist::FindAtOrAfter(std::string_view internal_key) const {
  const Root& root = *root_.load(std::memory_order_acquire);
  const Target target(root, internal_key, Target::Side::kBeforeEqual);
  return FindInLeaves(Descend(root, target), target).behind;
}

// Builds the next directory, a number of leaves at a time, so that no writer waits long.  Building
// starts whenever the current directory has only half of the tall leaves, so all directories
// together cost a few steps per leaf.  Old ones remain, since readers may use them.  Leaves
// inserted before the position reached so far are left out.
void Skiplist::GoOnWithDirectory(Root* root, size_t steps) {
  if (next_directory_ == nullptr) {
    const size_t size_max = tall_leaves_;
    tall_leaves_awaited_ = 2 * size_max;
    char* memory;
    try {
      memory = arena_->Allocate(sizeof(Directory) + size_max * (sizeof(uint64_t) + sizeof(Leaf*)));
    } catch (const std::bad_alloc&) {
      return;  // searches work without it
    }
    next_directory_ = new (memory) Directory;
    next_directory_->hints = reinterpret_cast<uint64_t*>(next_directory_ + 1);
    next_directory_->leaves = reinterpret_cast<Leaf**>(next_directory_->hints + size_max);
  }
  Directory& directory = *next_directory_;
  Leaf* leaf = directory.size == 0 ? root->head : directory.leaves[directory.size - 1];
  for (; steps > 0; --steps) {
    // Relaxed: only this thread writes links.
    leaf = leaf->links[kTallHeight - 1].next.load(std::memory_order_relaxed);
    if (leaf == nullptr || directory.size == tall_leaves_awaited_ / 2) {
      root->directory.store(next_directory_, std::memory_order_release);
      next_directory_ = nullptr;
      return;
    }
    directory.hints[directory.size] = leaf->first_hint;
    directory.leaves[directory.size++] = leaf;
  }
}

size_t Skiplist::BytesToLink(size_t count) {
  Root* const root = root_.load(std::memory_order_relaxed);
  if (next_directory_ != nullptr || tall_leaves_ >= tall_leaves_awaited_) [[unlikely]]
    GoOnWithDirectory(root, kDirectorySteps + count);
  size_t needed_bytes = 0;
  if (root->pivot == nullptr) needed_bytes += sizeof(Root) + LeafBytes(kHeightMax);
  // Each entry may split a leaf.  These are the heights that will be drawn then.
  uint64_t state = random_state_;
  for (size_t i = 0; i < count; ++i) needed_bytes += LeafBytes(RandomHeight(&state));
  return needed_bytes;
}

void Skiplist::Link(const Entry* entry) {
  const Root& root = *root_.load(std::memory_order_relaxed);
  const Target target(root, entry->internal_key(), Target::Side::kBeforeEqual);
  // The leaf of the last insertion, if this entry belongs there too.
  Leaf* leaf = last_leaf_;
  const bool is_near = target.hint > leaf->first_hint &&
                       target.hint < leaf->links[0].hint.load(std::memory_order_relaxed);
  if (!is_near) leaf = Descend(root, target);
  const uint64_t order = leaf->order.load(std::memory_order_relaxed);
  const uint32_t position = CountBefore(*leaf, order, target);
  if (CountOf(order) < kSlots) {
    leaf->InsertAt(position, entry, target.hint);
    last_leaf_ = leaf;
  } else {
    InsertBySplit(position, entry);
  }
}

// The head is full, and is the whole list.  A key from its middle becomes the pivot, and another
// head takes over its entries.  Readers in the old head find it unchanged.
void Skiplist::ChoosePivot(Root* from) {
  const Leaf& old_head = *from->head;
  const uint64_t order = old_head.order.load(std::memory_order_relaxed);
  assert(CountOf(order) == kSlots);
  const auto entry_at = [&](uint32_t position) {
    return old_head.entries[SlotAt(order, position)].load(std::memory_order_relaxed);
  };
  auto* root = new (arena_->Allocate(sizeof(Root))) Root;
  root->pivot = entry_at(kSlots / 2);
  root->head = NewLeaf(kHeightMax);
  for (uint32_t position = 0; position < kSlots; ++position) {
    const Entry* entry = entry_at(position);
    root->head->InsertAt(position, entry, root->HintOf(entry->internal_key()));
  }
  root_.store(root, std::memory_order_release);
}

// Links the new leaf, which has all its entries, after the leaves in the path.
void Skiplist::LinkIn(Root* root, Leaf** path, Leaf* leaf, uint32_t height) {
  uint32_t list_height = root->height.load(std::memory_order_relaxed);
  for (; list_height < height; ++list_height) path[list_height] = root->head;
  root->height.store(list_height, std::memory_order_relaxed);
  // Sets all links of the new leaf first: a reader that reaches it on one level may continue on a
  // higher one.  Relaxed: only this thread writes links, and no reader sees this leaf yet.
  for (uint32_t level = 0; level < height; ++level) {
    const Leaf::Link& link = path[level]->links[level];
    leaf->links[level].next.store(link.next.load(std::memory_order_relaxed),
                                  std::memory_order_relaxed);
    leaf->links[level].hint.store(link.hint.load(std::memory_order_relaxed),
                                  std::memory_order_relaxed);
  }
  for (uint32_t level = 0; level < height; ++level) {
    Leaf::Link& link = path[level]->links[level];
    link.next.store(leaf, std::memory_order_release);
    link.hint.store(leaf->first_hint, std::memory_order_release);
  }
}

void Skiplist::InsertBySplit(uint32_t position, const Entry* entry) {
  Root* root = root_.load(std::memory_order_relaxed);
  if (root->pivot == nullptr) {
    ChoosePivot(root);
    root = root_.load(std::memory_order_relaxed);
  }
  const Target target(*root, entry->internal_key(), Target::Side::kBeforeEqual);
  const uint32_t height = RandomHeight(&random_state_);
  Path path;
  Leaf* const left = Descend(*root, target, path, height);
  const uint64_t order = left->order.load(std::memory_order_relaxed);
  const auto entry_at = [&](uint32_t at) {
    return left->entries[SlotAt(order, at)].load(std::memory_order_relaxed);
  };

  // Splits in the middle.  If a run of neighbours grows, splits where it grows, so that the run
  // fills its leaves.
  const bool grows = left->run >= kRunMin && left->IsBesideNewest(position);
  const uint32_t kept = grows ? position : kSlots / 2 + 1;
  assert(kept > 0 || left == root->head);  // other leaves keep their first entry
  const bool goes_right = position > kept || kept == kSlots;

  Leaf* const right = NewLeaf(height);
  if (height >= kTallHeight) ++tall_leaves_;
  for (uint32_t from = kept; from < kSlots; ++from) {
    right->InsertAt(from - kept, entry_at(from),
                    left->hints[SlotAt(order, from)].load(std::memory_order_relaxed));
  }
  if (goes_right) right->InsertAt(position - kept, entry, target.hint);
  const uint32_t first_slot = SlotAt(right->order.load(std::memory_order_relaxed), 0);
  right->first = right->entries[first_slot].load(std::memory_order_relaxed);
  right->first_hint = right->hints[first_slot].load(std::memory_order_relaxed);

  LinkIn(root, path, right, height);
  if (kept < kSlots) {
    left->order.store(WithoutLast(order, kept), std::memory_order_release);
    left->version.store(left->version.load(std::memory_order_relaxed) + 1,
                        std::memory_order_release);
  }
  if (!goes_right) left->InsertAt(position, entry, target.hint);
  // The run continues in the right leaf, so it ends in the left one.  Otherwise a run that grows
  // downwards would get a leaf for each entry.
  if (kept == kSlots) left->run = 0;
  last_leaf_ = goes_right ? right : left;
}

// --- Cursor ---

void Skiplist::Cursor::SeekToFirst() { SeekAtOrAfter(kBeforeAll); }

void Skiplist::Cursor::SeekToLast() {
  MoveBefore(list_->root_.load(std::memory_order_acquire), Target());
}

void Skiplist::Cursor::SeekAtOrAfter(std::string_view internal_key) {
  const Root* root = list_->root_.load(std::memory_order_acquire);
  const Target target(*root, internal_key, Target::Side::kBeforeEqual);
  MoveBehind(root, Descend(*root, target), target);
}

void Skiplist::Cursor::SeekAtOrBefore(std::string_view internal_key) {
  const Root* root = list_->root_.load(std::memory_order_acquire);
  MoveBefore(root, Target(*root, internal_key, Target::Side::kAfterEqual));
}

void Skiplist::Cursor::Next() {
  assert(entry_ != nullptr);
  if (position_ + 1 < CountOf(order_) && Take(position_ + 1)) return;
  // The leaf may have changed, and its root too.
  const Root* root = list_->root_.load(std::memory_order_acquire);
  const Target target(*root, entry_->internal_key(), Target::Side::kAfterEqual);
  MoveBehind(root, root == root_ ? leaf_ : Descend(*root, target), target);
}

void Skiplist::Cursor::Prev() {
  assert(entry_ != nullptr);
  if (position_ > 0 && Take(position_ - 1)) return;
  const Root* root = list_->root_.load(std::memory_order_acquire);
  MoveBefore(root, Target(*root, entry_->internal_key(), Target::Side::kBeforeEqual));
}

// Moves to the entry at `position`.  False if its slot may now hold another one.
bool Skiplist::Cursor::Take(uint32_t position) {
  const Entry* entry = leaf_->entries[SlotAt(order_, position)].load(std::memory_order_acquire);
  // Relaxed: the acquire keeps this load after it.
  if (leaf_->version.load(std::memory_order_relaxed) != version_) return false;
  entry_ = entry;
  position_ = position;
  return true;
}

// Moves to the first entry after the target.  `start` must not be after the target.
void Skiplist::Cursor::MoveBehind(const Root* root, Leaf* start, const Target& target) {
  const Place place = FindInLeaves(start, target);
  root_ = root;
  entry_ = place.behind;
  leaf_ = place.leaf;
  order_ = place.order;
  version_ = place.version;
  position_ = place.position;
  if (entry_ != nullptr && position_ == CountOf(order_)) {
    // The first entry of the next leaf.  It stays the first one, whatever else happens to that
    // leaf.
    leaf_ = place.next;
    version_ = leaf_->version.load(std::memory_order_acquire);
    order_ = leaf_->order.load(std::memory_order_acquire);
    position_ = 0;
  }
}

// Moves to the last entry before the target.
void Skiplist::Cursor::MoveBefore(const Root* root, const Target& target) {
  const Place place = FindInLeaves(Descend(*root, target), target);
  root_ = root;
  entry_ = place.before;
  leaf_ = place.leaf;
  order_ = place.order;
  version_ = place.version;
  // Only in the head may a target have no entry before it.
  position_ = place.position - (entry_ != nullptr ? 1 : 0);
}

}  // namespace lsm
