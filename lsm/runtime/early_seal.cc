#include "lsm/runtime/early_seal.h"

#include <algorithm>
#include <map>
#include <memory>

#include "lsm/base/inner_iterator.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/range_map.h"
#include "lsm/compaction/picker.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// Only this many of the last tombstones are looked up, as a sample of all: about 50 us.
constexpr uint64_t kSampledMax = 256;
constexpr uint64_t kLookedAtMax = 4096;  // entries

// Means of the last tombstones of a keyspace in the memtable.
struct TombstoneSample {
  double key_bytes = 0;      // in a table, without compression
  double covered_bytes = 0;  // of tables
};

// The samples of keyspaces with trees of their own, the default one among them.
std::map<KeyspaceId, TombstoneSample> SampleTombstones(const ReadView& view, Sequence visible,
                                                       const bloom::DigestSeed& digest_seed) {
  struct Sum {
    uint64_t key_bytes = 0, covered_bytes = 0, tombstones = 0;
  };
  std::map<KeyspaceId, Sum> sums;
  const Memtable& memtable = *view.memtable;
  uint64_t sampled = 0;
  // A reader that sees `number` sees the ring, as far as that reaches back.
  Sequence number = std::min(visible, memtable.last_number());
  for (uint64_t i = 0; i < kLookedAtMax && number > memtable.number_before(); ++i, --number) {
    const auto [entry, keyspace] = memtable.FindRecent(number);
    if (entry == nullptr || sampled == kSampledMax) break;
    // A tombstone that stands for a range delete says nothing.
    if (!IsTombstone(entry->suffix()) || entry->user_key().empty()) continue;
    const Tree* const tree = view.version->TreeOf(keyspace);
    if (tree == nullptr) continue;
    Sum& sum = sums[keyspace];
    sum.key_bytes += entry->internal_key().size();
    sum.covered_bytes +=
        tree->CoveredBytes(/*level=*/-1, /*run=*/0, entry->user_key(), digest_seed);
    ++sum.tombstones;
    ++sampled;
  }
  std::map<KeyspaceId, TombstoneSample> samples;
  for (const auto& [keyspace, sum] : sums) {
    const auto count = static_cast<double>(sum.tombstones);
    samples[keyspace] = {static_cast<double>(sum.key_bytes) / count,
                         static_cast<double>(sum.covered_bytes) / count};
  }
  return samples;
}

// Whether the tombstones of the keyspace would pay for the flush.
bool AreTombstonesDue(const ReadView& view, KeyspaceId keyspace, const TombstoneSample& sample,
                      Sequence oldest_snapshot) {
  const Memtable& memtable = *view.memtable;
  const EntryList& list = *memtable.Find(keyspace);
  const uint64_t tombstones = memtable.TombstonesOf(list);
  if (sample.covered_bytes == 0 || tombstones == 0) return false;
  TableToBe table;
  const auto count = static_cast<double>(tombstones);
  table.freeable_bytes = count * (sample.covered_bytes + sample.key_bytes);
  // A tombstone takes two to three times as much memory as its key has bytes.
  const double others =
      std::max(0.0, 1 - count / static_cast<double>(std::max(tombstones, memtable.entry_count())));
  table.bytes = static_cast<uint64_t>(others * static_cast<double>(memtable.memory_bytes()) +
                                      count * sample.key_bytes);
  table.largest_sequence = memtable.last_number();
  const std::unique_ptr<InnerIterator> first = list.NewIterator();
  const std::unique_ptr<InnerIterator> last = list.NewIterator();
  first->SeekToFirst();
  last->SeekToLast();
  table.span = KeySpan::OfKeys(UserKeyOf(first->key()), UserKeyOf(last->key()));
  return IsWorthAFlush(*view.version->TreeOf(keyspace), table, oldest_snapshot);
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

// The bytes that a flush of the memtable makes others write.
uint64_t PriceOfFlush(const ReadView& view, const Options& options) {
  const Memtable& memtable = *view.memtable;
  const auto flushes = static_cast<uint64_t>(std::max(1, options.level0_compaction_tables));
  uint64_t price = kBytesMergedPerJob + memtable.memory_bytes();
  for (const EntryList* const list : memtable.Lists()) {
    const Tree* const tree = view.version->TreeOf(list->keyspace());
    if (tree != nullptr && list->newest_entry() > 0) price += tree->level_bytes(1) / flushes;
  }
  return price;
}

// The bytes of tables that these range deletes of a keyspace would make needless, up to `enough`.
uint64_t BytesUnder(const ReadView& view, KeyspaceId keyspace, const RangeMap& ranges,
                    const SnapshotList& snapshots, uint64_t enough) {
  const Tree* const tree = view.version->TreeOf(keyspace);
  const auto has_snapshot = [&](Sequence from, Sequence to) {
    return HasSnapshotBetween(snapshots, from, to);
  };
  return tree == nullptr ? 0 : tree->BytesUnder(ranges, has_snapshot, enough);
}

// Whether the range deletes of all keyspaces together would pay for the flush.
bool AreAllRangesDue(const ReadView& view, const SnapshotList& snapshots, const Options& options) {
  const uint64_t price = PriceOfFlush(view, options);
  uint64_t freed = 0;
  for (const EntryList* const list : view.memtable->Lists()) {
    if (list->ranges() == nullptr || freed >= price) continue;
    freed += BytesUnder(view, list->keyspace(), list->MapOfRanges(), snapshots, price - freed);
  }
  return freed >= price;
}

}  // namespace

bool IsDropDue(const ReadView& view, KeyspaceId keyspace, const Options& options) {
  const Tree* const tree = view.version->TreeOf(keyspace);
  return tree != nullptr && tree->bytes() >= PriceOfFlush(view, options);
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
  return BytesUnder(view, kDefaultKeyspace, ranges, snapshots, price) >= price;
}

bool IsSealDue(const ReadView& view, Sequence visible, const SnapshotList& snapshots,
               uint64_t now_nanos, const bloom::DigestSeed& digest_seed, const Options& options) {
  const Memtable& memtable = *view.memtable;
  if (HasExpired(memtable, snapshots)) return true;
  if (!memtable.has_deletes()) return false;
  if (memtable.AgeNanos(now_nanos) / 1'000'000'000 >= kTombstoneSecondsMax) return true;
  if (AreAllRangesDue(view, snapshots, options)) return true;
  const Sequence oldest_snapshot = snapshots.empty() ? kSequenceMax : snapshots.front();
  for (const auto& [keyspace, sample] : SampleTombstones(view, visible, digest_seed)) {
    if (AreTombstonesDue(view, keyspace, sample, oldest_snapshot)) return true;
  }
  return false;
}

}  // namespace lsm
