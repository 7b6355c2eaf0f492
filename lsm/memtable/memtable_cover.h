// The range deletes of a memtable, as a merge asks them.
#ifndef TRELLIS_LSM_MEMTABLE_MEMTABLE_COVER_H_
#define TRELLIS_LSM_MEMTABLE_MEMTABLE_COVER_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "bloom/core/abi.h"
#include "lsm/base/range_cover.h"
#include "lsm/memtable/memtable.h"

namespace lsm::inline TRELLIS_ABI {

class MemtableCover final : public RangeCover {
 public:
  // REQUIRES: it has ranges(), and outlives the cover.
  explicit MemtableCover(const Memtable* memtable)
      : memtable_(*memtable), ranges_(*memtable->ranges()) {}

  CoverStretch StretchAt(std::string_view internal_key, Sequence at) const override {
    const RangeList::Stretch stretch = ranges_.StretchAt(internal_key, at);
    return {stretch.newest, stretch.begin, stretch.end};
  }
  std::optional<std::string_view> EndOfCover(std::string_view internal_key, Sequence at,
                                             Passed passed, uint64_t* walked) const override {
    return ranges_.EndOfCover(internal_key, Above(passed), at, walked);
  }
  std::string_view BeginOfCover(std::string_view internal_key, Sequence at, Passed passed,
                                uint64_t* walked) const override {
    return ranges_.BeginOfCover(internal_key, Above(passed), at, walked);
  }

 private:
  // Ranges above all entries hide each of them.  Later entries may count too: then the cover ends
  // earlier.
  Sequence Above(Passed passed) const {
    return passed == Passed::kItself ? memtable_.newest_entry() : 0;
  }

  const Memtable& memtable_;
  const RangeList& ranges_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_MEMTABLE_MEMTABLE_COVER_H_
