// Collects the range deletes that a replay finds in logs, by keyspace.  The memtable then takes all
// ranges of a keyspace in one call, which costs n log n even if they are nested
// (Memtable::AddRanges).
#ifndef TRELLIS_LSM_MEMTABLE_HELD_RANGES_H_
#define TRELLIS_LSM_MEMTABLE_HELD_RANGES_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bloom/core/abi.h"
#include "lsm/base/internal_key.h"
#include "lsm/base/range_map.h"
#include "lsm/memtable/memtable.h"

namespace lsm::inline TRELLIS_ABI {

// Throws std::bad_alloc without memory.
class HeldRanges {
 public:
  // Estimates the memory that a range takes from Add to the end of MoveTo: the copy that is held
  // here, the copies that cutting makes, and the boundaries and nodes of the memtable.
  static size_t MemoryOf(std::string_view from, std::optional<std::string_view> to) {
    return 512 + 4 * (from.size() + to.value_or("").size());
  }

  // Copies the bounds.
  void Add(KeyspaceId keyspace, std::string_view from, std::optional<std::string_view> to,
           Sequence sequence) {
    ranges_[keyspace].push_back({std::string(from), std::optional<std::string>(to), sequence});
    memory_bytes_ += MemoryOf(from, to);
  }
  bool empty() const { return ranges_.empty(); }
  size_t memory_bytes() const { return memory_bytes_; }

  // Adds all ranges to the memtable, and holds none afterwards.
  void MoveTo(Memtable* memtable) {
    for (const auto& [keyspace, held] : ranges_) {
      std::vector<RangeDelete> all;
      all.reserve(held.size());
      for (const Held& range : held) all.push_back({range.from, range.to, range.sequence});
      memtable->AddRanges(keyspace, all);
    }
    *this = {};
  }

 private:
  struct Held {
    std::string from;
    std::optional<std::string> to;
    Sequence sequence;
  };

  std::map<KeyspaceId, std::vector<Held>> ranges_;
  size_t memory_bytes_ = 0;
};

}  // namespace lsm

#endif  // TRELLIS_LSM_MEMTABLE_HELD_RANGES_H_
