// Merges sorted inputs of internal keys.  Two inputs may have the same internal key with the same
// value, as copies left by a compaction in steps (lsm/compaction/steps.h).
#ifndef TRELLIS_LSM_BASE_MERGING_ITERATOR_H_
#define TRELLIS_LSM_BASE_MERGING_ITERATOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/base/inner_iterator.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/key_span.h"
#include "lsm/base/range_cover.h"
#include "lsm/iterator.h"

namespace lsm::inline TRELLIS_ABI {

// Yields the entries of all inputs in the order of internal keys, and each copy separately.
// Reversing the direction skips all copies of the current entry.  If an input fails, the whole
// fails: no entry is skipped silently.
std::unique_ptr<Iterator> NewMergingIterator(std::vector<std::unique_ptr<InnerIterator>> inputs);

// --- for readers, where inputs have range deletes (lsm/design/range_deletes.md, "Iterators") ---

struct IteratorBounds {
  std::optional<std::string> lower;  // inclusive
  std::optional<std::string> upper;  // exclusive
};

// Learns of the dead entries that a merge walks over because it cannot jump, and knows of gaps.
class DeadWalkObserver {
 public:
  // The merge has walked over this many hidden entries and stretches of covers, around this key.
  virtual void NoteDead(uint64_t count, std::string_view user_key, bool is_forward) = 0;
  // Keys around this one of which none is visible; nullopt: not known.  A view, until the next
  // call.
  virtual std::optional<KeySpan> FindGap(std::string_view user_key, bool is_forward) = 0;

 protected:
  ~DeadWalkObserver() = default;
};

// Yields the entries that a reader at a sequence may need: all up to this sequence within the
// bounds, except for those that a range up to this sequence hides.  It may leave out or yield other
// entries: those above the sequence or beyond the bounds, and further copies of an entry.
class CoveringIterator : public Iterator {
 public:
  // This many hidden entries are stepped over before the inputs jump: about what a seek costs.
  static constexpr uint64_t kPassedMax = 32;

  // `observer` must outlive the iterator, or its last move.
  virtual void ReportTo(DeadWalkObserver* observer) = 0;
  // Inputs that were moved over covers.
  virtual uint64_t jumps() const = 0;
};

// The inputs are in the order of age, newest first: for each key, the first version in this order,
// entry or range, is the newest one.  There is a cover for each input, which must outlive the
// iterator; null: the input has no range deletes.
std::unique_ptr<CoveringIterator> NewCoveringIterator(
    std::vector<std::unique_ptr<InnerIterator>> inputs, std::span<const RangeCover* const> covers,
    Sequence sequence, IteratorBounds bounds);

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_MERGING_ITERATOR_H_
