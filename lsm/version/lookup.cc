// Tree: lookups of keys in its tables, one at a time or many together.
#include <algorithm>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "lsm/bytes/status.h"
#include "lsm/table/block_reads.h"
#include "lsm/version/tree.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

FilterVerdict VerdictOf(FilterPresence presence, bool passed) {
  switch (presence) {
    case FilterPresence::kUsable:
      return passed ? FilterVerdict::kMaybe : FilterVerdict::kNo;
    case FilterPresence::kAbsent:
      return FilterVerdict::kAbsent;
    case FilterPresence::kDamaged:
      return FilterVerdict::kDamaged;
    case FilterPresence::kUnknown:
      return FilterVerdict::kUnknown;
  }
  return FilterVerdict::kUnknown;
}

void CountConsidered(FilterPresence presence, int slot, const Counters::Here& counters) {
  counters.Add(slot, LevelCounts::kTablesConsidered, 1);
  if (presence == FilterPresence::kUsable) [[likely]]
    return;
  switch (presence) {
    case FilterPresence::kUsable:
      break;
    case FilterPresence::kAbsent:
      counters.Add(slot, LevelCounts::kFiltersAbsent, 1);
      break;
    case FilterPresence::kDamaged:
      counters.Add(slot, LevelCounts::kFiltersDamaged, 1);
      break;
    case FilterPresence::kUnknown:
      counters.Add(slot, LevelCounts::kFiltersUnknown, 1);
      break;
  }
}

TableStep* AddStep(Explanation* explanation, int level, const OpenTable& table) {
  TableStep& step = explanation->tables.emplace_back();
  step.level = level;
  step.table_number = table.meta.number;
  step.smallest_key = std::string(table.meta.first_key());
  step.largest_key = std::string(table.meta.last_key());
  return &step;
}

// Whether a table has the key although its filter denies it.  An error here does not affect the
// lookup, which was not going to read the table.
[[gnu::noinline]] bool HasAfterAll(const Table& table, const LookupKey& key, int slot,
                                   const Counters::Here& counters) {
  TableHit hit;
  LevelCounts counts;
  const TableLookup lookup{.key = key, .fill_cache = false, .counts = &counts};
  const absl::StatusOr<TableAnswer> answer =
      CatchOutOfMemory([&] { return table.Get(lookup, &hit); });
  counts[LevelCounts::kFalsePositives] = 0;  // Table::Get assumed that the filter passed the key
  counters.Add(slot, counts);
  if (!answer.ok()) return false;
  const bool has = *answer != TableAnswer::kAbsent;
  counters.Add(Counter::kFilterDenialsChecked, 1);
  counters.Add(Counter::kFilterFalseNegatives, has);
  return has;
}

}  // namespace

// The search for one key in the tables that may hold it, newest first: (Next Take)* End
// With kBesideRanges it asks range deletes, too.  Without, it costs the same as if there were none.
template <bool kBesideRanges>
class Tree::Search {
 public:
  // Lists the tables, and starts loading what Next reads first.  `lookup` must outlive this.
  void Begin(const Tree& tree, KeyLookup* lookup, const GetOptions& options) {
    lookup_ = lookup;
    options_ = options;
    tables_ = tree.candidates_.data();
    const std::span<const uint32_t> with_key = tree.ranges_.With(lookup->key.user_key());
    begin_ = at_ = with_key.data();
    end_ = at_ + with_key.size();
    if constexpr (kBesideRanges) ranges_.asked = at_;
    // Prefetches the lines of all filters before it waits for the first.
    for (const uint32_t number : with_key)
      tables_[number].table->table->PrefetchFilter(lookup->key.digest());
  }

  // The next table whose filter does not deny the key; null if there is none, or if a range delete
  // has ended the lookup.  Before anything is read, it asks the range deletes of all that is newer.
  const Table* Next(const Counters::Here& counters) {
    const LookupKey& key = lookup_->key;
    for (; at_ != end_; ++at_) {
      const int slot = this->slot();
      const Table& table = *current().table->table;
      Table::FilterAnswer filter;
      if (lookup_->explanation != nullptr || table.has_filter_partitions()) [[unlikely]] {
        step_ = nullptr;
        if constexpr (kBesideRanges) {
          if (table.has_filter_partitions() && EndsInRange(counters)) return nullptr;
        }
        filter = AskAndNote(table, counters);
      } else {
        filter = {table.MayContain(key.digest()), table.filter_presence()};
      }
      if constexpr (kBesideRanges) {
        if (!current().has_entries) continue;
        const bool is_to_read = filter.passed || lookup_->doubt_filters;
        if (is_to_read && EndsInRange(counters)) return nullptr;
      }
      CountConsidered(filter.presence, slot, counters);
      if (filter.passed || (lookup_->doubt_filters && HasAfterAll(table, key, slot, counters)))
        return &table;
      counters.Add(slot, LevelCounts::kReadsAvoided, 1);
    }
    return nullptr;
  }

  // The lookup for the table that Next returned.
  TableLookup Question(LevelCounts* counts) const {
    return {lookup_->key, options_.fill_cache, options_.pin_always, counts, step_};
  }
  // Where the lookup counts what it does in the current table.
  int slot() const { return current().slot; }

  // Takes the answer and the counts of that table.  Returns true if the lookup is over.
  bool Take(const absl::StatusOr<TableAnswer>& answer, LevelCounts* counts,
            const Counters::Here& counters) {
    const bool is_answer = !answer.ok() || *answer != TableAnswer::kAbsent;
    if (filter_failed_) [[unlikely]]
      ForgetFalsePositive(counts);
    if (answer.ok()) ++(*counts)[is_answer ? LevelCounts::kUsefulReads : LevelCounts::kWastedReads];
    if (!is_answer) {
      CountWasted(*counts);
      level0_wasted_ += current().level == 0;
    }
    counters.Add(slot(), *counts);
    if (!is_answer) {
      ++at_;
      return false;
    }
    if (!answer.ok()) {
      if (step_ != nullptr) step_->outcome = "failed";
      lookup_->status = answer.status();
      return true;
    }
    // Only ranges of this table itself were found to cover the key.
    if constexpr (kBesideRanges) {
      if (SequenceOf(lookup_->result.suffix) < ranges_.newest) {
        lookup_->result.pin.Reset();
        EndInRange(counters);
        return true;
      }
    }
    lookup_->result.answer = *answer;
    const LookupResult& result = lookup_->result;
    const bool is_expired = *answer == TableAnswer::kDeleted && !IsTombstone(result.suffix);
    if (is_expired) [[unlikely]]
      counters.Add(Counter::kLookupsEndedExpired, 1);
    if (step_ != nullptr) {
      step_->outcome = *answer == TableAnswer::kFound ? "put" : is_expired ? "expired" : "delete";
      step_->sequence = SequenceOf(result.suffix);
      if (is_expired)
        step_->written = WrittenAt(lookup_->key.expiry(), KindOf(result.suffix), result.value);
      lookup_->explanation->answered_by =
          Concat("table ", current().table->meta.number, " at level ", current().level);
    }
    return true;
  }

  // Counts the levels that the lookup reached: all of them, if no table had the key or failed.
  void End(const Tree& tree, const Counters::Here& counters) const {
    counters.Add(at_ == end_ ? tree.SlotOf(tree.deepest_level()) : slot(),
                 LevelCounts::kLookupsEnded, 1);
    if (tree.keyspace() != kDefaultKeyspace) [[unlikely]]
      CountForTree(&tree.reads().counters);
  }

 private:
  // The lookup has wasted an ask or a read on each table of level 0 that it has passed.
  [[gnu::noinline]] void CountForTree(TreeCounters* counters) const {
    uint64_t passed = 0;
    for (const uint32_t* at = begin_; at != at_ && tables_[*at].level == 0; ++at)
      passed += tables_[*at].has_entries;
    const TreeCounters::Here here(counters);
    here.Add(TreeCounters::kLookups, 1);
    if (passed == 0) return;
    here.Add(TreeCounters::kLevel0Asks, passed - level0_wasted_);
    here.Add(TreeCounters::kLevel0Reads, level0_wasted_);
  }
  // Counts the read as wasted for the table if its filter was wrong or not usable.
  void CountWasted(LevelCounts& counts) {
    const OpenTable& table = *current().table;
    if (counts[LevelCounts::kFalsePositives] != 0 ||
        table.table->filter_presence() != FilterPresence::kUsable)
      table.wasted_reads->Add();
  }

  // Queries the filter of the current table in the complex cases: partitions, or an explanation is
  // requested.
  [[gnu::noinline]] Table::FilterAnswer AskAndNote(const Table& table,
                                                   const Counters::Here& counters) {
    if (lookup_->explanation != nullptr)
      step_ = AddStep(lookup_->explanation, current().level, *current().table);
    LevelCounts counts;
    const Table::FilterAnswer answer = table.AskFilter(Question(&counts));
    filter_failed_ = table.has_filter_partitions() && answer.presence != FilterPresence::kUsable;
    counters.Add(slot(), counts);
    if (step_ != nullptr) {
      step_->filter = VerdictOf(answer.presence, answer.passed);
      step_->outcome = answer.passed && current().has_entries ? "absent" : "skipped";
      step_->range_sequence =
          table.ranges().NewestAt(lookup_->key.user_key(), lookup_->key.sequence());
    }
    return answer;
  }
  // Asks the range deletes of the memtables, of the tables above the current one, and its own, as
  // far as they were not asked.  Returns true if the lookup is over, because they hide all that the
  // current table and those below may have.
  bool EndsInRange(const Counters::Here& counters) {
    if (ranges_.asked > at_) return false;
    if (lookup_->ranges_above != nullptr && !ranges_.has_asked_above)
      ranges_.newest = lookup_->ranges_above->NewestAt(lookup_->key);
    ranges_.has_asked_above = true;
    while (ranges_.asked != at_) AskRanges(tables_[*ranges_.asked++]);
    bool is_over = ranges_.newest != 0;
    if (!is_over) {
      AskRanges(tables_[*ranges_.asked++]);
      is_over = current().table->table->newest_entry() < ranges_.newest;
    }
    if (is_over) EndInRange(counters);
    return is_over;
  }
  void AskRanges(const Candidate& candidate) {
    if (!candidate.has_ranges) return;
    const LookupKey& key = lookup_->key;
    ranges_.newest = std::max(
        ranges_.newest, candidate.table->table->ranges().NewestAt(key.user_key(), key.sequence()));
  }
  void EndInRange(const Counters::Here& counters) {
    lookup_->result.answer = TableAnswer::kDeleted;
    counters.Add(Counter::kLookupsEndedInRange, 1);
    if (lookup_->explanation != nullptr) NoteRange();
  }
  // Explains the end of the lookup by the first memtable or table with the newest range delete.  A
  // compaction in steps may have left a copy of it below.
  void NoteRange() {
    Explanation& explanation = *lookup_->explanation;
    if (step_ != nullptr) step_->outcome = "not read";
    for (MemtableStep& step : explanation.memtables) {
      if (step.range_sequence != ranges_.newest) continue;
      step.outcome = "range delete";
      explanation.answered_by = step.name;
      return;
    }
    for (TableStep& step : explanation.tables) {
      if (step.range_sequence != ranges_.newest) continue;
      step.outcome = "range delete";
      explanation.answered_by = Concat("table ", step.table_number, " at level ", step.level);
      return;
    }
  }
  // The table's filter could not be queried, so the wasted read is not its false positive.
  void ForgetFalsePositive(LevelCounts* counts) {
    filter_failed_ = false;
    (*counts)[LevelCounts::kFalsePositives] = 0;
    if (step_ != nullptr) step_->false_positive = false;
  }

  const Candidate& current() const { return tables_[*at_]; }

  KeyLookup* lookup_ = nullptr;
  GetOptions options_;
  const Candidate* tables_ = nullptr;  // of the tree
  const uint32_t* begin_ = nullptr;    // the first table number to ask
  const uint32_t* at_ = nullptr;       // the current one, up to `end_`
  const uint32_t* end_ = nullptr;
  TableStep* step_ = nullptr;
  bool filter_failed_ = false;  // in the current table, the filter partition could not be queried
  uint32_t level0_wasted_ = 0;  // tables of level 0 that were read and did not answer
  struct Ranges {
    const uint32_t* asked = nullptr;  // the first candidate whose range deletes were not asked
    bool has_asked_above = false;
    // The newest one that covers the key and that the lookup sees, of those asked; 0: none.
    Sequence newest = 0;
  };
  struct NoRanges {};
  [[no_unique_address]] std::conditional_t<kBesideRanges, Ranges, NoRanges> ranges_;
};

template <bool kBesideRanges>
inline void Tree::GetBy(KeyLookup* lookup, const GetOptions& options,
                        const Counters::Here& counters) const {
  Search<kBesideRanges> search;
  search.Begin(*this, lookup, options);
  while (const Table* table = search.Next(counters)) {
    LevelCounts counts;
    if (search.Take(table->Get(search.Question(&counts), &lookup->result), &counts, counters))
      break;
  }
  search.End(*this, counters);
}

void Tree::Get(KeyLookup* lookup, const GetOptions& options, const Counters::Here& counters) const {
  if (has_ranges_ || lookup->ranges_above != nullptr) [[unlikely]]
    return GetBesideRanges(lookup, options, counters);
  GetBy<false>(lookup, options, counters);
}

void Tree::GetBesideRanges(KeyLookup* lookup, const GetOptions& options,
                           const Counters::Here& counters) const {
  GetBy<true>(lookup, options, counters);
}

// Looks up many keys in rounds, one table for each key per round, so that the waits of one overlap
// with the work of others:
//
//   once    lists the tables of each key, and prefetches their filters' lines
//   round   1. the next table whose filter does not deny the key, and the block that may hold it;
//              prefetches its slot
//           2. the slot: the cached block, prefetched, or a read
//           3. all reads at once
//           4. the key in its block
template <bool kBesideRanges>
class Tree::Batch {
 public:
  // Allocates all memory, except for reads, which have their own statuses.
  Batch(const Tree& tree, std::span<KeyLookup> lookups, const GetOptions& options,
        const Counters::Here& counters)
      : lookups_(lookups),
        options_(options),
        counters_(counters),
        tree_(tree),
        searches_(lookups.size()) {
    places_.reserve(lookups.size());
    next_places_.reserve(lookups.size());
    for (size_t i = 0; i < lookups.size(); ++i) searches_[i].Begin(tree, &lookups[i], options);
  }

  void Run(FileSystem* files) {
    for (size_t i = 0; i < lookups_.size(); ++i) GoOn(i);
    while (!next_places_.empty()) {
      std::swap(places_, next_places_);
      next_places_.clear();
      BlockReads reads;
      FindBlocks(&reads);
      if (!reads.empty()) reads.ReadAll(files, options_.fill_cache);
      for (Place& place : places_) LookInto(&place, &reads);
    }
  }

 private:
  // Where a key is searched in this round.
  struct Place {
    size_t lookup;  // index of the lookup
    const Table* table;
    Table::FirstBlock block;
    std::optional<size_t> read;  // number of the read, if the block is not cached
    BlockRef index_pin;
    absl::Status status;  // why there is no index, and so no block
  };

  void GoOn(size_t lookup) {
    const Table* table = searches_[lookup].Next(counters_);
    if (table == nullptr) {
      searches_[lookup].End(tree_, counters_);
      return;
    }
    Place& place = next_places_.emplace_back(
        Place{lookup, table, {nullptr, table->block_count(), nullptr, false}, {}, {}, {}});
    if (table->reads_partitions()) [[unlikely]] {
      FindIndex(&place);
    } else {
      place.block.index = &table->index();
    }
    if (place.block.index == nullptr) return;
    place.block.ordinal = place.block.index->LowerBound(lookups_[lookup].key.user_key());
    if (place.block.ordinal < table->block_count()) table->PrefetchSlot(place.block.ordinal);
  }

  // Partitions are read one at a time.
  void FindIndex(Place* place) {
    LevelCounts counts;
    absl::StatusOr<Table::IndexRef> index = CatchOutOfMemory([&] {
      return place->table->IndexFor(lookups_[place->lookup].key.user_key(), options_.fill_cache,
                                    &counts, nullptr);
    });
    counters_.Add(searches_[place->lookup].slot(), counts);
    place->status = index.status();
    if (!index.ok()) return;
    place->block.index = index->part;
    place->index_pin = std::move(index->pin);
  }

  // If a read lacks memory, each of its keys tries again alone, with less memory.
  void FindBlocks(BlockReads* reads) {
    for (Place& place : places_) {
      if (place.block.ordinal >= place.table->block_count()) continue;
      place.block.block = place.table->FindCached(place.block.ordinal);
      if (place.block.block != nullptr) continue;
      CatchOutOfMemory([&] {
        place.read = reads->Add(place.table, place.block.index, place.block.ordinal);
        return absl::OkStatus();
      }).IgnoreError();
    }
  }

  void LookInto(Place* place, BlockReads* reads) {
    KeyLookup& lookup = lookups_[place->lookup];
    Search<kBesideRanges>& search = searches_[place->lookup];
    lookup.result.pin.Reset();
    absl::Status read = place->status;
    if (place->read) {
      absl::StatusOr<BlockRef> block = reads->Take(*place->read, &place->block.was_read);
      if (block.ok()) {
        lookup.result.pin = *std::move(block);
        place->block.block = lookup.result.pin.get();
      } else if (!absl::IsResourceExhausted(block.status())) {
        read = block.status();
      }
    }
    LevelCounts counts;
    const absl::StatusOr<TableAnswer> answer = !read.ok() ? read : CatchOutOfMemory([&] {
      return place->table->GetFrom(place->block, search.Question(&counts), &lookup.result);
    });
    const bool is_over = search.Take(answer, &counts, counters_);
    if (!is_over) return GoOn(place->lookup);
    search.End(tree_, counters_);
  }

  const std::span<KeyLookup> lookups_;
  const GetOptions options_;
  const Counters::Here& counters_;
  const Tree& tree_;
  std::vector<Search<kBesideRanges>> searches_;
  std::vector<Place> places_, next_places_;
};

void Tree::MultiGet(std::span<KeyLookup> lookups, const GetOptions& options, FileSystem* files,
                    const Counters::Here& counters) const {
  const bool has_ranges =
      has_ranges_ || std::any_of(lookups.begin(), lookups.end(),
                                 [](auto& lookup) { return lookup.ranges_above != nullptr; });
  if (has_ranges) return Batch<true>(*this, lookups, options, counters).Run(files);
  Batch<false>(*this, lookups, options, counters).Run(files);
}

}  // namespace lsm
