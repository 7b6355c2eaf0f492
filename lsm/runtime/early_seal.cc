#include "lsm/runtime/early_seal.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "lsm/base/inner_iterator.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/range_map.h"
#include "lsm/compaction/picker.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// A sample is enough: this many of the last tombstones of a keyspace are looked up in 50 us.
constexpr uint64_t kSampledMax = 256;

// A keyspace with a tree of its own, and its list in the memtable.
struct OwnList {
  const Tree* tree;
  const EntryList* list;
};

// The lists of the default keyspace and of those with trees of their own.
std::vector<OwnList> OwnListsOf(const ReadView& view) {
  std::vector<OwnList> own;
  for (const auto& [id, tree] : view.version->trees()) {
    const EntryList* const list = tree->is_common() ? nullptr : view.memtable->Find(id);
    if (list != nullptr) own.push_back({tree.get(), list});
  }
  return own;
}

// The last tombstones of a keyspace in the memtable.
struct TombstoneSample {
  OwnList of;
  uint64_t wanted = 0;  // how many more are to be looked up
  uint64_t count = 0, key_bytes = 0, covered_bytes = 0;
};

// Goes back through all recent entries, until each keyspace has its sample.
std::vector<TombstoneSample> SampleTombstones(const ReadView& view, Sequence visible,
                                              const bloom::DigestSeed& digest_seed) {
  const Memtable& memtable = *view.memtable;
  std::vector<TombstoneSample> samples;
  uint64_t wanted = 0;  // of all samples
  for (const OwnList& own : OwnListsOf(view)) {
    TombstoneSample sample{own, std::min(memtable.TombstonesOf(*own.list), kSampledMax)};
    wanted += sample.wanted;
    if (sample.wanted > 0) samples.push_back(sample);
  }
  // A reader that sees `number` sees the ring, as far as that reaches back.
  Sequence number = std::min(visible, memtable.last_number());
  for (; wanted > 0 && number > memtable.number_before(); --number) {
    const auto [entry, keyspace] = memtable.FindRecent(number);
    if (entry == nullptr) break;
    // A tombstone that stands for a range delete says nothing.
    if (!IsTombstone(entry->suffix()) || entry->user_key().empty()) continue;
    const auto sample = std::find_if(
        samples.begin(), samples.end(),
        [&, id = keyspace](const auto& each) { return each.of.list->keyspace() == id; });
    if (sample == samples.end() || sample->wanted == 0) continue;
    ++sample->count;
    sample->key_bytes += entry->internal_key().size();
    sample->covered_bytes +=
        sample->of.tree->CoveredBytes(/*level=*/-1, /*run=*/0, entry->user_key(), digest_seed);
    --sample->wanted;
    --wanted;
  }
  return samples;
}

// Whether the tombstones of the keyspace would pay for the flush.
bool AreTombstonesDue(const Memtable& memtable, const TombstoneSample& sample,
                      Sequence oldest_snapshot) {
  if (sample.covered_bytes == 0) return false;
  const EntryList& list = *sample.of.list;
  const uint64_t tombstones = memtable.TombstonesOf(list);
  const auto count = static_cast<double>(tombstones);
  const double key_bytes =
      count * static_cast<double>(sample.key_bytes) / static_cast<double>(sample.count);
  const double covered_bytes =
      count * static_cast<double>(sample.covered_bytes) / static_cast<double>(sample.count);
  // The default keyspace does not count its own entries alone.
  const uint64_t entries =
      list.keyspace() == kDefaultKeyspace ? memtable.entry_count() : list.entry_count();
  // A tombstone takes two to three times as much memory as its key has bytes.
  const double share = count / static_cast<double>(std::max(tombstones, entries));
  TableToBe table;
  table.freeable_bytes = covered_bytes + key_bytes;
  // Writers may go on, so the list may have more bytes than all lists had before.
  const double others =
      std::max(0.0, static_cast<double>(memtable.used_bytes()) -
                        share * static_cast<double>(memtable.BytesOf(list.keyspace())));
  table.bytes = static_cast<uint64_t>(others + key_bytes);
  // A snapshot between the entries and a range delete holds both.
  table.largest_sequence = list.ranges() == nullptr ? list.newest_entry() : memtable.last_number();
  const std::unique_ptr<InnerIterator> first = list.NewIterator();
  const std::unique_ptr<InnerIterator> last = list.NewIterator();
  first->SeekToFirst();
  last->SeekToLast();
  table.span = KeySpan::OfKeys(UserKeyOf(first->key()), UserKeyOf(last->key()));
  return IsWorthAFlush(*sample.of.tree, table, oldest_snapshot);
}

// Whether each entry of the memtable is a put that has expired for all readers.  Asks the last
// entry first: if keys are in the order of time, it is the newest.
bool HasExpired(const Memtable& memtable, const SnapshotList& snapshots) {
  if (snapshots.expiry == nullptr || memtable.memory_bytes() < kBytesMergedPerJob) return false;
  const std::vector<const EntryList*> lists = memtable.Lists();
  for (const EntryList* list : lists) {
    if (list->ranges() != nullptr) return false;
    const std::vector<ExpiryView> expired = snapshots.ExpiredIn(list->keyspace());
    const std::unique_ptr<InnerIterator> entries = list->NewIterator();
    const auto is_expired = [&] {
      const uint64_t suffix = SuffixOf(entries->key());
      std::string_view value = entries->value();
      const size_t stratum = snapshots.StratumOf(SequenceOf(suffix));
      return ShowTo(expired[stratum], KindOf(suffix), &value) == Shown::kExpired;
    };
    entries->SeekToLast();
    if (entries->Valid() && !is_expired()) return false;
    for (entries->SeekToFirst(); entries->Valid(); entries->Next()) {
      if (!is_expired()) return false;
    }
  }
  return !lists.empty();
}

// The bytes that a flush of the memtable makes others write, besides those of `dropped`.
uint64_t PriceOfFlush(const ReadView& view, const Options& options, const Tree* dropped = nullptr) {
  const Memtable& memtable = *view.memtable;
  const auto flushes = static_cast<uint64_t>(std::max(1, options.level0_compaction_tables));
  uint64_t price = kBytesMergedPerJob + memtable.memory_bytes();
  const std::vector<OwnList> own = OwnListsOf(view);
  for (const auto& [tree, list] : own) {
    if (tree != dropped && list->newest_entry() > 0) price += tree->level_bytes(1) / flushes;
  }
  const Tree* const common = view.version->TreeWith(kCommonTree);
  if (memtable.other_lists() >= own.size() && common != nullptr)
    price += common->level_bytes(1) / flushes;
  return price;
}

// The bytes of the tree's tables that these range deletes would make needless, up to `enough`.
uint64_t BytesUnder(const Tree& tree, const RangeMap& ranges, const SnapshotList& snapshots,
                    uint64_t enough) {
  const auto has_snapshot = [&](Sequence from, Sequence to) {
    return HasSnapshotBetween(snapshots, from, to);
  };
  return tree.BytesUnder(ranges, has_snapshot, enough);
}

// Whether the range deletes of all keyspaces together would pay for the flush.
bool AreAllRangesDue(const ReadView& view, const SnapshotList& snapshots, const Options& options) {
  const uint64_t price = PriceOfFlush(view, options);
  uint64_t freed = 0;
  for (const auto& [tree, list] : OwnListsOf(view)) {
    if (list->ranges() == nullptr || freed >= price) continue;
    freed += BytesUnder(*tree, list->MapOfRanges(), snapshots, price - freed);
  }
  return freed >= price;
}

}  // namespace

bool IsDropDue(const ReadView& view, KeyspaceId keyspace, const Options& options) {
  const Tree* const tree = view.version->TreeOf(keyspace);
  return tree != nullptr && tree->bytes() >= PriceOfFlush(view, options, tree);
}

bool AreLimitsDue(const ReadView& view, const SnapshotList& present, const SnapshotList& recorded,
                  const Options& options) {
  double freed = 0;
  for (const auto& [id, tree] : view.version->trees())
    freed += tree->ExpiredBytes(present) - tree->ExpiredBytes(recorded);
  return freed >= static_cast<double>(PriceOfFlush(view, options));
}

bool AreRangesDue(const ReadView& view, const RangeMap& ranges, const SnapshotList& snapshots,
                  const Options& options) {
  const uint64_t price = PriceOfFlush(view, options);
  return BytesUnder(*view.version->TreeOf(kDefaultKeyspace), ranges, snapshots, price) >= price;
}

bool IsSealDue(const ReadView& view, Sequence visible, const SnapshotList& snapshots,
               uint64_t now_nanos, const bloom::DigestSeed& digest_seed, const Options& options) {
  const Memtable& memtable = *view.memtable;
  if (HasExpired(memtable, snapshots)) return true;
  if (!memtable.has_deletes()) return false;
  if (memtable.AgeNanos(now_nanos) / 1'000'000'000 >= kTombstoneSecondsMax) return true;
  if (AreAllRangesDue(view, snapshots, options)) return true;
  const Sequence oldest_snapshot = snapshots.empty() ? kSequenceMax : snapshots.front();
  const std::vector<TombstoneSample> samples = SampleTombstones(view, visible, digest_seed);
  return std::any_of(samples.begin(), samples.end(), [&](const TombstoneSample& sample) {
    return AreTombstonesDue(memtable, sample, oldest_snapshot);
  });
}

}  // namespace lsm
