#include "lsm/block/signposts.h"

#include "lsm/base/internal_key.h"
#include "lsm/base/key_head.h"
#include "lsm/block/block.h"
#include "lsm/block/block_iterator.h"
#include "lsm/bytes/shared_prefix.h"

namespace lsm::inline TRELLIS_ABI {

std::string_view InspectDataBlock(const Block& block, const BlockBounds& bounds,
                                  SignpostPlan* plan) {
  BlockIterator entry(block, /*internal_keys=*/true);
  entry.SeekToFirst();
  if (!entry.Valid()) return entry.problem();
  if (bounds.lower.has_value() && UserKeyOf(entry.key()) < *bounds.lower)
    return "its first key is before what the index says";
  // A common prefix of the first key and the index key is common to all keys between them.
  plan->prefix_bytes =
      static_cast<uint32_t>(SharedPrefixBytes(UserKeyOf(entry.key()), bounds.upper));
  const size_t count_max = block.entries_bytes() / Signposts::kSpacingBytes;
  const bool worth_it = count_max >= 2;
  if (worth_it) {
    plan->heads.reserve(count_max + 1);
    plan->offsets.reserve(count_max + 1);
  }
  for (uint64_t next_offset = 0;; entry.Next()) {
    if (!entry.Valid()) return entry.problem();
    const std::string_view user_key = UserKeyOf(entry.key());
    const Sequence sequence = SequenceOf(SuffixOf(entry.key()));
    if (sequence < bounds.smallest_sequence || sequence > bounds.largest_sequence)
      return kSequenceOutside;
    if (worth_it && entry.offset() >= next_offset && user_key.size() >= plan->prefix_bytes) {
      plan->heads.push_back(KeyHead(user_key, plan->prefix_bytes));
      plan->offsets.push_back(entry.offset());
      next_offset = entry.offset() + Signposts::kSpacingBytes;
    }
    if (!entry.AtLast()) continue;
    if (user_key > bounds.upper) return "its last key is beyond what the index says";
    entry.Next();  // to the end, where it shows whether all restarts were passed
    return entry.problem();
  }
}

}  // namespace lsm
