// The range deletes of a memtable, for one writer and any number of readers without locks.
//
// The same step function as a RangeMap (lsm/base/range_map.h), but it grows: boundaries in a
// Skiplist, each with the descending sequences that cover the keys from it up to the next one.
//
//   boundary   (user key, kBoundarySuffix) -> address of its head
//   head       atomic pointer to the first node
//   node       sequence | the next older node          never changes
//
//   boundaries        b          d          h
//   heads             |          |          |
//   nodes             5 <------- 9          -           DeleteRange(b, h) at 5, (d, h) at 9
//
// A group of ranges comes in three steps, of which the last one cannot fail:
//
//   1. The caller cuts the ranges into disjoint stretches, each with its highest sequence
//      (RangeMap::Of).  No reader stands between two entries of a group, so the lower ones are not
//      needed.
//   2. A boundary is added at each border of these stretches.  It shares the list of the stretch
//      that it divides, so no reader sees a difference.  A node is made for each boundary that a
//      stretch covers.
//   3. The nodes are put in front of their lists.
//
// Why a reader at s is right: all sequences up to s were in place before s became visible, and
// later changes only add higher sequences in front.  The reader may find a boundary whose stretch a
// later boundary divides.  Both boundaries had the same list at that moment, and have only got
// sequences above s since.  If the third step does not follow, because the log failed, only
// boundaries remain.  They change no answer.
//
// Costs: a read takes a search in the Skiplist, and a walk over the sequences above `at`.  To find
// the end or the begin of a cover takes one more step for each stretch of the cover.  To add a
// range takes a few searches, and one step and 16 bytes for each boundary that the range covers.
// In all, a disjoint range with two short bounds takes less than 240 bytes (range_list_test.cc
// measures it).
#ifndef TRELLIS_LSM_MEMTABLE_RANGE_LIST_H_
#define TRELLIS_LSM_MEMTABLE_RANGE_LIST_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/range_cover.h"
#include "lsm/base/range_map.h"
#include "lsm/memtable/arena.h"
#include "lsm/memtable/skiplist.h"

namespace lsm::inline TRELLIS_ABI {

class RangeList {
 private:
  struct Node {
    Sequence sequence;
    const Node* older;
  };
  // The writer stores it by release, after the nodes, and loads it relaxed.  Readers acquire it.
  using Head = std::atomic<const Node*>;

 public:
  // The nodes of a group between the last two steps.  They may belong to several lists.
  class Group {
   public:
    // Step 3.  Needs no memory.
    void Add() noexcept;
    // Gives the group up.
    void Clear() { prepared_.clear(); }

   private:
    friend class RangeList;
    struct Prepared {
      Head* head;
      const Node* node;
    };
    std::vector<Prepared> prepared_;
  };

  // `arena` holds all the memory of the list, and must outlive it.
  explicit RangeList(Arena* arena);
  RangeList(const RangeList&) = delete;
  RangeList& operator=(const RangeList&) = delete;

  // Step 2.  Takes only the newest sequence of each stretch.  Throws std::bad_alloc without memory;
  // then the caller must give the group up.  REQUIRES: the sequences are above all in the list, and
  // the group has no nodes of this list.
  void Prepare(const RangeMap& stretches, Group* group);

  // --- for readers; the suffix of an internal key does not matter ---

  // The newest sequence <= `at` that covers the key; 0 if there is none.
  Sequence NewestAt(std::string_view internal_key, Sequence at) const;

  // Like the functions of RangeCover.  A returned key is a view of the list, which lives as long as
  // the arena, or of the key that the caller passed.
  CoverStretch StretchAt(std::string_view internal_key, Sequence at) const;
  // `of_itself` skips only stretches with a sequence in (newest_entry, at].  They add the number of
  // the cover's stretches to *walked.
  CoverEnds EndsOfCover(std::string_view internal_key, Sequence at, Sequence newest_entry,
                        uint64_t* walked) const;
  CoverBegins BeginsOfCover(std::string_view internal_key, Sequence at, Sequence newest_entry,
                            uint64_t* walked) const;

  // All ranges.  Beside a writer it may or may not have those that are being added.
  RangeMap ToMap() const;

 private:
  // Sorts before all internal keys of the user key, since no kind is this high.
  static constexpr uint64_t kBoundarySuffix = ~uint64_t{0};

  static Head* HeadOf(const Skiplist::Entry& boundary);
  // The newest sequence <= `at` of its list, or 0.
  static Sequence NewestOf(const Skiplist::Entry& boundary, Sequence at);
  // Adds the boundary unless it exists.
  void Divide(std::string_view key);
  // Moves to the last boundary at or before the user key.
  static void SeekUpTo(std::string_view key, Skiplist::Cursor* cursor);

  Arena* const arena_;
  Skiplist boundaries_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_MEMTABLE_RANGE_LIST_H_
