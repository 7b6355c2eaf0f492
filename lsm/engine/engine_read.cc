// Engine: the read path.  A lookup waits for no lock, and takes one guard and one digest.
#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "lsm/base/merging_iterator.h"
#include "lsm/bytes/status.h"
#include "lsm/compaction/level0_account.h"
#include "lsm/engine/db_iterator.h"
#include "lsm/engine/engine.h"
#include "lsm/memtable/memtable_cover.h"
#include "lsm/snapshot.h"
#include "lsm/table/block_reads.h"
#include "lsm/version/common_keys.h"
#include "lsm/version/prefix_iterator.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// One in kDoubtOneIn of a thread's lookups does not trust the filters.  This finds a filter whose
// memory was damaged after it was read.  The additional reads, one for each table, are too few to
// be measured.  A prime, so that a program with periodic lookups does not hide a key from the
// check.
constexpr uint64_t kDoubtOneIn = 65'537;

absl::Status SnapshotOfAnother() {
  return absl::InvalidArgumentError("ReadOptions::snapshot is a snapshot of another DB");
}

// The sequence of the newest range delete that covers the key, among those of the keyspace in the
// memtable that the lookup sees; 0: none.
Sequence NewestRange(const Memtable& memtable, KeyspaceId keyspace, const LookupKey& key) {
  const RangeList* const ranges = memtable.RangesOf(keyspace);
  return ranges == nullptr ? 0 : ranges->NewestAt(key.memtable_key(), key.sequence());
}

const char* NameOf(MemtableAnswer answer) {
  switch (answer) {
    case MemtableAnswer::kAbsent:
      return "absent";
    case MemtableAnswer::kFound:
      return "put";
    case MemtableAnswer::kDeleted:
      return "delete";
    case MemtableAnswer::kRangeDeleted:
      return "range delete";
    case MemtableAnswer::kExpired:
      return "expired";
  }
  return "?";
}

void NoteMemtable(std::string name, const Memtable& memtable, KeyspaceId keyspace,
                  MemtableAnswer answer, KeyLookup* lookup) {
  Explanation& explanation = *lookup->explanation;
  if (answer != MemtableAnswer::kAbsent) explanation.answered_by = name;
  MemtableStep& step = explanation.memtables.emplace_back();
  step.name = std::move(name);
  step.outcome = NameOf(answer);
  step.range_sequence = NewestRange(memtable, keyspace, lookup->key);
  if (answer != MemtableAnswer::kExpired) return;
  const std::unique_ptr<InnerIterator> entry = memtable.Find(keyspace)->NewIterator();
  entry->Seek(lookup->key.memtable_key());
  step.written = WrittenAt(lookup->key.expiry(), KindOf(SuffixOf(entry->key())), entry->value());
}

// One in kLookupsPerNote of a thread's lookups, and one in kSeeksPerNote of the seeks of its closed
// iterators, checks whether level 0 was read too often (Engine::NoteReads, about 0.3 us).
constexpr uint64_t kLookupsPerNote = 16'384;
constexpr uint64_t kSeeksPerNote = 1024;

// Keys of a MultiGet that are looked up side by side: enough to hide the waits of each, and few
// enough that the data of all stays in the processor's second-level cache.
constexpr size_t kKeysTogether = 64;

// The newest range delete in the newest `count` memtables.
Sequence NewestRangeIn(const ReadView& view, KeyspaceId keyspace, size_t count,
                       const LookupKey& key) {
  Sequence newest = NewestRange(*view.memtable, keyspace, key);
  for (size_t i = 0; newest == 0 && i + 1 < count; ++i)
    newest = NewestRange(*view.sealed[i], keyspace, key);
  return newest;
}

// The range deletes of a keyspace in the memtables of a view.
class MemtableRanges final : public RangesAbove {
 public:
  MemtableRanges(const ReadView& view, KeyspaceId keyspace) : view_(view), keyspace_(keyspace) {}
  Sequence NewestAt(const LookupKey& key) const override {
    return NewestRangeIn(view_, keyspace_, 1 + view_.sealed.size(), key);
  }

 private:
  const ReadView& view_;
  const KeyspaceId keyspace_;
};

// A range delete of the memtables so far hides what the next one has.
void NoteRangeAbove(Explanation* explanation) {
  for (MemtableStep& step : explanation->memtables) {
    if (step.range_sequence == 0) continue;
    step.outcome = "range delete";
    explanation->answered_by = step.name;
    return;
  }
}

// Searches the sealed memtables, after the active one gave this answer.  A range delete matters
// only if there is an older entry, so newer memtables are asked for one only then.
[[gnu::noinline]] MemtableAnswer FindInSealed(const ReadView& view, KeyspaceId keyspace,
                                              MemtableAnswer answer, KeyLookup* lookup) {
  if (lookup->explanation != nullptr)
    NoteMemtable("memtable", *view.memtable, keyspace, answer, lookup);
  for (size_t i = 0; answer == MemtableAnswer::kAbsent && i < view.sealed.size(); ++i) {
    const Memtable& sealed = *view.sealed[i];
    answer = sealed.Get(keyspace, lookup->key, &lookup->result.value);
    if (answer != MemtableAnswer::kAbsent &&
        NewestRangeIn(view, keyspace, 1 + i, lookup->key) != 0) {
      answer = MemtableAnswer::kRangeDeleted;
      if (lookup->explanation != nullptr) NoteRangeAbove(lookup->explanation);
    } else if (lookup->explanation != nullptr) {
      NoteMemtable(Concat("sealed memtable ", i), sealed, keyspace, answer, lookup);
    }
  }
  return answer;
}

// Searches the active memtable, then the sealed ones.  True if one of them knows the key.  Inlined,
// and without the sealed ones, since most lookups find none.
[[gnu::always_inline]] inline bool FindInMemtables(const ReadView& view, KeyspaceId keyspace,
                                                   const Counters::Here& counters,
                                                   KeyLookup* lookup) {
  LookupResult* const result = &lookup->result;
  MemtableAnswer answer = view.memtable->Get(keyspace, lookup->key, &result->value);
  if (!view.sealed.empty() || lookup->explanation != nullptr) [[unlikely]]
    answer = FindInSealed(view, keyspace, answer, lookup);
  if (answer == MemtableAnswer::kAbsent) return false;
  counters.Add(Counter::kMemtableHits, 1);
  if (answer == MemtableAnswer::kRangeDeleted) [[unlikely]]
    counters.Add(Counter::kLookupsEndedInRange, 1);
  if (answer == MemtableAnswer::kExpired) [[unlikely]]
    counters.Add(Counter::kLookupsEndedExpired, 1);
  result->answer = answer == MemtableAnswer::kFound ? TableAnswer::kFound : TableAnswer::kDeleted;
  return true;
}

// Counts them when an iterator is closed.
void CountDeadEntries(const IteratorCounts& made, const Counters::Here& counters) {
  if (made.dead_entries + made.gap_jumps + made.range_jumps == 0) return;
  counters.Add(Counter::kDeadEntriesWalked, made.dead_entries);
  counters.Add(Counter::kGapJumps, made.gap_jumps);
  counters.Add(Counter::kRangeJumps, made.range_jumps);
}

// The sequence number to read at.
Sequence SequenceFor(const LiveViews& views, const ReadView& view, const ReadOptions& options) {
  return options.snapshot != nullptr ? options.snapshot->sequence() : views.VisibleIn(view);
}

// The id under which the keyspace has entries in this view.  After a crash of the writer's machine,
// an id may be given again to another name.  So an older view of a follower may have other entries
// under it.  The keyspace is not in that view then, and no entry has the id kCommonTree.
KeyspaceId IdIn(const ReadView& view, const KeyspaceState* keyspace, const Snapshot* snapshot) {
  const bool is_older = snapshot != nullptr && keyspace != nullptr && view.keyspaces != nullptr;
  if (is_older && !view.keyspaces->Has(keyspace->id, keyspace->name)) return kCommonTree;
  return KeyspaceIdOf(keyspace);
}

// The entries that have expired for reads of the snapshot.
ExpiryView ExpiryOf(const std::shared_ptr<const ReadTime>& time, const KeyspaceState* keyspace) {
  return time == nullptr ? ExpiryView() : time->Of(KeyspaceIdOf(keyspace));
}

// A lookup in the keyspace, in the form that this tree needs.
KeyLookup LookupIn(const Tree* tree, KeyspaceId keyspace, std::string_view key, Sequence sequence,
                   const bloom::DigestSeed& seed) {
  if (tree != nullptr && tree->is_common()) [[unlikely]]
    return KeyLookup(keyspace, key, sequence, seed);
  return KeyLookup(key, sequence, seed);
}

// `tree`: the one with the keyspace, or null.  `lookups`: how many lookups the thread has made,
// with this one.
void Find(const ReadView& view, KeyspaceId keyspace, const Tree* tree,
          const Tree::GetOptions& options, const Counters::Here& counters, uint64_t lookups,
          KeyLookup* lookup) {
  if (!FindInMemtables(view, keyspace, counters, lookup)) {
    // Beyond the condition, since the lookup refers to it.  It costs nothing unless it is used.
    const MemtableRanges ranges(view, keyspace);
    if (view.has_ranges(keyspace)) [[unlikely]]
      lookup->ranges_above = &ranges;
    lookup->doubt_filters = lookups % kDoubtOneIn == 0;
    if (tree != nullptr) [[likely]]
      tree->Get(lookup, options, counters);
  }
  if (lookup->result.answer == TableAnswer::kFound) counters.Add(Counter::kLookupsFound, 1);
}

// The lists of a keyspace, newest first, for a reader that has loaded its sequence number.  So it
// sees no entry of a memtable that is empty now, and none of one without a list.  The active
// memtable may get its list at any time: asks it once.
class ListsSeen {
 public:
  ListsSeen(const ReadView& view, KeyspaceId keyspace)
      : view_(view),
        keyspace_(keyspace),
        active_(view.memtable->empty() ? nullptr : view.memtable->Find(keyspace)) {}
  size_t count_max() const { return 1 + view_.sealed.size(); }
  template <typename Visit>
  void ForEach(Visit visit) const {
    if (active_ != nullptr) visit(active_);
    for (const auto& memtable : view_.sealed) {
      if (const EntryList* const list = memtable->Find(keyspace_); list != nullptr) visit(list);
    }
  }

 private:
  const ReadView& view_;
  const KeyspaceId keyspace_;
  const EntryList* const active_;
};

// The covers that an iterator owns.
struct OwnedCovers {
  std::vector<MemtableCover> of_memtables;
  std::vector<PrefixCover> of_tree;
};

// Makes iterators of the common tree show one keyspace, and covers likewise.
void SeeOneKeyspace(KeyspaceId keyspace, std::span<std::unique_ptr<InnerIterator>> of_tree) {
  for (std::unique_ptr<InnerIterator>& iterator : of_tree)
    iterator = NewPrefixIterator(keyspace, std::move(iterator));
}
void SeeOneKeyspace(KeyspaceId keyspace, std::span<const RangeCover*> of_tree,
                    std::vector<PrefixCover>* made) {
  made->reserve(of_tree.size());
  for (const RangeCover*& cover : of_tree) {
    if (cover != nullptr) cover = &made->emplace_back(keyspace, cover);
  }
}

// The covers of the lists and of the tree, in the order of an iterator's inputs.
std::vector<const RangeCover*> CoversOf(const ListsSeen& lists, const Tree& tree,
                                        KeyspaceId keyspace, OwnedCovers* owned) {
  owned->of_memtables.reserve(lists.count_max());
  std::vector<const RangeCover*> covers;
  covers.reserve(lists.count_max() + tree.iterator_count());
  lists.ForEach([&](const EntryList* list) {
    covers.push_back(list->ranges() == nullptr ? nullptr : &owned->of_memtables.emplace_back(list));
  });
  const size_t of_lists = covers.size();
  tree.AddCovers(&covers);
  if (tree.is_common())
    SeeOneKeyspace(keyspace, std::span(covers).subspan(of_lists), &owned->of_tree);
  return covers;
}

// Tree::PayRent, for a key of the keyspace.  Throws nothing: without memory no rent is paid.
bool PayRent(const Tree& tree, KeyspaceId keyspace, std::string_view key, uint64_t bytes) {
  if (!tree.is_common()) return tree.PayRent(key, bytes);
  try {
    return tree.PayRent(CommonKeyOf(keyspace, key), bytes);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Looks up some keys of a MultiGet side by side.
struct LookupsTogether {
  const ReadView& view;
  const KeyspaceId keyspace;
  const Sequence sequence;
  const bloom::DigestSeed& digest_seed;
  const ExpiryView expiry;
  const bool fill_cache;
  FileSystem* const file_system;
  const Counters::Here counters;
  // True if Engine::NoteReads is due.  Throws std::bad_alloc if there is no memory to begin with.
  bool Find(std::span<const std::string_view> keys,
            std::span<absl::StatusOr<std::optional<std::string>>> answers) const;
};

bool LookupsTogether::Find(std::span<const std::string_view> keys,
                           std::span<absl::StatusOr<std::optional<std::string>>> answers) const {
  std::vector<KeyLookup> lookups;  // of those that no memtable knows
  std::vector<size_t> numbers;     // of their keys
  lookups.reserve(keys.size());
  numbers.reserve(keys.size());
  const MemtableRanges ranges(view, keyspace);
  const bool has_ranges = view.has_ranges(keyspace);
  const Tree* const tree = view.version->TreeWith(keyspace);
  const bool is_common = tree != nullptr && tree->is_common();
  const EpochGuard guard;
  bool note_is_due = false;
  const auto give = [&](size_t i, const absl::Status& status, const LookupResult& result) {
    if (!status.ok()) {
      answers[i] = status;
    } else if (result.answer != TableAnswer::kFound) {
      answers[i].emplace();
    } else {
      counters.Add(Counter::kLookupsFound, 1);
      answers[i] = CatchOutOfMemory([&]() -> absl::StatusOr<std::optional<std::string>> {
        return std::string(result.value);
      });
    }
  };
  for (size_t i = 0; i < keys.size(); ++i) {
    KeyLookup& lookup = is_common ? lookups.emplace_back(keyspace, keys[i], sequence, digest_seed)
                                  : lookups.emplace_back(keys[i], sequence, digest_seed);
    lookup.key.set_expiry(expiry);
    numbers.push_back(i);
    const uint64_t count = counters.Add(Counter::kLookups, 1);
    lookup.doubt_filters = count % kDoubtOneIn == 0;
    note_is_due |= count % kLookupsPerNote == 0;
    if (has_ranges) lookup.ranges_above = &ranges;
    if (!FindInMemtables(view, keyspace, counters, &lookup)) continue;
    give(i, absl::OkStatus(), lookup.result);
    lookups.pop_back();
    numbers.pop_back();
  }
  if (tree != nullptr) tree->MultiGet(lookups, {.fill_cache = fill_cache}, file_system, counters);
  for (size_t i = 0; i < lookups.size(); ++i)
    give(numbers[i], lookups[i].status, lookups[i].result);
  return note_is_due;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const ReadView>> Engine::ShareView(const Snapshot* snapshot) const {
  if (snapshot != nullptr && snapshot->owner_ != this) return SnapshotOfAnother();
  std::shared_ptr<const ReadView> view = views_.Share();
  if (view == nullptr) return views_.WhyNone();
  if (snapshot != nullptr && snapshot->view_ != nullptr) view = snapshot->view_;
  return view;
}

absl::StatusOr<bool> Engine::Get(const KeyspaceState* keyspace, std::string_view key,
                                 const ReadOptions& options, const ValueSink& sink,
                                 Explanation* explanation) {
  if (options.snapshot != nullptr && options.snapshot->owner_ != this) return SnapshotOfAnother();
  const Counters::Here counters(&counters_);
  const uint64_t lookups = counters.Add(Counter::kLookups, 1);
  const bool is_timed = lookups % kGetsPerTime == 0;  // Explain is among them
  uint64_t from = 0;
  if (is_timed) [[unlikely]]
    from = store_.environment.clock->MonotonicNanos();
  const EpochGuard guard;
  const ReadView* view = views_.Load();
  if (view == nullptr) [[unlikely]]
    return views_.WhyNone();
  if (IsDropped(keyspace)) [[unlikely]]
    return DroppedKeyspace(*keyspace);
  if (options.snapshot != nullptr && options.snapshot->view_ != nullptr)
    view = options.snapshot->view_.get();
  if (lookups % kLookupsPerNote == 0) [[unlikely]]
    NoteReads();
  const KeyspaceId id = IdIn(*view, keyspace, options.snapshot);
  const Tree* const tree = view->version->TreeWith(id);
  const auto ask = [this, keyspace] { return keyspaces_.ExpiredNow(keyspace); };
  const LookupKey::AskExpiry ask_expiry = ask;
  KeyLookup lookup =
      LookupIn(tree, id, key, SequenceFor(views_, *view, options), job_context_.digest_seed);
  if (options.snapshot != nullptr) [[unlikely]] {
    lookup.key.set_expiry(ExpiryOf(options.snapshot->time_, keyspace));
  } else if (keyspaces_.Expires(keyspace)) [[unlikely]] {
    lookup.key.set_expiry(&ask_expiry);
  }
  lookup.explanation = explanation;
  if (explanation != nullptr) {
    explanation->key = std::string(key);
    explanation->digest = lookup.key.digest();
    explanation->sequence = lookup.key.sequence();
    for (int i = 0; i < kLevels; ++i)
      explanation->tables_by_level.push_back(tree == nullptr ? 0 : tree->level(i).size());
  }
  Find(*view, id, tree, {options.fill_cache, sink.pins}, counters, lookups, &lookup);
  TRELLIS_RETURN_IF_ERROR(std::move(lookup.status));
  const bool found = lookup.result.answer == TableAnswer::kFound;
  if (explanation != nullptr) {
    explanation->found = found;
    explanation->value_bytes = found ? lookup.result.value.size() : 0;
  }
  if (found) sink.take(lookup.result);
  if (is_timed) [[unlikely]]
    counters_.AddTime(Timed::kGet, store_.environment.clock->MonotonicNanos() - from);
  return found;
}

std::vector<absl::StatusOr<std::optional<std::string>>> Engine::MultiGet(
    const KeyspaceState* keyspace, std::span<const std::string_view> keys,
    const ReadOptions& options) {
  std::vector<absl::StatusOr<std::optional<std::string>>> answers(keys.size());
  // Shares the view, and takes a guard for some keys at a time.  So what a guard keeps from being
  // freed (blocks evicted from the cache, in all stores) does not grow with the number of keys.
  absl::StatusOr<std::shared_ptr<const ReadView>> shared = ShareView(options.snapshot);
  if (shared.ok() && IsDropped(keyspace)) {
    views_.LetGo(*std::move(shared));
    shared = DroppedKeyspace(*keyspace);
  }
  if (!shared.ok()) {
    std::fill(answers.begin(), answers.end(), shared.status());
    return answers;
  }
  std::shared_ptr<const ReadView> view = *std::move(shared);
  const ExpiryView expiry = options.snapshot == nullptr
                                ? keyspaces_.ExpiredNow(keyspace)
                                : ExpiryOf(options.snapshot->time_, keyspace);
  const Sequence sequence = SequenceFor(views_, *view, options);
  for (size_t begin = 0; begin < keys.size(); begin += kKeysTogether) {
    const size_t count = std::min(kKeysTogether, keys.size() - begin);
    const auto some_keys = keys.subspan(begin, count);
    const auto some_answers = std::span(answers).subspan(begin, count);
    const LookupsTogether lookups{*view,
                                  IdIn(*view, keyspace, options.snapshot),
                                  sequence,
                                  job_context_.digest_seed,
                                  expiry,
                                  options.fill_cache,
                                  store_.environment.file_system,
                                  Counters::Here(&counters_)};
    bool note_is_due = false;
    const absl::Status status = CatchOutOfMemory([&] {
      note_is_due |= lookups.Find(some_keys, some_answers);
      return absl::OkStatus();
    });
    // One by one the lookups need less memory.
    for (size_t i = 0; !status.ok() && i < count; ++i) {
      const absl::Status alone = CatchOutOfMemory([&] {
        note_is_due |= lookups.Find(some_keys.subspan(i, 1), some_answers.subspan(i, 1));
        return absl::OkStatus();
      });
      if (!alone.ok()) some_answers[i] = alone;
    }
    if (note_is_due) NoteReads();
  }
  views_.LetGo(std::move(view));
  return answers;
}

std::unique_ptr<Iterator> Engine::NewIterator(const KeyspaceState* keyspace,
                                              const ReadOptions& options) {
  try {
    return MakeIterator(keyspace, options);
  } catch (const std::bad_alloc&) {
    return NewEmptyIterator(OutOfMemory());
  }
}

std::unique_ptr<Iterator> Engine::MakeIterator(const KeyspaceState* state,
                                               const ReadOptions& options) {
  const uint64_t gaps_order = views_.gaps()->order();  // before the view is loaded
  absl::StatusOr<std::shared_ptr<const ReadView>> shared = ShareView(options.snapshot);
  if (!shared.ok()) return NewEmptyIterator(shared.status());
  std::shared_ptr<const ReadView> view = *std::move(shared);
  const Sequence sequence = SequenceFor(views_, *view, options);
  Table::ScanOptions scan;
  if (IsDropped(state)) {
    views_.LetGo(std::move(view));
    return NewEmptyIterator(DroppedKeyspace(*state));
  }
  const ExpiryView expiry = options.snapshot == nullptr ? keyspaces_.ExpiredNow(state)
                                                        : ExpiryOf(options.snapshot->time_, state);
  scan.fill_cache = options.fill_cache;
  auto seek_reads = std::make_shared<SeekReads>(store_.environment.file_system);
  scan.seek_reads = seek_reads.get();
  const KeyspaceId keyspace = IdIn(*view, state, options.snapshot);
  // The view keeps the tree, unless there is none.
  const bool has_tree = view->version->TreeWith(keyspace) != nullptr;
  auto empty_tree = has_tree ? nullptr : std::make_shared<const Tree>(keyspace);
  const Tree& tree = has_tree ? *view->version->TreeWith(keyspace) : *empty_tree;
  const ListsSeen lists(*view, keyspace);
  std::vector<std::unique_ptr<InnerIterator>> inputs;
  inputs.reserve(lists.count_max() + tree.iterator_count());
  lists.ForEach([&](const EntryList* list) { inputs.push_back(list->NewIterator()); });
  const size_t of_lists = inputs.size();
  tree.AddIterators(scan, &inputs);
  if (tree.is_common()) SeeOneKeyspace(keyspace, std::span(inputs).subspan(of_lists));
  const uint64_t iterators = counters_.Add(Counter::kIterators, 1);
  const Level0Account account(tree);
  const Level0Account::Seen level0 = account.See();
  // A follower's view may go back to an earlier state of the store.
  const bool knows_gaps = options_.mode != OpenMode::kFollow;
  GapUse gaps{knows_gaps ? views_.gaps() : nullptr, ReadPoint::In(*view, sequence, keyspace)};
  if (expiry != ExpiryView()) gaps.point.timed = {.order_max = gaps_order};
  IteratorBounds bounds{std::optional<std::string>(options.lower_bound),
                        std::optional<std::string>(options.upper_bound)};
  // They must outlive the merge.
  std::shared_ptr<OwnedCovers> own_covers;
  std::unique_ptr<InnerIterator> merged;
  if (tree.has_ranges() || view->has_ranges(keyspace)) {
    own_covers = std::make_shared<OwnedCovers>();
    const std::vector<const RangeCover*> covers = CoversOf(lists, tree, keyspace, own_covers.get());
    auto covering = NewCoveringIterator(std::move(inputs), covers, sequence, bounds);
    gaps.covering = covering.get();
    merged = std::move(covering);
  } else {
    merged = NewMergingIterator(std::move(inputs));
  }
  if (!IsForReading(options_.mode)) {
    gaps.charge = [this, &tree](KeyspaceId of, std::string_view key, uint64_t entries) {
      if (!PayRent(tree, of, key, entries * kBytesMergedPerDeadEntry)) return;
      Level0Account(tree).NoteRent();
      NoteReads();
    };
  }
  return NewDbIterator(
      std::move(merged), sequence, expiry, std::move(bounds),
      {&counters_, store_.environment.clock, iterators}, std::move(gaps),
      // Owns `seek_reads` and the covers, which are destroyed after the inputs that use them.
      [self = shared_from_this(), view = std::move(view), account, level0,
       seek_reads = std::move(seek_reads), empty_tree = std::move(empty_tree),
       own_covers = std::move(own_covers)](const IteratorCounts& made) mutable {
        const Counters::Here counters(&self->counters_);
        account.CountSeeks(made.seeks, level0, counters);  // the view keeps the tree
        self->views_.LetGo(std::move(view));
        CountDeadEntries(made, counters);
        const uint64_t count = counters.Add(Counter::kSeeks, made.seeks);
        if (count / kSeeksPerNote != (count - made.seeks) / kSeeksPerNote) self->NoteReads();
      });
}

Engine::Moment Engine::TakeSnapshot() {
  // Without views, the store is closed, and no read accepts the snapshot.
  MutexLock lock(&mutex_);
  keyspaces_.AssertHeld();
  // With the lock, so that view and limits are of one refresh.
  std::shared_ptr<const ReadView> view = IsForReading(options_.mode) ? views_.Share() : nullptr;
  std::shared_ptr<const ReadTime> time = keyspaces_.TimeOfSnapshot();
  if (view != nullptr) return {view->sequence_max, std::move(view), std::move(time)};
  return {sequences_.Take(time), nullptr, time};
}

void Engine::ReleaseSnapshot(Sequence sequence, const ReadTime* time) {
  // In a forked child, a thread that does not exist there may hold the lock.
  if (!CheckProcess().ok()) return;
  MutexLock lock(&mutex_);
  sequences_.Release(sequence, time);
  bool is_change = schedule_.NoteOldestSnapshot(sequences_.oldest_snapshot());
  if (const auto& view = CurrentView(); view != nullptr)
    is_change |= schedule_.NoteReleased(*view->version, sequence);
  if (is_change) ScheduleWork();
}

uint64_t Engine::ApproximateBytes(const KeyspaceState* keyspace, std::string_view from,
                                  std::optional<std::string_view> to) {
  const EpochGuard guard;
  const ReadView* const view = views_.Load();
  return view == nullptr || IsDropped(keyspace)
             ? 0
             : view->version->ApproximateBytes(KeyspaceIdOf(keyspace), from, to);
}

Statistics Engine::GetStatistics() {
  Statistics statistics;
  counters_.SumInto(&statistics);
  SnapshotList present;
  {
    MutexLock lock(&mutex_);
    keyspaces_.AssertHeld();
    present = keyspaces_.Present();
    statistics.keyspaces = 1 + keyspaces_.other_count();
  }
  if (std::shared_ptr<const ReadView> view = views_.Share(); view != nullptr) {
    view->version->Describe(&statistics, &counters_, present);
    statistics.memtable_bytes = view->memtable_bytes();
    views_.LetGo(std::move(view));
  }
  statistics.block_cache_bytes = block_cache_.used_bytes();
  statistics.block_cache_capacity_bytes = block_cache_.capacity_bytes();
  statistics.reserve_bytes = reserves_.held_bytes();
  statistics.puts_refused = reserves_.ArePutsRefused() ? 1 : 0;
  statistics.view_age_nanos = refresher_ != nullptr ? refresher_->AgeNanos() : 0;
  statistics.listener_calls = events_->calls();
  statistics.listener_nanos = events_->nanos();
  statistics.filter_goal = options_.filter_goal.ToText();
  statistics.recovery = lifetime_.recovery();
  return statistics;
}

}  // namespace lsm
