// The range deletes of one input of a merge, as the merge asks them.  An input is a memtable, a
// table of level 0, or a run of tables.  A reader at `at` sees the sequences <= `at` only.
//
// A stretch is a part of the key space in which the newest sequence that a reader sees is the same.
// A cover is what adjacent stretches with a sequence cover together:
//
//   keys       a   b   c   d   e   f   g   h   i   j   k
//   sequences      5-------9-------            7--------        (of one input)
//   stretches  a   b       d       f           i
//   covers         [b      ,       f)          [i, no end)
//
// If an entry is hidden, the merge jumps: all inputs that are older than the input of the cover go
// to the end of the cover.  The input of the cover itself may have newer entries under its own
// ranges.  It goes only as far as it certainly has none.
//
// A merge passes internal keys, so that a memtable can search its Skiplist without a copy.  The
// suffixes of these keys do not matter.  The answers are user keys.
//
// Threads: the functions are const and may be called by any number of threads at once.  In a
// memtable, a writer may add ranges meanwhile.  New ranges have sequences above `at`, so each
// answer stays true.  Lifetime: a returned key is a view that lives as long as the cover.  One
// exception: if nothing is skipped, it is a view of the key that the caller passed.
//
// Errors: none.  No function allocates.
#ifndef TRELLIS_LSM_BASE_RANGE_COVER_H_
#define TRELLIS_LSM_BASE_RANGE_COVER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/range_map.h"

namespace lsm::inline TRELLIS_ABI {

// The keys in [begin, end).  Need not be as wide as possible.
struct CoverStretch {
  Sequence newest = 0;                  // 0: the reader sees no range there
  std::string_view begin;               // the empty key: from the first key on
  std::optional<std::string_view> end;  // nullopt: to the last key

  bool Holds(std::string_view key) const { return begin <= key && (!end || key < *end); }
};

// How far inputs of a merge may skip, from a given key on.
template <typename Key>
struct CoverEdges {
  Key of_older;   // for older inputs: the whole cover, whose keys need none of their entries
  Key of_itself;  // for this input: the part where its ranges hide all of its entries; not longer
};
// Forward: the first key, at or after the given one, that is not skipped.  It is the given key if
// nothing is skipped, and nullopt if all later keys are.
using CoverEnds = CoverEdges<std::optional<std::string_view>>;
// Backward: the lowest key from which on all keys below the given one are skipped.  It is the given
// key if nothing right below that is skipped.  (To ask for the cover that includes a key, append a
// zero byte to the key.)
using CoverBegins = CoverEdges<std::string_view>;

class RangeCover {
 public:
  // The stretch around the key.
  virtual CoverStretch StretchAt(std::string_view internal_key, Sequence at) const = 0;

  // How far a merge may skip forward from the key, and backward from it.  If an answer needs a walk
  // over stretches, their number is added to *walked.
  virtual CoverEnds EndsOfCover(std::string_view internal_key, Sequence at,
                                uint64_t* walked) const = 0;
  virtual CoverBegins BeginsOfCover(std::string_view internal_key, Sequence at,
                                    uint64_t* walked) const = 0;

 protected:
  ~RangeCover() = default;
};

// The cover of a run, or of a single table: the maps of its tables, in the order of keys.
class MapsCover final : public RangeCover {
 public:
  struct Part {
    const RangeMap* map;
    Sequence newest_entry;  // in the map's table; 0: it has no entries
  };

  // One part for each table with ranges.  The maps must outlive the cover.  REQUIRES: no map is
  // empty, and each ends where the next one begins, or before it.
  explicit MapsCover(std::vector<Part> parts) : parts_(std::move(parts)) {}

  CoverStretch StretchAt(std::string_view internal_key, Sequence at) const override;
  // A search, and a step for each further table of the cover.  They walk over the stretches of a
  // map only if it has sequences above `at`.
  CoverEnds EndsOfCover(std::string_view internal_key, Sequence at,
                        uint64_t* walked) const override;
  CoverBegins BeginsOfCover(std::string_view internal_key, Sequence at,
                            uint64_t* walked) const override;

  // Like StretchAt, but for a user key.  `newest` is the lowest sequence above `above`; 0 if there
  // is none.
  CoverStretch StretchAbove(std::string_view user_key, Sequence above) const;
  // EndsOfCover(...).of_older, but for a user key and a reader that sees all ranges.
  std::optional<std::string_view> EndOfAll(std::string_view user_key) const {
    uint64_t walked = 0;
    return EndsFrom(user_key, kSequenceMax, &walked).of_older;
  }

 private:
  CoverStretch StretchOf(std::string_view user_key, size_t* stretch, const RangeMap** map) const;
  CoverEnds EndsFrom(std::string_view user_key, Sequence at, uint64_t* walked) const;
  // The number of parts that begin at or before the key.
  size_t PartsUpTo(std::string_view user_key) const;
  // Whether each range of the part is above all entries of its table.
  static bool HidesItself(const Part& part) {
    return part.newest_entry < part.map->smallest_sequence();
  }

  const std::vector<Part> parts_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_RANGE_COVER_H_
