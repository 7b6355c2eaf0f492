// The most recent writes, sorted, in memory.
//
// Threads: one writer at a time (the write queue ensures it), and any number of concurrent readers
// without a lock.  Lifetime: entries live as long as the memtable and never move.
//
// Each keyspace has a list of its own (entry_list.h), so keys hold no id.  The list of the default
// keyspace is a member.  The others are found by their ids (lists_by_id.h).  All are in one arena.
//
// A ring keeps the last entries that were added as batches, by their numbers:
//
//   slot   number % recent_max      the entry with this number, or a later one that has replaced it
//   word   number % recent_max      low half of the number | keyspace of the entry
//
// A reader that knows everything up to a number learns from it what the next writes changed,
// without a search (lsm/runtime/known_gaps.h).  In the slot of a range delete, or of a change of
// the set of keyspaces, it finds a tombstone of the empty key.  That is right because none of these
// makes a key visible.  There are no words until the first entry of a keyspace other than the
// default one.
//
// Range deletes are in lists of their own (range_list.h), and count as entries.
#ifndef TRELLIS_LSM_MEMTABLE_MEMTABLE_H_
#define TRELLIS_LSM_MEMTABLE_MEMTABLE_H_

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "bloom/core/abi.h"
#include "lsm/base/inner_iterator.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/keyspace_state.h"
#include "lsm/base/range_map.h"
#include "lsm/memtable/arena.h"
#include "lsm/memtable/entry_list.h"
#include "lsm/memtable/lists_by_id.h"
#include "lsm/memtable/range_list.h"

namespace lsm::inline TRELLIS_ABI {

class Memtable {
 public:
  using Entry = EntryList::Entry;

  // The ring of an active memtable has a slot for each KiB of the write buffer, 8 bytes of 1,024.
  // Once it has words, these take as much.
  static size_t RecentMax(uint64_t write_buffer_bytes) {
    return static_cast<size_t>(std::bit_floor(write_buffer_bytes / 1024));
  }

  // `number_before` is the store's last number when this memtable becomes the active one; all its
  // entries come after it.  The ring has `recent_max` slots, a power of two, or none if that is 0.
  // `begun_nanos`: the monotonic time now; 0: unknown.
  explicit Memtable(Sequence number_before = 0, size_t recent_max = 0, uint64_t begun_nanos = 0);
  Memtable(const Memtable&) = delete;
  Memtable& operator=(const Memtable&) = delete;

  // REQUIRES: no other entry has this key and sequence number; the value of a timed put begins with
  // its time.
  void Add(KeyspaceId keyspace, Sequence sequence, EntryKind kind, std::string_view user_key,
           std::string_view value);
  void Add(Sequence sequence, EntryKind kind, std::string_view user_key, std::string_view value) {
    Add(kDefaultKeyspace, sequence, kind, user_key, value);
  }

  // Adds all entries of an encoded batch, numbered from the sequence that it states.  This takes
  // two steps, of which the second cannot fail.  So a caller can write the batch to the log in
  // between:
  //
  //   (PrepareBatch AddPrepared?)*     no other Add between the two
  //
  // PrepareBatch copies the entries into the memtable's memory, where no reader finds them.  It
  // fails if the bytes are not a batch (DataLoss), or without memory (std::bad_alloc); then no
  // AddPrepared may follow.  The first call makes the ring.  If AddPrepared does not follow, the
  // numbers of the batch may be used again.  Only empty lists are left, and boundaries of range
  // deletes at which no answer changes.  `ranges` receives the range deletes of the batch in the
  // default keyspace, the newest at each key, or nullopt if there are none; null: they are not
  // wanted.  `is_timed`: whether
  // puts of a keyspace get the time of the batch; null: none do.  DataLoss if a batch with such a
  // put has no time.
  using IsTimed = absl::FunctionRef<bool(KeyspaceId keyspace)>;
  absl::Status PrepareBatch(std::string_view encoded, std::optional<RangeMap>* ranges = nullptr,
                            const IsTimed* is_timed = nullptr);
  // Needs no memory.
  void AddPrepared();

  // Adds range deletes all together, in n log n, even if they are nested.  Each key keeps only the
  // highest sequence.  REQUIRES: no reader sees the memtable yet, and each range ends after its
  // begin.
  void AddRanges(KeyspaceId keyspace, std::span<const RangeDelete> ranges);
  void AddRanges(std::span<const RangeDelete> ranges) { AddRanges(kDefaultKeyspace, ranges); }

  // Adds an entry that changes the set of keyspaces.
  void AddChange(KeyspaceChange change);

  // The list of a keyspace; nullptr if no entry of that keyspace was added so far.  If a caller has
  // acquired the number of an entry, it finds the list of that entry.
  const EntryList* Find(KeyspaceId keyspace) const {
    return keyspace == kDefaultKeyspace ? &default_ : others_.Find(keyspace);
  }
  // The lists that are not empty, by ascending id.
  std::vector<const EntryList*> Lists() const;
  // The changes of keyspaces, in their order.  REQUIRES: the memtable no longer has a writer, or
  // the caller is the writer.
  const std::vector<KeyspaceChange>& changes() const { return changes_; }

  // --- the list of the default keyspace (entry_list.h) ---

  MemtableAnswer Get(const LookupKey& key, std::string_view* value) const;
  // The same in the list of a keyspace.
  MemtableAnswer Get(KeyspaceId keyspace, const LookupKey& key, std::string_view* value) const {
    if (keyspace == kDefaultKeyspace) [[likely]]
      return Get(key, value);
    const EntryList* const list = others_.Find(keyspace);
    return list == nullptr ? MemtableAnswer::kAbsent : list->Get(key, value);
  }
  // The range deletes of a keyspace; nullptr if there are none.
  const RangeList* RangesOf(KeyspaceId keyspace) const {
    const EntryList* const list = Find(keyspace);
    return list == nullptr ? nullptr : list->ranges();
  }
  std::unique_ptr<InnerIterator> NewIterator() const { return default_.NewIterator(); }
  const RangeList* ranges() const { return default_.ranges(); }
  RangeMap MapOfRanges() const { return default_.MapOfRanges(); }
  Sequence newest_entry() const { return default_.newest_entry(); }

  // --- all lists ---

  // Whether any list has range deletes, or deletes that were added as batches, or a keyspace was
  // dropped.  Relaxed, as entry_count.
  bool has_deletes() const { return default_.tombstone_count() > 0 || has_more_deletes(); }
  // How many lists there are besides that of the default keyspace, including empty ones.  Relaxed,
  // since it is only a figure.
  size_t other_lists() const { return others_.count(); }
  // Memory use, including the unused part of the last arena block.  Any thread.
  size_t memory_bytes() const {
    return arena_.memory_bytes() + changes_bytes_.load(std::memory_order_relaxed);
  }
  // The part of memory_bytes that the entries and the range deletes take, of all keyspaces or of
  // one.  Any thread.  Relaxed, likewise.
  size_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  size_t BytesOf(KeyspaceId keyspace) const;
  // All entries, with range deletes and changes of keyspaces.  Relaxed: the count grows before the
  // numbers of these entries become visible.  So if a thread has acquired a number, and then finds
  // the memtable empty, the memtable has no entry up to that number.
  uint64_t entry_count() const { return entry_count_.load(std::memory_order_relaxed); }
  bool empty() const { return entry_count() == 0; }
  // How long ago it began; 0: unknown.
  uint64_t AgeNanos(uint64_t now_nanos) const {
    return begun_nanos_ == 0 || now_nanos < begun_nanos_ ? 0 : now_nanos - begun_nanos_;
  }

  Sequence number_before() const { return number_before_; }
  // The number of the last entry that was added as a batch, or number_before().  Relaxed, as
  // entry_count: if a thread has acquired the number of an entry here, this is at least that
  // number.
  Sequence last_number() const { return last_number_.load(std::memory_order_relaxed); }
  struct RecentEntry {
    const Entry* entry = nullptr;
    KeyspaceId keyspace = kDefaultKeyspace;
  };
  // The entry with this number, or the tombstone in its place; without an entry if the ring no
  // longer has it.  REQUIRES: number_before() < number <= last_number(), and the caller has
  // acquired `number`, so the ring exists.
  RecentEntry FindRecent(Sequence number) const;

 private:
  // Creates the entries of a batch.
  class EntryMaker;
  struct OtherEntry {
    EntryList* list;
    const Entry* entry;
  };

  EntryList* FindOrMake(KeyspaceId keyspace) {
    return keyspace == kDefaultKeyspace ? &default_ : others_.FindOrMake(keyspace);
  }
  // Relaxed, and only the writer changes it.
  bool has_more_deletes() const { return has_more_deletes_.load(std::memory_order_relaxed); }
  // Runs `call`, which adds to a list, and counts the memory that this takes.  `call` returns the
  // list.
  template <typename Call>
  void Count(const Call& call);
  // Call it after each addition.
  void NoteUsedBytes() { used_bytes_.store(arena_.used_bytes(), std::memory_order_relaxed); }
  // Gives the ring words, if the batch needs them.
  void PrepareRing();
  void NoteInRing(const Entry* entry, KeyspaceId keyspace);
  // Needs no memory after PrepareBatch.
  void KeepChange(KeyspaceChange change);
  // The parts of the two steps for ranges.
  void PrepareRanges(KeyspaceId keyspace, const RangeMap& ranges);
  void AddPreparedRanges();
  // Reserves for all lists at once, since a reservation holds only until the next one.
  void ReserveLinks();
  void ClearPrepared();

  const uint64_t begun_nanos_;
  Arena arena_;
  EntryList default_;
  ListsById others_;
  std::atomic<uint64_t> entry_count_{0};
  // The memory of all lists, and of those besides that of the default keyspace.  Relaxed: figures.
  std::atomic<size_t> used_bytes_{0};
  std::atomic<size_t> bytes_of_others_{0};
  // Whether it has range deletes, or deletes of keyspaces other than the default one.
  std::atomic<bool> has_more_deletes_{false};
  const Sequence number_before_;
  std::atomic<Sequence> last_number_;
  const size_t recent_max_;
  // Release and acquire: a reader of a slot that is being replaced reads the new entry's number.
  std::unique_ptr<std::atomic<const Entry*>[]> recent_;
  // Release and acquire, likewise: a reader believes a word only if it has the entry's number.  The
  // pointer is released after the words of all earlier entries, and before the first entry that
  // needs one.  So a reader that acquires such an entry finds the words.
  using Word = std::atomic<uint64_t>;
  static uint64_t WordOf(Sequence number, KeyspaceId keyspace) { return number << 32 | keyspace; }
  std::atomic<const Word*> words_{nullptr};
  std::unique_ptr<Word[]> own_words_;  // used by the writer only

  std::vector<KeyspaceChange> changes_;
  std::atomic<size_t> changes_bytes_{0};  // relaxed: an estimate for any thread

  // Used by the writer only: a batch between the two steps.
  std::vector<const Entry*> prepared_;  // of the default keyspace
  uint64_t prepared_tombstones_ = 0;    // likewise
  uint64_t prepared_count_ = 0;         // of all entries and ranges
  Sequence prepared_last_ = 0;          // the last number of a batch with entries
  // Whether the batch has more than entries of the default keyspace.  If not, all members below are
  // empty.
  bool prepared_has_more_ = false;
  std::vector<OtherEntry> prepared_others_;   // of other keyspaces
  std::vector<EntryList*> prepared_lists_;    // the lists of these
  std::vector<const Entry*> prepared_marks_;  // for the ring, in place of others and ranges
  RangeList::Group prepared_ranges_;          // of all keyspaces
  std::vector<EntryList*> prepared_ranged_;   // the lists of these
  bool prepared_has_more_deletes_ = false;    // as has_more_deletes_
  std::vector<KeyspaceChange> prepared_changes_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_MEMTABLE_MEMTABLE_H_
