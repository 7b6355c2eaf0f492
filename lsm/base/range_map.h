// The range deletes of a memtable, of a table or of a compaction's inputs: for each key, the
// sequences of those that cover it.
//
// A map is a list of ascending boundaries.  Each has the descending sequences that cover the keys
// from it up to the next boundary; together, these keys are a stretch.  A stretch without sequences
// is a gap.  The last stretch has no end: unless it is a gap, it covers all later keys.
//
//   DeleteRange(b, f) at 5, (d, h) at 9, (k, nullopt) at 7
//
//   keys       a   b   c   d   e   f   g   h   i   j   k   l   ...
//   sequences      5-------9 5-----9-------            7-----------
//   boundaries     b: 5    d: 9 5  f: 9    h: -        k: 7
//
// Equal contents have exactly one form: no list equals the one before it, and the first is no gap.
//
// Strata: sorted snapshots cut the sequences into strata, as for entries (lsm/compaction/jobs.cc).
// No snapshot can tell two sequences of a stratum apart, so only the higher one is needed.
//
// Costs: a lookup is one search in Fences and one load, as for the bounds of tables.  In memory a
// boundary takes its key and 36 bytes (range_map_test.cc measures it); each sequence after the
// first of a list takes 8 bytes.  The other calls say what they cost: n is the number of
// boundaries, s the number of sequences in all lists.
//
// Errors: none; the functions throw std::bad_alloc without memory.  lsm/block/ranges_part.h reads
// maps from untrusted bytes.
//
// Threads: immutable once built, so any number of readers.
#ifndef TRELLIS_LSM_BASE_RANGE_MAP_H_
#define TRELLIS_LSM_BASE_RANGE_MAP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/base/fences.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/key_span.h"

namespace lsm::inline TRELLIS_ABI {

// One range delete.  It covers nothing if `to` is not above `from`.
struct RangeDelete {
  std::string_view from;
  std::optional<std::string_view> to;  // excluded; nullopt: to the end
  Sequence sequence = 0;               // REQUIRES: at least 1
};

class RangeMap {
 public:
  RangeMap() = default;  // covers nothing

  // Keeps only the newest range at each key.  The ranges may be in any order.  Takes n log n, even
  // if they are nested.
  static RangeMap Of(std::span<const RangeDelete> ranges);

  // All sequences of all maps; one that several maps have at a key is taken once.  Takes n * k + s
  // for n boundaries and k maps together.
  static RangeMap Merged(std::span<const RangeMap* const> maps);

  // All sequences of maps whose hulls follow each other, as of the tables of a run.  Takes n + s
  // for all of them together.
  static RangeMap Joined(std::span<const RangeMap* const> maps);

  // Only the newest sequence of each stratum at each key.  Takes n + s.
  RangeMap Thinned(std::span<const Sequence> snapshots) const;

  // The part within the span.  Pieces of a map that is cut at keys meet there, and together cover
  // what the map covers.  Takes n + s of the part.
  RangeMap Within(const KeySpan& span) const;

  bool empty() const { return newest_.empty(); }
  // The smallest span with all covered keys.  A view of the map.  REQUIRES: not empty.
  KeySpan hull() const;
  // 0 if the map is empty.
  Sequence smallest_sequence() const { return smallest_sequence_; }
  Sequence largest_sequence() const { return largest_sequence_; }
  // The number of stretches that are no gaps.
  size_t range_count() const;

  // The newest sequence <= `at` that covers the key; 0 if there is none.
  Sequence NewestAt(std::string_view key, Sequence at) const {
    const size_t after = AfterStretchOf(key);
    return after == 0 ? 0 : NewestIn(after - 1, at);
  }

  // The stretches, in the order of keys.
  size_t size() const { return newest_.size(); }
  std::string_view boundary(size_t stretch) const { return boundaries_[stretch]; }
  size_t sequence_count(size_t stretch) const {
    return newest_[stretch] == 0 ? 0 : 1 + (older_ends_[stretch + 1] - older_ends_[stretch]);
  }
  // The end of the stretch; nullopt if it goes on through all later keys.
  KeyEnd end(size_t stretch) const {
    return stretch + 1 == size() ? KeyEnd() : KeyEnd(boundary(stretch + 1));
  }
  // All of them; replaces the contents of `list`.
  void ListSequences(size_t stretch, std::vector<Sequence>* list) const;
  // One more than the number of the key's stretch; 0 if the key is before all of them.
  size_t AfterStretchOf(std::string_view key) const {
    if (newest_.empty()) return 0;
    const Fences::Place place = boundaries_.Find(key);
    return place.at + (place.is_there ? 1 : 0);
  }
  // NewestAt for the keys of a stretch.
  Sequence NewestIn(size_t stretch, Sequence at) const {
    const Sequence newest = newest_[stretch];
    return newest <= at ? newest : NewestOf(stretch, at);
  }
  // For a stretch that a sequence <= `at` covers.  CoverEnd: the first later stretch that no such
  // sequence covers, or size().  CoverBegin: the first of the covered stretches that lead up to
  // this one without a gap.  If `at` is at or after largest_sequence(), they take one load and one
  // binary search; otherwise they walk.
  size_t CoverEnd(size_t stretch, Sequence at) const;
  size_t CoverBegin(size_t stretch, Sequence at) const;
  // REQUIRES: i < sequence_count(stretch).  They descend.
  Sequence sequence(size_t stretch, size_t i) const {
    return i == 0 ? newest_[stretch] : older_[older_ends_[stretch] + i - 1];
  }

  // Without the object itself.
  size_t memory_bytes() const;

  bool operator==(const RangeMap& other) const;

 private:
  friend class RangeMapBuilder;

  // NewestIn for a stretch whose newest sequence is above `at`.
  Sequence NewestOf(size_t stretch, Sequence at) const;

  Fences boundaries_;
  std::vector<Sequence> newest_;      // of each stretch; 0: it is a gap
  std::vector<uint32_t> next_gap_;    // for each stretch, the number of the first gap from it on
  std::vector<uint64_t> older_ends_;  // those of stretch i are older_[older_ends_[i]] and after it
  std::vector<Sequence> older_;
  Sequence smallest_sequence_ = 0;
  Sequence largest_sequence_ = 0;
};

// Makes a map from front to back: Add* Finish.  Joins neighbours with equal lists.
class RangeMapBuilder {
 public:
  // `sequences` cover the keys from `boundary` up to the next one; empty for a gap.  REQUIRES:
  // boundaries ascend, sequences descend and are at least 1.
  void Add(std::string_view boundary, std::span<const Sequence> sequences);

  // Whether Add would join it with the stretch before it.
  bool Joins(std::span<const Sequence> sequences) const;

  RangeMap Finish();

 private:
  RangeMap map_;
  std::string keys_;
  std::vector<uint64_t> key_ends_ = {0};  // one more than keys
};

// The newest sequence of all maps at each key.  Takes n log n, also for many maps.
RangeMap NewestRanges(std::span<const RangeMap* const> maps);

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_RANGE_MAP_H_
