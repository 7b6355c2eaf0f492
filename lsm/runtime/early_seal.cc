#include "lsm/runtime/early_seal.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include "lsm/base/inner_iterator.h"
#include "lsm/compaction/picker.h"

namespace lsm::inline TRELLIS_ABI {
namespace {

// The last tombstones stand for all: about 50 us.
constexpr uint64_t kSampledMax = 256;
constexpr uint64_t kLookedAtMax = 4096;  // entries

// The mean of the bytes of tables that a tombstone of the memtable is expected to cover.
double MeanCoveredBytes(const ReadView& view, Sequence visible,
                        const bloom::DigestSeed& digest_seed) {
  const Memtable& memtable = *view.memtable;
  uint64_t covered_bytes = 0, sampled = 0;
  // A reader that sees `number` sees the ring, as far as that reaches back.
  Sequence number = std::min(visible, memtable.last_number());
  for (uint64_t i = 0; i < kLookedAtMax && number > memtable.number_before(); ++i, --number) {
    const Memtable::Entry* const entry = memtable.FindRecent(number);
    if (entry == nullptr || sampled == kSampledMax) break;
    if (!IsTombstone(entry->suffix())) continue;
    covered_bytes +=
        view.version->CoveredBytes(/*level=*/-1, /*run=*/0, entry->user_key(), digest_seed);
    ++sampled;
  }
  return sampled == 0 ? 0 : static_cast<double>(covered_bytes) / static_cast<double>(sampled);
}

}  // namespace

bool IsSealDue(const ReadView& view, Sequence visible, Sequence oldest_snapshot, uint64_t now_nanos,
               const bloom::DigestSeed& digest_seed) {
  const Memtable& memtable = *view.memtable;
  const uint64_t tombstones = memtable.tombstone_count();
  if (tombstones == 0) return false;
  if (memtable.AgeNanos(now_nanos) / 1'000'000'000 >= kTombstoneSecondsMax) return true;
  TableToBe table;
  table.freeable_bytes =
      static_cast<double>(tombstones) * MeanCoveredBytes(view, visible, digest_seed);
  if (table.freeable_bytes == 0) return false;
  table.bytes = memtable.memory_bytes();
  table.largest_sequence = memtable.last_number();
  const std::unique_ptr<InnerIterator> first = memtable.NewIterator();
  const std::unique_ptr<InnerIterator> last = memtable.NewIterator();
  first->SeekToFirst();
  last->SeekToLast();
  table.span = KeySpan::OfKeys(UserKeyOf(first->key()), UserKeyOf(last->key()));
  return IsWorthAFlush(*view.version, table, oldest_snapshot);
}

}  // namespace lsm
