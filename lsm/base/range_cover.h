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
// A merge that meets a hidden entry jumps to the end of its cover, with all inputs that are older
// than the cover's.  The input of the cover may have newer entries under its own ranges.  It jumps
// only as far as it knows that it has none.
//
// Keys that are asked for by a merge are internal keys, whose suffix does not matter: so a memtable
// searches its Skiplist without a copy.  Keys that are returned are user keys.
//
// Threads: the functions are const and may be called by any number of threads at once.  In a
// memtable, a writer may add ranges meanwhile.  Those have sequences above `at`, so each answer
// stays true.  Lifetime: the keys that are returned are views that live as long as the cover.  One
// that says "nothing is passed" is a view of the key that was asked for.
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

// How far the inputs of a merge may skip a cover, from a key on.
template <typename Key>
struct CoverEdges {
  Key of_older;   // the whole cover: an older input has no entry there that the reader needs
  Key of_itself;  // the part in which its own ranges hide each entry of this input; not longer
};
// The first key at or after the given one that is not passed.  That key itself if nothing is
// passed; nullopt if all later keys are.
using CoverEnds = CoverEdges<std::optional<std::string_view>>;
// The least key from which on all keys below the given one are passed.  That key itself if those
// right below it are not.  (So the cover that includes a key is the one before that key and a zero
// byte.)
using CoverBegins = CoverEdges<std::string_view>;

class RangeCover {
 public:
  // The stretch around the key.
  virtual CoverStretch StretchAt(std::string_view internal_key, Sequence at) const = 0;

  // The ends of the cover from the key on, and the begins of the one before it.  Add to *walked the
  // number of stretches that they walked over, if the answer took a walk.
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

  // The stretch around the user key, but `newest` is its lowest sequence above `above`; 0: none is.
  CoverStretch StretchAbove(std::string_view user_key, Sequence above) const;
  // The end of the whole cover for readers who see all ranges, but from a user key on.
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
