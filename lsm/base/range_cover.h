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

class RangeCover {
 public:
  // Which inputs of the merge may skip the cover.
  enum class Passed : uint8_t {
    kOlderInputs,  // the whole cover: an older input has no entry there that the reader needs
    kItself,       // only keys at which each entry of this input itself is hidden by its ranges
  };

  // The stretch around the key.
  virtual CoverStretch StretchAt(std::string_view internal_key, Sequence at) const = 0;

  // The end of the cover from the key on: the first key at or after it that is not passed.  The key
  // itself if that one is not; nullopt if all later keys are.
  // Adds to *walked the number of stretches that it walked over, if the answer took a walk.
  virtual std::optional<std::string_view> EndOfCover(std::string_view internal_key, Sequence at,
                                                     Passed passed, uint64_t* walked) const = 0;

  // The begin of the cover before the key: the least key from which on all keys below the key are
  // passed.  The key itself if those right below it are not.  (So the cover that includes a key is
  // the one before that key and a zero byte.)  *walked as above.
  virtual std::string_view BeginOfCover(std::string_view internal_key, Sequence at, Passed passed,
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
  std::optional<std::string_view> EndOfCover(std::string_view internal_key, Sequence at,
                                             Passed passed, uint64_t* walked) const override;
  std::string_view BeginOfCover(std::string_view internal_key, Sequence at, Passed passed,
                                uint64_t* walked) const override;

  // The stretch around the user key, but `newest` is its lowest sequence above `above`; 0: none is.
  CoverStretch StretchAbove(std::string_view user_key, Sequence above) const;
  // As EndOfCover for readers who see all ranges, but from a user key on.
  std::optional<std::string_view> EndOfAll(std::string_view user_key) const {
    uint64_t walked = 0;
    return EndFrom(user_key, kSequenceMax, Passed::kOlderInputs, &walked);
  }

 private:
  CoverStretch StretchOf(std::string_view user_key, size_t* stretch, const RangeMap** map) const;
  std::optional<std::string_view> EndFrom(std::string_view user_key, Sequence at, Passed passed,
                                          uint64_t* walked) const;
  // The number of parts that begin at or before the key.
  size_t PartsUpTo(std::string_view user_key) const;
  bool IsPassed(size_t part, Passed passed) const {
    return passed == Passed::kOlderInputs ||
           parts_[part].newest_entry < parts_[part].map->smallest_sequence();
  }

  const std::vector<Part> parts_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_BASE_RANGE_COVER_H_
