// The range deletes of a list of a memtable, as a merge asks them.
#ifndef TRELLIS_LSM_MEMTABLE_MEMTABLE_COVER_H_
#define TRELLIS_LSM_MEMTABLE_MEMTABLE_COVER_H_

#include <cstdint>
#include <string_view>

#include "bloom/core/abi.h"
#include "lsm/base/range_cover.h"
#include "lsm/memtable/entry_list.h"
#include "lsm/memtable/range_list.h"

namespace lsm::inline TRELLIS_ABI {

class MemtableCover final : public RangeCover {
 public:
  // REQUIRES: it has ranges(), and outlives the cover.
  explicit MemtableCover(const EntryList* list) : list_(*list), ranges_(*list->ranges()) {}

  CoverStretch StretchAt(std::string_view internal_key, Sequence at) const override {
    return ranges_.StretchAt(internal_key, at);
  }
  // A range above newest_entry() hides every entry of the list.  Entries that are added meanwhile
  // may raise that number.  Then of_itself ends earlier, which is harmless.
  CoverEnds EndsOfCover(std::string_view internal_key, Sequence at,
                        uint64_t* walked) const override {
    return ranges_.EndsOfCover(internal_key, at, list_.newest_entry(), walked);
  }
  CoverBegins BeginsOfCover(std::string_view internal_key, Sequence at,
                            uint64_t* walked) const override {
    return ranges_.BeginsOfCover(internal_key, at, list_.newest_entry(), walked);
  }

 private:
  const EntryList& list_;
  const RangeList& ranges_;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_MEMTABLE_MEMTABLE_COVER_H_
