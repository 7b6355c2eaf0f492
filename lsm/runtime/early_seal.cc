#include "lsm/runtime/early_seal.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsm/base/inner_iterator.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/range_map.h"
#include "lsm/compaction/common_output.h"
#include "lsm/compaction/picker.h"
#include "lsm/version/common_keys.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// A sample is enough: this many of the last tombstones of a tree are looked up in 50 us.
constexpr uint64_t kSampledMax = 256;

// The part of the memtable that its flush writes to one tree.
struct Share {
  const Tree* tree;
  std::vector<const EntryList*> lists;  // by ascending id

  // The sum over the lists.
  template <typename Count>
  uint64_t SumOf(const Count& count) const {
    uint64_t sum = 0;
    for (const EntryList* list : lists) sum += count(*list);
    return sum;
  }
  uint64_t tombstones() const {
    return SumOf([](const EntryList& list) { return list.tombstone_count(); });
  }
  bool has_ranges() const {
    return std::any_of(lists.begin(), lists.end(),
                       [](const EntryList* list) { return list->ranges() != nullptr; });
  }
  std::string KeyIn(KeyspaceId keyspace, std::string_view user_key) const {
    return tree->is_common() ? CommonKeyOf(keyspace, user_key) : std::string(user_key);
  }
};

// The lists of the default keyspace and of those with trees of their own.
std::vector<Share> OwnSharesOf(const ReadView& view) {
  std::vector<Share> own;
  for (const auto& [id, tree] : view.version->trees()) {
    const EntryList* const list = tree->is_common() ? nullptr : view.memtable->Find(id);
    if (list != nullptr) own.push_back({tree.get(), {list}});
  }
  return own;
}

// Likewise, and the lists of those with entries in the common tree.
std::vector<Share> SharesOf(const ReadView& view) {
  std::vector<Share> shares = OwnSharesOf(view);
  const Tree* const common = view.version->TreeOf(kCommonTree);
  if (common == nullptr) return shares;
  Share of_common{common, {}};
  for (const EntryList* list : view.memtable->Lists()) {
    const KeyspaceId id = list->keyspace();  // that of the default keyspace is also that of names
    if (id != kDefaultKeyspace && common->members()->Has(id)) of_common.lists.push_back(list);
  }
  if (!of_common.lists.empty()) shares.push_back(std::move(of_common));
  return shares;
}

// The last tombstones of a tree in the memtable.
struct TombstoneSample {
  const Share& of;
  uint64_t wanted = 0;  // how many more are to be looked up
  uint64_t count = 0, key_bytes = 0, covered_bytes = 0;
};

// Goes back through all recent entries, until each tree has its sample.
std::vector<TombstoneSample> SampleTombstones(const ReadView& view,
                                              const std::vector<Share>& shares, Sequence visible,
                                              const bloom::DigestSeed& digest_seed) {
  const Memtable& memtable = *view.memtable;
  std::vector<TombstoneSample> samples;
  uint64_t wanted = 0;  // of all samples
  for (const Share& share : shares) {
    TombstoneSample sample{share, std::min(share.tombstones(), kSampledMax)};
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
    const Tree* const tree = view.version->TreeWith(keyspace);
    const auto sample = std::find_if(samples.begin(), samples.end(),
                                     [&](const auto& each) { return each.of.tree == tree; });
    if (sample == samples.end() || sample->wanted == 0) continue;
    if (tree->is_common() && !tree->members()->Has(keyspace)) continue;
    const std::string key = sample->of.KeyIn(keyspace, entry->user_key());
    ++sample->count;
    sample->key_bytes += key.size() + kInternalKeySuffixBytes;
    sample->covered_bytes += tree->CoveredBytes(/*level=*/-1, /*run=*/0, key, digest_seed);
    --sample->wanted;
    --wanted;
  }
  return samples;
}

// The first and the last key of the share, which has entries.
std::pair<std::string, std::string> EndsOf(const Share& share) {
  const auto has_entries = [](const EntryList* list) { return list->newest_entry() > 0; };
  const EntryList& first = **std::find_if(share.lists.begin(), share.lists.end(), has_entries);
  const EntryList& last = **std::find_if(share.lists.rbegin(), share.lists.rend(), has_entries);
  const std::unique_ptr<InnerIterator> from = first.NewIterator();
  const std::unique_ptr<InnerIterator> to = last.NewIterator();
  from->SeekToFirst();
  to->SeekToLast();
  return {share.KeyIn(first.keyspace(), UserKeyOf(from->key())),
          share.KeyIn(last.keyspace(), UserKeyOf(to->key()))};
}

// Whether the tombstones of the tree would pay for the flush.
bool AreTombstonesDue(const Memtable& memtable, const TombstoneSample& sample,
                      Sequence oldest_snapshot) {
  if (sample.covered_bytes == 0) return false;
  const Share& of = sample.of;
  const uint64_t tombstones = of.tombstones();
  const auto count = static_cast<double>(tombstones);
  const double key_bytes =
      count * static_cast<double>(sample.key_bytes) / static_cast<double>(sample.count);
  const double covered_bytes =
      count * static_cast<double>(sample.covered_bytes) / static_cast<double>(sample.count);
  const uint64_t entries = of.SumOf([](const EntryList& list) { return list.entry_count(); });
  const uint64_t bytes =
      of.SumOf([&](const EntryList& list) { return memtable.BytesOf(list.keyspace()); });
  // A tombstone takes two to three times as much memory as its key has bytes.
  const double share = count / static_cast<double>(std::max(tombstones, entries));
  TableToBe table;
  table.freeable_bytes = covered_bytes + key_bytes;
  // Writers may go on, so the lists may have more bytes than all lists had before.
  const double others = std::max(
      0.0, static_cast<double>(memtable.used_bytes()) - share * static_cast<double>(bytes));
  table.bytes = static_cast<uint64_t>(others + key_bytes);
  for (const EntryList* list : of.lists)
    table.largest_sequence = std::max(table.largest_sequence, list->newest_entry());
  // A snapshot between the entries and a range delete holds both.
  if (of.has_ranges()) table.largest_sequence = memtable.last_number();
  const auto [first, last] = EndsOf(of);
  table.span = KeySpan::OfKeys(first, last);
  return IsWorthAFlush(*of.tree, table, oldest_snapshot);
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
  const std::vector<Share> own = OwnSharesOf(view);
  for (const auto& [tree, lists] : own) {
    if (tree != dropped && lists[0]->newest_entry() > 0) price += tree->level_bytes(1) / flushes;
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

// The range deletes of the share, over keys of the tree.
RangeMap RangesOf(const Share& share, Sequence last_number) {
  if (!share.tree->is_common()) return share.lists[0]->MapOfRanges();
  CommonOutput output(last_number);
  for (const EntryList* list : share.lists) {
    if (list->ranges() != nullptr)
      output.AddList(list->keyspace(), /*new_entries=*/nullptr, list->MapOfRanges(), /*keys=*/0);
  }
  return output.Ranges();
}

// Whether the range deletes of all keyspaces together would pay for the flush.
bool AreAllRangesDue(const ReadView& view, const std::vector<Share>& shares,
                     const SnapshotList& snapshots, const Options& options) {
  if (std::none_of(shares.begin(), shares.end(),
                   [](const Share& each) { return each.has_ranges(); }))
    return false;
  const uint64_t price = PriceOfFlush(view, options);
  uint64_t freed = 0;
  for (const Share& share : shares) {
    if (!share.has_ranges() || freed >= price) continue;
    const RangeMap ranges = RangesOf(share, view.memtable->last_number());
    freed += BytesUnder(*share.tree, ranges, snapshots, price - freed);
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
  const std::vector<Share> shares = SharesOf(view);
  if (AreAllRangesDue(view, shares, snapshots, options)) return true;
  const Sequence oldest_snapshot = snapshots.empty() ? kSequenceMax : snapshots.front();
  const std::vector<TombstoneSample> samples = SampleTombstones(view, shares, visible, digest_seed);
  return std::any_of(samples.begin(), samples.end(), [&](const TombstoneSample& sample) {
    return AreTombstonesDue(memtable, sample, oldest_snapshot);
  });
}

}  // namespace lsm
