// Fuzzes tables: opens one, iterates in both directions, looks up present and absent keys, and
// writes it again.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bloom/filter_policy.h"
#include "lsm/base/internal_key.h"
#include "lsm/table/block_cache.h"
#include "lsm/table/table.h"
#include "lsm/table/table_builder.h"
#include "lsm/threads/epoch.h"
#include "tests/bloom/use_loaded.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/loaders.h"
#include "tests/lsm/table/table_ranges.h"

namespace fuzz {
namespace {

using testing_support::Demand;

struct Entry {
  std::string key;  // internal
  std::string value;
  bool operator==(const Entry&) const = default;
};

struct Walk {
  std::vector<Entry> entries;
  bool whole = true;  // reached the end: no error, and no limit
  bool failed = false;
};

// A block stores each key without the prefix that it shares with the key before it, so the keys of
// a small file may not fit in memory.
constexpr size_t kEntriesMax = 3000;
constexpr size_t kWalkBytesMax = 4 << 20;

Walk WalkTable(lsm::Iterator& iterator, bool forward) {
  Walk walk;
  size_t bytes = 0;
  for (forward ? iterator.SeekToFirst() : iterator.SeekToLast(); iterator.Valid();
       forward ? iterator.Next() : iterator.Prev()) {
    bytes += iterator.key().size() + iterator.value().size();
    if (walk.entries.size() == kEntriesMax || bytes > kWalkBytesMax) {
      walk.whole = false;
      return walk;
    }
    if (!walk.entries.empty()) {
      const int order = lsm::CompareInternalKeys(walk.entries.back().key, iterator.key());
      Demand(forward ? order < 0 : order > 0, "keys come in order");
    }
    walk.entries.push_back({std::string(iterator.key()), std::string(iterator.value())});
  }
  walk.failed = !iterator.status().ok();
  walk.whole = !walk.failed;
  return walk;
}

// Two walks see the same entries, as far as both go.
void DemandAgreement(const Walk& a, const Walk& b) {
  const size_t both = std::min(a.entries.size(), b.entries.size());
  Demand(std::equal(a.entries.begin(), a.entries.begin() + static_cast<ptrdiff_t>(both),
                    b.entries.begin()),
         "every way to read a block yields the same entries");
  if (a.whole && b.whole)
    Demand(a.entries.size() == b.entries.size(),
           "every way to read a block yields the same number of entries");
}

// The newest version of the key that a reader at `sequence` sees.
const Entry* FindEntry(const std::vector<Entry>& entries, std::string_view user_key,
                       lsm::Sequence sequence) {
  const lsm::LookupKey wanted(user_key, sequence, 0);
  const auto at = std::lower_bound(entries.begin(), entries.end(), wanted.internal_key(),
                                   [](const Entry& entry, std::string_view key) {
                                     return lsm::CompareInternalKeys(entry.key, key) < 0;
                                   });
  return at != entries.end() && lsm::UserKeyOf(at->key) == user_key ? &*at : nullptr;
}

void DemandAnswer(const lsm::Table& table, const std::vector<Entry>& entries,
                  std::string_view user_key, lsm::Sequence sequence) {
  const Entry* const entry = FindEntry(entries, user_key, sequence);
  const lsm::LookupKey key(user_key, sequence, table.digest_seed());
  const lsm::EpochGuard guard;
  lsm::TableHit hit;
  table.PrefetchFilter(key.digest());
  table.MayContain(key.digest());
  const auto answer = table.Get({key}, &hit);
  // The walk has verified every block that this lookup reads.
  Demand(answer.ok(), "Get succeeds if the iteration read the whole table");
  if (entry == nullptr) {
    Demand(*answer == lsm::TableAnswer::kAbsent,
           "Get does not find a key that iteration does not yield");
    return;
  }
  const bool is_delete = (lsm::SuffixOf(entry->key) & 0xff) == 0;
  Demand(*answer == (is_delete ? lsm::TableAnswer::kDeleted : lsm::TableAnswer::kFound),
         "Get agrees with the kind of the entry that iteration yields");
  Demand(hit.suffix == lsm::SuffixOf(entry->key), "Get finds the version that iteration yields");
  std::string_view value = entry->value;
  if (!is_delete) lsm::ShowTo({}, lsm::KindOf(hit.suffix), &value);  // without the time
  Demand(is_delete || hit.value == value, "Get finds the value that iteration yields");
}

// Looks up and seeks some of the entries, and keys next to them.
void AskForSome(const lsm::Table& table, const std::vector<Entry>& entries) {
  const auto iterator = table.NewIterator({});
  const size_t step = entries.size() / 40 + 1;
  for (size_t i = 0; i < entries.size(); i += step) {
    const std::string_view user_key = lsm::UserKeyOf(entries[i].key);
    const lsm::Sequence sequence = lsm::SequenceOf(lsm::SuffixOf(entries[i].key));
    for (const lsm::Sequence as_of : {sequence, lsm::kSequenceMax, lsm::Sequence{0}})
      DemandAnswer(table, entries, user_key, as_of);
    DemandAnswer(table, entries, std::string(user_key) + '\0', lsm::kSequenceMax);
    DemandAnswer(table, entries, user_key.substr(0, user_key.size() / 2), lsm::kSequenceMax);
    iterator->Seek(entries[i].key);
    Demand(iterator->Valid() && iterator->key() == entries[i].key, "Seek finds an existing entry");
    iterator->SeekForPrev(entries[i].key);
    Demand(iterator->Valid() && iterator->key() == entries[i].key,
           "SeekForPrev finds an existing entry");
    if (i > 0) {
      iterator->Prev();
      Demand(iterator->Valid() && iterator->key() == entries[i - 1].key,
             "Prev moves to the entry before");
    }
  }
}

// Seeks and looks up keys in a table that is damaged or too large to walk.  No answer may
// contradict the walk.
void UseDamaged(const lsm::Table& table, const Walk& seen) {
  const auto iterator = table.NewIterator({.fill_cache = false});
  for (size_t i = 0; i < seen.entries.size(); i += seen.entries.size() / 10 + 1) {
    const std::string& key = seen.entries[i].key;
    iterator->Seek(key);
    if (iterator->Valid())
      Demand(lsm::CompareInternalKeys(iterator->key(), key) >= 0,
             "Seek does not stop before its target");
    iterator->SeekForPrev(key);
    if (iterator->Valid())
      Demand(lsm::CompareInternalKeys(iterator->key(), key) <= 0,
             "SeekForPrev does not stop after its target");
    const lsm::LookupKey lookup(lsm::UserKeyOf(key), lsm::kSequenceMax, 0);
    const lsm::EpochGuard guard;
    lsm::TableHit hit;
    const auto answer = table.Get({lookup, /*fill_cache=*/false}, &hit);
    if (answer.ok())
      Demand(*answer != lsm::TableAnswer::kAbsent,
             "Get of an existing key finds it or returns an error");
  }
}

std::string WriteTable(lsm::TableBuildOptions options, const std::vector<Entry>& entries,
                       const lsm::RangeMap& ranges) {
  std::string bytes;
  lsm::TableBuilder builder(std::move(options), std::make_unique<StringFile>(&bytes));
  for (const Entry& entry : entries) builder.Add(entry.key, entry.value);
  lsm::AddRanges(ranges, &builder);
  Demand(builder.Finish().ok(), "ascending entries and ranges can be written as a table");
  return bytes;
}

// Opens the table as a store does, which reads partitions on demand.
void UseOnDemand(std::string_view bytes, const Walk& forward) {
  lsm::BlockCache cache(1 << 12);
  lsm::TableContext context;
  context.block_cache = &cache;
  context.partitions_on_demand = true;
  const auto opened = lsm::Table::Open(std::make_unique<BytesFile>(bytes), context);
  Demand(opened.ok(), "a sound table opens with partitions on demand");
  Demand(WalkTable(*(*opened)->NewIterator({}), true).entries == forward.entries,
         "partitions on demand yield the same entries");
  AskForSome(**opened, forward.entries);
}

bool UseTable(std::string_view bytes) {
  lsm::BlockCache cache(1 << 20);
  lsm::TableContext context;
  context.block_cache = &cache;
  const auto opened = lsm::Table::Open(std::make_unique<BytesFile>(bytes), context);
  if (!opened.ok()) return false;
  const lsm::Table& table = **opened;
  Demand(table.filter_status().ok() == (table.filter_presence() != lsm::FilterPresence::kDamaged),
         "filter_status is an error exactly if the filter is damaged");
  Demand(table.filter_presence() == lsm::FilterPresence::kUsable ||
             table.MayContain(bloom::DigestOf("any", 0)),
         "MayContain is true without a usable filter");
  table.ApproximateOffsetOf("k");

  const auto walk = [&table](const lsm::Table::ScanOptions& options, bool forward) {
    return WalkTable(*table.NewIterator(options), forward);
  };
  const Walk forward = walk({}, true), backward = walk({}, false);
  DemandAgreement(forward, walk({.readahead_bytes = 1000}, true));
  DemandAgreement(backward, walk({.readahead_bytes = 1000}, false));
  Demand(!forward.whole || !backward.failed,
         "a table that can be iterated forward can be iterated backward");
  Demand(!backward.whole || !forward.failed,
         "a table that can be iterated backward can be iterated forward");
  if (!forward.whole || !backward.whole) {
    UseDamaged(table, forward);
    return false;
  }
  Demand(std::equal(forward.entries.begin(), forward.entries.end(), backward.entries.rbegin(),
                    backward.entries.rend()),
         "both directions yield the same entries");
  AskForSome(table, forward.entries);
  if (table.is_partitioned()) UseOnDemand(bytes, forward);

  lsm::TableBuildOptions options;
  options.block_bytes = 300;
  options.compression = lsm::Compression::kNone;
  const std::string again = WriteTable(options, forward.entries, table.ranges());
  const auto reopened = lsm::Table::Open(std::make_unique<BytesFile>(again), {});
  Demand(reopened.ok(), "the rewritten table opens");
  Demand(WalkTable(*(*reopened)->NewIterator({}), true).entries == forward.entries,
         "the rewritten table holds the same entries");
  Demand((*reopened)->ranges() == table.ranges(), "the rewritten table holds the same ranges");
  if (forward.entries.empty()) return true;
  options.partition_bytes = 50;
  options.filter_policy = bloom::PolicyFromName("blocked").value();
  const std::string in_parts = WriteTable(options, forward.entries, table.ranges());
  context.partitions_on_demand = true;
  const auto parts = lsm::Table::Open(std::make_unique<BytesFile>(in_parts), context);
  Demand(parts.ok() && (*parts)->is_partitioned(), "the table rewritten in partitions opens");
  Demand(WalkTable(*(*parts)->NewIterator({}), true).entries == forward.entries,
         "the table rewritten in partitions holds the same entries");
  AskForSome(**parts, forward.entries);
  return true;
}

std::vector<std::string> TableSeeds() {
  std::vector<Entry> some, few;
  lsm::Sequence sequence = 1000;
  for (const std::string user_key :
       {"", "a", "ab", "key000001", "key000002", "key00001", "key1", "\xff\xff"}) {
    for (int version = 0; version < (user_key == "key1" ? 12 : 2); ++version) {
      Entry entry;
      lsm::AppendInternalKey(&entry.key, user_key, --sequence,
                             version == 1 ? lsm::EntryKind::kDelete : lsm::EntryKind::kPut);
      if (version != 1) entry.value = std::string(static_cast<size_t>(10 * version), 'v');
      some.push_back(entry);
    }
  }
  few = {some.front(), some.back()};
  std::vector<Entry> timed;
  for (const std::string user_key : {"a", "b", "c"}) {
    Entry entry;
    lsm::AppendInternalKey(&entry.key, user_key, --sequence, lsm::EntryKind::kTimedPut);
    lsm::AppendTimed(&entry.value, 1'700'000'000, user_key);
    timed.push_back(entry);
  }
  const lsm::RangeMap ranges =
      lsm::RangesOf({{"a", "key1", 1005}, {"key00001", "key000010", 995}, {"x", {}, 7}}, {1000});
  std::vector<std::string> seeds;
  for (const char* kind : {"none", "standard", "blocked", "split-block", "ribbon", "fuse3"}) {
    for (const auto compression : {lsm::Compression::kNone, lsm::Compression::kLz4}) {
      lsm::TableBuildOptions options;
      options.block_bytes = 120;
      options.block_restart_interval = 3;
      options.compression = compression;
      options.digest_seed = 7;
      options.file_id = 0x1d;
      if (kind != std::string_view("none"))
        options.filter_policy = bloom::PolicyFromName(kind).value();
      seeds.push_back(WriteTable(options, some, {}));
      options.partition_bytes = 30;
      seeds.push_back(WriteTable(options, some, {}));
      options.partition_bytes = 0;
      options.block_bytes = 4096;
      seeds.push_back(WriteTable(options, compression == lsm::Compression::kLz4 ? some : few, {}));
    }
  }
  for (const size_t partition_bytes : {0, 30}) {
    lsm::TableBuildOptions options;
    options.block_bytes = 120;
    options.compression = lsm::Compression::kNone;
    options.digest_seed = 7;
    options.file_id = 0x1d;
    options.filter_policy = bloom::PolicyFromName("blocked").value();
    options.partition_bytes = partition_bytes;
    seeds.push_back(WriteTable(options, some, ranges));
    seeds.push_back(WriteTable(options, {}, ranges));
    seeds.push_back(WriteTable(options, timed, {}));
    options.keyspace = 3;
    seeds.push_back(WriteTable(options, timed, {}));
  }
  return seeds;
}

}  // namespace

Loader TableLoader() {
  return {"table",        &UseTable,       [](std::string&, uint64_t) {},
          &RepairFile,    &TableSeeds,     Library::kStore,
          &TakeFileApart, &PutFileTogether};
}

}  // namespace fuzz
